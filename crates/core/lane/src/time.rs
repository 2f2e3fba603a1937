//! Time, as everything that decides something takes it: as an argument. A moment and a span are different types,
//! so that one is never taken for the other, and no difference becomes zero without the code saying so.

use std::fmt;
use std::ops::{Add, AddAssign};

/// A moment: microseconds since the run began. Virtual in tests, real with guests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

/// A span of microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub u64);

impl Instant {
    /// The moment so many milliseconds after the run began.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000)
    }

    /// The span since `earlier`, whose order the caller keeps. Debug builds stop where `earlier` is later than this;
    /// others go on with a span of zero.
    #[inline]
    pub fn since(self, earlier: Self) -> Micros {
        debug_assert!(earlier <= self, "{self} is before {earlier}");
        self.saturating_since(earlier)
    }

    /// The span since `earlier`; `None` when `earlier` is later than this.
    #[inline]
    pub const fn checked_since(self, earlier: Self) -> Option<Micros> {
        match self.0.checked_sub(earlier.0) {
            Some(span) => Some(Micros(span)),
            None => None,
        }
    }

    /// The span since `earlier`; zero when `earlier` is later than this.
    #[inline]
    pub const fn saturating_since(self, earlier: Self) -> Micros {
        Micros(self.0.saturating_sub(earlier.0))
    }

    /// The moment `span` before this; `None` when the run had not begun then.
    #[inline]
    pub const fn checked_sub(self, span: Micros) -> Option<Self> {
        match self.0.checked_sub(span.0) {
            Some(moment) => Some(Self(moment)),
            None => None,
        }
    }

    /// The moment `span` before this; the beginning of the run when that lies later.
    #[inline]
    pub const fn saturating_sub(self, span: Micros) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// The earlier of two moments to come back, where there are any.
    #[inline]
    pub fn earlier(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (only, None) | (None, only) => only,
        }
    }
}

impl Micros {
    /// A span of milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000)
    }

    /// What is left of this span without `other`; `None` when `other` is longer.
    #[inline]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(span) => Some(Self(span)),
            None => None,
        }
    }

    /// What is left of this span without `other`; zero when `other` is longer.
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// Stops at the latest moment that there is: a guest may ask for a span of 500,000 years.
impl Add<Micros> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, span: Micros) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Micros> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Micros) {
        *self = *self + span;
    }
}

/// Stops at the longest span that there is.
impl Add for Micros {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Micros {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} µs", self.0)
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} µs", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_that_would_be_negative_is_none_or_says_that_it_saturates() {
        let (early, late) = (Instant(3), Instant(10));
        assert_eq!(late.checked_since(early), Some(Micros(7)));
        assert_eq!(early.checked_since(late), None);
        assert_eq!(early.saturating_since(late), Micros(0));
        assert_eq!(early.checked_sub(Micros(4)), None);
        assert_eq!(early.saturating_sub(Micros(4)), Instant(0));
        assert_eq!(Micros(3).checked_sub(Micros(4)), None);
        assert_eq!(Micros(3).saturating_sub(Micros(4)), Micros(0));
    }

    #[test]
    #[should_panic(expected = "3 µs is before 4 µs")]
    fn a_span_that_would_be_negative_is_loud_where_the_order_is_kept() {
        Instant(3).since(Instant(4));
    }

    #[test]
    fn sums_stop_at_the_end_of_time() {
        assert_eq!(Instant(u64::MAX) + Micros(1), Instant(u64::MAX));
        assert_eq!(Micros(u64::MAX) + Micros(1), Micros(u64::MAX));
    }

    #[test]
    fn the_earlier_moment_is_the_only_one_where_there_is_one() {
        assert_eq!(
            Instant::earlier(Some(Instant(2)), Some(Instant(1))),
            Some(Instant(1))
        );
        assert_eq!(Instant::earlier(None, Some(Instant(1))), Some(Instant(1)));
        assert_eq!(Instant::earlier(None, None), None);
    }
}
