//! What can happen in a run: begun at once, and looked at until it is over. Steps, commands of clients and checks share
//! it. Nothing here waits.

use super::jobs::{Finished, Job};
use super::session::Session;
use super::stop::Stop;
use super::work::{Awaits, Doing, Outcome, StepState, Undertaking, Whose};
use airlane_control::ask::Told;
use airlane_dot11::MacAddr;
use airlane_guests::orders;
use airlane_guests::state::State;
use airlane_scenario::{Act, ApKind};
use std::time::{Duration, Instant};

/// How long an order to an access point may take.
const ORDER: Duration = Duration::from_secs(20);
/// How long an access point may take to come up again.
const RETURN: Duration = Duration::from_secs(90);
/// How much of what a command has printed stands in one line.
const LONGEST_LINE: usize = 160;

/// Begins it, or says why not.
pub fn begin(session: &mut Session, act: &Act) -> Result<Undertaking, String> {
    let done = |text: String| Ok((Awaits::Nothing(text), ORDER));
    let (awaits, limit) = match act {
        Act::Exec {
            vm,
            command,
            timeout,
        } => Ok((Awaits::Command(run(session, *vm, command)?), *timeout)),
        Act::ApOff { ap } => order(session, *ap, "is off", |number, network| {
            orders::off(number, network)
        }),
        Act::ApOn { ap } => on(session, *ap),
        Act::Channel { ap, channel } => {
            let point = session.scenario.access_points.get(*ap);
            let point = point.ok_or("there is no such access point")?;
            let what = format!("is on channel {channel}");
            order(session, *ap, &what, |number, _| {
                orders::channel(number, point, *channel)
            })
        }
        Act::Passphrase { ap, passphrase } => {
            let point = session.scenario.access_points.get(*ap);
            let point = point.ok_or("there is no such access point")?;
            order(session, *ap, "has another passphrase", |number, _| {
                orders::passphrase(number, point, passphrase)
            })
        }
        Act::Deauthenticate { vm, reason } => {
            let (ap, mac) = host_of(session, *vm)?;
            let what = format!("has sent {mac} away (reason {reason})");
            order(session, ap, &what, |number, _| {
                orders::deauthenticate(number, mac, *reason)
            })
        }
        Act::Rekey { vm } => {
            let (ap, mac) = host_of(session, *vm)?;
            order(session, ap, "has replaced its keys", |number, _| {
                orders::rekey(number, mac)
            })
        }
        Act::MoveCard { card, to } => {
            ours(session.place_card(*card, *to))?;
            done(format!("stands at {:?}", to.0))
        }
        Act::MoveAp { ap, to } => {
            ours(session.place_access_point(*ap, *to))?;
            done(format!("stands at {:?}", to.0))
        }
        Act::Kill { vm } => {
            if !session.runs(*vm) {
                return Err("the VM does not run".to_owned());
            }
            session.kill(*vm);
            done("killed".to_owned())
        }
        Act::Start { vm } => {
            if session.runs(*vm) {
                return Err("the VM runs already".to_owned());
            }
            ours(session.start(*vm))?;
            let run = &session.scenario.run;
            Ok((Awaits::Vm(*vm), run.boot_timeout + run.join_timeout))
        }
    }?;
    let began = Instant::now();
    Ok(Undertaking {
        awaits,
        began,
        deadline: began + limit,
    })
}

/// What is ours to fail at is a failure of the act, and no end of the run.
fn ours(result: Result<(), Stop>) -> Result<(), String> {
    result.map_err(|stop| stop.to_string())
}

/// A command in a guest, its errors apart.
fn run(session: &mut Session, guest: usize, command: &str) -> Result<Job, String> {
    session.speaks(guest)?;
    session.run(guest, command).map_err(|stop| stop.to_string())
}

/// An order to an access point, which gets its number and its network's. `what` it is, or has done, then.
fn order(
    session: &mut Session,
    ap: usize,
    what: &str,
    command: impl Fn(usize, usize) -> String,
) -> Result<(Awaits, Duration), String> {
    let point = session.scenario.access_points.get(ap);
    let point = point.ok_or("there is no such access point")?;
    let job = run(
        session,
        session.access_points(),
        &command(ap, point.network),
    )?;
    Ok((Awaits::Order(job, format!("{} {what}", point.name)), ORDER))
}

fn on(session: &mut Session, ap: usize) -> Result<(Awaits, Duration), String> {
    let point = session.scenario.access_points.get(ap);
    let point = point.ok_or("there is no such access point")?;
    let vm = session.access_points();
    session.speaks(vm)?;
    let up = session.members.get(vm);
    if up.is_some_and(|member| member.view.access_points.contains_key(&point.name)) {
        return Err(format!("the access point `{}` is on already", point.name));
    }
    // It lasts as long as the access point: nobody waits for its end.
    session
        .exec(vm, &orders::on(ap, point.network))
        .map_err(|stop| stop.to_string())?;
    Ok((Awaits::AccessPoint(point.name.clone()), RETURN))
}

/// The access point where a VM is, and the VM's address.
pub fn host_of(session: &Session, vm: usize) -> Result<(usize, MacAddr), String> {
    let scenario = session.scenario;
    let own = scenario.vms.get(vm).ok_or("there is no such VM")?;
    let member = session.members.get(vm);
    let bssid = member.and_then(|member| member.view.bssid.as_deref());
    let host = scenario.access_point_of(own, bssid);
    let host = host.filter(|ap| ap.kind == ApKind::Hostapd);
    let host = host.ok_or("its access point is not hostapd's")?;
    let mut all = scenario.access_points.iter();
    let number = all.position(|ap| ap.bssid == host.bssid);
    Ok((number.ok_or("it has no access point")?, own.mac))
}

