//! Real time as the pure parts count it: microseconds since the run began.

#![expect(
    clippy::disallowed_methods,
    reason = "the one place where the daemon reads the time"
)]

use std::time::{Duration, Instant, SystemTime};

use airlane_lane::Micros;

/// The run's clock. The only place where the daemon reads the time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that reads zero now.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// Microseconds since the start.
    pub fn now(&self) -> Micros {
        Micros(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// The time of day when this clock read zero, since the Unix epoch.
    pub fn epoch(&self) -> Duration {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.unwrap_or_default().saturating_sub(self.start.elapsed())
    }

    /// How long until `when`; zero when it has passed.
    pub fn until(&self, when: Micros) -> Duration {
        (self.start + Duration::from_micros(when.0)).saturating_duration_since(Instant::now())
    }
}
