//! The stages of `cargo xtask test`, in order, and how one is run.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::dependencies;
use super::python;
use super::require::Need;
use super::shard::Shard;
use super::tally::Tally;

/// What is the same for all stages.
pub struct Settings {
    /// The workspace's folder.
    pub root: PathBuf,
    /// Which guest tests.
    pub shard: Shard,
    /// What must not be skipped.
    pub required: Vec<Need>,
    /// Whether User Mode Linux is set up.
    pub uml: bool,
}

/// What a stage will run, and what it already knows that it leaves out.
#[derive(Default)]
pub struct Plan {
    /// One after the other, until one fails.
    pub commands: Vec<Command>,
    /// Sentences for the closing lines: what was not checked, and why.
    pub notes: Vec<String>,
}

/// One row of the closing table.
pub struct Stage {
    /// By which it can be chosen on the command line.
    pub name: &'static str,
    /// What it runs. May itself take a while: it may build tools.
    plan: fn(&Settings) -> Result<Plan>,
}

/// All stages, the quickest to fail first.
pub const STAGES: [Stage; 14] = [
    Stage {
        name: "format",
        plan: |settings| one(settings, "fmt --all --check"),
    },
    Stage {
        name: "lints",
        plan: lints,
    },
    Stage {
        name: "documents",
        plan: documents,
    },
    Stage {
        name: "dependencies",
        plan: dependencies::plan,
    },
    Stage {
        name: "units",
        plan: |settings| one(settings, "test --locked --workspace"),
    },
    Stage {
        name: "loom",
        plan: loom,
    },
    Stage {
        name: "long-stories",
        plan: |settings| {
            let line = "test --locked --release -p airlane-daemon --test stories -- --ignored";
            one(settings, line)
        },
    },
    Stage {
        name: "set-up",
        plan: set_up,
    },
    Stage {
        name: "tools",
        plan: |settings| {
            let line = "test --locked -p airlane --test extcap --test uplinks -- --ignored --test-threads=1";
            one(settings, line)
        },
    },
    Stage {
        name: "benchmarks",
        plan: benchmarks,
    },
    Stage {
        name: "python",
        plan: python::plan,
    },
    Stage {
        name: "guests-build",
        plan: |settings| one(settings, &format!("{GUESTS} --no-run")),
    },
    Stage {
        name: "guests",
        plan: guests,
    },
    Stage {
        name: "own-vm",
        plan: own_vm,
    },
];

const GUESTS: &str = "test --locked --release -p airlane --test guests --test tutorial";

/// A command of cargo, in the workspace's folder.
pub fn cargo(settings: &Settings, line: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(line.split(' ')).current_dir(&settings.root);
    command
}

fn one(settings: &Settings, line: &str) -> Result<Plan> {
    Ok(Plan {
        commands: vec![cargo(settings, line)],
        ..Plan::default()
    })
}

/// As a user runs them: `airlane bench` runs the program that was built beside it.
fn benchmarks(settings: &Settings) -> Result<Plan> {
    let lines = [
        "build --locked --release -p airlane-bench",
        "run --locked --release -p airlane -- bench all --quick",
    ];
    Ok(Plan {
        commands: lines.map(|line| cargo(settings, line)).into(),
        ..Plan::default()
    })
}

/// Lints differ from version to version, so this is where another one than `rust-version` is told.
fn lints(settings: &Settings) -> Result<Plan> {
    let line = "clippy --locked --workspace --all-targets --quiet -- -D warnings";
    let mut plan = one(settings, line)?;
    let output = Command::new("rustc").arg("--version").output()?;
    let rustc = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let promised = env!("CARGO_PKG_RUST_VERSION");
    if !is_version(&rustc, promised) {
        let note =
            format!("{rustc} builds this, while Cargo.toml promises {promised}: make them one");
        plan.notes.push(note);
    }
    Ok(plan)
}

/// Whether `rustc 1.95.0 (…)` is the version `1.95`.
fn is_version(rustc: &str, promised: &str) -> bool {
    let version = rustc.strip_prefix("rustc ").unwrap_or_default();
    let rest = version.strip_prefix(promised);
    rest.is_some_and(|rest| rest.starts_with(['.', ' ']))
}

fn documents(settings: &Settings) -> Result<Plan> {
    let mut command = cargo(settings, "doc --locked --workspace --no-deps --quiet");
    command.env("RUSTDOCFLAGS", "-Dwarnings");
    Ok(Plan {
        commands: vec![command],
        ..Plan::default()
    })
}

/// In a target folder of its own: the flag would rebuild everything else.
fn loom(settings: &Settings) -> Result<Plan> {
    let line = "test --locked -p airlane-lane --test loom --target-dir target/loom";
    let mut command = cargo(settings, line);
    command.env("RUSTFLAGS", "--cfg loom");
    Ok(Plan {
        commands: vec![command],
        ..Plan::default()
    })
}

