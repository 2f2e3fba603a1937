//! One VM is killed in mid-transfer: the other's transfer goes on, the vMAC is released, and a new VM
//! takes the place.

use super::findings::{Findings, vm_name};
use super::gateway::gateway;
use super::iperf::{self, Transfer};
use super::{ping_words as ping, throughput};
use crate::session::Session;
use crate::stop::Stop;
use crate::up;
use airlane_guests::state::State;
use airlane_scenario::{Check, CheckKind};
use std::time::{Duration, Instant};

/// How long a dead VM's vMAC may live on.
const RELEASE: Duration = Duration::from_secs(5);

/// Kills, looks, and puts a new VM in the place.
pub fn check(session: &mut Session, findings: &mut Findings, check: &Check) -> Result<(), Stop> {
    let CheckKind::Killed { witness, seconds } = check.kind else {
        return Ok(());
    };
    let victim = check.vm;
    let (Some(of_victim), Some(of_witness)) = (gateway(session, victim), gateway(session, witness))
    else {
        findings.add_for(
            session,
            check,
            false,
            "one of the two VMs has no gateway".to_owned(),
        );
        return Ok(());
    };
    throughput::start_servers(session)?;
    let transfer = Transfer {
        udp_mbps: None,
        to_vm: false,
        seconds,
    };
    session.exec(
        victim,
        &transfer.command(&of_victim, throughput::port(session, victim)),
    )?;
    let goes_on = session.exec(
        witness,
        &transfer.command(&of_witness, throughput::port(session, witness)),
    )?;
    let began = Instant::now();
    let killed_at = Duration::from_secs(seconds) / 3;
    session.wait_until(began + killed_at, |_| false)?;
    session
        .progress
        .say(&format!("killing {}", vm_name(session.scenario, victim)));
    session.kill(victim);
    let killed_after = began.elapsed().as_secs_f64();
    released(session, findings, check)?;
    let limit = Duration::from_secs(seconds + 20);
    let result = session
        .finish(&[goes_on], limit)?
        .into_iter()
        .next()
        .flatten();
    let output = result.map(|result| result.output).unwrap_or_default();
    let (passed, detail) = after_the_end(&output, killed_after);
    let name = vm_name(session.scenario, witness).to_owned();
    findings.add(
        session,
        &format!("{}: transfer goes on", check.name),
        &name,
        passed,
        detail,
    );
    place_taken(session, findings, check)
}

/// The NIC holds nothing any more for a VM that is gone.
fn released(session: &mut Session, findings: &mut Findings, check: &Check) -> Result<(), Stop> {
    let killed = Instant::now();
    let free = |session: &Session| {
        session
            .vmacs
            .get(check.vm)
            .is_none_or(|vmac| !vmac.exists || vmac.bssid.is_none())
    };
    let passed = session.wait_until(killed + RELEASE, free)?;
    let detail = match passed {
        true => format!("released within {:.1} s", killed.elapsed().as_secs_f64()),
        false => format!("still held after {} s", RELEASE.as_secs()),
    };
    let vm = vm_name(session.scenario, check.vm).to_owned();
    findings.add(
        session,
        &format!("{}: vMAC released", check.name),
        &vm,
        passed,
        detail,
    );
    Ok(())
}

/// A new VM with the same card comes up and reaches its gateway. This outcome has the check's name.
fn place_taken(session: &mut Session, findings: &mut Findings, check: &Check) -> Result<(), Stop> {
    session.start(check.vm)?;
    let began = Instant::now();
    up::wait(session)?;
    let passed = session.state(check.vm) == State::Addressed;
    let gateway = gateway(session, check.vm).unwrap_or_default();
    let command = (check.vm, ping::command(5, &gateway));
    let result = session
        .exec_all(&[command], Duration::from_secs(30))?
        .into_iter()
        .next()
        .flatten();
    let answered = result
        .and_then(|result| ping::parse(&result.output))
        .map_or(0, |ping| ping.received);
    let seconds = began.elapsed().as_secs_f64();
    let detail = format!(
        "a new VM took the place in {seconds:.1} s; {answered} of 5 echo requests answered"
    );
    findings.add_for(session, check, passed && answered == 5, detail);
    Ok(())
}

/// Whether data still flowed in the intervals that began after the other VM's end.
fn after_the_end(output: &str, killed_after: f64) -> (bool, String) {
    let outcome = match iperf::parse(output) {
        Ok(outcome) => outcome,
        Err(error) => return (false, error),
    };
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let (before, after): (Vec<_>, Vec<_>) = outcome
        .intervals
        .iter()
        .partition(|(end, _)| *end <= killed_after + 1.0);
    let rates =
        |list: Vec<(f64, f64)>| -> Vec<f64> { list.into_iter().map(|(_, mbps)| mbps).collect() };
    let (before, after) = (rates(before), rates(after));
    let flowing = after.iter().filter(|mbps| **mbps > 0.0).count();
    let passed = !after.is_empty() && 2 * flowing > after.len();
    (
        passed,
        format!(
            "{:.2} Mb/s before, {:.2} Mb/s after the other VM's end",
            mean(&before),
            mean(&after)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::iperf::report;
    use super::*;

    #[test]
    fn a_transfer_goes_on_when_data_flows_after_the_end_of_the_other() {
        assert!(after_the_end(&report(&[5.0, 5.0, 5.0, 9.0, 9.0, 9.0]), 2.0).0);
        assert!(!after_the_end(&report(&[5.0, 5.0, 5.0, 0.0, 0.0, 0.0]), 2.0).0);
        assert!(
            !after_the_end(&report(&[5.0, 5.0]), 2.0).0,
            "it ended with the other"
        );
        assert!(!after_the_end("", 2.0).0);
    }
}
