//! Messages over the card's socket for each frame: doorbells, and what the driver writes around interrupts.

use crate::configuration::Configuration;
use crate::finding::{Bar, Figure, KeyFigure, Panel, Unit};
use crate::load::Measurement;
use crate::pairs::Bench;
use crate::saturated::Saturated;
use crate::stats::Spread;

/// Measures the figure.
pub fn measure(bench: &mut Bench) -> anyhow::Result<(Figure, Vec<KeyFigure>)> {
    let saturated = bench.saturated()?;
    let messages = saturated.up.samples(Configuration::Default, per_frame);
    let key = KeyFigure {
        what: "socket messages per frame at full rate",
        meaning: "So often does a frame make QEMU and the daemon exchange a message; one doorbell per frame is the \
                  least that an unmodified driver sends.",
        paper: "~7 (derived)",
        unit: Unit::Plain,
        measured: Spread::of(&messages),
        figure: "messages",
        how: "default, UDP from the VM at full rate, a doorbell per frame".to_owned(),
    };
    let figure = Figure {
        name: "messages",
        title: "Socket messages per frame at full rate",
        meaning: "Each register that the guest's driver touches is a message; what interrupts cost comes on top of the \
                  doorbells.",
        paper: "about 7, derived from table 1",
        panels: panels(&saturated, "messages per frame", per_frame),
        notes: vec![
            "iwlwifi rings the doorbell at every frame, and QEMU posts each register write as a message of its own: \
             from the VM one message per frame is the least that an unmodified guest can send, whatever the card \
             does. With one doorbell per burst what remains is what interrupts cost."
                .to_owned(),
        ],
    };
    Ok((figure, vec![key]))
}

fn per_frame(turn: &Measurement) -> f64 {
    turn.tally.traffic.messages as f64 / turn.frames().max(1.0)
}

/// One for each kind of load.
pub fn panels(
    saturated: &Saturated,
    unit: &'static str,
    value: fn(&Measurement) -> f64,
) -> Vec<Panel> {
    let kinds = [&saturated.up, &saturated.burst, &saturated.down];
    let panel = |turns: &crate::saturated::Turns| Panel {
        title: format!("UDP {}", turns.title),
        unit,
        bars: Configuration::ALL
            .map(|of| Bar::new(of.name(), turns.samples(of, value)))
            .into(),
    };
    kinds.map(panel).into()
}
