//! An access point dies without a word: its hostapd is killed and its radio switched off. The VM notices
//! by the beacons that fail to come, as the NIC, the driver and the supplicant each say. The access
//! point comes back, and the VM with it. airlane tells the VM nothing.

use super::echo::{self, Stream};
use super::findings::Findings;
use super::gateway::gateway;
use super::ping_words as ping;
use super::place::{self, Place, places};
use crate::session::Session;
use crate::stop::Stop;
use airlane_daemon::journal::Kind;
use airlane_guests::orders;
use airlane_guests::state::State;
use airlane_scenario::{Check, CheckKind};
use std::time::{Duration, Instant};

/// How long a VM may take to notice that its access point is gone.
const NOTICE: Duration = Duration::from_secs(30);
/// How long an access point may take to come up again, and the VM to come back to it.
const RETURN: Duration = Duration::from_secs(90);
/// In this time the radio has told what happened before the outage.
const LATELY: Duration = Duration::from_millis(500);
/// How long an order to the access points may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// IEEE 802.11-2020 table 9-49, DISASSOC_DUE_TO_INACTIVITY: what mac80211 says of an access point that it
/// does not hear any more.
const INACTIVITY: &str = "4";

/// An access point, by its number and its network's.
struct Victim {
    number: usize,
    network: usize,
    name: String,
}

/// What was seen of an outage, in seconds.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Until the VM said that it has lost its access point.
    noticed: Option<f64>,
    /// In its own words.
    reason: Option<String>,
    /// Notifications of missed beacons that its card has had by then.
    missed: usize,
    /// From the access point's return until the VM was in its network again.
    returned: Option<f64>,
}

/// Kills, waits, revives, waits.
pub fn check(session: &mut Session, findings: &mut Findings, check: &Check) -> Result<(), Stop> {
    let CheckKind::Outage { witness, seconds } = check.kind else {
        return Ok(());
    };
    let watched = [check.vm, witness];
    let before = places(session, &watched)?;
    let victim = victim(session, check.vm);
    let (Some(victim), true) = (victim, echo::start(session, &watched)?) else {
        let detail = "one of the VMs is in no network".to_owned();
        findings.add_for(session, check, false, detail);
        return Ok(());
    };
    let seen = outage(session, check.vm, &victim, Duration::from_secs(seconds))?;
    let answered = answers(session, check.vm)?;
    let streams = echo::stop(session, &watched)?;
    let after = places(session, &watched)?;
    let mut all = before.into_iter().zip(after).zip(streams);
    if let Some(((before, after), stream)) = all.next() {
        let (passed, detail) = outcome(&seen, (&before, &after), stream, answered);
        let detail = format!("`{}` gone for {seconds} s: {detail}", victim.name);
        findings.add_for(session, check, passed, detail);
    }
    if let Some(((before, after), stream)) = all.next() {
        place::witness(session, findings, check, (&before, &after), stream);
    }
    Ok(())
}

/// The access point where the VM is.
fn victim(session: &Session, vm: usize) -> Option<Victim> {
    let bssid = session.members.get(vm)?.view.bssid.as_deref()?;
    let mut points = session.scenario.access_points.iter().enumerate();
    let (number, ap) = points.find(|(_, ap)| ap.bssid.to_string() == bssid)?;
    Some(Victim {
        number,
        network: ap.network,
        name: ap.name.clone(),
    })
}

