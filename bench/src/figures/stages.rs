//! Figure 6 and table 1: what each stage of a frame's way takes, from the daemon's own stamps.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::configuration::Configuration;
use crate::finding::{Bar, Figure, KeyFigure, Panel, Unit};
use crate::load::{Doorbell, Load, Setting, UDP};
use crate::pairs::Bench;
use crate::stats::Spread;
use crate::traced;
use airlane_trace::{Row, Summary, TRANSMIT};

const PATHS: [Configuration; 2] = [Configuration::Virtual, Configuration::Default];
/// Slow enough that each frame goes its way alone.
const EVERY: Duration = Duration::from_millis(1);
/// In the paper: from the guest's write to the card's queue, and address translation in it.
const PAPER: f64 = 60_000.0;
const PAPER_TRANSLATION: f64 = 30_000.0;

/// Medians of each turn, by stage, in the order of the way.
#[derive(Default)]
struct Stages {
    order: Vec<&'static str>,
    ticks: BTreeMap<&'static str, Vec<f64>>,
}

impl Stages {
    fn add(&mut self, row: &Row) {
        if !self.order.contains(&row.stage) {
            self.order.push(row.stage);
        }
        let [_, median, _] = row.ticks;
        self.ticks.entry(row.stage).or_default().push(median as f64);
    }

    fn add_all(&mut self, summary: &Summary) {
        let stages = summary.stages.iter().filter(|row| row.stage != "total");
        stages.for_each(|row| self.add(row));
        let sums = [&summary.to_the_air, &summary.to_the_air_beyond];
        sums.into_iter().flatten().for_each(|row| self.add(row));
    }

    fn of(&self, stage: &str) -> Vec<f64> {
        self.ticks.get(stage).cloned().unwrap_or_default()
    }

    /// Of the way to the air, with its sums; or of the way back.
    fn bars(&self, outward: bool) -> Vec<Bar> {
        let bar = |stage: &&'static str| {
            let bar = Bar::new(*stage, self.of(stage));
            match *stage {
                "translate" => bar.beside(PAPER_TRANSLATION),
                TO_THE_AIR => bar.beside(PAPER),
                _ => bar,
            }
        };
        let chosen = self
            .order
            .iter()
            .filter(|stage| is_outward(stage) == outward);
        // Waiting for the medium is not work, and would hide all others.
        chosen
            .filter(|stage| !WAITS.contains(stage))
            .map(bar)
            .collect()
    }
}

const WAITS: [&str; 3] = ["queue", "air", "report"];

/// Sums are of the way to the air.
fn is_outward(stage: &str) -> bool {
    let found = TRANSMIT.iter().find(|known| known.name == stage);
    found.is_none_or(|found| found.outward)
}

/// The row of the whole way to the air.
const TO_THE_AIR: &str = "to the air, without waiting";

/// Turns in each round: every load on every path.
pub fn turns() -> usize {
    loads().len() * PATHS.len()
}

/// Measures the figure.
pub fn measure(bench: &mut Bench) -> anyhow::Result<(Figure, Vec<KeyFigure>)> {
    let mut rigs = bench.rigs(PATHS.map(Setting::alone))?;
    let mut panels = Vec::new();
    let mut summary = Vec::new();
    for (title, load) in loads() {
        let mut stages = PATHS.map(|_| Stages::default());
        for round in 0..bench.effort.pairs {
            for (rig, stages) in rigs.iter_mut().zip(&mut stages) {
                bench.say("stages", rig, round);
                if let Some(summary) = traced::turn(rig, &load, bench.effort.span)?.transmit {
                    stages.add_all(&summary);
                }
            }
        }
        for (outward, way) in [(true, "to the air"), (false, "and back")] {
            panels.extend(PATHS.into_iter().zip(&stages).map(|(path, stages)| Panel {
                title: format!("{title}: {}, {way}", path.name()),
                unit: "ticks",
                bars: stages.bars(outward),
            }));
        }
        summary = translation(&stages).into_iter().collect();
    }
    Ok((figure(panels), summary))
}

/// Each frame alone, then as many as the air takes; the summary is of the last.
fn loads() -> [(&'static str, Load); 2] {
    let alone = Load::Paced {
        payload: UDP,
        every: EVERY,
    };
    let full = Load::Up {
        payload: UDP,
        depth: 64,
        doorbell: Doorbell::PerFrame,
    };
    [("a frame in a millisecond", alone), ("full rate", full)]
}

fn translation(stages: &[Stages; 2]) -> Option<KeyFigure> {
    let [_, default] = stages;
    let (translate, all) = (default.of("translate"), default.of(TO_THE_AIR));
    (!translate.is_empty()).then(|| KeyFigure {
        what: "address translation's share of a frame's way to the air",
        meaning: "So much of the time from the guest's doorbell to the medium goes into finding the memory behind the \
                  guest's addresses; half of it did in the paper.",
        paper: "~50 %",
        unit: Unit::Share,
        measured: Spread::of_ratios(&translate, &all),
        figure: "stages",
        how: "translate over the whole way to the air, default at full rate"
            .to_owned(),
    })
}

fn figure(panels: Vec<Panel>) -> Figure {
    Figure {
        name: "stages",
        title: "The way of a frame, stage by stage",
        meaning: "Where the time goes between the guest's doorbell and the medium, and on the way back.",
        paper: "figure 6: 60,000 cycles from the guest's write to the card's queue, half of it address translation",
        panels,
        notes: vec![
            "With a frame in a millisecond each goes alone, and \"ring\" is the wake-up of a sleeping thread. Waiting for \
             the medium is left out. \"ring back\" has in it for how long a report is held so that one interrupt \
             serves many. airlane trace shows the same of any run."
                .to_owned(),
        ],
    }
}
