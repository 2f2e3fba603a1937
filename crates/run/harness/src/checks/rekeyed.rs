//! The access point replaces its keys while data flows: the key of the VM alone and the one of the whole
//! BSS (IEEE 802.11-2020 12.7.6 and 12.7.7). The VM says that both were replaced, the NIC has got new ones
//! (unless the driver encrypts by itself), and the transfer goes on.

use super::findings::Findings;
use super::gateway::gateway;
use super::iperf::{self, Transfer};
use super::throughput;
use crate::acts;
use crate::session::Session;
use crate::stop::Stop;
use airlane_guests::orders;
use airlane_guests::state::Rekeys;
use airlane_scenario::{Check, CheckKind};
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
    let before: Vec<Keys> = checks.iter().map(|check| keys(session, check.vm)).collect();
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
        let replaced = keys(session, check.vm).since(before);
        let vm = session.scenario.vms.get(check.vm);
        let in_card = vm.is_none_or(|vm| !vm.swcrypto);
        let (passed, detail) = outcome(replaced, in_card, &output);
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

/// What was counted of a VM's keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Keys {
    /// As the VM says.
    told: Rekeys,
    /// Put into the card.
    set: u64,
}

impl Keys {
    fn since(self, before: Self) -> Self {
        Self {
            told: Rekeys {
                pairwise: self.told.pairwise.saturating_sub(before.told.pairwise),
                group: self.told.group.saturating_sub(before.told.group),
            },
            set: self.set.saturating_sub(before.set),
        }
    }

    /// Both kinds were replaced; those of the card, one by one, came into it.
    fn replaced(self, in_card: bool) -> bool {
        self.told.pairwise > 0 && self.told.group > 0 && (!in_card || self.set >= 2)
    }
}

fn keys(session: &Session, vm: usize) -> Keys {
    let told = session.members.get(vm).map(|member| member.view.rekeys);
    Keys {
        told: told.unwrap_or_default(),
        set: session.vmacs.get(vm).map_or(0, |vmac| vmac.keys),
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

/// First each VM's own key, then the one of each BSS.
fn replace_keys(session: &mut Session, checks: &[&Check]) -> Result<(), Stop> {
    let mut commands = Vec::new();
    for check in checks {
        if let Ok((ap, mac)) = acts::host_of(session, check.vm) {
            commands.push((session.access_points(), orders::rekey(ap, mac)));
        }
    }
    session.exec_all(&commands, Duration::from_secs(20))?;
    Ok(())
}

/// Whether both kinds of keys were replaced and data flowed to the end.
fn outcome(keys: Keys, in_card: bool, output: &str) -> (bool, String) {
    let words = format!(
        "its own key was replaced {} times, the group's {} times, {} keys came into the card",
        keys.told.pairwise, keys.told.group, keys.set
    );
    let transfer = match iperf::parse(output) {
        Ok(transfer) => transfer,
        Err(error) => return (false, format!("{words}; the transfer failed ({error})")),
    };
    let rates: Vec<f64> = transfer.intervals.iter().map(|(_, mbps)| *mbps).collect();
    let flowing = rates.iter().filter(|mbps| **mbps > 0.0).count();
    let flows = flows_in_each_quarter(&rates);
    let detail = format!(
        "{words}; {:.2} Mb/s, data in {flowing} of {} intervals",
        transfer.mbps,
        rates.len()
    );
    (keys.replaced(in_card) && flows, detail)
}

/// Whether each quarter of a transfer has an interval with data: before the keys are replaced, after each time, and at the end. Single
/// intervals without data are no fault of the keys: on a busy host a guest may stand still for a second.
fn flows_in_each_quarter(rates: &[f64]) -> bool {
    let quarter = |number: usize| {
        let (from, to) = (number * rates.len() / 4, (number + 1) * rates.len() / 4);
        rates.get(from..to).unwrap_or_default()
    };
    (0..4).all(|number| quarter(number).iter().any(|mbps| *mbps > 0.0))
}

#[cfg(test)]
mod tests {
    use super::super::iperf::report;
    use super::*;

    const BOTH: Keys = Keys {
        told: Rekeys {
            pairwise: 1,
            group: 2,
        },
        set: 3,
    };

    #[test]
    fn both_keys_must_be_replaced() {
        let flowing = report(&[5.0; 4]);
        let told = |pairwise, group| Keys {
            told: Rekeys { pairwise, group },
            ..BOTH
        };
        assert!(outcome(BOTH, true, &flowing).0);
        assert!(!outcome(told(1, 0), true, &flowing).0);
        assert!(!outcome(told(0, 1), true, &flowing).0);
    }

    #[test]
    fn keys_of_the_card_must_come_into_it() {
        let flowing = report(&[5.0; 4]);
        let kept = Keys { set: 1, ..BOTH };
        assert!(!outcome(kept, true, &flowing).0);
        assert!(outcome(kept, false, &flowing).0, "software crypto");
    }

    #[test]
    fn data_must_flow_in_each_quarter() {
        let passed = |rates: &[f64]| outcome(BOTH, true, &report(rates)).0;
        assert!(passed(&[5.0, 0.0, 5.0, 5.0, 0.0, 5.0, 5.0, 0.0]), "pauses");
        assert!(!passed(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 0.0, 0.0]));
        assert!(!passed(&[5.0, 5.0, 0.0, 0.0, 5.0, 5.0, 5.0, 5.0]));
        assert!(!passed(&[0.0, 0.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0]));
        assert!(!outcome(BOTH, true, "").0);
    }

    #[test]
    fn keys_replaced_before_the_check_do_not_count() {
        assert_eq!(BOTH.since(BOTH), Keys::default());
    }
}
