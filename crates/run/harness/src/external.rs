//! VMs that the user starts, in the life of a run: it goes on while they are there, and does not pull the card out of one
//! that runs.

use crate::session::Session;
use crate::stop::Stop;
use signal_hook::consts::SIGINT;
use std::time::{Duration, Instant};

/// How long a VM that has gone may take to attach again before the run ends.
const AGAIN: Duration = Duration::from_secs(30);
/// How often is looked whether somebody has gone.
const LOOK: Duration = Duration::from_millis(500);

/// What a run does when its checks are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hold {
    /// It ends, also where external VMs are attached.
    No,
    /// It ends when the external VMs have gone, or by Ctrl-C; without such VMs at once.
    #[default]
    WhileExternal,
    /// It ends by Ctrl-C.
    UntilInterrupted,
}

/// Keeps all up. `meanwhile` is done about twice a second. Ctrl-C is the ordinary end.
pub fn hold(
    session: &mut Session,
    hold: Hold,
    meanwhile: &mut dyn FnMut(&Session),
) -> Result<(), Stop> {
    let while_external = hold == Hold::WhileExternal && has_external(session);
    if hold == Hold::No || !(while_external || hold == Hold::UntilInterrupted) {
        return Ok(());
    }
    let until = match while_external {
        true => format!("until {} has gone, or Ctrl-C", names(&external(session))),
        false => "until Ctrl-C".to_owned(),
    };
    session
        .progress
        .say(&format!("all checks made; holding {until}"));
    let mut gone_since = None;
    loop {
        match session.step(Instant::now() + LOOK) {
            Err(Stop::Interrupted(signal)) => return farewell(session, signal),
            other => other?,
        }
        meanwhile(session);
        if while_external && has_gone(session, &mut gone_since) {
            return Ok(());
        }
    }
}

/// Whether all external VMs have been gone for long enough; says so when the last goes.
fn has_gone(session: &mut Session, since: &mut Option<Instant>) -> bool {
    if !attached(session).is_empty() {
        *since = None;
        return false;
    }
    if since.is_none() {
        let all = names(&external(session));
        let seconds = AGAIN.as_secs();
        session.progress.say(&format!(
            "{all} has gone; the run ends in {seconds} s, unless it attaches again"
        ));
    }
    since.get_or_insert_with(Instant::now).elapsed() >= AGAIN
}

/// After Ctrl-C: while a VM of the user's is attached, it is asked to go first; a second Ctrl-C ends the run all the same.
/// Other signals come from programs, which wait for nobody.
pub fn farewell(session: &mut Session, signal: i32) -> Result<(), Stop> {
    let there = attached(session);
    if signal != SIGINT || there.is_empty() {
        return Ok(());
    }
    session.progress.say(&format!(
        "shut down {} first: the run ends as soon as it has gone. Ctrl-C again pulls the card out of the running VM",
        names(&there)
    ));
    loop {
        match session.step(Instant::now() + LOOK) {
            Err(Stop::Interrupted(_)) => return Ok(()),
            other => other?,
        }
        if attached(session).is_empty() {
            return Ok(());
        }
    }
}

/// A run that cannot go on waits for VMs of the user's all the same, as after Ctrl-C.
pub fn after_failure(session: &mut Session, stop: &Stop) -> Result<(), Stop> {
    if attached(session).is_empty() {
        return Ok(());
    }
    session
        .progress
        .say(&format!("the run cannot go on: {stop}"));
    farewell(session, SIGINT)
}

fn has_external(session: &Session) -> bool {
    session.scenario.vms.iter().any(|vm| vm.external)
}

/// The names of all external VMs.
fn external(session: &Session) -> Vec<String> {
    let external = session.scenario.vms.iter().filter(|vm| vm.external);
    external.map(|vm| vm.name.clone()).collect()
}

/// The names of those that are attached now.
fn attached(session: &Session) -> Vec<String> {
    let numbered = session.scenario.vms.iter().zip(&session.vmacs);
    let there = numbered.filter(|(vm, vmac)| vm.external && vmac.attached);
    there.map(|(vm, _)| vm.name.clone()).collect()
}

fn names(vms: &[String]) -> String {
    let quoted: Vec<String> = vms.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(" and ")
}
