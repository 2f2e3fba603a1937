//! Names of what the medium holds: radios and the addresses that they acknowledge, channels, frames on the air.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use airlane_dot11::MacAddr;

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

/// Pairs of an address and a radio that acknowledges it, ordered: the same address may have several.
#[derive(Default)]
pub(crate) struct Addresses(BTreeSet<(MacAddr, RadioId)>);

impl Addresses {
    pub fn insert(&mut self, address: MacAddr, radio: RadioId) {
        self.0.insert((address, radio));
    }

    pub fn remove(&mut self, address: MacAddr, radio: RadioId) {
        self.0.remove(&(address, radio));
    }

    pub fn has(&self, address: MacAddr, radio: RadioId) -> bool {
        self.0.contains(&(address, radio))
    }

    /// Radios that have this address, in order.
    pub fn owners(&self, address: MacAddr) -> impl Iterator<Item = RadioId> + '_ {
        let range = (Excluded((address, RadioId::LOWEST)), Unbounded);
        let radios = self.0.range(range);
        radios
            .take_while(move |(other, _)| *other == address)
            .map(|(_, id)| *id)
    }
}
