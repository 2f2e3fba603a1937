//! What each stage takes: per VM, and of all.

use std::collections::BTreeMap;

use airlane_lane::LaneId;
use serde::Serialize;

use super::collector::Scale;
use super::frame_trace::{FrameTrace, Way};
use super::samples::Samples;
use super::stage::Stage;

/// Figures of many ways.
#[derive(Default)]
pub struct Breakdown {
    /// By the lanes of their VMs; none: of all.
    figures: BTreeMap<(Way, Option<LaneId>), Figures>,
}

#[derive(Default)]
struct Figures {
    stages: Vec<Samples>,
    beyond: Samples,
    outward: Samples,
    outward_beyond: Samples,
}

/// What one way of one VM, or of all VMs, takes.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// `transmit` or `receive`.
    pub way: &'static str,
    /// Whose; none: all VMs together.
    pub vm: Option<String>,
    /// Frames.
    pub frames: u64,
    /// The stages in order, `total` last.
    pub stages: Vec<Row>,
    /// Those stages together that a card that is not shared does without, and their part of the median of the whole.
    pub beyond: Row,
    /// Without `queue`, up to the air: what *Virtual WiFi*, figure 6, shows. Of the transmit way only.
    pub to_the_air: Option<Row>,
    /// The part of it that a card that is not shared does without.
    pub to_the_air_beyond: Option<Row>,
}

/// What one stage takes.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub stage: &'static str,
    /// What happens in it.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub meaning: &'static str,
    /// Ways that had it.
    pub frames: u64,
    /// First quartile, median, third quartile, in ticks of the time-stamp counter.
    pub ticks: [u64; 3],
    /// The same in microseconds.
    pub us: [f64; 3],
    /// Its median's part of the median of the whole.
    pub share: f64,
    /// A card that is not shared does without.
    pub beyond: bool,
}

impl Breakdown {
    /// One more way.
    pub fn add(&mut self, trace: &FrameTrace) {
        for lane in [Some(trace.lane), None] {
            let figures = self.figures.entry((trace.way(), lane)).or_default();
            figures.add(trace);
        }
    }

    /// Frames that went all their way.
    pub fn frames(&self) -> u64 {
        let all = self.figures.iter().filter(|((_, lane), _)| lane.is_none());
        all.map(|(_, figures)| figures.frames()).sum()
    }

    /// The figures: first the transmit way, each VM and then all together, then the receive way. `name` says what the
    /// VM of a lane is called.
    pub fn summaries(&self, scale: Scale, name: impl Fn(LaneId) -> String) -> Vec<Summary> {
        let summary = |(&(way, lane), figures): (&(Way, Option<LaneId>), &Figures)| {
            figures.summary(way, lane.map(&name), scale)
        };
        let mut whose: Vec<_> = self.figures.iter().collect();
        whose.sort_by_key(|&(&(way, lane), _)| (way, lane.is_none(), lane));
        whose.into_iter().filter_map(summary).collect()
    }
}

impl Figures {
    /// A way without one of its stages (a refused frame never sees the air) is left out.
    fn add(&mut self, trace: &FrameTrace) {
        let stages = Stage::of(trace.way());
        let ticks: Vec<Option<u64>> = stages.iter().map(|stage| stage.ticks(trace)).collect();
        let whole = |(stage, ticks): (&Stage, &Option<u64>)| stage.optional || ticks.is_some();
        if !stages.iter().zip(&ticks).all(whole) {
            return;
        }
        self.stages.resize_with(stages.len(), Samples::default);
        for (samples, ticks) in self.stages.iter_mut().zip(&ticks) {
            ticks.iter().for_each(|&ticks| samples.add(ticks));
        }
        let sum = |which: &dyn Fn(&Stage) -> bool| {
            let chosen = stages.iter().zip(&ticks).filter(|(stage, _)| which(stage));
            chosen.filter_map(|(_, ticks)| *ticks).sum()
        };
        self.beyond.add(sum(&|stage| stage.beyond));
        if trace.way() == Way::Transmit {
            self.outward.add(sum(&|stage| stage.outward));
            self.outward_beyond
                .add(sum(&|stage| stage.outward && stage.beyond));
        }
    }

    fn frames(&self) -> u64 {
        self.stages.last().map_or(0, Samples::count)
    }

    fn summary(&self, way: Way, vm: Option<String>, scale: Scale) -> Option<Summary> {
        let total = self.stages.last()?.quartiles()?[1];
        let row = |name, samples: &Samples| row(name, samples, total, scale);
        let stages = Stage::of(way).iter().zip(&self.stages);
        let stage = |(stage, samples): (&Stage, &Samples)| {
            Some(Row {
                meaning: stage.meaning,
                beyond: stage.beyond,
                ..row(stage.name, samples)?
            })
        };
        Some(Summary {
            way: way.name(),
            vm,
            frames: self.frames(),
            stages: stages.filter_map(stage).collect(),
            beyond: row("beyond the unshared path", &self.beyond)?,
            to_the_air: row("to the air, without waiting", &self.outward),
            to_the_air_beyond: row("of it beyond the unshared path", &self.outward_beyond),
        })
    }
}

/// `None` when no way had the stage.
fn row(stage: &'static str, samples: &Samples, total: u64, scale: Scale) -> Option<Row> {
    let ticks = samples.quartiles()?;
    Some(Row {
        stage,
        meaning: "",
        frames: samples.count(),
        ticks,
        us: ticks.map(|ticks| scale.micros(ticks)),
        share: ticks[1] as f64 / total.max(1) as f64,
        beyond: false,
    })
}
