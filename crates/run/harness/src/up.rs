//! Waiting until every guest is where its checks begin, each in its time.

use super::member::Member;
use super::session::Session;
use super::stop::Stop;
use airlane_guests::state::State;
use std::time::{Duration, Instant};

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
        let reason = member.view.reason.as_deref().unwrap_or("no reason given");
        return Err(member.trouble(&format!("cannot go on: {reason}")));
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
    match member.view.state {
        State::Addressed => true,
        State::Refused => session.scenario.expects_refusal(number),
        State::Associated => member.recipe.is_none(),
        _ => false,
    }
}

/// What the guest has not done in its time.
fn late(session: &Session, member: &Member) -> Option<String> {
    let run = &session.scenario.run;
    let state = member.view.state;
    if member.recipe.is_none() {
        let over = member.started.elapsed() > run.external_timeout;
        return over.then(|| {
            format!(
                "was waited for {} s and is {state}",
                run.external_timeout.as_secs()
            )
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
