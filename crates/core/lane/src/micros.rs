//! Time, as everything that decides something takes it: as an argument.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Microseconds: a moment since the run began, or a span. Virtual in tests, real with guests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub u64);

impl Micros {
    /// A span of milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000)
    }

    /// A span of time units of 1,024 µs (IEEE 802.11-2020 3.1, "time unit").
    pub const fn from_time_units(time_units: u64) -> Self {
        Self(time_units * 1_024)
    }

    /// The span since `earlier`, zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// The earlier of two times to come back, where there are any.
    pub fn earlier(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        one.into_iter().chain(other).min()
    }
}

impl Add for Micros {
    type Output = Self;
    fn add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign for Micros {
    fn add_assign(&mut self, span: Self) {
        *self = *self + span;
    }
}

impl Sub for Micros {
    type Output = Self;
    fn sub(self, span: Self) -> Self {
        self.since(span)
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} µs", self.0)
    }
}
