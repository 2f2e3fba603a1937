//! The stage of the Python package: its tests start real runs with the program that users build.
//!
//! They run in a virtual environment below the target folder, with pytest from the package index. Where that cannot be made, the
//! closing lines say that the package was not tested, and `AIRLANE_REQUIRE=python` makes it a failure.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::require::Need;
use super::stage::{Plan, Settings, cargo};

/// Below the workspace's folder.
const PLACE: &str = "target/python";

/// Makes the virtual environment, and plans the tests in it.
pub fn plan(settings: &Settings) -> Result<Plan> {
    match environment(&settings.root) {
        Ok(()) => Ok(tests(settings)),
        Err(error) if settings.required.contains(&Need::Python) => Err(error),
        Err(error) => Ok(Plan {
            notes: vec![format!("the Python package was not tested: {error:#}")],
            ..Plan::default()
        }),
    }
}

/// A virtual environment with pytest and the package.
fn environment(root: &Path) -> Result<()> {
    let place = root.join(PLACE);
    run(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
    let mut pip = Command::new(place.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"]);
    run(pip.args(["pytest", "mypy"]).arg(root.join("python")))
}

fn run(command: &mut Command) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    bail!("{command:?} failed: {}", said.trim())
}

fn tests(settings: &Settings) -> Plan {
    let programs = settings.root.join(PLACE).join("bin");
    let python = settings.root.join("python");
    let mut types = Command::new(programs.join("mypy"));
    types.args(["--strict", "src"]).current_dir(&python);
    let mut tests = Command::new(programs.join("pytest"));
    tests.args(["-q", "tests"]).current_dir(&python);
    tests.env("AIRLANE", settings.root.join("target/release/airlane"));
    Plan {
        commands: vec![
            cargo(settings, "build --locked --release -p airlane"),
            types,
            tests,
        ],
        ..Plan::default()
    }
}
