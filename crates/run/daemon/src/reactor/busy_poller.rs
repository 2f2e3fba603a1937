//! A thread's looking for work before it sleeps. [`PollGovernor`] decides; here are the clock that it is asked
//! with, and the yield that lets others run between two looks.

use airlane_lane::{PollCounters, PollGovernor, Polling};

use crate::clock::Clock;

/// The busy polling of one thread.
pub struct BusyPoller {
    clock: Clock,
    governor: PollGovernor,
}

impl BusyPoller {
    /// Has not looked yet.
    pub fn new(clock: Clock, polling: Polling) -> Self {
        Self {
            clock,
            governor: PollGovernor::new(polling),
        }
    }

    /// A look has found something.
    pub fn found(&mut self) {
        self.governor.found(self.clock.now());
    }

    /// A look has found nothing; whether work is `in_flight` that others will answer. True: look again;
    /// others have had the processor meanwhile. False: sleep.
    pub fn again(&mut self, in_flight: bool) -> bool {
        let again = self.governor.again(self.clock.now(), in_flight);
        if again {
            std::thread::yield_now();
        }
        again
    }

    /// What came of it so far.
    pub fn counters(&self) -> PollCounters {
        self.governor.counters()
    }
}
