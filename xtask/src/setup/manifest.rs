//! `setup.json`, by which the `airlane` program finds what was set up. The fields: `guest/README.md`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Serialize;

use super::accel::Accel;
use super::boot;
use super::cache::{Artefact, Cache};
use super::image;
use super::kernel::Kernel;
use super::qemu::Qemu;
use super::tree::Tree;
use super::uml::Uml;

/// The file's content.
#[derive(Serialize)]
pub struct Manifest {
    qemu: Program,
    accel: &'static str,
    machine: &'static str,
    cpu: &'static str,
    cmdline: &'static str,
    kernels: Vec<KernelEntry>,
    images: Images,
    tshark: Option<Program>,
    passt: Option<Program>,
    uml: Option<UmlEntry>,
    own_vm: Option<OwnVm>,
}

#[derive(Serialize)]
struct Program {
    argv: Vec<String>,
    version: String,
}

#[derive(Serialize)]
struct KernelEntry {
    version: &'static str,
    release: String,
    image: PathBuf,
    bzimage: PathBuf,
    modules: PathBuf,
}

#[derive(Serialize)]
struct UmlEntry {
    version: &'static str,
    release: String,
    image: PathBuf,
    modules: PathBuf,
}

#[derive(Serialize)]
struct OwnVm {
    disk: PathBuf,
    libvirt_host: PathBuf,
}

#[derive(Serialize)]
struct Images {
    base: PathBuf,
}

impl Manifest {
    /// Describes what the cache holds.
    pub fn new(qemu: &Qemu, accel: Accel, kernels: &[Kernel], base: &Artefact) -> Result<Self> {
        Ok(Self {
            qemu: Program {
                argv: qemu.argv.clone(),
                version: qemu.version.clone(),
            },
            accel: accel.name(),
            machine: boot::MACHINE,
            cpu: boot::CPU,
            cmdline: boot::CMDLINE,
            kernels: kernels.iter().map(kernel).collect(),
            images: Images {
                base: image::base(base),
            },
            tshark: None,
            passt: None,
            uml: None,
            own_vm: None,
        })
    }

    /// With this tshark.
    pub fn with_tshark(self, tshark: Option<&Artefact>) -> Result<Self> {
        let program = |artefact| program(artefact, "tshark");
        let tshark = tshark.map(program).transpose()?;
        Ok(Self { tshark, ..self })
    }

    /// With this passt.
    pub fn with_passt(self, passt: Option<&Artefact>) -> Result<Self> {
        let program = |artefact| program(artefact, "passt");
        let passt = passt.map(program).transpose()?;
        Ok(Self { passt, ..self })
    }

    /// With User Mode Linux, if it is there.
    pub fn with_uml(self, uml: Option<&Uml>) -> Self {
        Self {
            uml: uml.map(uml_entry),
            ..self
        }
    }

    /// With the disk of a stranger's VM and the machine that it runs on, if both are there.
    pub fn with_own_vm(self, disk: Option<PathBuf>, libvirt_host: Option<PathBuf>) -> Self {
        let both = disk.zip(libvirt_host);
        let own_vm = both.map(|(disk, libvirt_host)| OwnVm { disk, libvirt_host });
        Self { own_vm, ..self }
    }

    /// Puts it into the cache folder, in one piece.
    pub fn write(&self, cache: &Cache) -> Result<PathBuf> {
        let path = cache.root().join("setup.json");
        let text =
            serde_json::to_string_pretty(self).context("paths in the cache must be UTF-8")?;
        let partial = cache.root().join("partial/setup.json");
        fs::write(&partial, text + "\n")
            .and_then(|()| fs::rename(&partial, &path))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

fn kernel(kernel: &Kernel) -> KernelEntry {
    KernelEntry {
        version: kernel.version,
        release: kernel.release().to_owned(),
        image: kernel.image(),
        bzimage: kernel.bzimage(),
        modules: kernel.modules(),
    }
}

fn uml_entry(uml: &Uml) -> UmlEntry {
    UmlEntry {
        version: uml.version(),
        release: uml.release().to_owned(),
        image: uml.image(),
        modules: uml.modules(),
    }
}

fn program(artefact: &Artefact, name: &str) -> Result<Program> {
    let argv = Tree::new(&artefact.path).argv(name)?;
    Ok(Program {
        argv,
        version: artefact.version.clone(),
    })
}
