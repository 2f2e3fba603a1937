//! What a medium is made of: propagation, noise, whether there is any air at all, and its radios.

use airlane_dot11::Dbm;

/// Settings of one medium, fixed for its life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AirConfig {
    /// Names the run: same seed and same calls, same events.
    pub seed: u64,
    /// With airtime and contention, or without any.
    pub mode: AirMode,
    /// How a signal weakens on its way.
    pub path_loss: PathLoss,
    /// Noise that a receiver adds to thermal noise, in dB.
    pub noise_figure_db: f32,
}

/// What stands between two radios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AirMode {
    /// Airtime, contention, errors.
    Real(RealAir),
    /// No air: every frame is delivered and acknowledged at once, in no time. For benchmarks.
    Infinite,
}

/// Thresholds of a medium with airtime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealAir {
    /// A radio that hears a frame this strong or stronger defers to it
    /// (IEEE 802.11-2020 17.3.10.6: -82 dBm for a 20 MHz preamble).
    pub carrier_sense: Dbm,
    /// A frame survives an overlapping one when it is stronger by this much, in dB.
    pub capture_margin_db: f32,
}

/// How much weaker a signal arrives than it was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathLoss {
    /// The same everywhere.
    Ideal {
        /// Loss of every link, in dB.
        loss_db: f32,
    },
    /// `L(d) = L(1 m) + 10 n log10(d)`, where `L(1 m)` is the free-space loss at 1 m,
    /// `20 log10(f/MHz) - 27.55` (ITU-R P.525-4, equation 6).
    LogDistance {
        /// `n`: 2 in free space, 3 to 4 indoors.
        exponent: f32,
    },
}

/// A place, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Position {
    pub x: f32,
    pub y: f32,
    pub z: f32,
}

impl Position {
    /// Metres to `other`.
    pub fn distance(self, other: Self) -> f32 {
        let (x, y, z) = (self.x - other.x, self.y - other.y, self.z - other.z);
        (x * x + y * y + z * z).sqrt()
    }
}

/// How a radio begins: tuned to nothing, without address.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioConfig {
    /// What people call it in logs and captures.
    pub name: String,
    /// Where it stands, in metres.
    pub position: Position,
    /// Transmit power at the antenna.
    pub tx_power: Dbm,
}

impl Default for RealAir {
    fn default() -> Self {
        Self {
            carrier_sense: Dbm(-82.0),
            capture_margin_db: 10.0,
        }
    }
}

impl Default for AirMode {
    fn default() -> Self {
        Self::Real(RealAir::default())
    }
}

impl Default for AirConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            mode: AirMode::default(),
            path_loss: PathLoss::Ideal { loss_db: 65.0 },
            noise_figure_db: 7.0,
        }
    }
}
