//! Figure 5c: the round trip of a small frame on the same air, one at a time; what sharing adds to it, as a
//! whole and stage by stage.

use std::time::Duration;

use crate::configuration::Configuration;
use crate::finding::{Bar, Figure, KeyFigure, Panel, Unit};
use crate::load::{ANSWER_AFTER, Load, Measurement, Setting};
use crate::pairs::Bench;
use crate::stats::Spread;
use crate::traced::{self, Summaries};

/// Of an echo request: 56 bytes, as `ping` sends.
const PAYLOAD: usize = 56;
const PAUSE: Duration = Duration::from_millis(1);
const LOAD: Load = Load::Echo {
    payload: PAYLOAD,
    pause: PAUSE,
};

/// A path, and the paper's round trip there in milliseconds.
const PATHS: [(Configuration, Option<f64>); 5] = [
    (Configuration::Native, Some(PAPER_NATIVE)),
    (Configuration::Passthrough, Some(6.17)),
    (Configuration::Virtual, Some(7.87)),
    (Configuration::Merged, Some(6.63)),
    (Configuration::Default, None),
];
const PAPER_NATIVE: f64 = 5.74;

/// Turns in each round: every path, and one that is traced.
pub fn turns() -> usize {
    PATHS.len() + 1
}

/// Measures the figure.
pub fn measure(bench: &mut Bench) -> anyhow::Result<(Figure, Vec<KeyFigure>)> {
    let mut rigs = bench.rigs(PATHS.map(|(path, _)| Setting::alone(path)))?;
    let turns = bench.interleave("round trips", &mut rigs, &LOAD)?;
    let medians: Vec<Vec<f64>> = turns
        .iter()
        .map(|turns| turns.iter().map(median).collect())
        .collect();
    let native = medians.first().cloned().unwrap_or_default();
    let mut trips = Vec::new();
    let mut added = Vec::new();
    for ((path, paper), samples) in PATHS.into_iter().zip(&medians) {
        trips.push(Bar::new(path.name(), samples.clone()));
        if path != Configuration::Native {
            let bar = Bar::new(path.name(), differences(samples, &native));
            added.push(match paper {
                Some(paper) => bar.beside((paper - PAPER_NATIVE) * 1e3),
                None => bar,
            });
        }
    }
    let shared = medians.last().cloned().unwrap_or_default();
    let key = KeyFigure {
        what: "time that sharing adds to a round trip",
        meaning: "So much longer are a small frame and its answer on their way than with a card that shares nothing, \
                  on the same air and with the same far end.",
        paper: "430 to 2,130 µs",
        unit: Unit::Micros,
        measured: Spread::of(&differences(&shared, &native)),
        figure: "latency",
        how: "default less native, pair by pair".to_owned(),
    };
    let mut parts = Parts::default();
    if let Some(rig) = rigs.last_mut() {
        for round in 0..bench.effort.pairs {
            bench.say("stages of a round trip", rig, round);
            parts.add(&traced::turn(rig, &LOAD, bench.effort.span)?);
        }
    }
    Ok((figure(trips, added, parts.bars()), vec![key]))
}

/// Of neighbours.
fn differences(samples: &[f64], native: &[f64]) -> Vec<f64> {
    let pairs = samples.iter().zip(native);
    pairs.map(|(one, by)| one - by).collect()
}

fn median(turn: &Measurement) -> f64 {
    Spread::of(&turn.tally.trips).median
}

/// Medians in microseconds, a value per turn, of what only a shared card has, in the order in which a round trip
/// meets it.
#[derive(Default)]
struct Parts(Vec<(String, Vec<f64>)>);

impl Parts {
    fn add(&mut self, summaries: &Summaries) {
        let ways = [("there", &summaries.transmit), ("back", &summaries.receive)];
        for (way, summary) in ways {
            // The report's way back to the guest is beside the round trip, not in it.
            let stages = summary.iter().flat_map(|one| &one.stages);
            let rows = stages.filter(|row| row.beyond && (way == "back" || is_outward(row.stage)));
            for row in rows {
                let [_, median, _] = row.us;
                self.of(format!("{way}: {}", row.stage)).push(median);
            }
        }
    }

    fn of(&mut self, label: String) -> &mut Vec<f64> {
        let known = self.0.iter().position(|(name, _)| *name == label);
        let at = known.unwrap_or(self.0.len());
        if known.is_none() {
            self.0.push((label, Vec::new()));
        }
        &mut self.0[at].1
    }

    fn bars(self) -> Vec<Bar> {
        let parts = self.0.into_iter();
        parts
            .map(|(label, samples)| Bar::new(label, samples))
            .collect()
    }
}

fn is_outward(stage: &str) -> bool {
    let mut stages = airlane_trace::TRANSMIT.iter();
    stages.any(|known| known.name == stage && known.outward)
}

fn figure(trips: Vec<Bar>, added: Vec<Bar>, parts: Vec<Bar>) -> Figure {
    let panel = |title: &str, bars| Panel {
        title: title.to_owned(),
        unit: "µs",
        bars,
    };
    Figure {
        name: "latency",
        title: "Round trip of one small frame",
        meaning: "A program that waits for an answer, such as ping, waits longer by what sharing adds.",
        paper: "figure 5c: 5.74 ms native, 6.17 passthrough, 7.87 virtual, 6.63 with VT-d",
        panels: vec![
            panel("round trip, median of each turn", trips),
            panel("added by sharing: over native in the same round", added),
            panel(
                "of it, by stage: what a card that is not shared does without (default, traced)",
                parts,
            ),
        ],
        notes: vec![
            format!(
                "{PAYLOAD} bytes as an echo request has them; the other end answers {} µs after it has heard them, \
                 by the medium's own clock; 1 ms of silence before the next. From the driver's writing of the \
                 descriptor to its reading of the answer. The paper's round trips include a real access point and \
                 a second machine; what is added is to be compared, not what it is added to.",
                ANSWER_AFTER.0
            ),
            "The threads that run the medium have the same priority and the same timer slack on all paths.".to_owned(),
        ],
    }
}
