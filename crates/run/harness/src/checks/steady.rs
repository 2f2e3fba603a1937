//! VMs that share the radio keep their associations while all of them transfer. Before and afterwards the
//! first one transfers alone, the others having left their networks: what all reach together is told as a
//! share of the mean of both, so that a host which becomes slower or faster meanwhile changes little. Emulated guests may be bound by their processors, not by the radio, so the share is
//! told, and only demanded where the scenario says so.

use super::findings::Findings;
use super::gateway::gateway;
use super::iperf::{self, Transfer};
use super::throughput;
use crate::session::Session;
use crate::stop::Stop;
use airlane_guests::state::State;
use airlane_scenario::{Check, CheckKind};
use std::time::{Duration, Instant};

/// How long a return to a network may take.
const RETURN: Duration = Duration::from_secs(90);
/// Most seconds of each of the two transfers alone.
const ALONE: u64 = 10;

/// Alone, all VMs at the same time, and alone again.
pub fn check(
    session: &mut Session,
    findings: &mut Findings,
    checks: &[&Check],
) -> Result<(), Stop> {
    let Some((first, others)) = checks.split_first() else {
        return Ok(());
    };
    let (seconds, min_percent) = wanted(first);
    throughput::start_servers(session)?;
    let alone_before = alone(session, first, others, seconds)?;
    let before: Vec<u32> = checks
        .iter()
        .map(|check| associations(session, check.vm))
        .collect();
    session.progress.say("iperf3: TCP from all VMs");
    let together = transfer(session, checks, seconds)?;
    let kept = checks.iter().zip(before).map(|(check, before)| {
        associations(session, check.vm) == before && session.state(check.vm) == State::Addressed
    });
    let kept: Vec<bool> = kept.collect();
    let alone_after = alone(session, first, others, seconds)?;
    let share = share([alone_before, alone_after], &together);
    for ((check, kept), result) in checks.iter().zip(kept).zip(&together) {
        let (passed, detail) = outcome(kept, result, share, min_percent, seconds);
        findings.add_for(session, check, passed, detail);
    }
    Ok(())
}

fn wanted(check: &Check) -> (u64, f64) {
    match check.kind {
        CheckKind::Steady {
            seconds,
            min_percent,
        } => (seconds, min_percent),
        _ => (0, 0.0),
    }
}

fn associations(session: &Session, vm: usize) -> u32 {
    let member = session.members.get(vm);
    member.map_or(0, |member| member.view.associations)
}

/// What the first VM reaches, in Mb/s, while the others have left their networks; none when it reaches nothing.
fn alone(
    session: &mut Session,
    first: &Check,
    others: &[&Check],
    seconds: u64,
) -> Result<Option<f64>, Stop> {
    leave(session, others)?;
    session.progress.say("iperf3: TCP from one VM alone");
    let mut alone = transfer(session, &[first], seconds.min(ALONE))?;
    come_back(session, others)?;
    Ok(alone.pop().and_then(Result::ok))
}

/// The VMs leave their networks, so that the radio has one place to be.
fn leave(session: &mut Session, checks: &[&Check]) -> Result<(), Stop> {
    tell(session, checks, "wpa_cli -i wlan0 disconnect")?;
    let gone = |session: &Session| {
        let mut vmacs = checks.iter().map(|check| session.vmacs.get(check.vm));
        vmacs.all(|vmac| vmac.is_none_or(|vmac| !vmac.associated))
    };
    session.wait_until(Instant::now() + Duration::from_secs(10), gone)?;
    Ok(())
}

/// The VMs join again; one that does not is found by the check itself.
fn come_back(session: &mut Session, checks: &[&Check]) -> Result<(), Stop> {
    tell(session, checks, "wpa_cli -i wlan0 reconnect")?;
    let there = |session: &Session| {
        let mut states = checks.iter().map(|check| session.state(check.vm));
        states.all(|state| state == State::Addressed)
    };
    session.wait_until(Instant::now() + RETURN, there)?;
    Ok(())
}

