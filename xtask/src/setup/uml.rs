//! User Mode Linux: a guest kernel that is a program of the host, built from Debian's own source with one line added: see
//! `uml.patch`.
//!
//! Debian's packaged one leaves out PCI over virtio. The build needs a C compiler, make and perl from this machine; its other
//! tools are unpacked beside the source and run from there.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};

use super::apt::{Apt, Package, Release};
use super::cache::{self, Artefact, Cache, Recipe};
use super::modules;
use super::tool;
use super::tree::Tree;

/// The kernels of Debian 12 and 13 (6.1, 6.12) hold the registers of a process in 2,696 bytes (`arch/x86/um/user-offsets.c`). A
/// processor with AMX has more: every process dies at start with `ptrace set fp regs failed, errno = 14`. 7.2 asks for the size.
const VERSION: &str = "7.2";
const RELEASE: Release = Release {
    name: "trixie",
    preferred: Some("-backports"),
};
/// What is set on top of the smallest configuration.
const CONFIG: &str = include_str!("uml.config");
/// What is changed in the source, and why.
const PATCH: &str = include_str!("uml.patch");
/// Programs of the build that a machine seldom has, and what they are packed with.
const TOOLS: [&str; 5] = ["flex", "bison", "m4", "bc", "patch"];
const IMAGE: &str = "linux";
const MODULES: &str = "modules.cpio";
/// The build must not slow down what else goes on.
const NICE: &str = "19";
/// Seconds that a kernel without work may take from its start to its end.
const TRIAL_SECONDS: &str = "60";
/// What the kernel says when the only program that it was given has run and ended.
const RAN: &str = "Attempted to kill init";

/// A kernel ready to run.
pub struct Uml {
    artefact: Artefact,
}

impl Uml {
    /// Such as `6.1`.
    pub fn version(&self) -> &'static str {
        VERSION
    }

    /// As `uname -r` says it.
    pub fn release(&self) -> &str {
        &self.artefact.version
    }

    /// The program.
    pub fn image(&self) -> PathBuf {
        self.artefact.path.join(IMAGE)
    }

    /// Its modules: a part of the initramfs.
    pub fn modules(&self) -> PathBuf {
        self.artefact.path.join(MODULES)
    }
}

/// Builds the kernel.
pub fn ensure(cache: &Cache, userland: &Artefact) -> Result<Artefact> {
    cache.ensure(&recipe(), |folder| {
        build(cache, &Tree::new(&userland.path), folder)
    })
}

/// The kernel if an earlier run built it.
pub fn present(cache: &Cache) -> Result<Option<Uml>> {
    Ok(cache.find(&recipe())?.map(|artefact| Uml { artefact }))
}

/// Starts the kernel with a program that ends at once. One that cannot run programs on this machine is told in words: set-up is the
/// place to hear of it, not the console of a guest.
pub fn try_out(cache: &Cache, base: &Path) -> Result<String> {
    let uml = present(cache)?.context("it is not there")?;
    let folder = cache.partial("uml-trial")?;
    let output = Command::new("timeout")
        .args([
            TRIAL_SECONDS,
            "env",
            "-u",
            "TMPDIR",
            "-u",
            "TMP",
            "-u",
            "TEMP",
        ])
        .arg(uml.image())
        .args(["mem=256M", "umid=trial", "rdinit=/bin/true", "quiet"])
        .args(["con0=null,fd:1", "con=null", "ssl=null"])
        .arg(format!("uml_dir={}", folder.display()))
        .arg(format!("initrd={}", base.display()))
        .stdin(Stdio::null())
        .output()
        .context("cannot start it")?;
    cache::remove(&folder)?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    verdict(
        &text,
        &fs::read_to_string("/proc/cpuinfo").unwrap_or_default(),
    )
}

/// What a trial's output and the processor's description say together.
fn verdict(output: &str, cpuinfo: &str) -> Result<String> {
    if output.contains(RAN) {
        return Ok("runs programs".to_owned());
    }
    let lines = output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let last: Vec<&str> = lines.rev().take(3).collect();
    let amx = if cpuinfo.contains(" amx_tile") {
        "; the processor has AMX, with which some of its versions do not cope"
    } else {
        ""
    };
    bail!(
        "User Mode Linux {VERSION} starts no program on this machine{amx}. Its last lines, the latest first: {}",
        last.join(" | ")
    )
}

fn recipe() -> Recipe {
    Recipe::new("uml")
        .with(format!("{RELEASE:?} {VERSION} {:?}", modules::ROOTS))
        .with(CONFIG)
        .with(PATCH)
        .with("1")
}

fn build(cache: &Cache, userland: &Tree, folder: &Path) -> Result<String> {
    let apt = Apt::open(cache, RELEASE)?;
    let work = folder.join("work");
    fs::create_dir(&work)?;
    let source = source(&apt, &work, userland)?;
    let kbuild = Kbuild {
        source,
        out: work.join("out"),
        tools: Tools::unpack(&apt, &work.join("tools"))?,
    };
    kbuild.patch(&work.join("patch"))?;
    kbuild.configure(&work.join("config"))?;
    kbuild.make(&[IMAGE, "modules"])?;
    let package = work.join("package");
    let place = format!("INSTALL_MOD_PATH={}", package.display());
    kbuild.make(&["modules_install", "DEPMOD=true", &place])?;

    let release = fs::read_to_string(kbuild.out.join("include/config/kernel.release"))?;
    let release = release.trim().to_owned();
    modules::pack(&package, &release, &folder.join(MODULES), userland)?;
    fs::rename(kbuild.out.join(IMAGE), folder.join(IMAGE))?;
    cache::remove(&work)?;
    Ok(release)
}

