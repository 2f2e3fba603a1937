//! Which of the guest tests a run takes: all, the core, or the core and one shard of the rest.

use std::str::FromStr;

use anyhow::{Error, Result, bail, ensure};

/// Guest tests that every run takes: each kernel, each kind of access point, data, sleep, keys, roaming, reboots.
const CORE: [&str; 4] = [
    "a_day_s_work_brings_no_warning_with_kernel_6_12",
    "a_vm_reaches_the_host_through_a_built_in_access_point",
    "drivers_sleep_reboots_and_hot_plug_disturb_nobody",
    "two_vms_join_two_networks_with_kernel_6_1_and_the_capture_decrypts",
];

/// As `AIRLANE_SHARD` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shard {
    /// Every test.
    All,
    /// The core alone.
    Core,
    /// The core, and of the rest the part `number` of `of`, counted from 1.
    Part { number: usize, of: usize },
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "" | "all" => return Ok(Self::All),
            "core" => return Ok(Self::Core),
            _ => {}
        }
        let parsed = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self::Part { number, of }),
            _ => bail!("AIRLANE_SHARD: {text:?} is none of all, core, and N/M as in 1/4"),
        }
    }
}

impl Shard {
    /// The tests that this shard takes of `tests`, all that there are.
    pub fn choose(self, tests: &[String]) -> Result<Vec<String>> {
        let missing = CORE
            .iter()
            .find(|name| !tests.iter().any(|one| one == *name));
        ensure!(missing.is_none(), "no guest test is named {missing:?}");
        let (core, mut rest): (Vec<String>, Vec<String>) = tests
            .iter()
            .cloned()
            .partition(|name| CORE.contains(&name.as_str()));
        rest.sort();
        let rest = rest.into_iter().enumerate();
        let taken = rest.filter(|(index, _)| self.takes(*index));
        Ok(core
            .into_iter()
            .chain(taken.map(|(_, name)| name))
            .collect())
    }

    /// Whether it takes the VM under libvirt, which is a stage of its own.
    pub fn takes_own_vm(self) -> bool {
        matches!(self, Self::All | Self::Part { number: 1, .. })
    }

    /// Whether it takes the test at this place of the sorted rest.
    fn takes(self, index: usize) -> bool {
        match self {
            Self::All => true,
            Self::Core => false,
            Self::Part { number, of } => index % of == number - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests() -> Vec<String> {
        let rest = (0..7).map(|index| format!("other_{index}"));
        rest.chain(CORE.map(str::to_owned)).collect()
    }

    #[test]
    fn what_no_shard_is_called_is_refused() {
        for text in ["none", "0/4", "5/4", "1/0", "1/", "-1/4"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_test_is_in_one_shard_and_the_core_in_all() {
        let all = tests();
        let mut seen = Vec::new();
        for number in 1..=3 {
            let taken = Shard::Part { number, of: 3 }.choose(&all).unwrap();
            assert_eq!(&taken[..4], Shard::Core.choose(&all).unwrap());
            seen.extend_from_slice(&taken[4..]);
        }
        seen.sort();
        assert_eq!(seen, all[..7], "each of the rest once");
        assert_eq!(
            "all".parse::<Shard>().unwrap().choose(&all).unwrap().len(),
            11
        );
    }

    #[test]
    fn the_vm_under_libvirt_is_in_one_part() {
        let takes = |text: &str| text.parse::<Shard>().unwrap().takes_own_vm();
        assert!(takes("all") && takes("1/4"));
        assert!(!takes("core") && !takes("2/4"));
    }

    #[test]
    fn a_core_that_has_lost_a_test_is_an_error() {
        assert!(Shard::All.choose(&tests()[..10]).is_err());
    }
}
