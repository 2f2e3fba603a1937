//! Figures 5a and 5b: goodput on the same air, native and shared, from and to the VM; and how much of what
//! the air could carry that is.

use crate::configuration::Configuration;
use crate::finding::{Bar, Figure, KeyFigure, Panel, Unit};
use crate::limit;
use crate::load::{Doorbell, Load, Measurement, Setting, UDP};
use crate::pairs::Bench;
use crate::stats::Spread;

/// TCP payload of a full frame with time stamps.
const TCP: usize = 1_448;
/// Behind IPv4 and 8 bytes, which every load has: the rest of TCP's header.
const SEGMENT: usize = TCP + 24;
const WINDOW: u32 = 64;

const PATHS: [Configuration; 2] = [Configuration::Native, Configuration::Default];

/// A kind of load, and what the paper found for native and virtual.
struct Kind {
    title: &'static str,
    load: Load,
    /// Goodput of one turn, in Mb/s.
    goodput: fn(&Measurement) -> f64,
    paper: f64,
}

fn kinds() -> [Kind; 4] {
    [
        Kind {
            title: "UDP from the VM",
            load: Load::Up {
                payload: UDP,
                depth: 64,
                doorbell: Doorbell::PerFrame,
            },
            goodput: |turn| turn.mbps(turn.tally.delivered, UDP),
            paper: 22.0,
        },
        Kind {
            title: "UDP to the VM",
            load: Load::Down {
                payload: UDP,
                depth: WINDOW,
            },
            goodput: |turn| turn.mbps(turn.tally.received, UDP),
            paper: 18.0,
        },
        Kind {
            title: "segments from the VM",
            load: Load::SegmentsUp {
                payload: SEGMENT,
                window: WINDOW.into(),
            },
            goodput: |turn| turn.mbps(turn.tally.acknowledged, TCP),
            paper: 20.0,
        },
        Kind {
            title: "segments to the VM",
            load: Load::SegmentsDown {
                payload: SEGMENT,
                window: WINDOW,
            },
            goodput: |turn| turn.mbps(turn.tally.received, TCP),
            paper: 20.0,
        },
    ]
}

/// Turns in each round: every kind of load on every path.
pub fn turns() -> usize {
    kinds().len() * PATHS.len()
}

/// Measures the figure.
pub fn measure(bench: &mut Bench) -> anyhow::Result<(Figure, Vec<KeyFigure>)> {
    let mut rigs = bench.rigs(PATHS.map(Setting::alone))?;
    let mut panels = Vec::new();
    let mut shared = Vec::new();
    for kind in kinds() {
        let turns = bench.interleave(kind.title, &mut rigs, &kind.load)?;
        let mut bars = Vec::new();
        for (path, turns) in PATHS.into_iter().zip(&turns) {
            let samples: Vec<f64> = turns.iter().map(kind.goodput).collect();
            if path == Configuration::Default {
                shared.push(samples.clone());
            }
            bars.push(Bar::new(path.name(), samples).beside(kind.paper));
        }
        panels.push(Panel {
            title: kind.title.to_owned(),
            unit: "Mb/s",
            bars,
        });
    }
    let limit = limit::udp_mbps(UDP);
    let of_limit: Vec<f64> = shared
        .first()
        .into_iter()
        .flatten()
        .map(|one| one / limit)
        .collect();
    let key = KeyFigure {
        what: "goodput over what the air can carry",
        meaning: "So much of what 802.11's timing allows one sender gets through the shared card; 100 % is a card that \
                  is never late.",
        paper: "74 to 96 %",
        unit: Unit::Share,
        measured: Spread::of(&of_limit),
        figure: "throughput",
        how: format!("UDP from the VM over {limit:.2} Mb/s"),
    };
    Ok((figure(panels, limit), vec![key]))
}

fn figure(panels: Vec<Panel>, limit: f64) -> Figure {
    Figure {
        name: "throughput",
        title: "Goodput on the same air",
        meaning: "What programs in the VM get through the card, shared and not shared.",
        paper: "figures 5a and 5b: 802.11g, 1,450 bytes; passthrough the same",
        panels,
        notes: vec![
            format!(
                "802.11a at 54 Mb/s, best effort, open, {UDP} bytes of UDP: one sender that always has something to \
                 send gets {limit:.2} Mb/s (AIFS + 7.5 slots + data + SIFS + ACK)."
            ),
            "Segments: 1,448 bytes each, one acknowledgement for two, window 64; two senders count back-offs down \
             at the same time."
                .to_owned(),
        ],
    }
}
