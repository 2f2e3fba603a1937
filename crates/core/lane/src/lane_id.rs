//! Which lane of an engine.

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
