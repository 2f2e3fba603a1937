//! Which radios take unicast frames for which address.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use airlane_dot11::MacAddr;

use crate::RadioId;

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
