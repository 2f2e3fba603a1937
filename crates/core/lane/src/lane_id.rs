//! Which lane of an engine; and sets of lanes, in which the next member is found in constant time, however few there are
//! among 1,024.

use std::fmt;

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
