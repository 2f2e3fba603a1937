//! Figures 7 and 8: processor time at equal goodput, by configuration; and what a frame costs beyond the
//! unshared path.

use crate::configuration::Configuration::{self, Default, Native, Passthrough, Virtual};
use crate::finding::{Bar, Figure, KeyFigure, Panel, Unit};
use crate::load::Measurement;
use crate::machine;
use crate::pairs::Bench;
use crate::saturated::{Saturated, Turns};
use crate::stats::Spread;

/// Measures the figure.
pub fn measure(bench: &mut Bench) -> anyhow::Result<(Figure, Vec<KeyFigure>)> {
    let saturated = bench.saturated()?;
    let panels = vec![
        panel(
            "daemon, UDP from the VM at full rate",
            &saturated.up,
            share,
            true,
        ),
        panel(
            "daemon, UDP to the VM at full rate",
            &saturated.down,
            share,
            false,
        ),
        over_native(&saturated.up),
        wake_ups(&saturated.up),
        kinds("of it the radio's thread", &saturated.up, "radio"),
        kinds("of it the lane's thread", &saturated.up, "lane"),
        panel(
            "beside it: the generator, in place of a guest",
            &saturated.up,
            generator,
            false,
        ),
    ];
    let summary = summary(&saturated);
    let figure = Figure {
        name: "processor",
        title: "Processor time at equal goodput",
        meaning: "How much of a core the daemon takes to carry the same frames, path by path.",
        paper: "figures 7 and 8: per cent of a machine of two cores, guest and its kernel included",
        panels,
        notes: vec![
            "Native interrupts once per frame, as the paper's. Passthrough does so too and has the default's data \
             path and translation: those two differ by nothing but sharing."
                .to_owned(),
            "User and system of the daemon's threads, by name, from the kernel's own count. Ours is per cent of one \
             core without any guest; the paper's is of its machine with guest, kernel and profiler."
                .to_owned(),
        ],
    };
    Ok((figure, summary))
}

fn share(turn: &Measurement) -> f64 {
    turn.share() * 100.0
}

fn generator(turn: &Measurement) -> f64 {
    turn.tally.processor / turn.tally.seconds * 100.0
}

fn panel(title: &str, turns: &Turns, value: fn(&Measurement) -> f64, paper: bool) -> Panel {
    let bar = |of: Configuration| {
        let bar = Bar::new(of.name(), turns.samples(of, value));
        Bar {
            paper: of.paper_processor().filter(|_| paper),
            ..bar
        }
    };
    Panel {
        title: title.to_owned(),
        unit: "% of a core",
        bars: Configuration::ALL.map(bar).into(),
    }
}

/// What most of the time goes into is waking and going to sleep again.
fn wake_ups(turns: &Turns) -> Panel {
    let per_frame = |turn: &Measurement| turn.turns() / turn.frames().max(1.0);
    Panel {
        title: "how often a thread of the daemon was put on a core, UDP from the VM".to_owned(),
        unit: "per frame",
        bars: Configuration::ALL
            .map(|of| Bar::new(of.name(), turns.samples(of, per_frame)))
            .into(),
    }
}

fn kinds(title: &str, turns: &Turns, thread: &str) -> Panel {
    let used = |turn: &Measurement| {
        let used = turn.processor.get(thread).copied().unwrap_or_default();
        used.seconds / turn.tally.seconds * 100.0
    };
    let shared = Configuration::ALL.into_iter().filter(|of| *of != Native);
    let bars = shared.map(|of| Bar::new(of.name(), turns.samples(of, used)));
    Panel {
        title: title.to_owned(),
        unit: "% of a core",
        bars: bars.collect(),
    }
}

/// Per frame, over what the unshared path takes in the same round.
fn over_native(turns: &Turns) -> Panel {
    let native = turns.samples(Native, per_frame);
    let bar = |of: Configuration| {
        let samples = turns.samples(of, per_frame);
        let ratios = samples.iter().zip(&native).map(|(one, by)| one / by);
        let paper = of.paper_processor().zip(Native.paper_processor());
        Bar {
            paper: paper.map(|(one, by)| one / by),
            ..Bar::new(of.name(), ratios.collect())
        }
    };
    Panel {
        title: "per frame from the VM, over native".to_owned(),
        unit: "×",
        bars: Configuration::ALL.map(bar).into(),
    }
}

/// Processor time per frame, so that a turn with a little less goodput does not look cheaper.
fn per_frame(turn: &Measurement) -> f64 {
    turn.processor() / turn.frames().max(1.0)
}

fn summary(saturated: &Saturated) -> Vec<KeyFigure> {
    let samples = |of| saturated.up.samples(of, per_frame);
    let (native, off, on) = (samples(Native), samples(Virtual), samples(Default));
    let alike = samples(Passthrough);
    let ticks = machine::ticks_per_second();
    let beyond: Vec<f64> = alike
        .iter()
        .zip(&native)
        .map(|(one, by)| (one - by) * ticks)
        .collect();
    vec![
        KeyFigure {
            what: "ticks per frame that sharing adds",
            meaning: "So many ticks of the time-stamp counter more does a frame take than with a card that shares nothing, an \
                      interrupt per frame on both; sleeping and waking of threads are counted.",
            paper: "60,000",
            unit: Unit::Ticks,
            measured: Spread::of(&beyond),
            figure: "processor",
            how: "processor time per frame, passthrough less native (both interrupt once per frame), \
                  times the TSC's rate"
                .to_owned(),
        },
        KeyFigure {
            what: "processor time per frame, all tuning on over all off",
            meaning: "Coalesced interrupts, cheap translation and the direct data path leave this part of what a frame costs \
                      without them.",
            paper: "0.56",
            unit: Unit::Plain,
            measured: Spread::of_ratios(&on, &off),
            figure: "processor",
            how: "default over virtual, UDP from the VM".to_owned(),
        },
        KeyFigure {
            what: "processor time per frame over a card that shares nothing",
            meaning: "Below 1, a frame costs less through the shared card as tuned by default than through an untuned one that \
                      shares nothing and interrupts at each frame.",
            paper: "1.45",
            unit: Unit::Plain,
            measured: Spread::of_ratios(&on, &native),
            figure: "processor",
            how: "default over native, UDP from the VM".to_owned(),
        },
    ]
}
