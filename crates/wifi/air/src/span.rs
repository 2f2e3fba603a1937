//! Spans between moments whose order the medium itself keeps.

use airlane_lane::{Instant, Micros};

/// From `earlier` to `later`. The other way round is a mistake of this crate: debug builds stop there,
/// others go on with a span of zero.
pub(crate) fn span(earlier: Instant, later: Instant) -> Micros {
    debug_assert!(earlier <= later, "{later} is before {earlier}");
    later.saturating_since(earlier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "3 µs is before 4 µs")]
    fn a_span_that_would_be_negative_is_loud() {
        span(Instant(4), Instant(3));
    }
}
