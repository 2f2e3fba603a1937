//! Figure 5c: the round trip of a small frame on the same air, one at a time.

use std::time::Duration;

use crate::configuration::Configuration;
use crate::finding::{Bar, Figure, Goal, Panel, Unit};
use crate::load::{Load, Measurement, Setting};
use crate::pairs::Bench;
use crate::stats::Spread;

/// Of an echo request: 56 bytes, as `ping` sends.
const PAYLOAD: usize = 56;
const PAUSE: Duration = Duration::from_millis(1);

/// A path, and the paper's round trip there in milliseconds.
const PATHS: [(Configuration, Option<f64>); 5] = [
    (Configuration::Native, Some(5.74)),
    (Configuration::Passthrough, Some(6.17)),
    (Configuration::Virtual, Some(7.87)),
    (Configuration::Merged, Some(6.63)),
    (Configuration::Default, None),
];

/// Measures the figure.
pub fn measure(bench: &mut Bench) -> anyhow::Result<(Figure, Vec<Goal>)> {
    let mut rigs = bench.rigs(PATHS.map(|(path, _)| Setting::alone(path)))?;
    let load = Load::Echo {
        payload: PAYLOAD,
        pause: PAUSE,
    };
    let turns = bench.interleave("round trips", &mut rigs, &load)?;
    let medians: Vec<Vec<f64>> = turns
        .iter()
        .map(|turns| turns.iter().map(median).collect())
        .collect();
    let native = medians.first().cloned().unwrap_or_default();
    let mut trips = Vec::new();
    let mut over = Vec::new();
    for ((path, paper), samples) in PATHS.into_iter().zip(&medians) {
        let ratios = samples
            .iter()
            .zip(&native)
            .map(|(one, by)| one / by)
            .collect();
        trips.push(Bar::new(path.name(), samples.clone()));
        let bar = Bar::new(path.name(), ratios);
        over.push(match paper {
            Some(paper) => bar.beside(paper / 5.74),
            None => bar,
        });
    }
    let shared = medians.last().cloned().unwrap_or_default();
    let goal = Goal {
        what: "round trip over unshared path, same air",
        paper: "+15 to +37 %",
        reach: 1.05,
        strive: 1.01,
        more_is_better: false,
        unit: Unit::Beyond,
        measured: Some(Spread::of_ratios(&shared, &native)),
        how: "airlane bench latency: default over native, pair by pair".to_owned(),
    };
    Ok((figure(trips, over), vec![goal]))
}

fn median(turn: &Measurement) -> f64 {
    Spread::of(&turn.tally.trips).median
}

fn figure(trips: Vec<Bar>, over: Vec<Bar>) -> Figure {
    let panel = |title: &str, unit, bars| Panel {
        title: title.to_owned(),
        unit,
        bars,
    };
    Figure {
        name: "latency",
        title: "Round trip of one small frame",
        paper: "figure 5c: 5.74 ms native, 6.17 passthrough, 7.87 virtual, 6.63 with VT-d",
        panels: vec![
            panel("round trip, median of each turn", "µs", trips),
            panel("over native", "×", over),
        ],
        notes: vec![format!(
            "{PAYLOAD} bytes as an echo request has them, sent back by the other end at once; 1 ms of silence before \
             the next. From the driver's writing of the descriptor to its reading of the answer. The paper's \
             round trips include a real access point and a second machine; ours do not, so that what is added \
             weighs more."
        )],
    }
}
