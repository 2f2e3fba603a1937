//! What is measured, and what was found.

use airlane_bench::stats::Spread;
use airlane_dma::Translation;

use crate::frames::Shape;
use crate::probe::STAGES;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From doorbell to transmit response.
    Transmit,
    /// From the medium to the guest's buffer.
    Receive,
}

/// What surrounds the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surroundings {
    /// A medium without airtime, caches that hold what the last frame has left: the least a frame can take.
    Bare,
    /// A medium with airtime, run event by event in virtual time: back-off, frame, ACK.
    RealMedium,
    /// As bare, but other memory was used between two frames, more of it than the caches hold.
    ColdCaches,
}

impl Surroundings {
    /// As tables name them.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::RealMedium => "real medium",
            Self::ColdCaches => "cold caches",
        }
    }
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What surrounds the code.
    pub surroundings: Surroundings,
    /// Which way.
    pub direction: Direction,
    /// What frame.
    pub shape: Shape,
    /// How many VMs take turns.
    pub vms: usize,
}

/// What was measured of it, per frame.
pub struct Outcome {
    /// What.
    pub case: Case,
    /// Ticks from end to end.
    pub whole: Spread,
    /// Ticks of each stage.
    pub stages: [Spread; STAGES],
    /// Allocations of each stage, per frame.
    pub allocations: [f64; STAGES],
}

/// AES-CCM alone, for one length.
pub struct Baseline {
    /// Bytes that are encrypted.
    pub bytes: usize,
    /// Ticks for them.
    pub ticks: Spread,
}

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds.
    pub rounds: usize,
    /// Frames of each case in each round.
    pub frames: u64,
}

/// What was found of one way of translating.
pub struct Translated {
    /// Which.
    pub way: Translation,
    /// Ticks of one look-up.
    pub look_up: Spread,
    /// Ticks of all look-ups for a transmitted frame and its response.
    pub frame: Spread,
    /// Ticks from doorbell to response, 64 bytes, open, one VM.
    pub whole: Spread,
}

impl Translated {
    /// Of a transmit, in per cent.
    pub fn share(&self) -> f64 {
        100.0 * self.frame.median / self.whole.median.max(1.0)
    }
}
