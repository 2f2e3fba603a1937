//! The card walks away from a VM's access point while its echo requests go on: its supplicant, by its
//! own decision, moves it to another access point of the network, and it keeps its address. airlane
//! only moves the card.

use super::echo::{self, Stream};
use super::findings::Findings;
use super::place::{self, Place, places};
use super::signal;
use crate::session::Session;
use crate::stop::Stop;
use airlane_guests::state::State;
use airlane_scenario::{Check, CheckKind, Position, Walk};
use anyhow::Context;
use std::time::{Duration, Instant};

/// Between two steps of the walk.
const STEP: Duration = Duration::from_millis(250);
/// How long after the walk a supplicant may take to find the better access point.
const PATIENCE: Duration = Duration::from_secs(60);
/// Echo requests go on so long after the VM has its address at the new access point.
const AFTERWARDS: Duration = Duration::from_secs(3);

/// Walks, waits for the VM to roam, and looks at what it cost.
pub fn check(session: &mut Session, findings: &mut Findings, check: &Check) -> Result<(), Stop> {
    let CheckKind::Roamed(walk) = &check.kind else {
        return Ok(());
    };
    arrive(session, check.vm)?;
    let watched: Vec<usize> = [check.vm].into_iter().chain(walk.witness).collect();
    let before = places(session, &watched)?;
    if !echo::start(session, &watched)? {
        let detail = "one of the VMs has no gateway".to_owned();
        findings.add_for(session, check, false, detail);
        return Ok(());
    }
    let took = roam(session, check.vm, walk)?;
    session.wait_until(Instant::now() + AFTERWARDS, |_| false)?;
    let streams = echo::stop(session, &watched)?;
    let after = places(session, &watched)?;
    let mut seen = before.into_iter().zip(after).zip(streams);
    if let Some(((before, after), stream)) = seen.next() {
        let (passed, detail) = outcome(walk, &before, &after, took, stream);
        findings.add_for(session, check, passed, detail);
    }
    if let Some(((before, after), stream)) = seen.next() {
        place::witness(session, findings, check, (&before, &after), stream);
    }
    Ok(())
}

/// Waits until the VM is at the access point that it is said to join. One that did not hear it in its first scan has joined another
/// of the network, and moves by itself; if it does not, the walk shows it.
fn arrive(session: &mut Session, vm: usize) -> Result<(), Stop> {
    let own = session.scenario.vms.get(vm);
    let own = own.and_then(|vm| session.scenario.network_of(vm));
    let own = own.map(|ap| ap.bssid.to_string());
    session.wait_until(Instant::now() + PATIENCE, |session| {
        let view = session.members.get(vm).map(|member| &member.view);
        view.is_some_and(|view| view.state == State::Addressed && view.bssid == own)
    })?;
    Ok(())
}

/// Walks the card; the time from the first step until the VM is addressed at another access point.
fn roam(session: &mut Session, vm: usize, walk: &Walk) -> Result<Option<Duration>, Stop> {
    let card = session.scenario.vms.get(vm).map_or(0, |vm| vm.on);
    let from = session.card_positions.get(card).copied();
    let (began, from) = (Instant::now(), from.context("the VM is on no card")?);
    let length = Duration::from_secs(walk.seconds);
    let view = session.members.get(vm).map(|member| &member.view);
    let old = view.and_then(|view| view.bssid.clone());
    let roamed = |session: &Session| {
        let view = session.members.get(vm).map(|member| &member.view);
        view.is_some_and(|view| {
            view.state == State::Addressed && view.bssid.is_some() && view.bssid != old
        })
    };
    let mut took = None;
    while began.elapsed() < length + PATIENCE {
        let share = began.elapsed().as_secs_f64() / length.as_secs_f64();
        session.place_card(card, between(from, walk.to, share.min(1.0)))?;
        session.wait_until(Instant::now() + STEP, |session| {
            took.is_none() && roamed(session)
        })?;
        if took.is_none() && roamed(session) {
            took = Some(began.elapsed());
        }
        if share >= 1.0 && took.is_some() {
            break;
        }
    }
    Ok(took)
}

/// The place at `share` (0 to 1) of the way.
fn between(Position(from): Position, Position(to): Position, share: f64) -> Position {
    let mut place = from;
    for (at, to) in place.iter_mut().zip(to) {
        *at += (to - *at) * share;
    }
    Position(place)
}

fn outcome(
    walk: &Walk,
    before: &Place,
    after: &Place,
    took: Option<Duration>,
    stream: Option<Stream>,
) -> (bool, String) {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "nowhere".to_owned());
    let from = format!("{} ({})", text(&before.bssid), signal::words(before.signal));
    let to = format!("{} ({})", text(&after.bssid), signal::words(after.signal));
    let Some(took) = took.map(|took| took.as_secs_f64()) else {
        return (false, format!("it has not roamed: {from}, then {to}"));
    };
    let Some(stream) = stream else {
        return (false, "its echo requests have no result".to_owned());
    };
    let kept = before.ip.is_some() && before.ip == after.ip && after.known;
    let ip = text(&after.ip);
    let detail = format!(
        "from {from} to {to} {took:.1} s after the first step; address {ip}; \
         {} of {} echo requests answered, longest gap {:.1} s",
        stream.answered, stream.sent, stream.gap
    );
    (kept && stream.gap <= walk.max_gap, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALK: Walk = Walk {
        to: Position([30.0, 0.0, 0.0]),
        seconds: 10,
        max_gap: 2.0,
        witness: None,
    };

    fn place(bssid: &str, ip: &str) -> Place {
        Place {
            bssid: Some(bssid.to_owned()),
            ip: Some(ip.to_owned()),
            associations: 1,
            signal: Some(-50),
            known: true,
        }
    }

    fn stream(answered: u64, gap: f64) -> Option<Stream> {
        Some(Stream {
            sent: 10,
            answered,
            lost: Vec::new(),
            gap,
        })
    }

    #[test]
    fn a_walk_is_a_straight_line() {
        let (from, to) = (Position([10.0, 4.0, 0.0]), Position([30.0, 0.0, 2.0]));
        assert_eq!(between(from, to, 0.5), Position([20.0, 2.0, 1.0]));
        assert_eq!(between(from, to, 1.0), to);
    }

    #[test]
    fn roaming_passes_with_the_same_address_and_a_small_gap_only() {
        let took = Some(Duration::from_secs(5));
        let (a, b) = (place("a", "10.0.0.100"), place("b", "10.0.0.100"));
        assert!(outcome(&WALK, &a, &b, took, stream(8, 0.4)).0);
        assert!(!outcome(&WALK, &a, &b, took, stream(8, 2.4)).0);
        assert!(!outcome(&WALK, &a, &b, None, stream(10, 0.0)).0);
        assert!(!outcome(&WALK, &a, &b, took, None).0);
        let unknown = Place { known: false, ..b };
        assert!(!outcome(&WALK, &a, &unknown, took, stream(8, 0.4)).0);
        assert!(!outcome(&WALK, &a, &place("b", "10.0.0.101"), took, stream(8, 0.4)).0);
    }
}
