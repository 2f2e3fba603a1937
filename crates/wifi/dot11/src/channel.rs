//! Radio channels (IEEE 802.11-2020 17.3.8.4, 15.4.4.3, 19.3.15), and how those who share one get at it: access
//! categories and their parameters (EDCA).

use std::fmt;

use airlane_lane::Micros;
use enum_map::{Enum, EnumMap};

/// A frequency band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Band {
    /// 2.4 GHz: DSSS and ERP.
    Ghz2,
    /// 5 GHz: OFDM.
    Ghz5,
}

/// How wide a channel is, and on which side of the primary 20 MHz the second half lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 20 MHz.
    #[default]
    Mhz20,
    /// 40 MHz, secondary channel above.
    Mhz40Above,
    /// 40 MHz, secondary channel below.
    Mhz40Below,
}

/// A radio channel: its primary 20 MHz number within a band, and its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    band: Band,
    number: u8,
    width: Width,
}

/// A number or frequency that is no channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// No such number in the band.
    #[error("{1} is not a {0} channel: 2.4 GHz has 1 to 14, 5 GHz has 7 to 196")]
    Number(Band, u16),
    /// No such frequency.
    #[error("{0} MHz is not the centre of a 20 MHz channel in 2.4 or 5 GHz")]
    Frequency(u32),
}

impl Channel {
    /// The 20 MHz channel `number` of `band`.
    pub fn new(band: Band, number: u16) -> Result<Self, ChannelError> {
        let valid = match band {
            Band::Ghz2 => (1..=14).contains(&number),
            Band::Ghz5 => (7..=196).contains(&number),
        };
        match u8::try_from(number) {
            Ok(number) if valid => Ok(Self {
                band,
                number,
                width: Width::Mhz20,
            }),
            _ => Err(ChannelError::Number(band, number)),
        }
    }

    /// The 20 MHz channel whose centre is at `mhz`.
    pub fn from_frequency(mhz: u32) -> Result<Self, ChannelError> {
        let error = ChannelError::Frequency(mhz);
        let (band, number) = match mhz {
            2484 => (Band::Ghz2, 14),
            2412..=2472 if mhz % 5 == 2 => (Band::Ghz2, (mhz - 2407) / 5),
            5035..=5980 if mhz.is_multiple_of(5) => (Band::Ghz5, (mhz - 5000) / 5),
            _ => return Err(error),
        };
        let number = u16::try_from(number).map_err(|_| error)?;
        Self::new(band, number).map_err(|_| error)
    }

    /// The same primary channel at another width.
    pub const fn with_width(self, width: Width) -> Self {
        Self { width, ..self }
    }

    /// The band that the primary channel is in.
    pub const fn band(self) -> Band {
        self.band
    }

    /// Its primary channel number.
    pub const fn number(self) -> u8 {
        self.number
    }

    /// 20 MHz, or 40 MHz with the secondary above or below.
    pub const fn width(self) -> Width {
        self.width
    }

    /// Centre of the primary 20 MHz, in MHz.
    pub const fn frequency(self) -> u32 {
        match (self.band, self.number) {
            (Band::Ghz2, 14) => 2484,
            (Band::Ghz2, number) => 2407 + 5 * number as u32,
            (Band::Ghz5, number) => 5000 + 5 * number as u32,
        }
    }

    /// The other 20 MHz of a 40 MHz channel, where there is one (IEEE 802.11-2020 19.3.15.4).
    pub fn secondary(self) -> Option<Self> {
        let number = match self.width {
            Width::Mhz20 => return None,
            Width::Mhz40Above => self.number.checked_add(4)?,
            Width::Mhz40Below => self.number.checked_sub(4)?,
        };
        Self::new(self.band, number.into()).ok()
    }

    /// The primary 20 MHz alone: what two radios must share to hear each other's beacons.
    pub const fn primary(self) -> Self {
        self.with_width(Width::Mhz20)
    }

    /// True when a radio on one of the two hears beacons on the other.
    pub fn shares_primary(self, other: Self) -> bool {
        self.primary() == other.primary()
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ghz2 => "2.4 GHz",
            Self::Ghz5 => "5 GHz",
        })
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.width {
            Width::Mhz20 => "",
            Width::Mhz40Above => "+",
            Width::Mhz40Below => "-",
        };
        write!(f, "{}{suffix} ({} MHz)", self.number, self.frequency())
    }
}

/// Access categories, lowest priority first (IEEE 802.11-2020 table 9-155).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Enum)]
pub enum AccessCategory {
    /// AC_BK.
    Background,
    /// AC_BE; also DCF.
    #[default]
    BestEffort,
    /// AC_VI.
    Video,
    /// AC_VO.
    Voice,
}

impl AccessCategory {
    /// All, lowest priority first.
    pub const ALL: [Self; 4] = [Self::Background, Self::BestEffort, Self::Video, Self::Voice];
}

/// One of each access category, in the order of their priority: a map in which nothing is missing.
pub type PerAc<T> = EnumMap<AccessCategory, T>;

/// Channel access parameters of one category (IEEE 802.11-2020 10.23.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdcaParameters {
    /// Smallest contention window, 2^n − 1 slots.
    pub cw_min: u16,
    /// Largest contention window, 2^n − 1 slots.
    pub cw_max: u16,
    /// Arbitration inter-frame space, in slots after SIFS (2 = DIFS).
    pub aifsn: u8,
    /// Transmit opportunity; zero is one frame.
    pub txop: Micros,
}

impl EdcaParameters {
    /// DCF with OFDM: DIFS, CWmin 15, CWmax 1023.
    pub const DCF: Self = Self {
        cw_min: 15,
        cw_max: 1023,
        aifsn: 2,
        txop: Micros(0),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_frequencies_agree() {
        for (band, number, mhz) in [
            (Band::Ghz2, 1, 2412),
            (Band::Ghz2, 13, 2472),
            (Band::Ghz2, 14, 2484),
            (Band::Ghz5, 36, 5180),
            (Band::Ghz5, 165, 5825),
        ] {
            let channel = Channel::new(band, number).unwrap();
            assert_eq!(channel.frequency(), mhz);
            assert_eq!(Channel::from_frequency(mhz), Ok(channel));
        }
    }

    #[test]
    fn the_secondary_channel_lies_four_numbers_away() {
        let secondary = |band, number, width| {
            let channel = Channel::new(band, number).unwrap().with_width(width);
            channel.secondary().map(Channel::number)
        };
        assert_eq!(secondary(Band::Ghz5, 36, Width::Mhz40Above), Some(40));
        assert_eq!(secondary(Band::Ghz5, 40, Width::Mhz40Below), Some(36));
        assert_eq!(secondary(Band::Ghz5, 36, Width::Mhz20), None);
        assert_eq!(secondary(Band::Ghz2, 2, Width::Mhz40Below), None);
    }

    #[test]
    fn what_is_no_channel_is_refused() {
        assert!(Channel::new(Band::Ghz2, 15).is_err());
        assert!(Channel::new(Band::Ghz5, 300).is_err());
        assert!(Channel::from_frequency(5181).is_err());
        assert!(Channel::from_frequency(0).is_err());
    }
}
