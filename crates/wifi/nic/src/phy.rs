//! What the NIC needs of the medium: six calls. [`Air`] is the one there is; the seam lets tests
//! and benchmarks put a medium without radio waves in its place.

use airlane_air::{Air, RadioId, Transmission};
use airlane_dot11::{AccessCategory, Channel, MacAddr};
use airlane_lane::Instant;

use crate::vmacs::Vmacs;

/// A medium that one radio sends into.
pub trait Phy {
    /// Moves the radio to a channel; `None` turns it off.
    fn tune(&mut self, now: Instant, radio: RadioId, channel: Option<Channel>);
    /// The addresses whose frames the radio acknowledges and receives.
    fn set_addresses(&mut self, radio: RadioId, addresses: &[MacAddr]);
    /// Whether the radio receives the unicast frames of other stations as well.
    fn set_promiscuous(&mut self, radio: RadioId, on: bool);
    /// Queues a frame; its end is told by [`airlane_air::AirEvent::Sent`].
    fn transmit(&mut self, now: Instant, radio: RadioId, transmission: Transmission);
    /// Frames of this category that have not ended yet.
    fn queued(&self, radio: RadioId, category: AccessCategory) -> usize;
    /// Gives up the queued frames with these tokens; each still ends by an event.
    fn cancel(&mut self, now: Instant, radio: RadioId, which: &dyn Fn(u64) -> bool);
}

impl Phy for Air {
    fn tune(&mut self, now: Instant, radio: RadioId, channel: Option<Channel>) {
        Air::tune(self, now, radio, channel);
    }
    fn set_addresses(&mut self, radio: RadioId, addresses: &[MacAddr]) {
        Air::set_addresses(self, radio, addresses);
    }
    fn set_promiscuous(&mut self, radio: RadioId, on: bool) {
        Air::set_promiscuous(self, radio, on);
    }
    fn transmit(&mut self, now: Instant, radio: RadioId, transmission: Transmission) {
        Air::transmit(self, now, radio, transmission);
    }
    fn queued(&self, radio: RadioId, category: AccessCategory) -> usize {
        Air::queued(self, radio, category)
    }
    fn cancel(&mut self, now: Instant, radio: RadioId, which: &dyn Fn(u64) -> bool) {
        Air::cancel(self, now, radio, which);
    }
}

/// This card's own radio on a PHY: what the parts are lent to send with.
pub(crate) struct Radio<'a, P> {
    id: RadioId,
    phy: &'a mut P,
}

impl<'a, P: Phy> Radio<'a, P> {
    pub(crate) fn new(id: RadioId, phy: &'a mut P) -> Self {
        Self { id, phy }
    }

    /// Moves the radio to a channel; `None` turns it off.
    pub(crate) fn tune(&mut self, now: Instant, channel: Option<Channel>) {
        self.phy.tune(now, self.id, channel);
    }

    /// Hands a frame to the medium, which tells its end in an event.
    pub(crate) fn transmit(&mut self, now: Instant, transmission: Transmission) {
        self.phy.transmit(now, self.id, transmission);
    }

    /// Frames of this category that have not ended yet.
    pub(crate) fn queued(&self, category: AccessCategory) -> usize {
        self.phy.queued(self.id, category)
    }

    /// Gives up the queued frames with these tokens; each still ends by an event.
    pub(crate) fn cancel(&mut self, now: Instant, which: &dyn Fn(u64) -> bool) {
        self.phy.cancel(now, self.id, which);
    }

    /// Makes the radio receive for the addresses of these vMACs, and every frame when one of them listens to all.
    pub(crate) fn listen_for(&mut self, vmacs: &Vmacs) {
        self.phy.set_addresses(self.id, &vmacs.addresses());
        self.phy.set_promiscuous(self.id, vmacs.any_promiscuous());
    }
}
