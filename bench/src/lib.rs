//! What sharing costs, measured: each figure of the paper, ours beside theirs.
//!
//! This is what `airlane bench` measures, by sockets, threads and the real clock. What a frame costs in ticks
//! within one thread is measured by `cargo bench` (`path/`), which uses none of them.
#![allow(
    clippy::disallowed_methods,
    reason = "load and its measurement go by the real clock"
)]

mod baseline;
mod configuration;
mod figures;
pub mod finding;
mod html;
mod limit;
mod load;
mod machine;
mod pairs;
mod plot;
mod progress;
mod saturated;
pub mod stats;
mod table;
mod traced;

pub use figures::Which;
pub use finding::Findings;
pub use html::page;
pub use pairs::{Bench, Effort};
pub use table::text;

use std::time::Instant;

use finding::Figure;
use progress::Line;

/// Measures a figure that needs more than a daemon.
pub type Measure<'a> = &'a mut dyn FnMut(&mut Bench) -> anyhow::Result<Figure>;

/// Measures these figures, and after them that of real guests, if there are any.
pub fn measure(
    which: Which,
    effort: Effort,
    guests: Option<Measure<'_>>,
) -> anyhow::Result<Findings> {
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
    bench.announce(&figures::announcement(which, &effort, guests.is_some()));
    for figure in which.figures() {
        let (figure, summary) = figure(&mut bench)?;
        findings.figures.push(figure);
        findings.summary.extend(summary);
    }
    if let Some(measure) = guests {
        findings.figures.push(measure(&mut bench)?);
    }
    findings.seconds = began.elapsed().as_secs_f64();
    Ok(findings)
}
