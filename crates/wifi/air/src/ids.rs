//! Names of what the medium holds: radios, channels, frames on the air.

/// Names one radio of one medium. Never used again for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RadioId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl RadioId {
    /// Below the ID of every radio, whose generations begin at 1: where a search begins.
    pub(crate) const LOWEST: Self = Self {
        index: 0,
        generation: 0,
    };
}

/// Index of a 20 MHz channel that somebody has tuned to. Channels are never taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChannelId(pub usize);

/// Index of a frame on the air or about to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PpduId(pub usize);
