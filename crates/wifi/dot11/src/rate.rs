//! Physical-layer rates: what a frame is sent at.

use std::fmt;

use arrayvec::ArrayVec;

/// DSSS and HR/DSSS rates of 2.4 GHz (IEEE 802.11-2020 clauses 15 and 16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum DsssRate {
    M1,
    M2,
    M5_5,
    M11,
}

/// OFDM rates for 20 MHz channels (IEEE 802.11-2020 table 17-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum OfdmRate {
    M6,
    M9,
    M12,
    M18,
    M24,
    M36,
    M48,
    M54,
}

/// The rate of one transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rate {
    /// Clauses 15 and 16.
    Dsss {
        /// 1 to 11 Mb/s.
        rate: DsssRate,
        /// Short preamble (never with 1 Mb/s).
        short_preamble: bool,
    },
    /// Clause 17, and clause 18 (ERP) in 2.4 GHz.
    Ofdm(OfdmRate),
    /// Clause 19 (802.11n).
    Ht {
        /// Modulation and coding scheme, 0 to 31 (streams = mcs / 8 + 1).
        mcs: u8,
        /// 40 MHz wide.
        ht40: bool,
        /// 400 ns guard interval.
        short_guard: bool,
        /// HT-greenfield preamble.
        greenfield: bool,
    },
}

/// Rates to try, one attempt each; the last is tried again until the retry limit.
pub type RateTable = ArrayVec<Rate, 16>;

impl DsssRate {
    /// All, slowest first.
    pub const ALL: [Self; 4] = [Self::M1, Self::M2, Self::M5_5, Self::M11];

    /// In units of 100 kb/s.
    pub const fn hundred_kbps(self) -> u32 {
        match self {
            Self::M1 => 10,
            Self::M2 => 20,
            Self::M5_5 => 55,
            Self::M11 => 110,
        }
    }
}

impl OfdmRate {
    /// All, slowest first.
    pub const ALL: [Self; 8] = [
        Self::M6,
        Self::M9,
        Self::M12,
        Self::M18,
        Self::M24,
        Self::M36,
        Self::M48,
        Self::M54,
    ];

    /// In Mb/s.
    pub const fn mbps(self) -> u32 {
        match self {
            Self::M6 => 6,
            Self::M9 => 9,
            Self::M12 => 12,
            Self::M18 => 18,
            Self::M24 => 24,
            Self::M36 => 36,
            Self::M48 => 48,
            Self::M54 => 54,
        }
    }
}

impl Rate {
    /// The slowest OFDM rate.
    pub const OFDM_6: Self = Self::Ofdm(OfdmRate::M6);
    /// The slowest DSSS rate.
    pub const DSSS_1: Self = Self::Dsss {
        rate: DsssRate::M1,
        short_preamble: false,
    };

    /// Bit rate in units of 100 kb/s, as radiotap and `iw` count.
    pub fn hundred_kbps(self) -> u32 {
        match self {
            Self::Dsss { rate, .. } => rate.hundred_kbps(),
            Self::Ofdm(rate) => rate.mbps() * 10,
            Self::Ht {
                mcs,
                ht40,
                short_guard,
                ..
            } => ht_hundred_kbps(mcs, ht40, short_guard),
        }
    }
}

/// IEEE 802.11-2020 table 19-27 and following, by formula: data bits per symbol over symbol time.
fn ht_hundred_kbps(mcs: u8, ht40: bool, short_guard: bool) -> u32 {
    let per_subcarrier_times_six = match mcs % 8 {
        0 => 3,
        1 => 6,
        2 => 9,
        3 => 12,
        4 => 18,
        5 => 24,
        6 => 27,
        _ => 30,
    };
    let subcarriers = if ht40 { 108 } else { 52 };
    let streams = u32::from(mcs / 8) + 1;
    let bits_per_symbol = subcarriers * streams * per_subcarrier_times_six / 6;
    let symbol_tenths_of_micros = if short_guard { 36 } else { 40 };
    bits_per_symbol * 100 / symbol_tenths_of_micros
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.hundred_kbps();
        write!(f, "{}.{} Mb/s", rate / 10, rate % 10)?;
        match self {
            Self::Ht { mcs, .. } => write!(f, " MCS {mcs}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ht_rates_match_the_standard() {
        let rate = |mcs, ht40, short_guard| {
            Rate::Ht {
                mcs,
                ht40,
                short_guard,
                greenfield: false,
            }
            .hundred_kbps()
        };
        assert_eq!(rate(0, false, false), 65);
        assert_eq!(rate(7, false, true), 722);
        assert_eq!(rate(15, true, true), 3000);
        assert_eq!(rate(23, true, true), 4500);
    }
}