/// The unpacked kernel source.
fn source(apt: &Apt, work: &Path, userland: &Tree) -> Result<PathBuf> {
    let name = format!("linux-source-{VERSION}");
    let version = apt
        .candidate(&name)?
        .ok_or_else(|| anyhow!("there is no package {name}"))?;
    let package = Package {
        name: name.clone(),
        version,
    };
    let unpacked = work.join("source");
    fs::create_dir(&unpacked)?;
    apt.unpack(&[package], &unpacked)?;
    let archive = unpacked.join(format!("usr/src/{name}.tar.xz"));
    let mut unpacker = userland
        .command("xz")?
        .arg("-dc")
        .arg(&archive)
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot unpack {}", archive.display()))?;
    let stream = unpacker.stdout.take().context("xz has no output")?;
    tool::run(
        Command::new("tar")
            .arg("-xC")
            .arg(&unpacked)
            .stdin(Stdio::from(stream)),
    )?;
    if !unpacker.wait()?.success() {
        bail!("{} is damaged", archive.display());
    }
    Ok(unpacked.join(name))
}

/// Programs by which the build finds the unpacked ones under their own names.
struct Tools {
    path: std::ffi::OsString,
    /// bison looks for these two where it was built to be.
    bison_data: PathBuf,
    m4: PathBuf,
}

impl Tools {
    fn unpack(apt: &Apt, folder: &Path) -> Result<Self> {
        fs::create_dir(folder)?;
        apt.unpack(&apt.closure(&TOOLS.join(" "))?, folder)?;
        let tree = Tree::new(folder);
        let bin = folder.join("wrappers");
        fs::create_dir(&bin)?;
        for name in TOOLS {
            let argv = tree.argv(name)?;
            let words: Vec<String> = argv.iter().map(|word| format!("'{word}'")).collect();
            let script = format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" "));
            let path = bin.join(name);
            fs::write(&path, script)?;
            fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        }
        let m4 = bin.join("m4");
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let places = std::iter::once(bin).chain(std::env::split_paths(&inherited));
        Ok(Self {
            path: std::env::join_paths(places).context("the cache folder's name has a colon")?,
            bison_data: folder.join("usr/share/bison"),
            m4,
        })
    }
}

/// The kernel's build system, set to one build.
struct Kbuild {
    source: PathBuf,
    out: PathBuf,
    tools: Tools,
}

impl Kbuild {
    /// Changes the source; an error when it is not what the patch was made for.
    fn patch(&self, file: &Path) -> Result<()> {
        fs::write(file, PATCH)?;
        let mut command = Command::new("patch");
        command
            .args(["-p1", "--fuzz=0", "-d"])
            .arg(&self.source)
            .arg("-i")
            .arg(file)
            .env("PATH", &self.tools.path);
        tool::run(&mut command).map(drop)
    }

    /// The smallest configuration and what we need; an error when something of that is not to be had.
    fn configure(&self, file: &Path) -> Result<()> {
        fs::create_dir(&self.out)?;
        fs::write(file, CONFIG)?;
        let all = format!("KCONFIG_ALLCONFIG={}", file.display());
        self.make(&["allnoconfig", &all])?;
        let made = fs::read_to_string(self.out.join(".config"))?;
        match CONFIG.lines().find(|line| !is_set(&made, line)) {
            None => Ok(()),
            Some(line) => bail!("this kernel source cannot be configured with {line}"),
        }
    }

    fn make(&self, arguments: &[&str]) -> Result<()> {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let mut command = Command::new("nice");
        command
            .args(["-n", NICE, "make", "ARCH=um", &format!("-j{jobs}"), "-C"])
            .arg(&self.source)
            .arg(format!("O={}", self.out.display()))
            .args(arguments)
            .env("PATH", &self.tools.path)
            .env("BISON_PKGDATADIR", &self.tools.bison_data)
            .env("M4", &self.tools.m4)
            .env("LC_ALL", "C");
        tool::run(&mut command)
            .map(drop)
            .context("the kernel cannot be built: are gcc, libc6-dev, make and perl installed?")
    }
}

/// Whether a configuration has this line; comments are none.
fn is_set(made: &str, line: &str) -> bool {
    line.is_empty() || line.starts_with('#') || made.lines().any(|one| one == line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_set_only_as_a_whole() {
        let made = "CONFIG_PCI=y\n# CONFIG_PM is not set\n";
        assert!(is_set(made, "CONFIG_PCI=y") && is_set(made, "# why"));
        assert!(!is_set(made, "CONFIG_PC") && !is_set(made, "CONFIG_PM=y"));
    }

    #[test]
    fn a_kernel_that_runs_nothing_is_told_with_its_last_line_and_amx() {
        let ran = "boot\nKernel panic - not syncing: Attempted to kill init! exitcode=0x00000000\n";
        assert!(verdict(ran, "flags : fpu amx_tile").is_ok());
        let dead = "boot\nptrace set fp regs failed, errno = 14\n";
        let error = verdict(dead, "flags : fpu amx_tile\n")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("errno = 14") && error.contains("AMX"),
            "{error}"
        );
        let error = verdict(dead, "flags : fpu\n").unwrap_err().to_string();
        assert!(!error.contains("AMX"), "{error}");
    }

    #[test]
    fn the_device_number_is_that_of_the_card() {
        assert!(CONFIG.contains("CONFIG_UML_PCI_OVER_VIRTIO_DEVICE_ID=64\n"));
    }
}
