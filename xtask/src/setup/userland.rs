//! The programs that run in a guest, and those that prepare kernels for it, as unpacked packages.

use super::apt::{Apt, Package, Release};
use super::cache::{Artefact, Cache, Recipe};
use super::tree::Tree;
use anyhow::Result;

const RELEASE: Release = Release {
    name: "bookworm",
    preferred: None,
};
const PACKAGES: &str = "busybox-static dash kmod wpasupplicant iw iperf3 hostapd iproute2 wireless-regdb xz-utils zstd";
/// Dependencies of install scripts, which are never run here.
const WITHOUT: [&str; 8] = [
    "perl",
    "libperl",
    "usrmerge",
    "dpkg",
    "debconf",
    "passwd",
    "adduser",
    "readline-common",
];

/// The unpacked packages.
pub fn ensure(cache: &Cache) -> Result<Artefact> {
    let inputs = format!("{RELEASE:?} {PACKAGES} {WITHOUT:?}");
    let recipe = Recipe::new("userland").with(inputs).with("1");
    cache.ensure(&recipe, |folder| {
        let apt = Apt::open(cache, RELEASE)?;
        let packages: Vec<_> = apt
            .closure(PACKAGES)?
            .into_iter()
            .filter(is_wanted)
            .collect();
        apt.unpack(&packages, folder)?;
        Tree::new(folder).trim()?;
        Ok(RELEASE.name.to_owned())
    })
}

fn is_wanted(package: &Package) -> bool {
    !WITHOUT
        .iter()
        .any(|prefix| package.name.starts_with(prefix))
}
