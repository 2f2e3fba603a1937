//! How a frame arrives at a radio: how strong, over how much noise, disturbed by what, and whether
//! it can be read, bit errors aside. Decides nothing by chance; whether bits are wrong is drawn in
//! [`crate::receive`].
//!
//! Not here: fading and shadowing. A link's loss depends on distance and frequency alone.

use airlane_dot11::{Channel, Dbm, Rate};

use crate::config::{AirConfig, AirMode, PathLoss, Position, RealAir};
use crate::error_model::success_probability;
use crate::ppdu::{HALF_POWER_DB, Ppdu, Source, is_ht40};
use crate::radio::Radio;

/// A signal this strong keeps the secondary channel busy (IEEE 802.11-2020 19.3.19.5.4).
const SECONDARY_SENSE: Dbm = Dbm(-62.0);
/// Nearer than this, log-distance loss stays what it is here: the far-field formula ends.
const NEAREST_METRES: f32 = 1.0;
/// Thermal noise at 290 K, in dBm per hertz.
const THERMAL_DBM_PER_HZ: f32 = -174.0;

/// Why a frame did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The receiver was not on the channel for the whole frame.
    Deaf,
    /// The receiver was sending itself.
    Sending,
    /// The receiver is tuned to 20 MHz, the frame is 40 MHz wide.
    TooWide,
    Collision,
    Noise,
}

/// A PPDU at a receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub signal: Dbm,
    /// Over noise and interference.
    pub snr_db: f32,
}

/// How signals weaken on their way, and what receivers make of what is left.
pub(crate) struct SignalModel {
    path_loss: PathLoss,
    noise_figure_db: f32,
    thresholds: RealAir,
}

impl SignalModel {
    pub fn new(config: &AirConfig) -> Self {
        Self {
            path_loss: config.path_loss,
            noise_figure_db: config.noise_figure_db,
            thresholds: match config.mode {
                AirMode::Real(thresholds) => thresholds,
                AirMode::Infinite => RealAir::default(),
            },
        }
    }

    /// How strong `source` arrives at `radio`, in dBm.
    pub fn strength(&self, radio: &Radio, source: &Source, channel: Channel) -> f32 {
        let loss = self
            .path_loss
            .loss_db(source.position, radio.position, channel);
        source.power.0 - loss
    }

    /// Whether a signal makes the channel busy. `in_secondary`: only half its power is on the
    /// radio's channel.
    pub fn senses(
        &self,
        radio: &Radio,
        source: &Source,
        channel: Channel,
        in_secondary: bool,
    ) -> bool {
        let lost = if in_secondary { HALF_POWER_DB } else { 0.0 };
        self.strength(radio, source, channel) - lost >= self.thresholds.carrier_sense.0
    }

    /// Whether a signal makes the secondary channel of `radio` busy.
    pub fn senses_on_secondary(&self, radio: &Radio, source: &Source, channel: Channel) -> bool {
        source.radio != radio.id && self.strength(radio, source, channel) >= SECONDARY_SENSE.0
    }

    /// Whether `ppdu` makes the channel of `radio` busy; its own always does.
    pub fn hears(&self, radio: &Radio, ppdu: &Ppdu) -> bool {
        let in_secondary = radio.channel() != Some(ppdu.primary);
        radio.id == ppdu.source.radio
            || self.senses(radio, &ppdu.source, ppdu.channel, in_secondary)
    }

    /// True when overlapping frames leave too little of this one at `radio`. All that overlapped
    /// count as if they had done so all the time.
    fn collided(&self, radio: &Radio, ppdu: &Ppdu) -> bool {
        if ppdu.jammed || ppdu.overlaps.is_empty() {
            return ppdu.jammed;
        }
        let signal = self.strength(radio, &ppdu.source, ppdu.channel);
        let margin = signal - dbm(self.interference(radio, ppdu));
        margin < self.thresholds.capture_margin_db || ppdu.sent_over(radio.id)
    }

    fn interference(&self, radio: &Radio, ppdu: &Ppdu) -> f32 {
        let others = ppdu.overlaps.iter();
        others
            .map(|other| milliwatts(self.strength(radio, other, ppdu.channel)))
            .sum()
    }

    /// More likely than not, such a frame arrives undisturbed without error.
    pub fn legible(
        &self,
        radio: &Radio,
        source: &Source,
        channel: Channel,
        rate: Rate,
        octets: usize,
    ) -> bool {
        let noise = noise_floor_dbm(rate, self.noise_figure_db);
        let snr_db = self.strength(radio, source, channel) - noise;
        success_probability(rate, octets, snr_db) >= 0.5
    }

    /// A frame that a radio has heard is one whose header it can read, and a good one as far as
    /// channel access goes. Bit errors are not drawn for this: what arrives more often than not,
    /// arrives.
    pub fn reads(&self, radio: &Radio, ppdu: &Ppdu) -> bool {
        let (source, octets) = (&ppdu.source, ppdu.mpdu_octets());
        radio.channel() == Some(ppdu.primary)
            && (radio.is_ht40() || !is_ht40(ppdu.rate))
            && !self.collided(radio, ppdu)
            && self.legible(radio, source, ppdu.channel, ppdu.rate, octets)
    }

    /// How `ppdu` arrives at a radio, bit errors aside.
    pub fn arrives(&self, radio: &Radio, ppdu: &Ppdu) -> Result<Arrival, Lost> {
        if radio.channel() != Some(ppdu.primary) || radio.tuned_since > ppdu.start {
            return Err(Lost::Deaf);
        }
        if ppdu.sent_over(radio.id) {
            return Err(Lost::Sending);
        }
        if is_ht40(ppdu.rate) && !radio.is_ht40() {
            return Err(Lost::TooWide);
        }
        if self.collided(radio, ppdu) {
            return Err(Lost::Collision);
        }
        let signal = self.strength(radio, &ppdu.source, ppdu.channel);
        let noise = noise_floor_dbm(ppdu.rate, self.noise_figure_db);
        let disturbance = if ppdu.overlaps.is_empty() {
            noise
        } else {
            dbm(milliwatts(noise) + self.interference(radio, ppdu))
        };
        Ok(Arrival {
            signal: Dbm(signal),
            snr_db: signal - disturbance,
        })
    }
}

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
fn milliwatts(dbm: f32) -> f32 {
    10f32.powf(dbm / 10.0)
}

/// Milliwatts to dBm.
fn dbm(milliwatts: f32) -> f32 {
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
