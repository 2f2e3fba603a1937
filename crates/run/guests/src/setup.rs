//! What `cargo xtask setup` has prepared, as its `setup.json` says: QEMU, kernels, images.

use crate::clock;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// What to do when something of it is missing.
pub const REMEDY: &str = "run `make setup` (or `cargo xtask setup`)";

/// What to do when User Mode Linux is missing: it is built only when asked for.
pub const UML_REMEDY: &str = "run `cargo xtask setup --uml` (builds a kernel: some 10 minutes)";

/// `setup.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Setup {
    /// The QEMU to use.
    pub qemu: Program,
    /// `kvm` or `tcg`, found out by a real boot.
    pub accel: String,
    /// QEMU's machine.
    #[serde(default = "default_machine")]
    pub machine: String,
    /// QEMU's processor.
    #[serde(default = "default_cpu")]
    pub cpu: String,
    /// The guests' kernel command line.
    pub cmdline: String,
    /// The guests' kernels.
    pub kernels: Vec<Kernel>,
    /// The guests' file systems.
    pub images: Images,
    /// passt, for uplinks that need no privilege.
    #[serde(default)]
    pub passt: Option<Program>,
    /// The kernel that runs as a process; only there when it was asked for.
    #[serde(default)]
    pub uml: Option<Uml>,
}

/// A program with what must stand before its arguments.
#[derive(Clone, Debug, Deserialize)]
pub struct Program {
    /// The program, or its loader and then it.
    pub argv: Vec<String>,
    /// As it says itself.
    pub version: String,
}

/// A guest kernel.
#[derive(Clone, Debug, Deserialize)]
pub struct Kernel {
    /// By which it is chosen, such as `6.1`.
    pub version: String,
    /// Its full name.
    pub release: String,
    /// What QEMU boots.
    pub image: PathBuf,
    /// The same kernel as its distribution packs it: it boots slower, and wakes from a sleep.
    pub bzimage: PathBuf,
    /// A cpio archive of its modules.
    pub modules: PathBuf,
}

/// A guest kernel that is a program of the host: User Mode Linux.
#[derive(Clone, Debug, Deserialize)]
pub struct Uml {
    /// Such as `6.1`.
    pub version: String,
    /// Its full name.
    pub release: String,
    /// The program.
    pub image: PathBuf,
    /// A cpio archive of its modules.
    pub modules: PathBuf,
}

/// Guest file systems.
#[derive(Clone, Debug, Deserialize)]
pub struct Images {
    /// A cpio archive: programs and scripts.
    pub base: PathBuf,
}

fn default_machine() -> String {
    "q35".to_owned()
}

fn default_cpu() -> String {
    "max".to_owned()
}

/// The cache folder of airlane.
pub fn cache_folder() -> Result<PathBuf> {
    let variable = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    Ok(cache
        .context("neither XDG_CACHE_HOME nor HOME is set")?
        .join("airlane"))
}

impl Kernel {
    /// The kernel in the form that wakes from suspend to RAM. A wake-up resets the machine, and QEMU then
    /// copies an unpacked kernel into memory anew, over the sleeping one.
    pub fn that_wakes(self) -> Self {
        Self {
            image: self.bzimage.clone(),
            ..self
        }
    }
}

impl Setup {
    /// Reads the manifest in the user's cache folder.
    pub fn load() -> Result<Self> {
        let mut setup = Self::read(&cache_folder()?.join("setup.json"))?;
        if setup.accel == "tcg"
            && let Some(argument) = clock::kernel_argument()
        {
            setup.cmdline = format!("{} {argument}", setup.cmdline);
        }
        Ok(setup)
    }

    /// Reads the manifest at `path`.
    pub fn read(path: &Path) -> Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => bail!(
                "nothing is set up yet ({}: {error})\n  remedy: {REMEDY}",
                path.display()
            ),
        };
        serde_json::from_str(&text)
            .with_context(|| format!("{} is not as expected\n  remedy: {REMEDY}", path.display()))
    }

    /// passt: what was set up, else the one in PATH.
    pub fn passt(&self) -> Result<Vec<String>> {
        if let Some(passt) = &self.passt {
            return Ok(passt.argv.clone());
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&folders)
            .map(|folder| folder.join("passt"))
            .find(|path| path.is_file());
        let found = found.with_context(|| {
            format!("the uplink \"user\" needs passt, which is not there\n  remedy: {REMEDY}, or install passt")
        })?;
        Ok(vec![found.to_string_lossy().into_owned()])
    }

    /// User Mode Linux of that version, or of any.
    pub fn uml(&self, version: Option<&str>) -> Result<&Uml> {
        let uml = self
            .uml
            .as_ref()
            .with_context(|| format!("User Mode Linux is not set up\n  remedy: {UML_REMEDY}"))?;
        match version {
            Some(version) if version != uml.version => bail!(
                "there is no User Mode Linux {version}\n  remedy: leave the kernel out, or use {}",
                uml.version
            ),
            _ => Ok(uml),
        }
    }

    /// The kernel of that version, or the first one.
    pub fn kernel(&self, version: Option<&str>) -> Result<&Kernel> {
        let wanted = |kernel: &&Kernel| version.is_none_or(|version| kernel.version == version);
        self.kernels.iter().find(wanted).with_context(|| {
            let versions: Vec<&str> = self
                .kernels
                .iter()
                .map(|kernel| kernel.version.as_str())
                .collect();
            let version = version.unwrap_or("any");
            format!(
                "there is no guest kernel {version}\n  remedy: use one of: {}; or {REMEDY}",
                versions.join(", ")
            )
        })
    }
}

/// A manifest whose files do not exist, for tests.
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::unwrap_used, reason = "the text is constant")]
pub fn sample() -> Setup {
    let text = r#"{
        "qemu": {"argv": ["/opt/ld.so", "/opt/qemu"], "version": "11.1.0"},
        "accel": "tcg", "cmdline": "console=ttyS0 quiet",
        "kernels": [
            {"version": "6.1", "release": "6.1.0-1-amd64", "image": "/opt/61", "bzimage": "/opt/61z",
             "modules": "/opt/61.cpio"},
            {"version": "6.12", "release": "6.12.1-amd64", "image": "/opt/612", "bzimage": "/opt/612z",
             "modules": "/opt/612.cpio"}
        ],
        "images": {"base": "/opt/base.cpio"}, "tshark": null
    }"#;
    serde_json::from_str(text).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_chosen_by_version_or_is_the_first() {
        let setup = sample();
        assert_eq!(setup.kernel(None).unwrap().version, "6.1");
        assert_eq!(setup.kernel(Some("6.12")).unwrap().release, "6.12.1-amd64");
    }

    #[test]
    fn a_kernel_that_is_not_there_is_an_error_that_lists_those_that_are() {
        let error = sample().kernel(Some("5.10")).unwrap_err().to_string();
        assert!(
            error.contains("6.1, 6.12") && error.contains("remedy"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_manifest_says_what_to_run() {
        let error = Setup::read(Path::new("/nonexistent/setup.json"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("make setup"), "{error}");
    }
}