fn tell(session: &mut Session, checks: &[&Check], command: &str) -> Result<(), Stop> {
    let commands: Vec<_> = checks
        .iter()
        .map(|check| (check.vm, command.to_owned()))
        .collect();
    session.exec_all(&commands, Duration::from_secs(10))?;
    Ok(())
}

/// What each VM reaches, in Mb/s, or why it reaches nothing.
fn transfer(
    session: &mut Session,
    checks: &[&Check],
    seconds: u64,
) -> Result<Vec<Result<f64, String>>, Stop> {
    let transfer = Transfer {
        udp_mbps: None,
        to_vm: false,
        seconds,
    };
    let command = |check: &&Check| {
        // Without a gateway the command fails in its own words.
        let gateway = gateway(session, check.vm).unwrap_or_else(|| "no-gateway".to_owned());
        // The sum alone: a figure for each second of ten minutes takes a minute on the agent's line.
        let line = transfer.command(&gateway, throughput::port(session, check.vm)) + " -i 0";
        (check.vm, line)
    };
    let commands: Vec<_> = checks.iter().map(command).collect();
    let results = session.exec_all(&commands, Duration::from_secs(seconds + 30))?;
    let read = results.into_iter().map(|result| match result {
        Some(finished) => iperf::parse(&finished.output).map(|outcome| outcome.mbps),
        None => Err("it has not ended in time".to_owned()),
    });
    Ok(read.collect())
}

/// The sum of all as per cent of the mean of one alone before and after, with both figures in Mb/s.
fn share(alone: [Option<f64>; 2], together: &[Result<f64, String>]) -> Option<Share> {
    let [before, after] = alone;
    let alone = before?.midpoint(after?);
    let sum = together.iter().flatten().sum::<f64>();
    (alone > 0.0).then(|| Share {
        alone,
        sum,
        percent: 100.0 * sum / alone,
    })
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Share {
    alone: f64,
    sum: f64,
    percent: f64,
}

fn outcome(
    kept: bool,
    result: &Result<f64, String>,
    share: Option<Share>,
    min_percent: f64,
    seconds: u64,
) -> (bool, String) {
    let mbps = match result {
        Ok(mbps) => *mbps,
        Err(error) => return (false, error.clone()),
    };
    let Some(share) = share else {
        return (false, "nothing was transferred alone".to_owned());
    };
    let lost = if kept {
        "no association was lost"
    } else {
        "it lost its association"
    };
    let detail = format!(
        "{lost} in {seconds} s; {mbps:.2} of {:.2} Mb/s together, {:.0} % of {:.2} Mb/s alone",
        share.sum, share.percent, share.alone
    );
    (kept && mbps > 0.0 && share.percent >= min_percent, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_reach_is_told_as_a_share_of_one_alone() {
        let share = share([Some(9.0), Some(11.0)], &[Ok(4.0), Ok(5.0)]).unwrap();
        assert_eq!((share.sum, share.percent), (9.0, 90.0));
        assert_eq!(super::share([Some(0.0), Some(0.0)], &[Ok(4.0)]), None);
        assert_eq!(super::share([Some(10.0), None], &[Ok(4.0)]), None);
    }

    #[test]
    fn a_lost_association_fails_whatever_flowed() {
        let share = share([Some(10.0); 2], &[Ok(5.0), Ok(5.0)]);
        assert!(outcome(true, &Ok(5.0), share, 85.0, 10).0);
        assert!(!outcome(false, &Ok(5.0), share, 85.0, 10).0);
    }

    #[test]
    fn a_share_below_the_least_one_fails_and_so_does_a_transfer_of_nothing() {
        let share = share([Some(10.0); 2], &[Ok(4.0), Ok(4.0)]);
        assert!(outcome(true, &Ok(4.0), share, 80.0, 10).0);
        assert!(!outcome(true, &Ok(4.0), share, 85.0, 10).0);
        assert!(!outcome(true, &Ok(0.0), share, 0.0, 10).0);
        assert!(!outcome(true, &Err("broken".to_owned()), share, 0.0, 10).0);
        assert!(!outcome(true, &Ok(4.0), None, 0.0, 10).0);
    }
}
