//! Real time as the pure parts count it: microseconds since the run began.

use std::time::{Duration, Instant};

use airlane_wlan::Micros;

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

    /// How long until `when`; zero when it has passed.
    pub fn until(&self, when: Micros) -> Duration {
        (self.start + Duration::from_micros(when.0)).saturating_duration_since(Instant::now())
    }
}
