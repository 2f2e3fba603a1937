//! What each guest of a scenario boots, and whether this machine has all that the scenario asks of it.

use crate::setup::{Kernel, Setup, Uml};
use airlane_scenario::{ApKind, Key, Scenario, Uplink, Vmm};
use anyhow::{Result, anyhow};
use std::path::Path;

/// A kernel, and what runs it.
#[derive(Debug)]
pub enum Boots {
    /// A distribution's kernel in QEMU.
    Qemu(Kernel),
    /// A kernel that is a process.
    Uml(Uml),
}

impl Boots {
    /// What QEMU boots, or the program.
    pub fn image(&self) -> &Path {
        match self {
            Self::Qemu(kernel) => &kernel.image,
            Self::Uml(kernel) => &kernel.image,
        }
    }

    /// The archive of its modules.
    pub fn modules(&self) -> &Path {
        match self {
            Self::Qemu(kernel) => &kernel.modules,
            Self::Uml(kernel) => &kernel.modules,
        }
    }

    /// What VM `index` boots; the one behind the last is that of the access points. `chosen` on the command line goes before the
    /// kernel of the run, and behind the VM's own.
    pub fn of(
        scenario: &Scenario,
        setup: &Setup,
        chosen: Option<&str>,
        index: usize,
    ) -> Result<Self> {
        let own = scenario.vms.get(index).and_then(|vm| vm.kernel.as_deref());
        let kernel = own.or(chosen).or(scenario.run.kernel.as_deref());
        let boots = match scenario.vmm_of(index) {
            Vmm::Uml => setup.uml(kernel).cloned().map(Self::Uml),
            Vmm::Qemu if scenario.suspends(index) => {
                let kernel = setup.kernel(kernel).cloned();
                kernel.map(|kernel| Self::Qemu(kernel.that_wakes()))
            }
            Vmm::Qemu => setup.kernel(kernel).cloned().map(Self::Qemu),
        };
        boots.map_err(|error| anyhow!("{}{error:#}", asked_at(scenario, chosen, index)))
    }
}

/// Where it is written what VM `index` boots, as an error about that begins.
fn asked_at(scenario: &Scenario, chosen: Option<&str>, index: usize) -> String {
    let at = |key: Key| scenario.places.at(&key);
    let name = scenario.vms.get(index).map(|vm| vm.name.clone());
    let name = name.unwrap_or_default();
    let own = at(Key::KernelOf(name.clone()));
    let option = chosen.map_or(String::new(), |_| "--kernel: ".to_owned());
    let written = [
        own,
        option,
        at(Key::Kernel),
        at(Key::VmmOf(name)),
        at(Key::Vmm),
    ];
    let mut written = written.into_iter().filter(|place| !place.is_empty());
    written.next().unwrap_or_default()
}

/// An error when the scenario asks for what no run can do, whatever is set up.
pub fn feasible(scenario: &Scenario) -> Result<()> {
    match scenario.beyond_vmm() {
        Some(beyond) => Err(anyhow!(beyond)),
        None => Ok(()),
    }
}

/// An error when something is not set up that the scenario, or the kernel `chosen` on the command line, asks for; it says in
/// which line.
pub fn available(scenario: &Scenario, setup: &Setup, chosen: Option<&str>) -> Result<()> {
    let ours = (0..scenario.vms.len())
        .filter(|index| scenario.vms.get(*index).is_some_and(|vm| !vm.external));
    let has_access_points = scenario.hostapds().next().is_some();
    let access_points = has_access_points.then_some(scenario.vms.len());
    for index in ours.chain(access_points) {
        Boots::of(scenario, setup, chosen, index)?;
    }
    for ap in &scenario.access_points {
        if ap.kind == ApKind::BuiltIn(Uplink::User) {
            let place = || scenario.places.at(&Key::UplinkOf(ap.name.clone()));
            setup
                .passt()
                .map_err(|error| anyhow!("{}{error:#}", place()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::sample;

    fn scenario(run: &str, vm: &str) -> Scenario {
        let text = format!(
            "[run]\n{run}\n[[access_point]]\nname='a'\nchannel=36\naddress='10.0.0.1/24'\n[[vm]]\nname='it'\n{vm}\n"
        );
        Scenario::parse(Path::new("s.toml"), &text).unwrap()
    }

    fn lacks(run: &str, vm: &str, chosen: Option<&str>) -> String {
        let error = available(&scenario(run, vm), &sample(), chosen).unwrap_err();
        assert!(error.to_string().contains("\n  remedy: "), "{error}");
        error.to_string()
    }

    #[test]
    fn a_kernel_that_is_not_set_up_is_told_at_the_line_that_asks_for_it() {
        assert!(available(&scenario("kernel='6.12'", ""), &sample(), None).is_ok());
        let begins = |error: String, with: &str| assert!(error.starts_with(with), "{error}");
        begins(
            lacks("kernel='5.10'", "", None),
            "s.toml:2: there is no guest kernel 5.10\n",
        );
        begins(
            lacks("", "kernel='5.10'", Some("6.1")),
            "s.toml:9: there is no guest kernel 5.10\n",
        );
        begins(
            lacks("kernel='6.1'", "", Some("4.19")),
            "--kernel: there is no guest kernel 4.19\n",
        );
        begins(lacks("vmm='uml'", "", None), "s.toml:2: User Mode Linux");
    }

    #[test]
    fn an_external_vm_boots_what_its_user_starts() {
        let vm = "external=true\nkernel='5.10'";
        assert!(available(&scenario("", vm), &sample(), None).is_ok());
    }

    #[test]
    fn the_kernel_of_a_vm_goes_before_the_chosen_one_and_that_before_the_run_s() {
        let release =
            |run: &str, vm: &str, chosen| match Boots::of(&scenario(run, vm), &sample(), chosen, 0)
                .unwrap()
            {
                Boots::Qemu(kernel) => kernel.version,
                Boots::Uml(uml) => uml.version,
            };
        assert_eq!(release("kernel='6.12'", "", None), "6.12");
        assert_eq!(release("kernel='6.12'", "", Some("6.1")), "6.1");
        assert_eq!(release("", "kernel='6.12'", Some("6.1")), "6.12");
    }
}
