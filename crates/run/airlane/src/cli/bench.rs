//! `airlane bench`: measures, and says it to people, to machines, or to both.

use std::io::Write;
use std::path::{Path, PathBuf};

use airlane_bench::{Bench, Effort, Measure, Which};
use anyhow::Context;

use crate::cost::Guests;

/// What is shown under the options.
pub const EXAMPLES: &str = "\
Examples:
  airlane bench throughput                       One figure, some seconds
  airlane bench all --report out/report.html     Every figure beside the paper's, with plots
  airlane bench latency --pairs 15 --json        More rounds; the findings for a machine
  airlane bench all --quick                      Whether it all works; its figures say little

Native is the same card on the NIC in one thread, with nothing that sharing needs. Load speaks vfio-user as a
VMM does. Nothing is asserted about time: the exit code is 0 when everything could be measured.";

/// Arguments of `airlane bench`.
#[derive(clap::Args)]
pub struct Arguments {
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

/// Measures and prints.
pub fn bench(arguments: &Arguments) -> anyhow::Result<()> {
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

/// Those that are wanted and there.
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
