//! Echo requests to VMs in which nobody can be asked to send any: their access point's end sends them, hostapd's machine or
//! the gateway of a built-in access point. None may be lost.

use super::findings::Findings;
use super::ping_words as ping;
use crate::report::Ping;
use crate::session::Session;
use crate::stop::Stop;
use airlane_ap::gateway::{Probe, ProbeKind};
use airlane_dot11::MacAddr;
use airlane_lane::Micros;
use airlane_scenario::{Check, CheckKind};
use std::time::{Duration, Instant};

/// A guest may still be asking for its address: so long its first answer is waited for.
const FIRST_ANSWER: Duration = Duration::from_secs(30);
/// Between two requests.
const INTERVAL: Micros = Micros::from_millis(200);
/// What is waited for the last answer.
const LAST_ANSWER: Duration = Duration::from_secs(2);
/// How much later than due the last request may be sent: the medium's time stands still while its thread gets no processor.
const LATE: Duration = Duration::from_secs(30);

/// One after the other: a VM of one access point has nothing to do with another's.
pub fn check(
    session: &mut Session,
    findings: &mut Findings,
    checks: &[&Check],
) -> Result<(), Stop> {
    for check in checks {
        let CheckKind::Ping { count } = check.kind else {
            continue;
        };
        let ping = match session.built_in_of(check.vm) {
            Some(access_point) => of_built_in(session, access_point, check.vm, count)?,
            None => of_hostapd(session, check.vm, count)?,
        };
        if let Some(measured) = findings.measured(check.vm) {
            measured.ping = Some(ping);
        }
        let detail = format!(
            "{} of {} echo requests from its gateway answered",
            ping.received, ping.sent
        );
        let passed = ping.sent == count && ping.received == count;
        findings.add_for(session, check, passed, detail);
    }
    Ok(())
}

fn of_hostapd(session: &mut Session, vm: usize, count: u64) -> Result<Ping, Stop> {
    let nothing = Ping {
        sent: count,
        received: 0,
    };
    let Some(command) = command(session, vm, count) else {
        return Ok(nothing);
    };
    let limit = FIRST_ANSWER + Duration::from_secs(20 + 2 * count);
    let results = session.exec_all(&[(session.access_points(), command)], limit)?;
    let output = results.into_iter().flatten().next();
    let ping = output.and_then(|result| ping::parse(&result.output));
    Ok(ping.unwrap_or(nothing))
}

/// The VM's address is the one that its access point's machine has seen, else the one kept for it.
fn command(session: &Session, vm: usize, count: u64) -> Option<String> {
    let known = session.scenario.vms.get(vm)?;
    let leases = session.scenario.leases(known.joins);
    let (_, kept) = leases.into_iter().find(|(mac, _)| *mac == known.mac)?;
    let mac = session.address(vm)?;
    let network = known.joins;
    let tries = FIRST_ANSWER.as_secs();
    let seen = format!(
        "ip -4 neigh | grep -v FAILED | sed -n \"s/^\\([0-9.]*\\) .*lladdr {mac} .*/\\1/p\" | tail -n 1"
    );
    let wait = format!(
        "n=0; while [ $n -lt {tries} ]; do a=$({seen}); a=${{a:-{kept}}}; \
         ping -q -c 1 -W 1 $a >/dev/null && break; n=$((n + 1)); done"
    );
    let ping = ping::command(count, "$a");
    Some(format!("ip netns exec ap{network} sh -c '{wait}; {ping}'"))
}

fn of_built_in(
    session: &mut Session,
    access_point: usize,
    vm: usize,
    count: u64,
) -> Result<Ping, Stop> {
    let Some(station) = session.address(vm).and_then(|mac| mac.parse().ok()) else {
        return Ok(Ping::default());
    };
    let deadline = Instant::now() + FIRST_ANSWER;
    while Instant::now() < deadline {
        if series(session, access_point, station, 1)?.received > 0 {
            break;
        }
    }
    series(session, access_point, station, count)
}

fn series(
    session: &mut Session,
    access_point: usize,
    station: MacAddr,
    count: u64,
) -> Result<Ping, Stop> {
    let probe = Probe {
        station,
        kind: ProbeKind::Echo,
        count: u16::try_from(count).unwrap_or(u16::MAX),
        interval: INTERVAL,
    };
    session.probe(access_point, probe)?;
    let all = Duration::from_micros(INTERVAL.0 * count) + LATE;
    let (began, mut last_sent) = (Instant::now(), None);
    loop {
        let echoes = session.echoes(access_point, station)?;
        if echoes.sent >= count {
            last_sent.get_or_insert_with(Instant::now);
        }
        let waited = last_sent.is_some_and(|at| at.elapsed() >= LAST_ANSWER);
        if echoes.answered >= count || waited || began.elapsed() >= all {
            return Ok(Ping {
                sent: echoes.sent,
                received: echoes.answered,
            });
        }
        session.step(Instant::now() + Duration::from_millis(100))?;
    }
}
