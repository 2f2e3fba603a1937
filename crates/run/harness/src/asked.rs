//! What clients of the control socket want done, on the run's own thread: begun at once, never waited for here. Whatever
//! goes wrong is the client's to know, and no end of the run.

use super::acts;
use super::session::Session;
use super::work::Whose;
use airlane_control::ask::{Ask, Reply, Told, Wanted};
use airlane_scenario::{ACCESS_POINT_VM, ActWords};
use std::time::Instant;

/// Begins all that was asked for, or says why not.
pub fn take_all(session: &mut Session) {
    while let Some(ask) = session.work.asks.pop_front() {
        let Ask { wanted, reply } = ask;
        let begun = match wanted {
            Wanted::Exec {
                vm,
                command,
                input,
                timeout,
            } => {
                let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
                exec(session, &vm, (&command, &input), (&reply, deadline))
            }
            Wanted::Act(words) => act(session, &words, &reply),
        };
        if let Err(why) = begun {
            let _ = reply.tell(Told::Refused(why));
        }
    }
}

fn exec(
    session: &mut Session,
    vm: &str,
    (command, input): (&str, &[u8]),
    (reply, deadline): (&Reply, Option<Instant>),
) -> Result<(), String> {
    let number = guest(session, vm)?;
    session.speaks(number)?;
    let agent = session.members.get_mut(number);
    let agent = agent.and_then(|member| member.agent());
    let agent = agent.ok_or_else(|| format!("the VM `{vm}` does not run"))?;
    let sent = agent.run(command, input);
    let id = sent.map_err(|error| format!("the VM `{vm}` cannot be spoken to: {error:#}"))?;
    let _ = reply.tell(Told::Began);
    session.jobs.told(number, id, reply.clone(), deadline);
    Ok(())
}

/// The number of the guest of that name.
fn guest(session: &Session, vm: &str) -> Result<usize, String> {
    let mut members = session.members.iter();
    members.position(|member| member.name == vm).ok_or_else(|| {
        let names = session.members.iter().map(|member| member.name.as_str());
        let names: Vec<&str> = names.collect();
        let why = match vm {
            ACCESS_POINT_VM => {
                "all access points are built-in: there is no VM of theirs".to_owned()
            }
            _ => format!("no VM is named {vm:?}"),
        };
        format!("{why}\n  remedy: name one of {}", names.join(", "))
    })
}

fn act(session: &mut Session, words: &ActWords, reply: &Reply) -> Result<(), String> {
    let act = session.scenario.act(words)?;
    let undertaking = acts::begin(session, &act)?;
    let _ = reply.tell(Told::Began);
    session.progress.say(&format!("do {}", words.act));
    acts::keep(session, undertaking, Whose::Client(reply.clone()));
    Ok(())
}
