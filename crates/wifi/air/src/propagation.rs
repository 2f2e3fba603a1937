//! How strong a frame arrives and how much noise it meets there.
//!
//! Not here: fading and shadowing. A link's loss depends on distance and frequency alone.

use airlane_dot11::{Channel, Rate};

use crate::{PathLoss, Position};

/// Nearer than this, log-distance loss stays what it is here: the far-field formula ends.
const NEAREST_METRES: f32 = 1.0;
/// Thermal noise at 290 K, in dBm per hertz.
const THERMAL_DBM_PER_HZ: f32 = -174.0;

impl PathLoss {
    /// Loss between two places at `channel`'s frequency, in dB.
    pub fn loss_db(&self, from: Position, to: Position, channel: Channel) -> f32 {
        match *self {
            Self::Ideal { loss_db } => loss_db,
            Self::LogDistance { exponent } => log_distance_db(exponent, from, to, channel),
        }
    }
}

/// Apart from the match: the compiler would take its logarithms for ideal air, too, before it looks which one it is.
#[inline(never)]
fn log_distance_db(exponent: f32, from: Position, to: Position, channel: Channel) -> f32 {
    let metres = from.distance(to).max(NEAREST_METRES);
    at_one_metre_db(channel) + 10.0 * exponent * metres.log10()
}

fn at_one_metre_db(channel: Channel) -> f32 {
    20.0 * (channel.frequency() as f32).log10() - 27.55
}

/// Noise that a frame at `rate` meets in a receiver, in dBm: thermal noise over the bandwidth that
/// the rate occupies (22, 20 or 40 MHz) plus the receiver's noise figure.
pub fn noise_floor_dbm(rate: Rate, noise_figure_db: f32) -> f32 {
    let hertz: f32 = match rate {
        Rate::Dsss { .. } => 22e6,
        Rate::Ht { ht40: true, .. } => 40e6,
        Rate::Ofdm(_) | Rate::Ht { .. } => 20e6,
    };
    THERMAL_DBM_PER_HZ + 10.0 * hertz.log10() + noise_figure_db
}

/// dBm to milliwatts.
pub(crate) fn milliwatts(dbm: f32) -> f32 {
    10f32.powf(dbm / 10.0)
}

/// Milliwatts to dBm.
pub(crate) fn dbm(milliwatts: f32) -> f32 {
    10.0 * milliwatts.log10()
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_dot11::Band;

    fn place(x: f32) -> Position {
        Position { x, y: 0.0, z: 0.0 }
    }

    #[test]
    fn free_space_loss_at_ten_metres() {
        let channel = Channel::new(Band::Ghz2, 1).unwrap();
        let loss = PathLoss::LogDistance { exponent: 2.0 };
        let db = loss.loss_db(place(0.0), place(10.0), channel);
        assert!((db - 60.1).abs() < 0.1, "{db}");
        assert_eq!(
            loss.loss_db(place(0.0), place(0.0), channel),
            loss.loss_db(place(0.0), place(1.0), channel)
        );
    }

    #[test]
    fn twice_the_bandwidth_is_three_decibels_more_noise() {
        let narrow = noise_floor_dbm(Rate::OFDM_6, 7.0);
        let ht40 = Rate::Ht {
            mcs: 0,
            ht40: true,
            short_guard: false,
            greenfield: false,
        };
        assert!((narrow + 93.99).abs() < 0.01, "{narrow}");
        assert!((noise_floor_dbm(ht40, 7.0) - narrow - 3.01).abs() < 0.01);
    }
}
