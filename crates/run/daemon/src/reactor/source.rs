//! What a reactor's engine exchanges with: the one door through which lanes, sockets and control requests reach it.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;

use airlane_lane::{Engine, Instant, LaneId, Micros};
use rustix::event::PollFlags;

/// What a look at a source has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Took {
    /// Nothing had come.
    #[default]
    Nothing,
    /// Something; what else there is shows at the source's file descriptors.
    All,
    /// Something, and there may be more: the reactor looks again before it sleeps.
    Batch,
}

/// Counters of the reactor and of its sources, by name.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// When this was taken.
    pub at: Instant,
    /// How much later than due the engine was run, at most.
    pub lag: Micros,
    /// Those of the whole.
    pub counters: BTreeMap<&'static str, u64>,
    /// Those of each lane.
    pub lanes: Vec<(LaneId, [(&'static str, u64); 3])>,
}

impl Report {
    /// Adds to the counter of this name.
    pub fn add(&mut self, name: &'static str, value: u64) {
        *self.counters.entry(name).or_default() += value;
    }
}

/// Something that an engine exchanges with. Every call comes from the reactor's thread and must not block.
///
/// One turn of the reactor calls, each of all sources: [`Self::take`]; then it runs the engine; then
/// [`Self::give`], and [`Self::report`] where [`Self::wants_report`].
pub trait Source<E: Engine>: Send {
    /// Takes what has come into the engine: no more than a batch, so that all others have their turn.
    fn take(&mut self, now: Instant, engine: &mut E) -> Took;

    /// Hands out what the engine has for it; says when to come back, if there is a reason of its own.
    fn give(&mut self, now: Instant, engine: &mut E) -> Option<Instant>;

    /// Whether the engine owes it the end of something: the reactor may busy-poll meanwhile.
    fn is_in_flight(&self) -> bool {
        false
    }

    /// The reactor is about to sleep: from now on what comes must wake it. `false`: something has come meanwhile.
    fn announce_sleep(&mut self) -> bool {
        true
    }

    /// The file descriptors that wake the reactor when it sleeps, each time in the same order.
    fn poll_fds<'a>(&'a self, wait_for: &mut dyn FnMut(BorrowedFd<'a>, PollFlags)) {
        let _ = wait_for;
    }

    /// What a poll has found: takes one item for each of [`Self::poll_fds`].
    fn ready(&mut self, ready: &mut dyn Iterator<Item = bool>) {
        let _ = ready;
    }

    /// Adds its counters.
    fn count(&self, report: &mut Report) {
        let _ = report;
    }

    /// Whether somebody waits for a report.
    fn wants_report(&self) -> bool {
        false
    }

    /// Here it is.
    fn report(&mut self, engine: &E, report: &Report) {
        let _ = (engine, report);
    }

    /// Whether the reactor is to end.
    fn is_over(&self) -> bool {
        false
    }
}
