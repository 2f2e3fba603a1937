//! Channel access by category (EDCA).

use airlane_lane::Micros;
use enum_map::{Enum, EnumMap};

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
