//! The PHY as this card's own radio: what the parts are lent to send with.

use airlane_air::{RadioId, Transmission};
use airlane_dot11::{AccessCategory, Channel};
use airlane_lane::Instant;

use crate::phy::Phy;
use crate::vmacs::Vmacs;

/// One radio of a PHY.
pub(crate) struct Radio<'a, P> {
    id: RadioId,
    phy: &'a mut P,
}

impl<'a, P: Phy> Radio<'a, P> {
    pub(crate) fn new(id: RadioId, phy: &'a mut P) -> Self {
        Self { id, phy }
    }

    /// Moves it to a channel, or turns it off.
    pub(crate) fn tune(&mut self, now: Instant, channel: Option<Channel>) {
        self.phy.tune(now, self.id, channel);
    }

    /// Queues a frame.
    pub(crate) fn transmit(&mut self, now: Instant, transmission: Transmission) {
        self.phy.transmit(now, self.id, transmission);
    }

    /// Frames of this category that have not ended yet.
    pub(crate) fn queued(&self, category: AccessCategory) -> usize {
        self.phy.queued(self.id, category)
    }

    /// Takes back the queued frames with these tokens; each still ends by an event.
    pub(crate) fn cancel(&mut self, now: Instant, which: &dyn Fn(u64) -> bool) {
        self.phy.cancel(now, self.id, which);
    }

    /// Receives for the addresses of these vMACs, and everything when one of them listens to all.
    pub(crate) fn listen_for(&mut self, vmacs: &Vmacs) {
        self.phy.set_addresses(self.id, &vmacs.addresses());
        self.phy.set_promiscuous(self.id, vmacs.any_promiscuous());
    }
}
