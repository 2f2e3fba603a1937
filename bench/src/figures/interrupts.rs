//! Interrupts for each frame, by configuration: the paper has one for each transmit response, or one for ten.

use super::messages::panels;
use crate::configuration::Configuration;
use crate::finding::{Figure, KeyFigure, Unit};
use crate::load::Measurement;
use crate::pairs::Bench;
use crate::stats::Spread;

/// Measures the figure.
pub fn measure(bench: &mut Bench) -> anyhow::Result<(Figure, Vec<KeyFigure>)> {
    let saturated = bench.saturated()?;
    let interrupts = saturated.up.samples(Configuration::Default, per_frame);
    let change: Vec<f64> = interrupts.iter().map(|count| count - 1.0).collect();
    let key = KeyFigure {
        what: "interrupts at full rate, against one per frame",
        meaning: "So many fewer interrupts reach the guest than it sends frames.",
        paper: "−90 % (10)",
        unit: Unit::Change,
        measured: Spread::of(&change),
        figure: "interrupts",
        how: "default, UDP from the VM at full rate".to_owned(),
    };
    let figure = Figure {
        name: "interrupts",
        title: "Interrupts per frame at full rate",
        meaning: "One interrupt that tells of many frames saves the guest as many interruptions.",
        paper: "section 5.3.3: about 1,900 a second, one per frame; a tenth of it with coalescing",
        panels: panels(&saturated, "interrupts per frame", per_frame),
        notes: vec![
            "Counted where the guest would be interrupted: at the card's eventfd.".to_owned(),
        ],
    };
    Ok((figure, vec![key]))
}

fn per_frame(turn: &Measurement) -> f64 {
    turn.tally.traffic.interrupts as f64 / turn.frames().max(1.0)
}
