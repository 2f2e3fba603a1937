//! What is checked once all VMs are up, kind by kind; all VMs of a kind at the same time.

mod actions;
mod associated;
mod console;
mod echo;
mod high_throughput;
mod iperf;
mod isolated;
mod killed;
mod life_cycle;
mod outage;
mod peers;
mod ping;
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

use super::report::{self, Both, Ping};
use super::session::Session;
use super::stop::Stop;
use airlane_guests::state::State;
use airlane_scenario::{Check, CheckKind, Scenario};

/// What has been found so far.
#[derive(Debug, Default)]
pub struct Findings {
    /// In the order in which they were made.
    pub checks: Vec<report::Check>,
    /// By the VMs' numbers.
    pub measured: Vec<Measured>,
}

/// Figures of one VM.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Management frames are protected; none where nobody was asked.
    pub pmf: Option<bool>,
    /// Who it is to its access point.
    pub eap: Option<report::Eap>,
    /// Echo requests to its gateway.
    pub ping: Option<Ping>,
    /// TCP each way, Mb/s.
    pub tcp: Option<Both>,
    /// UDP each way, Mb/s.
    pub udp: Option<Both>,
    /// Signal of its access point after the last check, dBm.
    pub signal: Option<i64>,
}

impl Measured {
    fn note_security(&mut self, answers: &peers::Answers) {
        self.pmf = Some(answers.pmf());
        self.eap = answers.eap();
    }
}

impl Findings {
    /// Nothing found of `vms` VMs.
    pub fn new(vms: usize) -> Self {
        Self {
            checks: Vec::new(),
            measured: vec![Measured::default(); vms],
        }
    }

    /// Notes an outcome and shows it.
    pub fn add(
        &mut self,
        session: &mut Session,
        name: &str,
        vm: &str,
        passed: bool,
        detail: String,
    ) {
        session
            .progress
            .check(passed, &format!("{vm}: {name}: {detail}"));
        let (name, vm) = (name.to_owned(), vm.to_owned());
        self.checks.push(report::Check {
            name,
            vm,
            passed,
            detail,
        });
    }

    /// Notes the outcome of a check of the scenario.
    fn add_for(&mut self, session: &mut Session, check: &Check, passed: bool, detail: String) {
        let vm = vm_name(session.scenario, check.vm).to_owned();
        self.add(session, &check.name, &vm, passed, detail);
    }

    /// The checks that were not made because the run ended before them.
    pub fn add_missing(&mut self, scenario: &Scenario) {
        for check in &scenario.checks {
            let vm = vm_name(scenario, check.vm);
            let made = self
                .checks
                .iter()
                .any(|made| made.vm == vm && made.name == check.name);
            if !made {
                let (name, vm) = (check.name.clone(), vm.to_owned());
                let detail = "not made: the run ended before it".to_owned();
                self.checks.push(report::Check {
                    name,
                    vm,
                    passed: false,
                    detail,
                });
            }
        }
    }

    /// True when every check passed.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }

    fn measured(&mut self, vm: usize) -> Option<&mut Measured> {
        self.measured.get_mut(vm)
    }
}

fn vm_name(scenario: &Scenario, vm: usize) -> &str {
    scenario.vms.get(vm).map_or("", |vm| vm.name.as_str())
}

/// Makes all checks of the scenario. The one that kills comes last: it changes who is there.
pub fn all(session: &mut Session, findings: &mut Findings) -> Result<(), Stop> {
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
    ping::check(
        session,
        findings,
        &of(|kind| matches!(kind, CheckKind::Ping { .. })),
    )?;
    isolated::check(session, findings, &of(|kind| *kind == CheckKind::Isolated))?;
    throughput::check(
        session,
        findings,
        &of(|kind| matches!(kind, CheckKind::Throughput { .. })),
    )?;
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
    for check in of(|kind| matches!(kind, CheckKind::HighThroughput { .. })) {
        high_throughput::check(session, findings, check)?;
    }
    for check in of(|kind| matches!(kind, CheckKind::Roamed(_))) {
        roamed::check(session, findings, check)?;
    }
    for check in of(|kind| matches!(kind, CheckKind::Outage { .. })) {
        outage::check(session, findings, check)?;
    }
    power_save::check(
        session,
        findings,
        &of(|kind| matches!(kind, CheckKind::PowerSave { .. })),
    )?;
    for check in of(|kind| matches!(kind, CheckKind::LifeCycle { .. })) {
        life_cycle::check(session, findings, check)?;
    }
    for check in of(|kind| matches!(kind, CheckKind::Killed { .. })) {
        killed::check(session, findings, check)?;
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

/// The gateway that the VM has been given.
fn gateway(session: &Session, vm: usize) -> Option<String> {
    let network = session.scenario.network_of(session.scenario.vms.get(vm)?)?;
    let told = session.members.get(vm)?.view.gateway.as_deref()?;
    // It goes into a command line: an address, or nothing.
    let gateway: std::net::Ipv4Addr = told.parse().ok()?;
    (gateway == network.subnet.address).then(|| gateway.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_check_that_was_not_made_has_failed() {
        let text = "[[access_point]]\nname='a'\nchannel=36\naddress='10.0.0.1/24'\n\
                    [[vm]]\nname='it'\n[[check]]\nkind='ping'\n[[check]]\nkind='isolated'\n";
        let scenario = Scenario::parse(Path::new("s.toml"), text).unwrap();
        let mut findings = Findings::new(1);
        let made = report::Check {
            name: "ping".into(),
            vm: "it".into(),
            passed: true,
            detail: String::new(),
        };
        findings.checks.push(made);
        assert!(findings.passed());
        findings.add_missing(&scenario);
        assert_eq!(findings.checks.len(), 2);
        assert!(!findings.passed() && findings.checks[1].detail.contains("not made"));
    }
}
