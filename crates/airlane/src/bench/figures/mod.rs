//! The figures, one file each.

mod latency;
mod throughput;

use clap::ValueEnum;

use super::finding::{Figure, Goal};
use super::pairs::Bench;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// Goodput of datagrams and of segments, both ways (figures 5a, 5b)
    Throughput,
    /// Round trips, native and shared (figure 5c)
    Latency,
    /// All of them, with the table of goals
    All,
}

type Measure = fn(&mut Bench) -> anyhow::Result<(Figure, Vec<Goal>)>;

impl Which {
    /// What is behind it.
    pub fn figures(self) -> &'static [Measure] {
        match self {
            Self::Throughput => &[throughput::measure],
            Self::Latency => &[latency::measure],
            Self::All => &[throughput::measure, latency::measure],
        }
    }
}
