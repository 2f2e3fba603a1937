//! iperf3 from and to each VM, TCP and UDP: four phases, all VMs at the same time in each.

use super::findings::Findings;
use super::gateway::gateway;
use super::iperf::{self, FIRST_PORT, Outcome, Transfer};
use crate::report::Both;
use crate::session::Session;
use crate::stop::Stop;
use airlane_scenario::{ApKind, Check, CheckKind};
use std::time::Duration;

/// What one VM has reached in the phases so far; a failure in its own words.
type Reached = Vec<Result<f64, String>>;

/// (phase, UDP, to the VM)
const PHASES: [(&str, bool, bool); 4] = [
    ("TCP from all VMs", false, false),
    ("TCP to all VMs", false, true),
    ("UDP from all VMs", true, false),
    ("UDP to all VMs", true, true),
];

/// All phases.
pub fn check(
    session: &mut Session,
    findings: &mut Findings,
    checks: &[&Check],
) -> Result<(), Stop> {
    if checks.is_empty() {
        return Ok(());
    }
    let mut reached: Vec<Reached> = vec![Vec::new(); checks.len()];
    start_servers(session)?;
    for (name, udp, to_vm) in PHASES {
        session.progress.say(&format!("iperf3: {name}"));
        let results = phase(session, checks, udp, to_vm)?;
        for (index, (check, result)) in checks.iter().zip(results).enumerate() {
            show(session, check.vm, to_vm, &result);
            if let Some(reached) = reached.get_mut(index) {
                reached.push(result.map(|outcome| outcome.mbps));
            }
        }
    }
    for (check, reached) in checks.iter().zip(reached) {
        conclude(session, findings, check, &reached);
    }
    Ok(())
}

/// The guest runs two servers for each access point; more VMs than that need more.
pub fn start_servers(session: &mut Session) -> Result<(), Stop> {
    let scenario = session.scenario;
    let mut commands = Vec::new();
    let numbered = scenario.access_points.iter().enumerate();
    for (index, _) in numbered.filter(|(_, ap)| ap.kind == ApKind::Hostapd) {
        let vms = scenario.vms.iter().filter(|vm| vm.joins == index).count();
        for port in (FIRST_PORT..).take(vms).skip(2) {
            let command = format!("ip netns exec ap{index} iperf3 -s -D -p {port}");
            commands.push((session.access_points(), command));
        }
    }
    session.exec_all(&commands, Duration::from_secs(20))?;
    Ok(())
}

/// The port of a VM's own server: VMs of one network each have another.
pub fn port(session: &Session, vm: usize) -> u16 {
    let joins = session.scenario.vms.get(vm).map(|vm| vm.joins);
    let before = session
        .scenario
        .vms
        .iter()
        .take(vm)
        .filter(|other| Some(other.joins) == joins);
    (FIRST_PORT..).nth(before.count()).unwrap_or(FIRST_PORT)
}

fn phase(
    session: &mut Session,
    checks: &[&Check],
    udp: bool,
    to_vm: bool,
) -> Result<Vec<Result<Outcome, String>>, Stop> {
    let mut jobs = Vec::new();
    let mut longest = 0;
    for check in checks {
        let CheckKind::Throughput {
            seconds, udp_mbps, ..
        } = check.kind
        else {
            continue;
        };
        longest = seconds.max(longest);
        let transfer = Transfer {
            udp_mbps: udp.then_some(udp_mbps),
            to_vm,
            seconds,
        };
        // Without a gateway the command fails in its own words.
        let gateway = gateway(session, check.vm).unwrap_or_else(|| "no-gateway".to_owned());
        jobs.push((
            check.vm,
            transfer.command(&gateway, port(session, check.vm)),
        ));
    }
    let results = session.exec_all(&jobs, Duration::from_secs(2 * longest + 20))?;
    let read = results.into_iter().map(|result| match result {
        Some(finished) => iperf::parse(&finished.output),
        None => Err("it has not ended in time".to_owned()),
    });
    Ok(read.collect())
}

/// Where no live rates are counted, the table shows the latest result.
fn show(session: &mut Session, vm: usize, to_vm: bool, result: &Result<Outcome, String>) {
    let counted = session
        .vmacs
        .get(vm)
        .is_some_and(|vmac| vmac.bytes.is_some());
    if let (Some(rate), Ok(outcome), false) = (session.rates.get_mut(vm), result, counted) {
        let (up, down) = rate.unwrap_or_default();
        *rate = Some(match to_vm {
            true => (up, outcome.mbps),
            false => (outcome.mbps, down),
        });
    }
    session.draw();
}

fn conclude(session: &mut Session, findings: &mut Findings, check: &Check, reached: &Reached) {
    let CheckKind::Throughput { min_mbps, .. } = check.kind else {
        return;
    };
    let rate = |phase: usize| reached.get(phase)?.as_ref().ok().copied();
    let both = |tx, rx| {
        Some(Both {
            tx: rate(tx)?,
            rx: rate(rx)?,
        })
    };
    let (tcp, udp) = (both(0, 1), both(2, 3));
    if let Some(measured) = findings.measured(check.vm) {
        (measured.tcp, measured.udp) = (tcp, udp);
    }
    let enough = tcp.is_some_and(|tcp| tcp.tx >= min_mbps && tcp.rx >= min_mbps);
    let passed = enough && udp.is_some_and(|udp| udp.tx > 0.0 && udp.rx > 0.0);
    let words: Vec<String> = PHASES
        .iter()
        .zip(reached)
        .map(|((name, ..), result)| words(name, result))
        .collect();
    findings.add_for(session, check, passed, words.join(", "));
}

fn words(phase: &str, result: &Result<f64, String>) -> String {
    let phase = phase.replace(" all VMs", "");
    match result {
        Ok(mbps) => format!("{phase} {mbps:.2} Mb/s"),
        Err(error) => format!("{phase} failed ({error})"),
    }
}
