//! What sharing costs, measured: each figure of the paper, ours beside theirs.
//!
//! Not here: what a frame costs in ticks within one thread (`bench/` in the repository), which needs no
//! sockets, no threads and no time.

mod configuration;
mod figures;
mod finding;
mod limit;
mod load;
mod pairs;
mod progress;
mod stats;
mod table;

pub use figures::Which;
pub use finding::Findings;
pub use pairs::Effort;
pub use table::text;

use std::time::Instant;

use pairs::Bench;
use progress::Line;

/// Measures these figures.
pub fn measure(which: Which, effort: Effort) -> anyhow::Result<Findings> {
    let began = Instant::now();
    let mut bench = Bench::new(effort, Line::default());
    let mut findings = Findings {
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
    findings.seconds = began.elapsed().as_secs_f64();
    Ok(findings)
}
