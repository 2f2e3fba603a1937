//! What the checks have found, for the report and for people.

use super::peers;
use crate::report::{self, Both, Ping};
use crate::session::Session;
use airlane_scenario::{Check, Scenario};

/// What has been found so far.
#[derive(Debug, Default)]
pub struct Findings {
    /// In the order in which they were made.
    pub checks: Vec<report::Check>,
    /// By the VMs' numbers.
    pub measured: Vec<Measured>,
    /// What has happened, in the order in which it was over.
    pub steps: Vec<report::Step>,
}

/// Figures of one VM.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Management frames are protected; none where nobody was asked.
    pub pmf: Option<bool>,
    /// How the key of a VM came about that is not asked itself, as its access point says.
    pub key_mgmt: Option<String>,
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
    pub(super) fn note_security(&mut self, answers: &peers::Answers) {
        self.pmf = Some(answers.pmf());
        self.eap = answers.eap();
        self.key_mgmt = answers.key_mgmt();
    }
}

impl Findings {
    /// Nothing found of `vms` VMs.
    pub fn new(vms: usize) -> Self {
        Self {
            checks: Vec::new(),
            measured: vec![Measured::default(); vms],
            steps: Vec::new(),
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
            made: true,
            detail,
        });
    }

    /// Notes a check that was not made.
    pub(super) fn add_not_made(&mut self, name: &str, vm: &str, why: &str) {
        self.checks.push(report::Check {
            name: name.to_owned(),
            vm: vm.to_owned(),
            passed: false,
            made: false,
            detail: format!("not made: {why}"),
        });
    }

    /// Notes the outcome of a check of the scenario.
    pub(super) fn add_for(
        &mut self,
        session: &mut Session,
        check: &Check,
        passed: bool,
        detail: String,
    ) {
        let vm = vm_name(session.scenario, check.vm).to_owned();
        self.add(session, &check.name, &vm, passed, detail);
    }

    /// The checks and steps that were not made because the run ended before them.
    pub fn add_missing(&mut self, scenario: &Scenario) {
        let checks = scenario.checks.iter();
        let checks = checks.map(|check| (&check.name, vm_name(scenario, check.vm)));
        let steps = scenario.steps.iter();
        let steps = steps.map(|step| (&step.name, scenario.about(&step.act)));
        for (name, vm) in checks.chain(steps) {
            let made = self
                .checks
                .iter()
                .any(|made| made.vm == vm && made.name == *name);
            if !made {
                let name = name.clone();
                self.add_not_made(&name, vm, "the run ended before it");
            }
        }
    }

    /// True when every check passed.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }

    pub(super) fn measured(&mut self, vm: usize) -> Option<&mut Measured> {
        self.measured.get_mut(vm)
    }
}

/// The name of the VM with this number.
pub fn vm_name(scenario: &Scenario, vm: usize) -> &str {
    scenario.vms.get(vm).map_or("", |vm| vm.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_check_that_was_not_made_has_failed() {
        let text = "[[access_point]]\nname='a'\nchannel=36\naddress='10.0.0.1/24'\n\
                    [[vm]]\nname='it'\n[[check]]\nkind='ping'\n[[check]]\nkind='isolated'\n\
                    [[step]]\ndo='kill'\nvm='it'\n";
        let scenario = Scenario::parse(Path::new("s.toml"), text).unwrap();
        let mut findings = Findings::new(1);
        let made = report::Check {
            name: "ping".into(),
            vm: "it".into(),
            passed: true,
            made: true,
            detail: String::new(),
        };
        findings.checks.push(made);
        assert!(findings.passed());
        findings.add_missing(&scenario);
        assert_eq!(findings.checks.len(), 3);
        assert!(!findings.passed() && findings.checks[1].detail.contains("not made"));
        let made: Vec<bool> = findings.checks.iter().map(|check| check.made).collect();
        assert_eq!(made, [true, false, false]);
    }
}
