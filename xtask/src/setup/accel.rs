//! Whether this machine's KVM really runs a guest: found out by a short boot, never by `/dev/kvm`'s existence.

use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::boot;
use super::cache::{Artefact, Cache, Recipe};
use super::image;
use super::kernel::Kernel;
use super::qemu::Qemu;

const PATIENCE: Duration = Duration::from_secs(20);
const PROBE: &str = "rdinit=/airlane/probe";
const MARK: &str = "airlane-probe-reached";

/// How guests are run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accel {
    /// By the processor's virtualization.
    Kvm,
    /// By QEMU's own emulation.
    Tcg,
}

impl Accel {
    /// As QEMU's `-accel` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        }
    }
}

impl fmt::Display for Accel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The accelerator to use on this machine; probed once per host kernel and QEMU version.
pub fn ensure(cache: &Cache, qemu: &Qemu, kernels: &[Kernel], image: &Artefact) -> Result<Accel> {
    let device = File::options().read(true).write(true).open("/dev/kvm");
    let (Ok(_), Some(kernel)) = (device, kernels.first()) else {
        return Ok(Accel::Tcg);
    };
    let host = fs::read("/proc/version").context("cannot read /proc/version")?;
    let recipe = Recipe::new("accel")
        .with(host)
        .with(&qemu.version)
        .with("1");
    let artefact = cache.ensure(&recipe, |folder| {
        let accel = probe(
            qemu,
            kernel,
            &image::base(image),
            &folder.join("console.log"),
        )?;
        Ok(accel.name().to_owned())
    })?;
    Ok(if artefact.version == Accel::Kvm.name() {
        Accel::Kvm
    } else {
        Accel::Tcg
    })
}

fn probe(qemu: &Qemu, kernel: &Kernel, base: &Path, console: &Path) -> Result<Accel> {
    let mut command = boot::guest(qemu, Accel::Kvm.name(), kernel, base, PROBE);
    let log =
        File::create(console).with_context(|| format!("cannot make {}", console.display()))?;
    command
        .stdin(Stdio::null())
        .stderr(log.try_clone()?)
        .stdout(log);
    run_for(&mut command, PATIENCE)?;
    let seen = fs::read(console)?;
    let booted = String::from_utf8_lossy(&seen).contains(MARK);
    Ok(if booted { Accel::Kvm } else { Accel::Tcg })
}

/// Runs a program until it ends, but not longer than `patience`.
fn run_for(command: &mut Command, patience: Duration) -> Result<()> {
    let mut child = command.spawn().context("cannot start QEMU")?;
    let begin = Instant::now();
    while child.try_wait()?.is_none() {
        if begin.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            break;
        }
        sleep(Duration::from_millis(50));
    }
    Ok(())
}
