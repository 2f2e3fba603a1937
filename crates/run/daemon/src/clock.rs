//! Real time as the pure parts count it: microseconds since the run began.

#![expect(
    clippy::disallowed_methods,
    reason = "the one place where the daemon reads the time"
)]

use std::time::{Duration, SystemTime};

use airlane_lane::Instant;

/// The run's clock. The only place where the daemon reads the time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: std::time::Instant,
}

impl Clock {
    /// A clock that reads zero now.
    pub fn start() -> Self {
        Self {
            start: std::time::Instant::now(),
        }
    }

    /// Microseconds since the start.
    pub fn now(&self) -> Instant {
        Instant(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// The time of day when this clock read zero, since the Unix epoch.
    pub fn epoch(&self) -> Duration {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.unwrap_or_default().saturating_sub(self.start.elapsed())
    }

    /// How long until `when`; zero when it has passed.
    pub fn until(&self, when: Instant) -> Duration {
        let when = self.start + Duration::from_micros(when.0);
        when.saturating_duration_since(std::time::Instant::now())
    }
}
