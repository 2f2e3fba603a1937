//! What a VM runs in.

use super::error::{ScenarioError, Source};
use super::{Action, CheckKind, Scenario};
use std::fmt;
use std::str::FromStr;
use toml::Spanned;

/// What a VM runs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vmm {
    /// QEMU: a distribution's own kernel on an emulated or virtualized machine, the card over vfio-user.
    #[default]
    Qemu,
    /// User Mode Linux: a kernel that is a process of the host, built from the distribution's source, the card over virtio.
    Uml,
}

/// A word that names none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no VMM `{0}`; use one of: qemu, uml")]
pub struct UnknownVmm(String);

impl FromStr for Vmm {
    type Err = UnknownVmm;

    fn from_str(word: &str) -> Result<Self, UnknownVmm> {
        match word {
            "qemu" => Ok(Self::Qemu),
            "uml" => Ok(Self::Uml),
            other => Err(UnknownVmm(other.to_owned())),
        }
    }
}

impl fmt::Display for Vmm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Qemu => "qemu",
            Self::Uml => "uml",
        })
    }
}

/// What the key `vmm` says, if it is there.
pub fn of(
    source: Source,
    value: Option<&Spanned<String>>,
) -> std::result::Result<Option<Vmm>, ScenarioError> {
    let parsed = value.map(|value| {
        value.get_ref().parse().map_err(|_| {
            let message = format!("there is no VMM `{}`", value.get_ref());
            source.error(&value.span(), message, "write one of: \"qemu\", \"uml\"")
        })
    });
    parsed.transpose()
}

impl Scenario {
    /// What VM `index` runs in. The user's own VMs are QEMU's.
    pub fn vmm_of(&self, index: usize) -> Vmm {
        match self.vms.get(index) {
            Some(vm) if vm.external => Vmm::Qemu,
            Some(vm) => vm.vmm.unwrap_or(self.run.vmm),
            None => self.run.vmm,
        }
    }

    /// The first check that a VM's VMM cannot serve, as a sentence: there is no monitor that would put User Mode Linux to
    /// sleep, start it anew or pull out its card.
    pub fn beyond_vmm(&self) -> Option<String> {
        let beyond = self.checks.iter().find_map(|check| match check.kind {
            CheckKind::LifeCycle {
                action: action @ (Action::Suspend | Action::Reboot | Action::HotPlug),
                ..
            } if self.vmm_of(check.vm) == Vmm::Uml => Some((check, action)),
            _ => None,
        });
        let (check, action) = beyond?;
        let vm = self.vms.get(check.vm).map_or("?", |vm| vm.name.as_str());
        Some(format!(
            "the VM `{vm}` cannot do `{}` in User Mode Linux\n  remedy: write vmm = \"qemu\" in that VM, or run without --vmm",
            action.word()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn scenario(run: &str, vm: &str) -> Result<Scenario, ScenarioError> {
        let text = format!(
            "[run]\n{run}\n[[access_point]]\nname = 'n'\nchannel = 6\naddress = '10.0.0.1/24'\n[[vm]]\nname = 'a'\n[[vm]]\nname = 'b'\n{vm}"
        );
        Scenario::parse(Path::new("s.toml"), &text)
    }

    #[test]
    fn a_vms_own_vmm_wins_over_that_of_the_run() {
        let scenario = scenario("vmm = 'uml'", "vmm = 'qemu'").unwrap();
        let access_points = scenario.vms.len();
        let all = [0, 1, access_points].map(|index| scenario.vmm_of(index));
        assert_eq!(all, [Vmm::Uml, Vmm::Qemu, Vmm::Uml]);
    }

    #[test]
    fn an_external_vm_is_qemus() {
        let scenario = scenario("vmm = 'uml'", "external = true").unwrap();
        assert_eq!(scenario.vmm_of(1), Vmm::Qemu);
    }

    #[test]
    fn an_unknown_vmm_is_refused_with_the_names_of_the_known_ones() {
        let error = scenario("vmm = 'xen'", "").unwrap_err().to_string();
        assert!(
            error.contains("xen") && error.contains("\"qemu\", \"uml\""),
            "{error}"
        );
        assert!("xen".parse::<Vmm>().is_err());
        assert_eq!(Vmm::Uml.to_string().parse(), Ok(Vmm::Uml));
    }

    #[test]
    fn what_only_a_monitor_can_do_is_refused_for_uml() {
        let check = "[[check]]\nkind = 'life-cycle'\nvm = 'b'\naction = 'hot-plug'\nwitness = 'a'";
        let uml = scenario("vmm = 'uml'", check).unwrap().beyond_vmm();
        assert!(uml.is_some_and(|text| text.contains("hot-plug")));
        assert_eq!(scenario("", check).unwrap().beyond_vmm(), None);
    }
}
