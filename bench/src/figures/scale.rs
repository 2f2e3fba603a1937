//! One to sixteen VMs on one card: what a frame costs the daemon.

use std::time::Duration;

use crate::configuration::Configuration;
use crate::finding::{Bar, Figure, KeyFigure, Panel, Unit};
use crate::load::{Doorbell, Load, Measurement, Rig, Setting, UDP};
use crate::pairs::Bench;
use crate::stats::Spread;

const VMS: [usize; 5] = [1, 2, 4, 8, 16];
/// Of all VMs together.
const FRAMES_PER_SECOND: u32 = 2_000;
/// Frames under way of each VM, flat out.
const DEPTH: u64 = 32;

/// Turns in each round: every number of VMs, paced and flat out.
pub fn turns() -> usize {
    2 * VMS.len()
}

/// Measures the figure.
pub fn measure(bench: &mut Bench) -> anyhow::Result<(Figure, Vec<KeyFigure>)> {
    let setting = |vms| Setting {
        vms,
        air: false,
        ..Setting::alone(Configuration::Default)
    };
    let mut rigs = bench.rigs(VMS.map(setting))?;
    let mut paced: Vec<Vec<f64>> = VMS.map(|_| Vec::new()).into();
    let mut flat_out = paced.clone();
    for round in 0..bench.effort.pairs {
        for (at, rig) in rigs.iter_mut().enumerate() {
            bench.say("scale", rig, round);
            let (slow, fast) = one(rig, bench.effort.span)?;
            paced[at].push(slow);
            flat_out[at].push(fast);
        }
    }
    let panels = vec![
        panel("2,000 frames a second, divided among the VMs", &paced),
        panel("each VM flat out, 32 frames under way", &flat_out),
    ];
    let summary = vec![
        key(
            "processor time per frame, 16 VMs over 1 VM, each flat out",
            "1 says that a busy VM's frame costs the same beside 15 others; below 1 they share wake-ups.",
            &flat_out,
        ),
        key(
            "processor time per frame, 16 VMs over 1 VM, 2,000 frames a second in all",
            "The same with so few frames of each VM that every frame is woken for alone.",
            &paced,
        ),
    ];
    let figure = Figure {
        name: "scale",
        title: "One to sixteen VMs: processor time per frame",
        meaning: "Whether a frame costs the daemon more because other VMs have the card, too.",
        paper: "not in the paper",
        panels,
        notes: vec!["Without air; user and system of all threads of the daemon. At few frames a second for each VM every frame \
             is woken for and interrupts alone; of one VM with all of them many share both.".to_owned()],
    };
    Ok((figure, summary))
}

fn key(what: &'static str, meaning: &'static str, samples: &[Vec<f64>]) -> KeyFigure {
    let ends = samples.first().zip(samples.last());
    let measured = ends.map(|(one, all)| Spread::of_ratios(all, one));
    KeyFigure {
        what,
        meaning,
        paper: "–",
        unit: Unit::Plain,
        measured: measured.unwrap_or_default(),
        figure: "scale",
        how: "processor time of the daemon per frame, 16 VMs over 1".to_owned(),
    }
}

/// Microseconds per frame: paced, and flat out.
fn one(rig: &mut Rig, span: Duration) -> anyhow::Result<(f64, f64)> {
    let vms = u32::try_from(rig.setting.vms)?;
    let paced = Load::Paced {
        payload: UDP,
        every: Duration::from_secs(1) * vms / FRAMES_PER_SECOND,
    };
    let flat_out = Load::Up {
        payload: UDP,
        depth: DEPTH,
        doorbell: Doorbell::PerFrame,
    };
    let paced = per_frame(&rig.measure(&paced, span)?);
    Ok((paced, per_frame(&rig.measure(&flat_out, span)?)))
}

fn per_frame(turn: &Measurement) -> f64 {
    turn.processor() / turn.frames().max(1.0) * 1e6
}

fn panel(title: &str, samples: &[Vec<f64>]) -> Panel {
    let bars = VMS.into_iter().zip(samples);
    let bar = |(vms, samples): (usize, &Vec<f64>)| {
        let plural = if vms == 1 { "" } else { "s" };
        Bar::new(format!("{vms} VM{plural}"), samples.clone())
    };
    Panel {
        title: title.to_owned(),
        unit: "µs per frame",
        bars: bars.map(bar).collect(),
    }
}
