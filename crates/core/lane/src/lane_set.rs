//! A set of lanes in which the next member is found in constant time, however few there are among 1,024.

use crate::lane_id::{LaneId, MAX_LANES};

/// Lanes, each once, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneSet {
    words: [u64; MAX_LANES / 64],
    /// Bit n: word n is not zero.
    filled: u16,
    len: usize,
}

impl LaneSet {
    pub(crate) fn insert(&mut self, lane: LaneId) {
        self.set(lane, true);
    }

    pub(crate) fn remove(&mut self, lane: LaneId) {
        self.set(lane, false);
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The first member at `from` or after it.
    pub(crate) fn next_from(&self, from: usize) -> Option<LaneId> {
        let word = from / 64;
        let here = self.words.get(word)? & (u64::MAX << (from % 64));
        if here != 0 {
            return Some(member(word, here));
        }
        let later = u32::from(self.filled) & (u32::MAX << (word + 1));
        let word = later.trailing_zeros() as usize;
        let bits = self.words.get(word)?;
        Some(member(word, *bits))
    }

    fn set(&mut self, lane: LaneId, member: bool) {
        let (word, bit) = (lane.index() / 64, 1u64 << (lane.index() % 64));
        let Some(bits) = self.words.get_mut(word) else {
            debug_assert!(false, "an engine has given out lane {lane}");
            return;
        };
        let was = *bits & bit != 0;
        *bits = if member { *bits | bit } else { *bits & !bit };
        self.len = self.len + usize::from(member && !was) - usize::from(was && !member);
        self.filled = match *bits {
            0 => self.filled & !(1 << word),
            _ => self.filled | 1 << word,
        };
    }
}

/// The first lane of this word of the set.
fn member(word: usize, bits: u64) -> LaneId {
    LaneId::new(word as u16 * 64 + bits.trailing_zeros() as u16)
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
