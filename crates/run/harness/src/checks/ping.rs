//! Echo requests from each VM to its own gateway: none may be lost.

use super::findings::Findings;
use super::from_gateway;
use super::gateway::gateway;
use super::ping_words::{command, parse};
use crate::report::Ping;
use crate::session::Session;
use crate::stop::Stop;
use airlane_scenario::{Check, CheckKind};
use std::time::Duration;

/// All VMs at the same time.
pub fn check(
    session: &mut Session,
    findings: &mut Findings,
    checks: &[&Check],
) -> Result<(), Stop> {
    let is_external = |vm: usize| session.scenario.vms.get(vm).is_some_and(|vm| vm.external);
    let split = checks
        .iter()
        .copied()
        .partition(|check| is_external(check.vm));
    let (external, checks): (Vec<&Check>, Vec<&Check>) = split;
    from_gateway::check(session, findings, &external)?;
    let checks = &checks;
    let mut commands = Vec::new();
    let mut asked = Vec::new();
    for check in checks {
        match gateway(session, check.vm) {
            Some(gateway) => {
                commands.push((check.vm, command(count(check), &gateway)));
                asked.push(*check);
            }
            None => findings.add_for(session, check, false, "it has no gateway".to_owned()),
        }
    }
    let longest = checks.iter().map(|check| count(check)).max().unwrap_or(0);
    let limit = Duration::from_secs(20 + 2 * longest);
    let results = session.exec_all(&commands, limit)?;
    for (check, result) in asked.into_iter().zip(results) {
        let ping = result.and_then(|result| parse(&result.output));
        if let Some(measured) = findings.measured(check.vm) {
            measured.ping = ping;
        }
        let wanted = count(check);
        let passed = ping
            == Some(Ping {
                sent: wanted,
                received: wanted,
            });
        let detail = match ping {
            Some(ping) => format!("{} of {} echo requests answered", ping.received, ping.sent),
            None => "ping has not said a result".to_owned(),
        };
        findings.add_for(session, check, passed, detail);
    }
    Ok(())
}

fn count(check: &Check) -> u64 {
    match check.kind {
        CheckKind::Ping { count } => count,
        _ => 0,
    }
}
