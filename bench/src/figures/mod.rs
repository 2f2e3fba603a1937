//! The figures, one file each.

mod interrupts;
mod latency;
mod messages;
mod processor;
mod scale;
mod stages;
mod throughput;

use clap::ValueEnum;

use super::finding::{Figure, KeyFigure};
use super::pairs::Bench;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// Goodput of datagrams and of segments, both ways (figures 5a, 5b)
    Throughput,
    /// Round trips, native and shared (figure 5c)
    Latency,
    /// What each stage of a frame's way takes (figure 6, table 1)
    Stages,
    /// Processor time at equal goodput, by tuning (figures 7, 8)
    Processor,
    /// Interrupts per frame, by tuning
    Interrupts,
    /// Socket messages per frame, by tuning
    Messages,
    /// Cost per frame with 1 to 16 VMs
    Scale,
    /// Real guests, in QEMU and User Mode Linux: goodput, interrupts and messages, untuned and tuned
    Guests,
    /// All of them, and real guests where the set-up is there
    All,
}

type Measure = fn(&mut Bench) -> anyhow::Result<(Figure, Vec<KeyFigure>)>;

impl Which {
    /// What is behind it.
    pub fn figures(self) -> &'static [Measure] {
        match self {
            Self::Throughput => &[throughput::measure],
            Self::Latency => &[latency::measure],
            Self::Stages => &[stages::measure],
            Self::Processor => &[processor::measure],
            Self::Interrupts => &[interrupts::measure],
            Self::Messages => &[messages::measure],
            Self::Scale => &[scale::measure],
            Self::Guests => &[],
            Self::All => &[
                throughput::measure,
                latency::measure,
                stages::measure,
                processor::measure,
                interrupts::measure,
                messages::measure,
                scale::measure,
            ],
        }
    }
}