/// Looks after all that has begun; who waits for it gets its outcome.
pub fn look_after(session: &mut Session) {
    for mut doing in std::mem::take(&mut session.work.doing) {
        let left = matches!(&doing.whose, Whose::Client(reply) if reply.gone());
        match outcome(session, &mut doing.undertaking) {
            Some(outcome) => hand_over(session, doing.whose, outcome),
            // What a client has begun goes on; only a command ends with it.
            None if left => give_up(session, &doing.undertaking),
            None => session.work.doing.push(doing),
        }
    }
}

fn hand_over(session: &mut Session, whose: Whose, outcome: Outcome) {
    match whose {
        Whose::Client(reply) => {
            let _ = reply.tell(Told::Done {
                passed: outcome.passed,
                detail: outcome.detail,
            });
        }
        Whose::Step(number) => {
            if let Some(state) = session.work.steps.get_mut(number)
                && let StepState::Doing(at) = *state
            {
                *state = StepState::Done(at, outcome);
            }
        }
    }
}

/// Notes that somebody waits for what has begun.
pub fn keep(session: &mut Session, undertaking: Undertaking, whose: Whose) {
    session.work.doing.push(Doing { undertaking, whose });
}

fn give_up(session: &mut Session, undertaking: &Undertaking) {
    if let Awaits::Command(job) | Awaits::Order(job, _) = undertaking.awaits {
        session.abandon(job);
    }
}

/// What came of it; none while it goes on.
fn outcome(session: &mut Session, undertaking: &mut Undertaking) -> Option<Outcome> {
    let took = undertaking.began.elapsed();
    let over = match &undertaking.awaits {
        Awaits::Nothing(text) => Some((true, text.clone(), None)),
        Awaits::Command(job) => ended(session, *job).map(|end| match end {
            Some(finished) => (finished.code == 0, words(&finished), Some(finished)),
            None => (false, GONE.to_owned(), None),
        }),
        Awaits::Order(job, what) => ended(session, *job).map(|end| match end {
            Some(finished) if finished.code == 0 => (true, what.clone(), None),
            Some(finished) => (false, format!("hostapd: {}", words(&finished)), None),
            None => (false, GONE.to_owned(), None),
        }),
        Awaits::AccessPoint(name) => {
            let vm = session.members.get(session.access_points());
            let up = vm.is_some_and(|vm| vm.view.access_points.contains_key(name));
            up.then(|| (true, format!("{name} is on"), None))
        }
        Awaits::Vm(vm) => match session.state(*vm) {
            State::Addressed => Some((true, "it is in its network".to_owned(), None)),
            State::Refused if session.scenario.expects_refusal(*vm) => {
                Some((true, "it was refused".to_owned(), None))
            }
            state @ (State::Failed | State::Stopped) => {
                Some((false, format!("it is {state}"), None))
            }
            _ => None,
        },
    };
    if over.is_none() && Instant::now() >= undertaking.deadline {
        give_up(session, undertaking);
        let detail = late(session, undertaking, took);
        return Some(Outcome {
            took,
            ..Outcome::refused(detail)
        });
    }
    over.map(|(passed, detail, command)| Outcome {
        passed,
        detail,
        command,
        took,
    })
}

/// What is said of an undertaking whose time is over.
fn late(session: &Session, undertaking: &Undertaking, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    match undertaking.awaits {
        Awaits::Vm(vm) => format!("it is {} after {seconds:.0} s", session.state(vm)),
        _ => format!("not over after {seconds:.0} s"),
    }
}

/// What is said of a command without an end.
const GONE: &str = "its VM has stopped or starts anew";

/// The command's end, if it has ended; none in it when its VM has.
fn ended(session: &mut Session, job: Job) -> Option<Option<Finished>> {
    session.jobs.ended(job).then(|| session.jobs.take(job))
}

/// The exit code, and the last line that was printed.
fn words(finished: &Finished) -> String {
    let last = |text: &str| {
        let line = text.lines().rev().find(|line| !line.trim().is_empty());
        line.map(|line| {
            let plain = line.chars().filter(|c| !c.is_control());
            plain.take(LONGEST_LINE).collect::<String>()
        })
    };
    let code = finished.code;
    let said = match code {
        0 => last(&finished.output),
        _ => last(&finished.errors).or_else(|| last(&finished.output)),
    };
    match said {
        Some(line) => format!("exit code {code}: {line}"),
        None => format!("exit code {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_by_its_code_and_its_last_line() {
        let finished = |code, output: &str, errors: &str| Finished {
            code,
            output: output.to_owned(),
            errors: errors.to_owned(),
        };
        assert_eq!(words(&finished(0, "", "warning")), "exit code 0");
        assert_eq!(words(&finished(0, "a\nb\n\n", "")), "exit code 0: b");
        assert_eq!(words(&finished(2, "a", "no\x1b[2J")), "exit code 2: no[2J");
        assert_eq!(words(&finished(1, "a", "")), "exit code 1: a");
        let long = "x".repeat(1_000);
        assert!(words(&finished(0, &long, "")).len() < 200);
    }
}
