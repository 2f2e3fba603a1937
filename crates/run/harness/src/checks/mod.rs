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
pub(crate) mod steps;
mod throughput;
mod witness;

pub use console::check as consoles;
pub use findings::{Findings, Measured};

use crate::session::Session;
use crate::stop::Stop;
use airlane_guests::state::State;
use airlane_scenario::{Check, CheckKind};
use std::time::{Duration, Instant};

/// How the checks of one kind are made.
type Make = fn(&mut Session, &mut Findings, &[&Check]) -> Result<(), Stop>;

/// Whether a check is of one kind.
type IsOne = fn(&CheckKind) -> bool;

/// Which checks are made together, and how, in this order. The one that kills comes last: it changes who is there.
const ORDER: [(IsOne, Make); 14] = [
    (|kind| *kind == CheckKind::Associated, associated::check),
    (
        |kind| *kind == CheckKind::Refused,
        |session, findings, checks| {
            refused::check(session, findings, checks);
            Ok(())
        },
    ),
    (|kind| matches!(kind, CheckKind::Ping { .. }), ping::check),
    (|kind| *kind == CheckKind::Isolated, isolated::check),
    (
        |kind| matches!(kind, CheckKind::Downlink { .. }),
        downlink::check,
    ),
    (
        |kind| matches!(kind, CheckKind::Throughput { .. }),
        throughput::check,
    ),
    (
        |kind| matches!(kind, CheckKind::Steady { .. }),
        steady::check,
    ),
    (
        |kind| matches!(kind, CheckKind::Rekeyed { .. }),
        rekeyed::check,
    ),
    (
        |kind| matches!(kind, CheckKind::HighThroughput { .. }),
        |session, findings, checks| each(session, findings, checks, high_throughput::check),
    ),
    (
        |kind| matches!(kind, CheckKind::Roamed(_)),
        |session, findings, checks| each(session, findings, checks, roamed::check),
    ),
    (
        |kind| matches!(kind, CheckKind::Outage { .. }),
        |session, findings, checks| each(session, findings, checks, outage::check),
    ),
    (
        |kind| matches!(kind, CheckKind::PowerSave { .. }),
        power_save::check,
    ),
    (
        |kind| matches!(kind, CheckKind::LifeCycle { .. }),
        |session, findings, checks| each(session, findings, checks, life_cycle::check),
    ),
    (
        |kind| matches!(kind, CheckKind::Killed { .. }),
        |session, findings, checks| each(session, findings, checks, killed::check),
    ),
];

/// One after the other.
fn each(
    session: &mut Session,
    findings: &mut Findings,
    checks: &[&Check],
    check: fn(&mut Session, &mut Findings, &Check) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut checks = checks.iter();
    checks.try_for_each(|one| check(session, findings, one))
}

/// Has what was found so far written down.
type Noted<'a> = &'a mut dyn FnMut(&Session, &Findings);

/// Makes all checks of the scenario, and its steps, and has `noted` what is found after each kind and step.
pub fn all(session: &mut Session, findings: &mut Findings, noted: Noted) -> Result<(), Stop> {
    let scenario = session.scenario;
    let waits_for_none = scenario.checks.iter().filter(|check| check.after.is_none());
    make(
        session,
        findings,
        noted,
        &waits_for_none.collect::<Vec<_>>(),
    )?;
    for number in steps::in_turn(session) {
        steps::make(session, findings, number)?;
        noted(session, findings);
        follow_step(session, findings, noted, number)?;
    }
    while steps::remain(session) {
        session.step(Instant::now() + Duration::from_secs(1))?;
        timed(session, findings, noted)?;
    }
    timed(session, findings, noted)?;
    signals(session, findings)
}

/// Makes these checks, kind by kind, and what comes after each.
fn make(
    session: &mut Session,
    findings: &mut Findings,
    noted: Noted,
    checks: &[&Check],
) -> Result<(), Stop> {
    for (is_one, make) in ORDER {
        let checks = checks.iter().copied().filter(|check| is_one(&check.kind));
        let checks: Vec<&Check> = checks.collect();
        if checks.is_empty() {
            continue;
        }
        make(session, findings, &checks)?;
        noted(session, findings);
        timed(session, findings, noted)?;
        let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
        follow(session, findings, noted, &names)?;
    }
    Ok(())
}

/// Reports the steps that were made at their times, and makes what comes after them.
fn timed(session: &mut Session, findings: &mut Findings, noted: Noted) -> Result<(), Stop> {
    for number in steps::over(session, findings) {
        follow_step(session, findings, noted, number)?;
    }
    Ok(())
}

/// Makes the steps that come after checks of these names.
fn follow(
    session: &mut Session,
    findings: &mut Findings,
    noted: Noted,
    names: &[&str],
) -> Result<(), Stop> {
    for number in steps::waiting_for(session, names) {
        steps::make(session, findings, number)?;
        noted(session, findings);
        follow_step(session, findings, noted, number)?;
    }
    Ok(())
}

/// Makes the checks and steps that come after a step.
fn follow_step(
    session: &mut Session,
    findings: &mut Findings,
    noted: Noted,
    number: usize,
) -> Result<(), Stop> {
    let scenario = session.scenario;
    let Some(step) = scenario.steps.get(number) else {
        return Ok(());
    };
    let name = step.name.as_str();
    let checks = scenario.checks.iter();
    let checks = checks.filter(|check| check.after.as_deref() == Some(name));
    let checks: Vec<&Check> = checks.collect();
    await_addresses(session, &checks)?;
    make(session, findings, noted, &checks)?;
    follow(session, findings, noted, &[name])
}

/// A step may have let a VM join again. It has no address then until its DHCP client is through.
fn await_addresses(session: &mut Session, checks: &[&Check]) -> Result<(), Stop> {
    let deadline = Instant::now() + session.scenario.run.join_timeout;
    session.wait_until(deadline, |session| {
        let mut vms = checks.iter().map(|check| check.vm);
        !vms.any(|vm| session.state(vm) == State::Associated)
    })?;
    Ok(())
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
