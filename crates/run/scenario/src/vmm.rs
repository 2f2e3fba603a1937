//! The key `vmm`: what a VM runs in.

use super::error::{ScenarioError, Source};
use crate::model::Vmm;
use toml::Spanned;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Scenario;
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
        let uml = uml.unwrap();
        assert!(uml.starts_with("s.toml:12: the VM `b`"), "{uml}");
        assert!(uml.contains("hot-plug"), "{uml}");
        assert_eq!(scenario("", check).unwrap().beyond_vmm(), None);
    }
}
