//! Waiting until every guest is where its checks begin, each in its time.

use super::member::Member;
use super::session::Session;
use super::stop::Stop;
use airlane_guests::state::State;
use std::time::{Duration, Instant};

/// How long an external VM that is to be refused may try.
const REFUSED_AFTER: Duration = Duration::from_secs(20);

/// Takes in what happens until all guests are ready; the first that is not in its time ends the run.
pub fn wait(session: &mut Session) -> Result<(), Stop> {
    loop {
        let mut all = true;
        for number in 0..session.members.len() {
            all &= ready_or_late(session, number)?;
        }
        if all {
            return Ok(());
        }
        session.step(Instant::now() + Duration::from_millis(100))?;
    }
}

/// True when the guest is ready, an error when it is late or cannot go on.
fn ready_or_late(session: &Session, number: usize) -> Result<bool, Stop> {
    let Some(member) = session.members.get(number) else {
        return Ok(true);
    };
    if member.view.state == State::Failed {
        return Err(member.gave_up());
    }
    if ready(session, number, member) {
        return Ok(true);
    }
    late(session, member).map_or(Ok(false), |what| Err(member.trouble(&what)))
}

fn ready(session: &Session, number: usize, member: &Member) -> bool {
    if number == session.access_points() {
        return member.view.access_points.len() >= session.scenario.hostapds().count();
    }
    if member.recipe.is_none() {
        return external_is_ready(session, number, member);
    }
    match member.view.state {
        State::Addressed => true,
        // Its time has not come.
        State::Waiting => session.scenario.vms.get(number).is_some_and(|vm| vm.later),
        State::Refused => session.scenario.expects_refusal(number),
        _ => false,
    }
}

/// Nobody in an external VM says how it fares: its access point says that it holds a key for it, or that its credentials
/// are wrong. Not every access point tells of a refusal: whoever was not let in for a while is taken for refused.
fn external_is_ready(session: &Session, number: usize, member: &Member) -> bool {
    if session.scenario.expects_refusal(number) {
        let long = member.tried.is_some_and(|at| at.elapsed() > REFUSED_AFTER);
        let mac = session.address(number).unwrap_or_default();
        return long
            || session
                .seen_by_access_points()
                .any(|view| view.refuses(&mac));
    }
    let (Some(vm), Some(mac)) = (session.scenario.vms.get(number), session.address(number)) else {
        return false;
    };
    let mut network = session.scenario.access_points_of(vm.joins);
    let holds_key = |name: &str| session.hosts_of(&mac).any(|host| host == name);
    member.view.state == State::Associated && network.any(|ap| holds_key(&ap.name))
}

/// What the guest has not done in its time.
fn late(session: &Session, member: &Member) -> Option<String> {
    let run = &session.scenario.run;
    let state = member.view.state;
    if member.recipe.is_none() {
        let over = member.started.elapsed() > run.external_timeout;
        return over.then(|| {
            let seconds = run.external_timeout.as_secs();
            let network = member.view.ssid.as_ref();
            let network = network.map_or_else(String::new, |ssid| format!(" in {ssid:?}"));
            format!("was waited for {seconds} s (key external_timeout) and is {state}{network}")
        });
    }
    match member.booted {
        None if member.started.elapsed() > run.boot_timeout => Some(format!(
            "has not booted within {} s (key boot_timeout)",
            run.boot_timeout.as_secs()
        )),
        Some(booted) if booted.elapsed() > run.join_timeout => {
            let seconds = run.join_timeout.as_secs();
            Some(format!(
                "has booted, but is still {state} {seconds} s later (key join_timeout)"
            ))
        }
        _ => None,
    }
}