fn outage(
    session: &mut Session,
    vm: usize,
    victim: &Victim,
    length: Duration,
) -> Result<Seen, Stop> {
    let access_points = session.access_points();
    let events = session.events()?;
    session.wait_until(Instant::now() + LATELY, |_| false)?;
    events.try_iter().for_each(drop);
    let died = Instant::now();
    session
        .progress
        .say(&format!("killing the access point {}", victim.name));
    session.exec_all(
        &[(access_points, orders::off(victim.number, victim.network))],
        PATIENCE,
    )?;
    let lost = |session: &Session| session.state(vm) == State::Scanning;
    let noticed = session.wait_until(died + NOTICE.max(length), lost)?;
    let mut seen = Seen {
        noticed: noticed.then(|| died.elapsed().as_secs_f64()),
        reason: session
            .members
            .get(vm)
            .and_then(|member| member.view.lost.clone()),
        ..Seen::default()
    };
    session.wait_until(died + length, |_| false)?;
    let missed = |kind: &Kind| matches!(kind, Kind::BeaconsMissed { .. });
    let of_vm = events.try_iter().filter(|event| event.lane.index() == vm);
    seen.missed = of_vm.filter(|event| missed(&event.kind)).count();
    let revived = Instant::now();
    session
        .progress
        .say(&format!("starting the access point {}", victim.name));
    session.exec(access_points, &orders::on(victim.number, victim.network))?;
    let back = |session: &Session| session.state(vm) == State::Addressed;
    let returned = noticed && session.wait_until(revived + RETURN, back)?;
    seen.returned = returned.then(|| revived.elapsed().as_secs_f64());
    Ok(seen)
}

/// How many of five echo requests are answered when all is over.
fn answers(session: &mut Session, vm: usize) -> Result<u64, Stop> {
    let gateway = gateway(session, vm).unwrap_or_default();
    let command = (vm, ping::command(5, &gateway));
    let results = session.exec_all(&[command], Duration::from_secs(30))?;
    let output = results.into_iter().next().flatten();
    let ping = output.and_then(|finished| ping::parse(&finished.output));
    Ok(ping.map_or(0, |ping| ping.received))
}

fn outcome(
    seen: &Seen,
    (before, after): (&Place, &Place),
    stream: Option<Stream>,
    answered: u64,
) -> (bool, String) {
    let reason = seen.reason.as_deref().unwrap_or("none");
    let Some(noticed) = seen.noticed else {
        return (false, "it has not noticed".to_owned());
    };
    let told = format!(
        "noticed after {noticed:.1} s (reason {reason}, {} missed-beacon notifications)",
        seen.missed
    );
    let Some(returned) = seen.returned else {
        return (false, format!("{told}; it has not come back"));
    };
    let same = before.ip.is_some() && before.ip == after.ip && before.bssid == after.bssid;
    let gap = stream.map_or_else(|| "?".to_owned(), |stream| format!("{:.1}", stream.gap));
    let detail = format!(
        "{told}; back {returned:.1} s after the access point, {gap} s without an answer, \
         then {answered} of 5 echo requests answered"
    );
    let by_beacons = reason == INACTIVITY && seen.missed > 0;
    (same && after.known && by_beacons && answered == 5, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place {
            bssid: Some("02:00:00:00:01:01".to_owned()),
            ip: Some("10.0.0.100".to_owned()),
            associations: 1,
            signal: Some(-50),
            known: true,
        }
    }

    fn seen() -> Seen {
        Seen {
            noticed: Some(2.0),
            reason: Some("4".to_owned()),
            missed: 3,
            returned: Some(5.0),
        }
    }

    fn passes(seen: &Seen, after: &Place, answered: u64) -> bool {
        outcome(seen, (&place(), after), None, answered).0
    }

    #[test]
    fn an_outage_noticed_by_beacons_and_survived_passes() {
        assert!(passes(&seen(), &place(), 5));
        assert!(!passes(&seen(), &place(), 4));
    }

    #[test]
    fn a_loss_for_another_reason_fails() {
        let reason = Some("3".to_owned());
        assert!(!passes(&Seen { reason, ..seen() }, &place(), 5));
        assert!(!passes(
            &Seen {
                missed: 0,
                ..seen()
            },
            &place(),
            5
        ));
        let noticed = None;
        assert!(!passes(&Seen { noticed, ..seen() }, &place(), 5));
    }

    #[test]
    fn a_vm_that_comes_back_elsewhere_or_not_at_all_fails() {
        let returned = None;
        assert!(!passes(&Seen { returned, ..seen() }, &place(), 5));
        let ip = Some("10.0.0.101".to_owned());
        assert!(!passes(&seen(), &Place { ip, ..place() }, 5));
        let known = false;
        assert!(!passes(&seen(), &Place { known, ..place() }, 5));
    }
}
