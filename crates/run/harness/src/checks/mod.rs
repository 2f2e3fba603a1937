//! What is checked once all VMs are up, kind by kind; all VMs of a kind at the same time.

mod actions;
mod associated;
mod console;
mod downlink;
mod echo;
mod findings;
mod from_gateway;
mod gateway;
mod high_throughput;
mod iperf;
mod isolated;
mod killed;
mod life_cycle;
mod outage;
mod peers;
mod ping;
mod ping_words;
mod place;
mod power_save;
mod refused;
mod rekeyed;
mod roamed;
mod secrets;
mod signal;
mod steady;
mod throughput;
mod witness;

pub use console::check as consoles;
pub use findings::{Findings, Measured};

use crate::session::Session;
use crate::stop::Stop;
use airlane_guests::state::State;
use airlane_scenario::{Check, CheckKind};

/// Makes all checks of the scenario, and has `noted` what is found after each kind. The one that kills comes last: it
/// changes who is there.
pub fn all(
    session: &mut Session,
    findings: &mut Findings,
    noted: &mut dyn FnMut(&Session, &Findings),
) -> Result<(), Stop> {
    let scenario = session.scenario;
    let of = |wanted: fn(&CheckKind) -> bool| -> Vec<&Check> {
        scenario
            .checks
            .iter()
            .filter(|check| wanted(&check.kind))
            .collect()
    };
    associated::check(
        session,
        findings,
        &of(|kind| *kind == CheckKind::Associated),
    )?;
    refused::check(session, findings, &of(|kind| *kind == CheckKind::Refused));
    noted(session, findings);
    ping::check(
        session,
        findings,
        &of(|kind| matches!(kind, CheckKind::Ping { .. })),
    )?;
    noted(session, findings);
    isolated::check(session, findings, &of(|kind| *kind == CheckKind::Isolated))?;
    downlink::check(
        session,
        findings,
        &of(|kind| matches!(kind, CheckKind::Downlink { .. })),
    )?;
    throughput::check(
        session,
        findings,
        &of(|kind| matches!(kind, CheckKind::Throughput { .. })),
    )?;
    noted(session, findings);
    steady::check(
        session,
        findings,
        &of(|kind| matches!(kind, CheckKind::Steady { .. })),
    )?;
    rekeyed::check(
        session,
        findings,
        &of(|kind| matches!(kind, CheckKind::Rekeyed { .. })),
    )?;
    noted(session, findings);
    for check in of(|kind| matches!(kind, CheckKind::HighThroughput { .. })) {
        high_throughput::check(session, findings, check)?;
        noted(session, findings);
    }
    for check in of(|kind| matches!(kind, CheckKind::Roamed(_))) {
        roamed::check(session, findings, check)?;
        noted(session, findings);
    }
    for check in of(|kind| matches!(kind, CheckKind::Outage { .. })) {
        outage::check(session, findings, check)?;
        noted(session, findings);
    }
    power_save::check(
        session,
        findings,
        &of(|kind| matches!(kind, CheckKind::PowerSave { .. })),
    )?;
    for check in of(|kind| matches!(kind, CheckKind::LifeCycle { .. })) {
        life_cycle::check(session, findings, check)?;
        noted(session, findings);
    }
    for check in of(|kind| matches!(kind, CheckKind::Killed { .. })) {
        killed::check(session, findings, check)?;
        noted(session, findings);
    }
    signals(session, findings)
}

/// How each VM hears its access point in the end.
fn signals(session: &mut Session, findings: &mut Findings) -> Result<(), Stop> {
    let joined = |vm: &usize| {
        let external = session.scenario.vms.get(*vm).is_some_and(|vm| vm.external);
        !external && session.state(*vm) == State::Addressed
    };
    let vms: Vec<usize> = (0..session.scenario.vms.len()).filter(joined).collect();
    let signals = signal::look(session, &vms)?;
    for (vm, signal) in vms.into_iter().zip(signals) {
        if let Some(measured) = findings.measured(vm) {
            measured.signal = signal;
        }
    }
    Ok(())
}
