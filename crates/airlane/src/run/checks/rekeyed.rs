//! The access point replaces its keys while data flows: the key of the VM alone and the one of the whole
//! BSS (IEEE 802.11-2020 12.7.6 and 12.7.7). The VM says that both were replaced, and the transfer goes on.

use super::iperf::{self, Transfer};
use super::{Findings, gateway, peers, throughput};
use crate::guest::state::Rekeys;
use crate::run::session::Session;
use crate::run::stop::Stop;
use crate::scenario::{Check, CheckKind};
use std::time::{Duration, Instant};

/// In which quarters of the transfer the access point is told to replace its keys.
const QUARTERS: [u32; 2] = [1, 2];

/// All VMs at the same time.
pub fn check(
    session: &mut Session,
    findings: &mut Findings,
    checks: &[&Check],
) -> Result<(), Stop> {
    let Some(seconds) = checks.iter().map(|check| length(check)).max() else {
        return Ok(());
    };
    throughput::start_servers(session)?;
    session.progress.say("iperf3 while all keys are replaced");
    let before: Vec<Rekeys> = checks
        .iter()
        .map(|check| rekeys(session, check.vm))
        .collect();
    let began = Instant::now();
    let mut transfers = Vec::new();
    for check in checks {
        let command = transfer(session, check);
        transfers.push(session.exec(check.vm, &command)?);
    }
    for quarter in QUARTERS {
        session.wait_until(began + Duration::from_secs(seconds) * quarter / 4, |_| {
            false
        })?;
        replace_keys(session, checks)?;
    }
    let limit = Duration::from_secs(2 * seconds + 20);
    let results = session.finish(&transfers, limit)?;
    for ((check, before), result) in checks.iter().zip(before).zip(results) {
        let output = result.map(|result| result.output).unwrap_or_default();
        let replaced = since(rekeys(session, check.vm), before);
        let (passed, detail) = outcome(replaced, &output);
        findings.add_for(session, check, passed, detail);
    }
    Ok(())
}

fn length(check: &Check) -> u64 {
    match check.kind {
        CheckKind::Rekeyed { seconds } => seconds,
        _ => 0,
    }
}

fn rekeys(session: &Session, vm: usize) -> Rekeys {
    let member = session.members.get(vm);
    member.map(|member| member.view.rekeys).unwrap_or_default()
}

fn since(now: Rekeys, before: Rekeys) -> Rekeys {
    Rekeys {
        pairwise: now.pairwise.saturating_sub(before.pairwise),
        group: now.group.saturating_sub(before.group),
    }
}

/// Without a gateway the command fails in its own words.
fn transfer(session: &Session, check: &Check) -> String {
    let transfer = Transfer {
        udp_mbps: None,
        to_vm: false,
        seconds: length(check),
    };
    let gateway = gateway(session, check.vm).unwrap_or_else(|| "no-gateway".to_owned());
    transfer.command(&gateway, throughput::port(session, check.vm))
}

/// First each VM's own key, then the one of each BSS. These are test commands of hostapd, which
/// Debian's build has.
fn replace_keys(session: &mut Session, checks: &[&Check]) -> Result<(), Stop> {
    let mut commands = Vec::new();
    for check in checks {
        if let Some(vm) = session.scenario.vms.get(check.vm) {
            let cli = peers::hostapd_cli(vm.joins);
            let command = format!(
                "{cli} raw REKEY_PTK {}; sleep 1; {cli} raw REKEY_GTK",
                vm.mac
            );
            commands.push((session.access_points(), command));
        }
    }
    session.exec_all(&commands, Duration::from_secs(20))?;
    Ok(())
}

/// Whether both kinds of keys were replaced and data flowed to the end.
fn outcome(replaced: Rekeys, output: &str) -> (bool, String) {
    let keys = format!(
        "its own key was replaced {} times, the group's {} times",
        replaced.pairwise, replaced.group
    );
    let transfer = match iperf::parse(output) {
        Ok(transfer) => transfer,
        Err(error) => return (false, format!("{keys}; the transfer failed ({error})")),
    };
    let rates: Vec<f64> = transfer.intervals.iter().map(|(_, mbps)| *mbps).collect();
    let flowing = rates.iter().filter(|mbps| **mbps > 0.0).count();
    let to_the_end = rates.last().is_some_and(|mbps| *mbps > 0.0) && 2 * flowing > rates.len();
    let detail = format!(
        "{keys}; {:.2} Mb/s, data in {flowing} of {} intervals",
        transfer.mbps,
        rates.len()
    );
    (
        replaced.pairwise > 0 && replaced.group > 0 && to_the_end,
        detail,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Rekeys = Rekeys {
        pairwise: 1,
        group: 2,
    };

    fn report(rates: &[f64]) -> String {
        let interval = |(index, mbps): (usize, &f64)| {
            format!(
                r#"{{"sum": {{"end": {}.0, "bits_per_second": {}}}}}"#,
                index + 1,
                mbps * 1e6
            )
        };
        let intervals: Vec<String> = rates.iter().enumerate().map(interval).collect();
        let intervals = intervals.join(",");
        format!(
            r#"{{"intervals": [{intervals}], "end": {{"sum_received": {{"bits_per_second": 1}}}}}}"#
        )
    }

    #[test]
    fn both_keys_must_be_replaced() {
        let flowing = report(&[5.0; 4]);
        assert!(outcome(BOTH, &flowing).0);
        assert!(!outcome(Rekeys { group: 0, ..BOTH }, &flowing).0);
        let unchanged = Rekeys {
            pairwise: 0,
            ..BOTH
        };
        assert!(!outcome(unchanged, &flowing).0);
    }

    #[test]
    fn data_must_flow_to_the_end() {
        assert!(outcome(BOTH, &report(&[5.0, 0.0, 5.0, 5.0])).0, "a pause");
        assert!(!outcome(BOTH, &report(&[5.0, 5.0, 5.0, 0.0])).0);
        assert!(!outcome(BOTH, &report(&[0.0, 0.0, 0.0, 5.0])).0);
        assert!(!outcome(BOTH, "").0);
    }

    #[test]
    fn keys_replaced_before_the_check_do_not_count() {
        assert_eq!(since(BOTH, BOTH), Rekeys::default());
    }
}
