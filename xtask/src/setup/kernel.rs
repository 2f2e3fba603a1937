//! Guest kernels: Debian's own, unchanged.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::apt::{Apt, Release};
use super::cache::{self, Artefact, Cache, Recipe};
use super::modules;
use super::tree::Tree;
use super::vmlinux;

const META_PACKAGE: &str = "linux-image-amd64";
const VMLINUX: &str = "vmlinux";
const BZIMAGE: &str = "vmlinuz";
const MODULES: &str = "modules.cpio";

/// A kernel version and the Debian release that has it.
#[derive(Debug)]
pub struct Series {
    /// Such as `6.1`.
    pub version: &'static str,
    release: Release,
}

/// The kernels that airlane is tested with.
pub const SERIES: [Series; 2] = [
    Series {
        version: "6.1",
        release: Release {
            name: "bookworm",
            preferred: None,
        },
    },
    Series {
        version: "6.12",
        release: Release {
            name: "trixie",
            preferred: None,
        },
    },
];

/// A kernel ready to boot.
pub struct Kernel {
    /// Such as `6.1`.
    pub version: &'static str,
    artefact: Artefact,
}

impl Kernel {
    /// As `uname -r` says it.
    pub fn release(&self) -> &str {
        &self.artefact.version
    }

    /// What QEMU's `-kernel` takes.
    pub fn image(&self) -> PathBuf {
        self.artefact.path.join(VMLINUX)
    }

    /// The same kernel as distributed, for other hypervisors.
    pub fn bzimage(&self) -> PathBuf {
        self.artefact.path.join(BZIMAGE)
    }

    /// Its modules: a part of the initramfs.
    pub fn modules(&self) -> PathBuf {
        self.artefact.path.join(MODULES)
    }
}

/// Fetches a kernel and prepares it.
pub fn ensure(cache: &Cache, series: &Series, userland: &Artefact) -> Result<Artefact> {
    cache.ensure(&recipe(series), |folder| {
        fetch(cache, series, &Tree::new(&userland.path), folder)
    })
}

/// All kernels that the cache holds, oldest first.
pub fn present(cache: &Cache) -> Result<Vec<Kernel>> {
    let mut kernels = Vec::new();
    for series in &SERIES {
        if let Some(artefact) = cache.find(&recipe(series))? {
            kernels.push(Kernel {
                version: series.version,
                artefact,
            });
        }
    }
    Ok(kernels)
}

fn recipe(series: &Series) -> Recipe {
    let name = format!("kernel-{}", series.version);
    Recipe::new(&name)
        .with(format!("{series:?} {:?}", modules::ROOTS))
        .with("1")
}

fn fetch(cache: &Cache, series: &Series, tools: &Tree, folder: &Path) -> Result<String> {
    let apt = Apt::open(cache, series.release)?;
    let package = apt.behind(META_PACKAGE, &format!("linux-image-{}", series.version))?;
    let release = package.name.trim_start_matches("linux-image-").to_owned();

    let unpacked = folder.join("package");
    fs::create_dir(&unpacked)?;
    apt.unpack(&[package], &unpacked)?;
    let image = unpacked.join(format!("boot/vmlinuz-{release}"));
    vmlinux::extract(&image, &folder.join(VMLINUX), tools)?;
    fs::rename(&image, folder.join(BZIMAGE))?;
    modules::pack(&unpacked, &release, &folder.join(MODULES), tools)?;
    cache::remove(&unpacked)?;
    Ok(release)
}
