//! The machine on which a stranger's VM runs: Debian 13 in a folder, with libvirt, and no QEMU of its own.
//!
//! A test enters it by `chroot`: whatever this machine is, libvirt is there as its packages set it up, with the user
//! `libvirt-qemu`, and is not installed here.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use super::apt::Release;
use super::cache::{Artefact, Cache, Recipe};
use super::debian::{System, inside};
use super::tool;

const SYSTEM: System = System {
    release: Release {
        name: "trixie",
        preferred: None,
    },
    components: "main",
    packages: "libvirt-daemon-system,libvirt-clients,qemu-utils,sudo",
    prepare: "true",
};

/// Installs the machine.
pub fn ensure(cache: &Cache) -> Result<Artefact> {
    cache.ensure(&recipe(), |folder| {
        SYSTEM.install(cache, folder)?;
        let _ = fs::remove_dir_all(folder.join("var/lib/apt/lists"));
        let banner = tool::text(inside(folder, "libvirtd").arg("--version"))?;
        let version = banner.split_whitespace().last().unwrap_or("unknown");
        Ok(version.to_owned())
    })
}

/// The machine's folder, if an earlier run installed it.
pub fn present(cache: &Cache) -> Result<Option<PathBuf>> {
    Ok(cache.find(&recipe())?.map(|one| one.path))
}

fn recipe() -> Recipe {
    Recipe::new("libvirt-host")
        .with(format!("{SYSTEM:?}"))
        .with("1")
}
