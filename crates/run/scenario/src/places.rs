//! Looks up where the keys stand that [`Places`] names.

use super::error::Source;
use super::raw;
use crate::model::{Key, Places};
use std::collections::BTreeMap;
use toml::Spanned;

/// Where the keys of `raw` stand.
pub fn of(source: Source, raw: &raw::Scenario) -> Places {
    let mut lines = BTreeMap::new();
    let mut note = |key: Key, value: Option<&Spanned<String>>| {
        if let Some(value) = value {
            let line = source.line_of(value.span().start);
            lines.entry(key).or_insert(line);
        }
    };
    note(Key::Kernel, raw.run.kernel.as_ref());
    note(Key::Vmm, raw.run.vmm.as_ref());
    for vm in raw.vm.iter().map(Spanned::get_ref) {
        let name = vm.name.get_ref();
        note(Key::KernelOf(name.clone()), vm.kernel.as_ref());
        note(Key::VmmOf(name.clone()), vm.vmm.as_ref());
    }
    for ap in raw.access_point.iter().map(Spanned::get_ref) {
        note(Key::UplinkOf(ap.name.get_ref().clone()), ap.uplink.as_ref());
    }
    for check in raw.check.iter().map(Spanned::get_ref) {
        let name = check.name.as_ref().unwrap_or(&check.kind);
        note(Key::Check(name.get_ref().clone()), Some(&check.kind));
    }
    Places::new(source.path, lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{VALID, parse};

    #[test]
    fn a_key_is_found_at_its_line_and_one_that_is_not_written_nowhere() {
        let text = VALID
            .replacen("[run]\n", "[run]\nkernel = \"6.1\"\n", 1)
            .replacen(
                "name = \"user\"\n",
                "name = \"user\"\nkernel = \"6.12\"\n",
                1,
            );
        let places = parse(&text).unwrap().places;
        let at = |line: &str| {
            let number = text.lines().position(|one| one == line).unwrap() + 1;
            format!("scenarios/sample.toml:{number}: ")
        };
        assert_eq!(places.at(&Key::Kernel), at("kernel = \"6.1\""));
        let user = Key::KernelOf("user".to_owned());
        assert_eq!(places.at(&user), at("kernel = \"6.12\""));
        let ping = Key::Check("ping".to_owned());
        assert_eq!(places.at(&ping), at("kind = \"ping\""));
        assert_eq!(places.at(&Key::KernelOf("it".to_owned())), "");
    }
}
