//! A VM does what machines do in their lives (its driver goes and comes, it sleeps, it reboots, its
//! interface goes down in mid-transfer, its card is pulled out and plugged in), again and again: each time it must return to its network and
//! reach its gateway, and a neighbour's echo requests must go on all the while.

use super::findings::{Findings, vm_name};
use super::gateway::gateway;
use super::witness::{self, Witness};
use super::{actions, associated, ping_words as ping};
use crate::session::Session;
use crate::stop::Stop;
use airlane_guests::state::State;
use airlane_scenario::{Action, Check, CheckKind};
use std::time::{Duration, Instant};

/// How long a return to the network may take.
const RETURN: Duration = Duration::from_secs(120);
/// Echo requests after each return.
const REQUESTS: u64 = 3;
/// How much of its echo requests the neighbour may lose, in per cent.
const HARM: f64 = 1.0;

/// Does the action `times` in a row; the first time that fails is the last.
pub fn check(session: &mut Session, findings: &mut Findings, check: &Check) -> Result<(), Stop> {
    let CheckKind::LifeCycle {
        action,
        times,
        witness,
    } = check.kind
    else {
        return Ok(());
    };
    let Some(neighbour) = Witness::start(session, witness)? else {
        let detail = "its witness has no gateway".to_owned();
        findings.add_for(session, check, false, detail);
        return Ok(());
    };
    let done = rounds(session, check.vm, action, times)?;
    let passed = done.failure.is_none();
    findings.add_for(session, check, passed, done.words(action, times));
    let ping = neighbour.stop(session)?;
    let (passed, detail) = witness::unharmed(ping, HARM);
    let (name, vm) = (
        format!("{}: neighbour", check.name),
        vm_name(session.scenario, witness).to_owned(),
    );
    findings.add(session, &name, &vm, passed, detail);
    Ok(())
}

/// What came of the rounds.
#[derive(Debug, Default)]
struct Done {
    /// Seconds from the action's beginning to the address, for each round that succeeded.
    returns: Vec<f64>,
    failure: Option<String>,
}

impl Done {
    fn words(&self, action: Action, times: u64) -> String {
        let count = self.returns.len();
        let longest = self.returns.iter().copied().fold(0.0, f64::max);
        let mean = self.returns.iter().fold(0.0, |sum, one| sum + one) / count.max(1) as f64;
        let back = format!(
            "{} {count} of {times} times, back after {mean:.1} s (at most {longest:.1} s)",
            action.word()
        );
        match &self.failure {
            Some(failure) => format!("{back}, then {failure}"),
            None => back,
        }
    }
}

fn rounds(session: &mut Session, vm: usize, action: Action, times: u64) -> Result<Done, Stop> {
    let mut done = Done::default();
    for round in 1..=times {
        session.progress.say(&format!(
            "{}: {} {round} of {times}",
            vm_name(session.scenario, vm),
            action.word()
        ));
        match one_round(session, vm, action)? {
            Ok(seconds) => done.returns.push(seconds),
            Err(failure) => {
                done.failure = Some(failure);
                break;
            }
        }
    }
    Ok(done)
}

/// One action and the return; how long that took, or what went wrong.
fn one_round(
    session: &mut Session,
    vm: usize,
    action: Action,
) -> Result<Result<f64, String>, Stop> {
    let began = Instant::now();
    let before = associations(session, vm);
    if let Err(failure) = actions::act(session, vm, action)? {
        return Ok(Err(failure));
    }
    // A machine that starts anew begins to count anew.
    let before = if action == Action::Reboot { 0 } else { before };
    if let Err(failure) = returned(session, vm, before)? {
        return Ok(Err(failure));
    }
    let seconds = began.elapsed().as_secs_f64();
    Ok(reaches_gateway(session, vm)?.map(|()| seconds))
}

fn associations(session: &Session, vm: usize) -> u32 {
    let member = session.members.get(vm);
    member.map_or(0, |member| member.view.associations)
}

/// Waits until the VM has an address again, in its own network with its own key.
fn returned(
    session: &mut Session,
    vm: usize,
    associations_before: u32,
) -> Result<Result<(), String>, Stop> {
    let back = |session: &Session| {
        session.state(vm) == State::Addressed && associations(session, vm) != associations_before
    };
    let over = |session: &Session| back(session) || session.state(vm) == State::Failed;
    session.wait_until(Instant::now() + RETURN, over)?;
    if !back(session) {
        return Ok(Err(format!("it stays {}", session.state(vm))));
    }
    // What the NIC says is looked at now and then; it must agree before long.
    let agree = |session: &Session| associated::contradictions(session, vm).is_empty();
    session.wait_until(Instant::now() + Duration::from_secs(3), agree)?;
    let wrong = associated::contradictions(session, vm);
    Ok(match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("; ")),
    })
}

/// Echo requests to the gateway: each is answered.
fn reaches_gateway(session: &mut Session, vm: usize) -> Result<Result<(), String>, Stop> {
    let Some(gateway) = gateway(session, vm) else {
        return Ok(Err("it has no gateway".to_owned()));
    };
    let command = (vm, ping::command(REQUESTS, &gateway));
    let results = session.exec_all(&[command], Duration::from_secs(30))?;
    let output = results.into_iter().next().flatten();
    let ping = output.and_then(|finished| ping::parse(&finished.output));
    let answered = ping.map_or(0, |ping| ping.received);
    Ok(match answered {
        REQUESTS => Ok(()),
        _ => Err(format!("{answered} of {REQUESTS} echo requests answered")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_tell_how_often_how_long_and_what_went_wrong() {
        let mut done = Done {
            returns: vec![2.0, 4.0],
            failure: None,
        };
        let words = done.words(Action::Reload, 2);
        assert_eq!(
            words,
            "reload 2 of 2 times, back after 3.0 s (at most 4.0 s)"
        );
        done.failure = Some("it stays scanning".to_owned());
        assert!(
            done.words(Action::Reload, 5)
                .ends_with(", then it stays scanning")
        );
    }
}
