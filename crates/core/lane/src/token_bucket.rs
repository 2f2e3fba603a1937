//! A limit on how fast a lane may send: a rate, and a burst that may be ahead of it.

use crate::{Instant, Micros};

/// One unit of what is limited, in the bucket's own fractions: what a rate of one per second adds in a microsecond.
const UNIT: u128 = 1_000_000;

/// A bucket that fills at a rate up to a burst. In any span `w`, at most `rate * w + burst` is taken out.
///
/// ```
/// use airlane_lane::{Instant, TokenBucket};
///
/// // A megabyte per second, 1,500 bytes at once.
/// let mut bucket = TokenBucket::new(1_000_000, 1_500);
/// assert_eq!(bucket.take(Instant(0), 1_500), Ok(()));
/// assert_eq!(bucket.take(Instant(0), 500), Err(Some(Instant(500))));
/// assert_eq!(bucket.take(Instant(500), 500), Ok(()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    /// Units per second.
    rate: u64,
    burst: u64,
    /// What is in it, in fractions of a unit, as of `filled_at`.
    level: u128,
    filled_at: Instant,
}

impl TokenBucket {
    /// A full bucket. `rate`: units per second; `burst`: the most that can be taken at once.
    pub fn new(rate: u64, burst: u64) -> Self {
        Self {
            rate,
            burst,
            level: u128::from(burst) * UNIT,
            filled_at: Instant(0),
        }
    }

    /// Changes the limit from now on; what is in the bucket beyond the new burst is lost.
    pub fn set_limit(&mut self, now: Instant, rate: u64, burst: u64) {
        self.fill(now);
        (self.rate, self.burst) = (rate, burst);
        self.level = self.level.min(u128::from(burst) * UNIT);
    }

    /// Takes `amount` out, or says when that much will be there; `Err(None)`: never, it is more than the burst or
    /// the rate is zero.
    pub fn take(&mut self, now: Instant, amount: u64) -> Result<(), Option<Instant>> {
        self.fill(now);
        let wanted = u128::from(amount) * UNIT;
        match wanted.checked_sub(self.level) {
            None | Some(0) => {
                self.level -= wanted;
                Ok(())
            }
            Some(missing) => Err(self.after(missing, amount)),
        }
    }

    fn after(&self, missing: u128, amount: u64) -> Option<Instant> {
        if amount > self.burst || self.rate == 0 {
            return None;
        }
        let span = missing.div_ceil(u128::from(self.rate));
        Some(self.filled_at + Micros(u64::try_from(span).unwrap_or(u64::MAX)))
    }

    /// A moment before the last one adds nothing.
    fn fill(&mut self, now: Instant) {
        let span = u128::from(now.saturating_since(self.filled_at).0);
        let level = self.level + span * u128::from(self.rate);
        self.level = level.min(u128::from(self.burst) * UNIT);
        self.filled_at = self.filled_at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_window_lets_more_through_than_rate_and_burst(
            rate in 1..2_000_000_000u64,
            burst in 1..100_000u64,
            steps in prop::collection::vec((0..5_000u64, 1..3_000u64), 1..120),
        ) {
            let mut bucket = TokenBucket::new(rate, burst);
            let (mut now, mut taken) = (Instant(0), Vec::new());
            for (gap, amount) in steps {
                now += Micros(gap);
                if bucket.take(now, amount).is_ok() {
                    taken.push((now, amount));
                }
            }
            for first in 0..taken.len() {
                let mut sum = 0u128;
                for (at, amount) in &taken[first..] {
                    sum += u128::from(*amount) * UNIT;
                    let window = at.checked_since(taken[first].0).unwrap();
                    let most = u128::from(rate) * u128::from(window.0) + u128::from(burst) * UNIT;
                    prop_assert!(sum <= most, "{sum} in {window}, at most {most}");
                }
            }
        }

        #[test]
        fn what_is_refused_is_there_at_the_moment_that_was_said_and_not_before(
            rate in 1..10_000_000u64,
            amounts in prop::collection::vec(1..1_500u64, 2..40),
        ) {
            let (mut bucket, mut now) = (TokenBucket::new(rate, 1_500), Instant(0));
            for amount in amounts {
                if let Err(due) = bucket.take(now, amount) {
                    let due = due.unwrap();
                    let mut early = bucket;
                    prop_assert!(early.take(due.checked_sub(Micros(1)).unwrap(), amount).is_err());
                    prop_assert_eq!(bucket.take(due, amount), Ok(()));
                    now = due;
                }
            }
        }
    }

    #[test]
    fn more_than_the_burst_is_never_there() {
        assert_eq!(
            TokenBucket::new(1_000, 10).take(Instant(u64::MAX), 11),
            Err(None)
        );
        assert_eq!(TokenBucket::new(0, 10).take(Instant(0), 10), Ok(()));
    }

    #[test]
    fn a_limit_that_changes_holds_at_once() {
        let mut bucket = TokenBucket::new(1_000_000, 1_000);
        bucket.set_limit(Instant(0), 1_000_000, 100);
        assert_eq!(bucket.take(Instant(0), 101), Err(None));
        assert_eq!(bucket.take(Instant(0), 100), Ok(()));
    }
}