fn set_up(settings: &Settings) -> Result<Plan> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["setup", "--with-tshark", "--kernel", "all"]);
    if settings.uml {
        command.arg("--uml");
    }
    Ok(Plan {
        commands: vec![command],
        ..Plan::default()
    })
}

/// The guest tests of the shard, by name.
fn guests(settings: &Settings) -> Result<Plan> {
    let mut list = cargo(settings, GUESTS);
    let output = list.args(["--", "--ignored", "--list"]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let tests = text.lines().filter_map(|line| line.strip_suffix(": test"));
    let tests: Vec<String> = tests.map(str::to_owned).collect();
    let chosen = settings.shard.choose(&tests)?;
    let mut plan = Plan::default();
    if chosen.len() < tests.len() {
        plan.notes.push(format!(
            "{} of {} guest tests were run: AIRLANE_SHARD chose them",
            chosen.len(),
            tests.len()
        ));
    }
    let mut command = cargo(settings, GUESTS);
    command.args([
        "--",
        "--ignored",
        "--exact",
        "--test-threads=1",
        "--nocapture",
    ]);
    plan.commands.push({
        command.args(chosen);
        command
    });
    Ok(plan)
}

/// A stranger's VM under libvirt. Its disk is made by root; without root, the test says why it is skipped.
fn own_vm(settings: &Settings) -> Result<Plan> {
    let mut plan = Plan::default();
    if !settings.shard.takes_own_vm() {
        let note = "no VM was run under libvirt: AIRLANE_SHARD left it to the first part";
        plan.notes.push(note.to_owned());
        return Ok(plan);
    }
    if rustix::process::geteuid().is_root() {
        let mut set_up = Command::new(std::env::current_exe()?);
        set_up.args(["setup", "--own-vm"]);
        plan.commands.push(set_up);
    }
    let line = "test --locked --release -p airlane --test own_vm -- --ignored --nocapture";
    plan.commands.push(cargo(settings, line));
    Ok(plan)
}

/// How a stage ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// Every command succeeded.
    Passed,
    /// One did not, or the stage could not be planned.
    Failed(String),
    /// An earlier stage had failed.
    NotRun,
}

/// One row of the closing table, filled in.
pub struct Outcome {
    /// The stage's name.
    pub name: &'static str,
    /// How long it took.
    pub took: Duration,
    /// How it ended.
    pub end: End,
    /// The tests that it ran.
    pub tally: Tally,
    /// What was not checked, and why.
    pub notes: Vec<String>,
}

impl Stage {
    /// The row of a stage that an earlier failure left out.
    pub fn left_out(&self) -> Outcome {
        Outcome {
            name: self.name,
            took: Duration::ZERO,
            end: End::NotRun,
            tally: Tally::default(),
            notes: Vec::new(),
        }
    }

    /// Plans and runs it. What its commands print goes on to our own standard output.
    pub fn run(&self, settings: &Settings) -> Outcome {
        let begin = Instant::now();
        let mut outcome = self.left_out();
        outcome.end = match self.run_into(settings, &mut outcome) {
            Ok(()) => End::Passed,
            Err(error) => End::Failed(format!("{error:#}")),
        };
        outcome.took = begin.elapsed();
        outcome
    }

    fn run_into(&self, settings: &Settings, outcome: &mut Outcome) -> Result<()> {
        let plan = (self.plan)(settings)?;
        outcome.notes = plan.notes;
        for mut command in plan.commands {
            watch(&mut command, &mut outcome.tally)?;
        }
        Ok(())
    }
}

/// Runs a command to its end, passes its standard output on line by line, and counts the tests in it.
fn watch(command: &mut Command, tally: &mut Tally) -> Result<()> {
    let shown = shown(command);
    println!("$ {shown}");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {shown}"))?;
    let mut lines = BufReader::new(child.stdout.take().context("no output")?);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        std::io::stdout().write_all(&line)?;
        tally.line(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
    let status = child.wait()?;
    anyhow::ensure!(status.success(), "`{shown}` ended with {status}");
    Ok(())
}

/// The command line without the path of its program, cut where it is long.
fn shown(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or_default();
    let words = std::iter::once(name).chain(command.get_args());
    let line = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>();
    let line = line.join(" ");
    match line.char_indices().nth(120) {
        Some((end, _)) => format!("{} …", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_of_the_compiler_is_noticed() {
        assert!(is_version("rustc 1.95.0 (59807616e 2026-04-14)", "1.95"));
        assert!(!is_version("rustc 1.96.0 (abc)", "1.95") && !is_version("rustc 1.950.0", "1.95"));
        assert!(!is_version("", "1.95"));
    }
}
