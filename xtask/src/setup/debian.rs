//! A whole Debian system in a folder, as `mmdebstrap` installs it: packages' own scripts run in it, so this needs root.
//!
//! `mmdebstrap` and its Perl are unpacked into the cache; nothing is installed on this machine.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::apt::{self, Apt, Release};
use super::cache::{Artefact, Cache, Recipe};
use super::mirror::Mirror;
use super::tool;
use super::tree::Tree;

/// Where the tool comes from. It installs newer releases, too.
const TOOL_RELEASE: Release = Release {
    name: "bookworm",
    preferred: None,
};
const TOOL: &str = "mmdebstrap";
/// Where Perl looks for its modules, the tree's own before this machine's.
const PERL_MODULES: [&str; 4] = [
    "usr/lib/x86_64-linux-gnu/perl/5.36",
    "usr/share/perl/5.36",
    "usr/lib/x86_64-linux-gnu/perl-base",
    "usr/share/perl5",
];
/// Run once dpkg itself is installed: documentation stays out of what follows.
const LEAVE_OUT: &str = "for part in doc man locale; do echo path-exclude=/usr/share/$part/*; done \
                         > \"$1\"/etc/dpkg/dpkg.cfg.d/airlane";

/// What is to be installed.
#[derive(Debug)]
pub struct System {
    /// Which Debian.
    pub release: Release,
    /// Parts of the archive, such as `main`.
    pub components: &'static str,
    /// Packages, with commas between them; what they depend on comes along, what they recommend does not.
    pub packages: &'static str,
    /// A line for the shell that runs before the packages are installed; `$1` is the folder.
    pub prepare: &'static str,
}

impl System {
    /// Installs it into an empty folder.
    pub fn install(&self, cache: &Cache, folder: &Path) -> Result<()> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "installing a Debian system into a folder needs root: its packages' scripts run in it"
        );
        let tool = tool(cache)?;
        let tree = Tree::new(&tool.path);
        let mirror = Mirror::of_this_machine()?;
        // In namespaces of its own: what it mounts in the folder, and what it runs there, goes when it ends, however it
        // ends. A folder with this machine's /dev mounted in it could not be removed safely.
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--pid", "--fork", "--kill-child", "--"])
            .args(tree.argv("perl")?)
            .arg(tree.program(TOOL)?)
            .args(["--mode=root", "--variant=apt", "--format=directory"])
            .args(["--quiet", "--aptopt=Acquire::Languages \"none\""])
            .arg(format!("--essential-hook={LEAVE_OUT}"))
            .arg(format!("--essential-hook={}", self.prepare))
            .arg(format!("--include={}", self.packages));
        if let Some(suite) = self.release.preferred_suite() {
            command.arg(format!("--aptopt=APT::Default-Release \"{suite}\""));
        }
        command.arg(self.release.name).arg(folder);
        let sources = apt::sources(&mirror, self.release, self.components);
        command.args(sources.lines());
        let modules = PERL_MODULES.map(|part| tree.root().join(part));
        let modules =
            std::env::join_paths(modules).context("the cache folder's name has a colon")?;
        command
            .env("PERL5LIB", modules)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env("LC_ALL", "C")
            .env_remove("TMPDIR");
        tool::run(&mut command)?;
        Ok(())
    }
}

/// A program of the system in `folder`, run in it.
pub fn inside(folder: &Path, program: &str) -> Command {
    let mut command = Command::new("chroot");
    command.arg(folder).arg(program).env("LC_ALL", "C");
    command
}

/// `mmdebstrap`, unpacked.
fn tool(cache: &Cache) -> Result<Artefact> {
    let recipe = Recipe::new(TOOL)
        .with(format!("{TOOL_RELEASE:?}"))
        .with("1");
    cache.ensure(&recipe, |folder| {
        let apt = Apt::open(cache, TOOL_RELEASE)?;
        let packages = apt.closure(TOOL)?;
        let own = packages.iter().find(|one| one.name == TOOL);
        let version = own.map_or("unknown", |one| one.version.as_str()).to_owned();
        apt.unpack(&packages, folder)?;
        Tree::new(folder).trim()?;
        Ok(version)
    })
}
