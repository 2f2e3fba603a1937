//! Units as types.

use std::fmt;

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
