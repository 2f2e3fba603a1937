//! A set of lanes in which the next member is found in constant time, however few there are among 1,024.

/// How many lanes one engine serves at most.
pub const MAX_LANES: usize = 1_024;

/// A lane of an engine, `0..MAX_LANES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(u16);

impl LaneId {
    /// The lane of this number; `None` from [`MAX_LANES`] on.
    pub fn new(number: usize) -> Option<Self> {
        let number = u16::try_from(number).ok()?;
        (usize::from(number) < MAX_LANES).then_some(Self(number))
    }

    /// Its number, always below [`MAX_LANES`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl From<crate::VmId> for LaneId {
    fn from(vm: crate::VmId) -> Self {
        Self(vm.index() as u16)
    }
}

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
            return LaneId::new(word * 64 + here.trailing_zeros() as usize);
        }
        let later = u32::from(self.filled) & (u32::MAX << (word + 1));
        let word = later.trailing_zeros() as usize;
        let bits = self.words.get(word)?;
        LaneId::new(word * 64 + bits.trailing_zeros() as usize)
    }

    fn set(&mut self, lane: LaneId, member: bool) {
        let (word, bit) = (lane.index() / 64, 1u64 << (lane.index() % 64));
        let Some(bits) = self.words.get_mut(word) else {
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
                let id = LaneId::new(lane).unwrap();
                if member { set.insert(id); model.insert(lane); } else { set.remove(id); model.remove(&lane); }
                prop_assert_eq!(set.len(), model.len());
                prop_assert_eq!(set.next_from(from).map(LaneId::index), model.range(from..).next().copied());
            }
        }
    }

    #[test]
    fn there_are_1024_lanes_and_no_more() {
        assert!(LaneId::new(1_023).is_some() && LaneId::new(1_024).is_none());
    }
}
