//! When is measured: load is on a little before, so that queues have their length.

use std::time::{Duration, Instant};

/// From when to when what happens counts.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// From here on it counts.
    pub begin: Instant,
    /// From here on it does not any more.
    pub end: Instant,
}

impl Window {
    /// `span` long, after a tenth of a second of load that does not count.
    pub fn of(span: Duration) -> Self {
        let begin = Instant::now() + Duration::from_millis(100);
        let end = begin + span;
        Self { begin, end }
    }
}
