//! What stands behind lanes: an [`Engine`] takes what virtual machines ask for and says what they are told. A Wi-Fi
//! card's host driver, NIC and air are one; a wire or a TCP engine is another. And how engines name lanes: [`LaneId`],
//! and [`LaneSet`], in which the next member is found in constant time, however few there are among 1,024.
//!
//! Pure: time is an argument. Not here: rings, threads and sockets; a reactor brings them to any engine.

use std::fmt;

use crate::Instant;

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

/// How many lanes one engine serves at most.
pub const MAX_LANES: usize = 1_024;

/// A virtual machine's lane at an engine, counted from 0 in the order in which the engine has given them out; engines
/// give out no more than [`MAX_LANES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(u16);

impl LaneId {
    /// The lane of this number.
    #[inline]
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// Its number.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for LaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Lanes that one word of the set tells of.
const WORD: usize = u64::BITS as usize;

/// Lanes, each once, in the order of their numbers.
///
/// ```
/// use airlane_lane::{LaneId, LaneSet};
///
/// let mut lanes = LaneSet::default();
/// lanes.insert(LaneId::new(700));
/// lanes.insert(LaneId::new(3));
/// assert_eq!(lanes.next_from(4), Some(LaneId::new(700)));
/// assert_eq!(lanes.next_from(701), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct LaneSet {
    words: [u64; MAX_LANES / WORD],
    /// Bit n: word n is not zero.
    filled: u16,
    len: usize,
}

impl LaneSet {
    /// Adds a lane, if it is not there.
    #[inline]
    pub fn insert(&mut self, lane: LaneId) {
        self.set(lane, true);
    }

    /// Takes a lane out, if it is there.
    #[inline]
    pub fn remove(&mut self, lane: LaneId) {
        self.set(lane, false);
    }

    /// How many lanes there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when no lane is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first member whose number is `from` or higher.
    #[inline]
    pub fn next_from(&self, from: usize) -> Option<LaneId> {
        let word = from / WORD;
        let here = self.words.get(word)? & (u64::MAX << (from % WORD));
        if here != 0 {
            return Some(member(word, here));
        }
        let later = u32::from(self.filled) & (u32::MAX << (word + 1));
        let word = later.trailing_zeros() as usize;
        let bits = self.words.get(word)?;
        Some(member(word, *bits))
    }

    #[inline]
    fn set(&mut self, lane: LaneId, member: bool) {
        let (word, bit) = (lane.index() / WORD, 1u64 << (lane.index() % WORD));
        let Some(bits) = self.words.get_mut(word) else {
            debug_assert!(false, "an engine has given out lane {lane}");
            return;
        };
        // Most calls say what is known already.
        if (*bits & bit != 0) == member {
            return;
        }
        *bits ^= bit;
        self.len = if member { self.len + 1 } else { self.len - 1 };
        self.filled = match *bits {
            0 => self.filled & !(1 << word),
            _ => self.filled | 1 << word,
        };
    }
}

/// The first lane of this word of the set.
#[inline]
fn member(word: usize, bits: u64) -> LaneId {
    let number = word * WORD + bits.trailing_zeros() as usize;
    // Fits: a set has MAX_LANES places.
    LaneId::new(u16::try_from(number).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_set_of_lanes_is_a_set(steps in prop::collection::vec((0..MAX_LANES, any::<bool>(), 0..MAX_LANES + 9), 1..200)) {
            let (mut set, mut model) = (LaneSet::default(), BTreeSet::new());
            for (lane, member, from) in steps {
                let id = LaneId::new(lane as u16);
                if member { set.insert(id); model.insert(lane); } else { set.remove(id); model.remove(&lane); }
                prop_assert_eq!(set.len(), model.len());
                prop_assert_eq!(set.next_from(from).map(LaneId::index), model.range(from..).next().copied());
            }
        }
    }
}
