//! Datagrams to each VM, whether anybody in it listens or not: the access point's end sends them to an address that nobody
//! has, in frames to the VM's card, and what the card has acknowledged is counted on the air.

use super::findings::Findings;
use crate::session::Session;
use crate::stop::Stop;
use airlane_ap::gateway::{Probe, ProbeKind};
use airlane_daemon::Delivered;
use airlane_lane::Micros;
use airlane_scenario::{ApKind, Check, CheckKind, Scenario};
use std::time::{Duration, Instant};

/// Bits of one datagram with its headers, as long as fits into an Ethernet frame.
const BITS: u64 = 1_500 * 8;
/// How long the access points' machine may take to start and end a stream.
const PATIENCE: Duration = Duration::from_secs(20);

/// All VMs at the same time.
pub fn check(
    session: &mut Session,
    findings: &mut Findings,
    checks: &[&Check],
) -> Result<(), Stop> {
    if checks.is_empty() {
        return Ok(());
    }
    let before = delivered(session, checks)?;
    let mut commands = Vec::new();
    let mut longest = 0;
    for check in checks {
        let load = Load::of(check);
        longest = load.seconds.max(longest);
        match (session.built_in_of(check.vm), session.address(check.vm)) {
            (Some(access_point), Some(mac)) => {
                if let Ok(station) = mac.parse() {
                    session.probe(access_point, load.probe(station))?;
                }
            }
            (None, Some(mac)) => {
                let command = load.command(session.scenario, check.vm, &mac);
                commands.extend(command.map(|line| (session.access_points(), line)));
            }
            (_, None) => {}
        }
    }
    let deadline = Instant::now() + Duration::from_secs(longest + 1);
    session.exec_all(&commands, Duration::from_secs(longest) + PATIENCE)?;
    session.wait_until(deadline, |_| false)?;
    let after = delivered(session, checks)?;
    for ((check, before), after) in checks.iter().zip(before).zip(after) {
        let (passed, detail) = Load::of(check).outcome(before, after);
        findings.add_for(session, check, passed, detail);
    }
    Ok(())
}

fn delivered(session: &Session, checks: &[&Check]) -> Result<Vec<Delivered>, Stop> {
    let each = checks.iter().map(|check| {
        let station = session.address(check.vm).and_then(|mac| mac.parse().ok());
        station.map_or(Ok(Delivered::default()), |mac| session.delivered(mac))
    });
    each.collect()
}

/// What a check asks for.
#[derive(Clone, Copy, Default)]
struct Load {
    seconds: u64,
    mbps: u64,
    min_percent: f64,
}

impl Load {
    fn of(check: &Check) -> Self {
        match check.kind {
            CheckKind::Downlink {
                seconds,
                udp_mbps: mbps,
                min_percent,
            } => Self {
                seconds,
                mbps,
                min_percent,
            },
            _ => Self::default(),
        }
    }

    /// Microseconds between two datagrams.
    fn interval(&self) -> u64 {
        BITS.checked_div(self.mbps).unwrap_or(BITS).max(1)
    }

    fn count(&self) -> u64 {
        self.seconds * 1_000_000 / self.interval()
    }

    fn probe(&self, station: airlane_dot11::MacAddr) -> Probe {
        Probe {
            station,
            kind: ProbeKind::Datagrams,
            count: u16::try_from(self.count()).unwrap_or(u16::MAX),
            interval: Micros(self.interval()),
        }
    }

    /// The access points' machine has no program that sends datagrams to nobody but `ping`; the card sees no difference.
    fn command(&self, scenario: &Scenario, vm: usize, mac: &str) -> Option<String> {
        let network = scenario.vms.get(vm)?.joins;
        let nobody = nobody(scenario, vm)?;
        let points = scenario.access_points_of(network);
        let device = match points.filter(|ap| ap.kind == ApKind::Hostapd).count() {
            0 | 1 => format!("wlan{network}"),
            _ => format!("br{network}"),
        };
        let seconds = self.interval() as f64 / 1e6;
        Some(format!(
            "ip netns exec ap{network} sh -c 'ip neigh replace {nobody} lladdr {mac} nud permanent dev {device}; \
             timeout {} ping -q -s 1472 -i {seconds:.6} -c {} {nobody} >/dev/null; ip neigh del {nobody} dev {device}'",
            self.seconds,
            self.count()
        ))
    }

    fn outcome(&self, before: Delivered, after: Delivered) -> (bool, String) {
        let acknowledged = after.acknowledged.saturating_sub(before.acknowledged);
        let failed = after.failed.saturating_sub(before.failed);
        let bytes = after
            .acknowledged_bytes
            .saturating_sub(before.acknowledged_bytes);
        let sent = acknowledged + failed;
        let percent = acknowledged as f64 * 100.0 / sent.max(1) as f64;
        let mbps = bytes as f64 * 8e-6 / self.seconds.max(1) as f64;
        let passed = acknowledged > 0 && percent >= self.min_percent;
        let detail = format!(
            "its card has acknowledged {acknowledged} of {sent} data frames ({percent:.0} %), {mbps:.2} Mb/s"
        );
        (passed, detail)
    }
}

/// An address that no VM of the network has: VMs get .100 to .199. Another for each VM, as all are checked together.
fn nobody(scenario: &Scenario, vm: usize) -> Option<String> {
    let network = scenario.network_of(scenario.vms.get(vm)?)?;
    let [a, b, c, own] = network.subnet.address.octets();
    let mut free = (200..=254_u8).filter(|last| *last != own);
    let last = free.nth(vm % 54)?;
    Some(format!("{a}.{b}.{c}.{last}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const LOAD: Load = Load {
        seconds: 5,
        mbps: 4,
        min_percent: 90.0,
    };

    fn counted(acknowledged: u64, failed: u64) -> Delivered {
        Delivered {
            acknowledged,
            acknowledged_bytes: acknowledged * 1_500,
            failed,
        }
    }

    #[test]
    fn it_passes_when_enough_of_the_frames_were_acknowledged() {
        let outcome = |after| LOAD.outcome(counted(10, 1), after);
        let (passed, detail) = outcome(counted(1_660, 2));
        assert!(
            passed && detail.contains("1650 of 1651") && detail.contains("3.96 Mb/s"),
            "{detail}"
        );
        assert!(!outcome(counted(110, 50)).0, "too many were lost");
        assert!(!outcome(counted(10, 1)).0, "nothing was sent");
    }

    #[test]
    fn datagrams_come_as_fast_as_the_load_says() {
        assert_eq!((LOAD.interval(), LOAD.count()), (3_000, 1_666));
    }

    #[test]
    fn each_vm_has_an_address_of_nobody_of_its_own() {
        let text = "[[access_point]]\nname='a'\nchannel=36\naddress='10.0.0.200/24'\n\
                    [[vm]]\nname='one'\n[[vm]]\nname='two'\n";
        let scenario = Scenario::parse(Path::new("s.toml"), text).unwrap();
        let command = LOAD.command(&scenario, 1, "02:00:00:00:00:02").unwrap();
        assert!(
            command.contains("10.0.0.202 lladdr 02:00:00:00:00:02 nud permanent dev wlan0"),
            "{command}"
        );
        assert_eq!(nobody(&scenario, 0).as_deref(), Some("10.0.0.201"));
    }
}
