//! The stage that looks at what is linked in: licences, sources, versions wanted twice (`deny.toml`), unused dependencies.
//!
//! Its two programs are built once into the cache folder, which takes some minutes. Where that cannot be (no network), and where
//! the database of advisories cannot be reached, the closing lines say that it was not checked.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::stage::{Plan, Settings};
use crate::setup::cache::Cache;

/// A program that cargo installs.
struct Tool {
    name: &'static str,
    version: &'static str,
    /// What goes unchecked without it.
    checks: &'static str,
}

const DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
    checks: "licences, sources and bans of dependencies",
};
const MACHETE: Tool = Tool {
    name: "cargo-machete",
    version: "0.9.2",
    checks: "dependencies without use",
};
/// Seconds that building one of them may take; what is built by then serves the next try.
const BUILD_SECONDS: &str = "1200";
/// Seconds for fetching the database of advisories.
const FETCH_SECONDS: &str = "60";

/// Builds the programs if they are missing, and plans their checks.
pub fn plan(settings: &Settings) -> Result<Plan> {
    let place = Cache::open(false)?.root().join("cargo-tools");
    let mut plan = Plan::default();
    for (tool, check) in [(DENY, deny as fn(&Path, &mut Plan)), (MACHETE, machete)] {
        match tool.ensure(&place) {
            Ok(program) => check(&program, &mut plan),
            Err(error) => plan
                .notes
                .push(format!("{} were not checked: {error:#}", tool.checks)),
        }
    }
    for command in &mut plan.commands {
        command.current_dir(&settings.root);
    }
    Ok(plan)
}

fn deny(program: &Path, plan: &mut Plan) {
    let mut command = Command::new(program);
    command.args(["--locked", "check", "bans", "licenses", "sources"]);
    if has_advisories(program) {
        command.arg("advisories");
    } else {
        let note =
            "advisories about dependencies were not checked: their database cannot be reached";
        plan.notes.push(note.to_owned());
    }
    plan.commands.push(command);
}

fn machete(program: &Path, plan: &mut Plan) {
    let mut command = Command::new(program);
    command.args(["crates", "bench", "xtask"]);
    plan.commands.push(command);
}

fn has_advisories(deny: &Path) -> bool {
    let fetch = Command::new("timeout")
        .arg(FETCH_SECONDS)
        .arg(deny)
        .args(["fetch", "db"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    fetch.is_ok_and(|status| status.success())
}

impl Tool {
    /// The program, built now if it is not there in this version. Built without optimization: it runs for seconds.
    fn ensure(&self, place: &Path) -> Result<PathBuf> {
        let root = place.join(format!("{}-{}", self.name, self.version));
        let program = root.join("bin").join(self.name);
        if program.exists() {
            return Ok(program);
        }
        println!("building {} {} …", self.name, self.version);
        let target = place.join("target");
        let status = Command::new("timeout")
            .args([
                BUILD_SECONDS,
                "cargo",
                "install",
                "--locked",
                "--debug",
                "--quiet",
            ])
            .arg("--root")
            .arg(&root)
            .arg("--target-dir")
            .arg(&target)
            .arg(format!("{}@{}", self.name, self.version))
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .stdin(Stdio::null())
            .status()
            .context("cannot start cargo")?;
        if !status.success() {
            bail!(
                "{} cannot be built ({status}): is the network there?",
                self.name
            );
        }
        Ok(program)
    }
}
