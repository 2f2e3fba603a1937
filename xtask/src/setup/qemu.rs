//! QEMU with `vfio-user-pci`: the installed one if it is new enough, else a private copy.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::apt::{Apt, Release};
use super::cache::{Cache, Recipe};
use super::tool;
use super::tree::Tree;

const PACKAGE: &str = "qemu-system-x86";
const INSTALLED: &str = "qemu-system-x86_64";
/// The first version with `vfio-user-pci`.
const OLDEST: (u32, u32) = (10, 1);
/// Devices that airlane attaches its cards and radios to.
const DEVICES: [&str; 2] = ["vfio-user-pci", "vhost-user-test-device-pci"];
/// Where a new QEMU may come from, the most settled release first.
const RELEASES: [Release; 3] = [
    Release {
        name: "trixie",
        preferred: Some("-backports"),
    },
    Release {
        name: "forky",
        preferred: None,
    },
    Release {
        name: "sid",
        preferred: None,
    },
];
const DATA: [&str; 2] = ["usr/share/qemu", "usr/share/seabios"];

/// A QEMU that can run guests.
pub struct Qemu {
    /// How to start it; a guest's own arguments follow.
    pub argv: Vec<String>,
    /// Its version, e.g. `11.1.3`.
    pub version: String,
}

impl fmt::Display for Qemu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.version)
    }
}

impl Qemu {
    /// A command that starts it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.argv[0]);
        command.args(&self.argv[1..]);
        command
    }
}

/// The QEMU to use.
pub fn ensure(cache: &Cache) -> Result<Qemu> {
    if let Ok(qemu) = check(vec![INSTALLED.to_owned()]) {
        return Ok(qemu);
    }
    let recipe = Recipe::new("qemu")
        .with(PACKAGE)
        .with(format!("{RELEASES:?}"))
        .with("1");
    let artefact = cache.ensure(&recipe, |folder| fetch(cache, folder))?;
    Ok(Qemu {
        argv: argv(&artefact.path)?,
        version: artefact.version,
    })
}

fn fetch(cache: &Cache, folder: &Path) -> Result<String> {
    for release in RELEASES {
        let apt = Apt::open(cache, release)?;
        let candidate = apt.candidate(PACKAGE)?;
        if candidate.is_some_and(|version| number(&version).is_some_and(|it| it >= OLDEST)) {
            apt.unpack(&apt.closure(PACKAGE)?, folder)?;
            Tree::new(folder).trim()?;
            let qemu = check(argv(folder)?).context("the QEMU just unpacked is of no use")?;
            return Ok(qemu.version);
        }
    }
    bail!(
        "this machine's Debian mirror has no QEMU >= {}.{}: install one by hand",
        OLDEST.0,
        OLDEST.1
    )
}

fn argv(folder: &Path) -> Result<Vec<String>> {
    let mut argv = Tree::new(folder).argv(INSTALLED)?;
    for data in DATA {
        argv.extend(["-L".to_owned(), super::tree::utf8(folder.join(data))?]);
    }
    Ok(argv)
}

/// Runs it: is it new enough, and does it have the devices?
fn check(argv: Vec<String>) -> Result<Qemu> {
    let mut qemu = Qemu {
        argv,
        version: String::new(),
    };
    let banner = tool::text(qemu.command().arg("--version"))?;
    let version = banner
        .split(' ')
        .nth(3)
        .context("qemu --version says nothing known")?
        .trim();
    if number(version).is_none_or(|number| number < OLDEST) {
        bail!("QEMU {version} is older than {}.{}", OLDEST.0, OLDEST.1);
    }
    let devices = tool::text(qemu.command().args(["-device", "help"]))?;
    for device in DEVICES {
        if !devices.contains(&format!("\"{device}\"")) {
            bail!("QEMU {version} has no device {device}");
        }
    }
    qemu.version = version.to_owned();
    Ok(qemu)
}

/// `1:11.1.3+ds-1` → (11, 1).
fn number(version: &str) -> Option<(u32, u32)> {
    let upstream = version.rsplit(':').next()?;
    let mut parts = upstream.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        assert_eq!(number("1:7.2+dfsg-7"), Some((7, 2)));
        assert_eq!(number("11.1.3"), Some((11, 1)));
        assert!(number("1:10.0.13+ds").unwrap() < OLDEST);
    }
}
