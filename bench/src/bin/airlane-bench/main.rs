//! `airlane-bench`, which `airlane bench` runs: measures, and says it to people, to machines, or to both.

mod guests;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use airlane_bench::{Bench, Effort, Measure, Which};
use anyhow::Context;
use clap::Parser;

use guests::Guests;

/// What is shown under the options.
const EXAMPLES: &str = "\
Examples:
  airlane bench throughput                       One figure, about a minute
  airlane bench all --report out/report.html     Every figure beside the paper's, with plots
  airlane bench latency --pairs 15 --json        More rounds; the findings for a machine
  airlane bench all --quick                      Whether it all works; its figures say little

Native is the same card on the NIC in one thread, with nothing that sharing needs. Load speaks vfio-user as a
VMM does. How long it takes is said at the start. Nothing is asserted about time: the exit code is 0 when everything could be measured.";

/// What sharing a card costs: each figure of the paper, ours beside theirs
#[derive(Parser)]
#[command(name = "airlane-bench", bin_name = "airlane bench", version, after_help = EXAMPLES)]
struct Arguments {
    /// Which figure
    #[arg(value_enum)]
    which: Which,
    /// The findings as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Also one page with tables and plots, which needs nothing else
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Without the runs of real guests that belong to `all`
    #[arg(long)]
    no_guests: bool,
    /// Few and short turns, no guests
    #[arg(long)]
    quick: bool,
    /// Rounds, in each of which every path has its turn [default: 7]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pairs: Option<u16>,
}

fn main() -> ExitCode {
    log_to_standard_error();
    match bench(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("airlane: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Only what went wrong, unless AIRLANE_LOG asks for more.
fn log_to_standard_error() {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_env("AIRLANE_LOG").unwrap_or_else(|_| EnvFilter::new("error"));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .try_init();
}

/// A reader that has gone is no error of ours.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Measures and prints.
fn bench(arguments: &Arguments) -> anyhow::Result<()> {
    let mut effort = match arguments.quick {
        true => Effort::QUICK,
        false => Effort::FULL,
    };
    if let Some(pairs) = arguments.pairs {
        effort.pairs = pairs.into();
    }
    if let Some(folder) = arguments.report.as_deref().and_then(Path::parent) {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let mut guests = guests(arguments)?;
    let mut measured = guests
        .as_mut()
        .map(|guests| |bench: &mut Bench| guests.measure(bench));
    let guests = measured.as_mut().map(|measure| measure as Measure<'_>);
    let findings = airlane_bench::measure(arguments.which, effort, guests)?;
    if let Some(path) = &arguments.report {
        std::fs::write(path, airlane_bench::page(&findings)?)
            .with_context(|| format!("cannot write the report {}", path.display()))?;
    }
    match arguments.json {
        true => say(&serde_json::to_string_pretty(&findings)?)?,
        false => say(&airlane_bench::text(&findings))?,
    }
    Ok(())
}

/// The real guests that are wanted and there.
fn guests(arguments: &Arguments) -> anyhow::Result<Option<Guests>> {
    let only = arguments.which == Which::Guests;
    let also = arguments.which == Which::All && !arguments.quick && !arguments.no_guests;
    if !only && !also {
        return Ok(None);
    }
    let found = Guests::new(&Guests::usual())?;
    anyhow::ensure!(
        found.is_some() || also,
        "no real guests here: the set-up or scenarios/two-networks.toml is missing (airlane doctor)"
    );
    Ok(found)
}

fn say(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
