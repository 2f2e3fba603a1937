//! What stands behind lanes: an [`Engine`] takes what virtual machines ask for and says what they are told. A Wi-Fi
//! card's host driver, NIC and air are one; a wire or a TCP engine is another.
//!
//! Pure: time is an argument. Not here: rings, threads and sockets; a reactor brings them to any engine.

use crate::{Instant, LaneId};

/// When an engine is to be run again, if nothing is asked of it before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At once: the bound on one call's work was reached.
    More,
    /// At this moment.
    At(Instant),
    /// Not at all.
    Idle,
}

impl Next {
    /// The moment, where there is one to wait for.
    pub fn at(self) -> Option<Instant> {
        match self {
            Self::At(when) => Some(when),
            Self::More | Self::Idle => None,
        }
    }
}

impl From<Option<Instant>> for Next {
    fn from(when: Option<Instant>) -> Self {
        when.map_or(Self::Idle, Self::At)
    }
}

/// What becomes of a virtual machine that attaches to a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// What the lane asks for from now on is done.
    Admitted,
    /// Its place is not free yet, since another virtual machine is still leaving it: ask again when the engine has run.
    Later,
    /// There is no place for it, for this reason. What the lane asks for is not done.
    Refused(String),
}

/// How an event is passed on to its virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The answer to a request of which [`Engine::is_reported`] is true: may wait for others, is never lost.
    Report,
    /// Something from the network: may wait for others, and is dropped when the lane is full.
    Arrival,
    /// Must not wait, nor does what came before it.
    Urgent,
    /// As urgent; and requests that have no report yet will never have one.
    Reset,
}

/// Takes requests of lanes, does its work when it is run, and has events for lanes.
///
/// ```
/// use airlane_lane::{Engine, EventKind, Instant, LaneId, Next};
/// use std::collections::VecDeque;
///
/// /// Answers each number with its double, 10 µs later.
/// #[derive(Default)]
/// struct Doubler(VecDeque<(Instant, u32)>, VecDeque<u32>);
///
/// impl Engine for Doubler {
///     type Request = u32;
///     type Event = u32;
///
///     fn request(&mut self, now: Instant, _: LaneId, number: u32) {
///         self.0.push_back((now + airlane_lane::Micros(10), number));
///     }
///
///     fn run(&mut self, now: Instant, budget: usize) -> Next {
///         for _ in 0..budget {
///             match self.0.front() {
///                 Some(&(due, number)) if due <= now => {
///                     self.1.push_back(2 * number);
///                     self.0.pop_front();
///                 }
///                 later => return later.map(|&(due, _)| due).into(),
///             }
///         }
///         Next::More
///     }
///
///     fn next_event(&mut self, _: LaneId) -> Option<u32> {
///         self.1.pop_front()
///     }
///
///     fn is_reported(_: &u32) -> bool {
///         true
///     }
///
///     fn kind(_: &u32) -> EventKind {
///         EventKind::Report
///     }
/// }
///
/// let mut engine = Doubler::default();
/// let lane = LaneId::new(0);
/// engine.request(Instant(0), lane, 21);
/// assert_eq!(engine.run(Instant(0), 100), Next::At(Instant(10)));
/// assert_eq!(engine.run(Instant(10), 100), Next::Idle);
/// assert_eq!(engine.next_event(lane), Some(42));
/// ```
pub trait Engine {
    /// What a virtual machine asks for.
    type Request: Send;
    /// What it is told.
    type Event: Send;

    /// A virtual machine attaches to a lane. An engine whose lanes share nothing scarce admits each.
    fn admit(&mut self, now: Instant, lane: LaneId) -> Admission {
        let _ = (now, lane);
        Admission::Admitted
    }

    /// The virtual machine that was admitted to a lane has gone: its place is another's.
    fn dismiss(&mut self, now: Instant, lane: LaneId) {
        let _ = (now, lane);
    }

    /// Takes a request of a lane. What the engine has not given out as a lane is refused as it sees fit.
    fn request(&mut self, now: Instant, lane: LaneId, request: Self::Request);

    /// Does what is due, and says when to come back. `budget` bounds the requests, events and frames that this
    /// call moves, so that one lane's flood cannot hold the thread; one step that cannot be divided may exceed it.
    fn run(&mut self, now: Instant, budget: usize) -> Next;

    /// The next event for a lane.
    fn next_event(&mut self, lane: LaneId) -> Option<Self::Event>;

    /// Whether a request is answered by an event of [`EventKind::Report`]: until then it counts as in flight.
    fn is_reported(request: &Self::Request) -> bool;

    /// How an event is passed on.
    fn kind(event: &Self::Event) -> EventKind;
}
