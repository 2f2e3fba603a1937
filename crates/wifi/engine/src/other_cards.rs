//! One card is lent and the others are asked: an address that a VM of theirs bears is nobody else's, for two stations of one
//! address would acknowledge each other's frames.
//!
//! Not here: addresses that VMs are assigned. Each card keeps those of all by itself.

use airlane_dot11::MacAddr;

use crate::card::Card;

/// All cards but one.
#[derive(Clone, Copy)]
pub(crate) struct OtherCards<'a> {
    before: &'a [Card],
    after: &'a [Card],
}

impl<'a> OtherCards<'a> {
    /// The card of this number, and the others.
    pub fn than(number: usize, cards: &'a mut [Card]) -> Option<(&'a mut Card, Self)> {
        let (before, rest) = cards.split_at_mut_checked(number)?;
        let (card, after) = rest.split_first_mut()?;
        Some((card, Self { before, after }))
    }

    /// Whether a VM of theirs bears this address now.
    pub fn bear(&self, address: MacAddr) -> bool {
        let mut all = self.before.iter().chain(self.after);
        all.any(|card| card.nic.bears(address))
    }
}
