//! No VM reaches another network: neither its gateway nor any VM in it answers.

use super::findings::Findings;
use crate::session::Session;
use crate::stop::Stop;
use airlane_scenario::Check;
use std::net::Ipv4Addr;
use std::time::Duration;

/// All VMs at the same time.
pub fn check(
    session: &mut Session,
    findings: &mut Findings,
    checks: &[&Check],
) -> Result<(), Stop> {
    let targets: Vec<Vec<Ipv4Addr>> = checks
        .iter()
        .map(|check| targets(session, check.vm))
        .collect();
    let commands: Vec<(usize, String)> = checks
        .iter()
        .zip(&targets)
        .map(|(check, targets)| (check.vm, command(targets)))
        .collect();
    let results = session.exec_all(&commands, Duration::from_secs(60))?;
    for ((check, targets), result) in checks.iter().zip(targets).zip(results) {
        let output = result.map(|result| result.output).unwrap_or_default();
        let (passed, detail) = outcome(&targets, &output);
        findings.add_for(session, check, passed, detail);
    }
    Ok(())
}

/// Everything with an address outside the VM's own subnet.
fn targets(session: &Session, number: usize) -> Vec<Ipv4Addr> {
    let scenario = session.scenario;
    let Some(own) = scenario
        .vms
        .get(number)
        .and_then(|vm| scenario.network_of(vm))
    else {
        return Vec::new();
    };
    let gateways = scenario.access_points.iter().map(|ap| ap.subnet.address);
    let vms = session
        .members
        .iter()
        .filter_map(|member| member.view.ip.as_deref()?.parse().ok());
    gateways
        .chain(vms)
        .filter(|address| !own.subnet.contains(*address))
        .collect()
}

/// Says for each target whether it answers one of two echo requests.
fn command(targets: &[Ipv4Addr]) -> String {
    let list: Vec<String> = targets.iter().map(Ipv4Addr::to_string).collect();
    format!(
        "for a in {}; do if ping -q -c 2 -W 1 $a >/dev/null 2>&1; then echo reached $a; \
         else echo silent $a; fi; done",
        list.join(" ")
    )
}

/// Passes when the guest has tried all and none answered; there must be something to try.
fn outcome(targets: &[Ipv4Addr], output: &str) -> (bool, String) {
    if targets.is_empty() {
        return (false, "there is nothing outside its own subnet".to_owned());
    }
    let reached: Vec<&str> = output
        .lines()
        .filter_map(|line| line.strip_prefix("reached "))
        .collect();
    let silent = |target: &&Ipv4Addr| {
        output
            .lines()
            .any(|line| line == format!("silent {target}"))
    };
    let untried: Vec<String> = targets
        .iter()
        .filter(|target| !silent(target))
        .map(Ipv4Addr::to_string)
        .collect();
    match (reached.is_empty(), untried.is_empty()) {
        (false, _) => (false, format!("it reaches {}", reached.join(", "))),
        (true, false) => (false, format!("not tried: {}", untried.join(", "))),
        (true, true) => (
            true,
            format!("none of {} foreign addresses answers", targets.len()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_passes_only_when_all_were_tried_and_none_answered() {
        let targets = [Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(10, 0, 1, 100)];
        assert!(outcome(&targets, "silent 10.0.1.1\nsilent 10.0.1.100\n").0);
        assert!(!outcome(&targets, "silent 10.0.1.1\nreached 10.0.1.100\n").0);
        assert!(!outcome(&targets, "silent 10.0.1.1\n").0);
        assert!(!outcome(&targets, "").0);
        assert!(!outcome(&[], "").0);
    }
}
