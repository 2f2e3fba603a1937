//! The time that an engine sees: the run's clock, which stands still while the engine's thread gets no processor.
//!
//! A host with too few processors may keep the thread waiting for longer than a scan dwells on a channel. Were all
//! that was due meanwhile done in one go, a probe request would go on the air and its dwell be over before the access
//! point, which runs beside it, had a chance to answer. So the time that was missed is left out, and a busy host makes
//! a slow medium instead of a lossy one.

use airlane_lane::{Instant, Micros};

/// Lateness that is caught up: that of timers and of other threads' turns. It is far below a dwell of 20 ms.
const CAUGHT_UP: Micros = Micros(2_000);

/// What was left out, and the greatest lateness.
#[derive(Clone, Copy, Debug, Default)]
pub struct EngineTime {
    left_out: Micros,
    lag: Micros,
}

impl EngineTime {
    /// The engine's time as the clock reads `now`, when something was due at `due` by the engine's time.
    pub fn at(&mut self, now: Instant, due: Option<Instant>) -> Instant {
        let late = |time: Instant| due.map_or(Micros(0), |due| time.saturating_since(due));
        let time = self.of(now);
        self.lag = self.lag.max(late(time));
        self.left_out += late(time).saturating_sub(CAUGHT_UP);
        self.of(now)
    }

    /// The engine's time as the clock reads `now`, without leaving anything out.
    pub fn of(&self, now: Instant) -> Instant {
        Instant(now.0.saturating_sub(self.left_out.0))
    }

    /// What the clock reads at `time` of the engine's.
    pub fn on_the_clock(&self, time: Instant) -> Instant {
        time + self.left_out
    }

    /// How much was left out since the start.
    pub fn left_out(&self) -> Micros {
        self.left_out
    }

    /// By how much the engine was late at most.
    pub fn lag(&self) -> Micros {
        self.lag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_little_late_is_caught_up() {
        let mut time = EngineTime::default();
        assert_eq!(
            time.at(Instant(12_000), Some(Instant(10_000))),
            Instant(12_000)
        );
        assert_eq!(time.at(Instant(20_000), None), Instant(20_000));
        assert_eq!((time.left_out(), time.lag()), (Micros(0), Micros(2_000)));
    }

    #[test]
    fn a_thread_without_a_processor_makes_time_stand_still() {
        let mut time = EngineTime::default();
        // The end of a dwell, 900 ms late, comes 2 ms after it was due, and 20 ms more take 20 ms.
        assert_eq!(
            time.at(Instant(910_000), Some(Instant(10_000))),
            Instant(12_000)
        );
        assert_eq!(time.on_the_clock(Instant(32_000)), Instant(930_000));
        assert_eq!(
            time.at(Instant(930_000), Some(Instant(32_000))),
            Instant(32_000)
        );
        assert_eq!(
            (time.left_out(), time.lag()),
            (Micros(898_000), Micros(900_000))
        );
    }

    #[test]
    fn time_without_anything_due_is_not_missed() {
        let mut time = EngineTime::default();
        assert_eq!(time.at(Instant(5_000_000), None), Instant(5_000_000));
        assert_eq!(time.left_out(), Micros(0));
    }
}
