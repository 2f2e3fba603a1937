//! Units: power over a milliwatt, and the time unit in which beacons count.

use std::fmt;

use airlane_lane::Micros;

/// A power level in decibels over one milliwatt.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Dbm(pub f32);

impl Dbm {
    /// Rounded to a whole decibel within -128..=127, as cards report it.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a cast of a float stops at the ends of the range, which is what a card does"
    )]
    pub fn rounded(self) -> i8 {
        self.0.round() as i8
    }
}

impl fmt::Display for Dbm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} dBm", self.0)
    }
}

/// A span of `count` time units of 1,024 µs (IEEE 802.11-2020 3.1, "time unit").
pub const fn time_units(count: u64) -> Micros {
    Micros(count.saturating_mul(1_024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_time_units_are_the_usual_beacon_interval_of_102_4_ms() {
        assert_eq!(time_units(100), Micros(102_400));
    }
}
