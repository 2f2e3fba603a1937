//! What sharing costs, measured: each figure of the paper, ours beside theirs.
//!
//! Not here: what a frame costs in ticks within one thread (`bench/` in the repository), which needs no
//! sockets, no threads and no time.

mod configuration;
mod figures;
mod finding;
mod guests;
mod html;
mod limit;
mod load;
mod machine;
mod pairs;
mod plot;
mod progress;
mod saturated;
mod stats;
mod table;

pub use figures::Which;
pub use finding::Findings;
pub use html::page;
pub use pairs::Effort;
pub use table::text;

use std::time::Instant;

use finding::{Goal, Unit};
use guests::Guests;
use pairs::Bench;
use progress::Line;

/// Measures these figures; real guests as well, if they are wanted and there.
pub fn measure(which: Which, effort: Effort, guests: bool) -> anyhow::Result<Findings> {
    let began = Instant::now();
    let mut bench = Bench::new(effort, Line::default());
    let mut findings = Findings {
        machine: machine::facts(),
        effort: format!(
            "{} interleaved rounds, turns of {} ms",
            effort.pairs,
            effort.span.as_millis()
        ),
        ..Findings::default()
    };
    for figure in which.figures() {
        let (figure, goals) = figure(&mut bench)?;
        findings.figures.push(figure);
        findings.goals.extend(goals);
    }
    if which == Which::All {
        findings.goals.push(allocations());
    }
    let only = which == Which::Guests;
    let found = match guests || only {
        true => Guests::new(&Guests::usual())?,
        false => None,
    };
    match found {
        Some(mut found) => findings.figures.push(found.measure(&mut bench)?),
        None if only => anyhow::bail!(
            "no real guests here: the set-up or scenarios/two-networks.toml is missing (airlane doctor)"
        ),
        None => {}
    }
    findings.seconds = began.elapsed().as_secs_f64();
    Ok(findings)
}

/// Counted elsewhere: it takes another allocator than the program's.
fn allocations() -> Goal {
    Goal {
        what: "allocations per frame on the data path",
        paper: "–",
        reach: 0.0,
        strive: 0.0,
        more_is_better: false,
        unit: Unit::Plain,
        measured: None,
        how: "cargo bench".to_owned(),
    }
}
