//! 802.11n between a VM and its access point: the rates of both directions as the VM's driver says, and
//! A-MPDUs both ways as the medium counts them, while first one of the two and then the other sends.

use super::findings::Findings;
use super::gateway::gateway;
use super::iperf::Transfer;
use super::throughput;
use crate::session::Session;
use crate::stop::Stop;
use airlane_dot11::Width;
use airlane_scenario::{Check, CheckKind};
use std::time::Duration;

/// Offered load; more than emulated guests can send.
const UDP_MBPS: u64 = 60;
/// The least A-MPDUs of a phase: a few may be of whoever only answers.
const LEAST: u64 = 10;

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    /// Such as `270.0 MBit/s MCS 15 40MHz`.
    tx: Option<String>,
    rx: Option<String>,
    /// A-MPDUs while the VM sent, and while its access point did.
    up: u64,
    down: u64,
}

/// Sends UDP one way, then the other.
pub fn check(session: &mut Session, findings: &mut Findings, check: &Check) -> Result<(), Stop> {
    let CheckKind::HighThroughput { seconds } = check.kind else {
        return Ok(());
    };
    throughput::start_servers(session)?;
    let (up, said) = phase(session, check.vm, false, seconds)?;
    let tx = value(&said, "tx bitrate:");
    let (down, said) = phase(session, check.vm, true, seconds)?;
    let rx = value(&said, "rx bitrate:");
    let vm = session.scenario.vms.get(check.vm);
    let network = vm.and_then(|vm| session.scenario.network_of(vm));
    let width = network.and_then(|network| network.width);
    let (passed, detail) = outcome(&Seen { tx, rx, up, down }, width);
    findings.add_for(session, check, passed, detail);
    Ok(())
}

/// How many A-MPDUs there were, and what the VM says of its link when it is over.
fn phase(
    session: &mut Session,
    vm: usize,
    to_vm: bool,
    seconds: u64,
) -> Result<(u64, String), Stop> {
    // Without a gateway the command fails, and nothing is aggregated.
    let gateway = gateway(session, vm).unwrap_or_else(|| "no-gateway".to_owned());
    let transfer = Transfer {
        udp_mbps: Some(UDP_MBPS),
        to_vm,
        seconds,
    };
    let send = transfer.command(&gateway, throughput::port(session, vm));
    let command = (vm, format!("{send} >/dev/null; iw dev wlan0 link"));
    let before = session.counter("air_aggregates")?;
    let results = session.exec_all(&[command], Duration::from_secs(2 * seconds + 20))?;
    let after = session.counter("air_aggregates")?;
    let finished = results.into_iter().next().flatten();
    let said = finished.map(|finished| finished.output).unwrap_or_default();
    Ok((after.saturating_sub(before), said))
}

/// What stands behind `key` in what `iw` prints.
fn value(output: &str, key: &str) -> Option<String> {
    let mut lines = output.lines().map(str::trim);
    let value = lines.find_map(|line| line.strip_prefix(key))?;
    Some(value.trim().to_owned())
}

/// The VM's own frames must be as wide as the channel; an access point on hwsim chooses the width of its
/// frames without knowing how they fare.
fn outcome(seen: &Seen, width: Option<Width>) -> (bool, String) {
    let text = |rate: &Option<String>| rate.clone().unwrap_or_else(|| "unknown".to_owned());
    let (tx, rx) = (text(&seen.tx), text(&seen.rx));
    let wide = matches!(width, Some(Width::Mhz40Above | Width::Mhz40Below));
    let rates = tx.contains("MCS") && rx.contains("MCS") && (!wide || tx.contains("40MHz"));
    let detail = format!(
        "sends at {tx}, receives at {rx}; {} A-MPDUs while it sent, {} while its access point did",
        seen.up, seen.down
    );
    (rates && seen.up >= LEAST && seen.down >= LEAST, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "Connected to 02:00:00:00:01:01 (on wlan0)\n\tsignal: -50 dBm\n\
        \trx bitrate: 130.0 MBit/s MCS 15\n\ttx bitrate: 81.0 MBit/s MCS 10 40MHz\n";

    fn seen() -> Seen {
        Seen {
            tx: value(LINK, "tx bitrate:"),
            rx: value(LINK, "rx bitrate:"),
            up: 30,
            down: 40,
        }
    }

    fn passes(seen: &Seen) -> bool {
        outcome(seen, Some(Width::Mhz40Above)).0
    }

    #[test]
    fn wide_rates_and_aggregates_both_ways_pass() {
        assert_eq!(seen().tx.as_deref(), Some("81.0 MBit/s MCS 10 40MHz"));
        assert!(passes(&seen()));
    }

    #[test]
    fn each_of_them_is_needed() {
        let tx = |rate: &str| Some(rate.to_owned());
        let narrow = tx("65.0 MBit/s MCS 7");
        assert!(!passes(&Seen {
            tx: narrow.clone(),
            ..seen()
        }));
        assert!(
            outcome(
                &Seen {
                    tx: narrow,
                    ..seen()
                },
                Some(Width::Mhz20)
            )
            .0
        );
        assert!(!passes(&Seen {
            rx: tx("54.0 MBit/s"),
            ..seen()
        }));
        assert!(!passes(&Seen { rx: None, ..seen() }));
        assert!(!passes(&Seen { up: 9, ..seen() }));
        assert!(!passes(&Seen { down: 9, ..seen() }));
    }
}
