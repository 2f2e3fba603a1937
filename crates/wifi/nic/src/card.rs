//! What every part of the NIC works on. [`crate::Nic`] owns it beside the parts and lends it to one of them at a time,
//! so that a part can change a vMAC while it changes its own state, and no part knows another.

use airlane_dot11::Channel;
use airlane_lane::Instant;
use airlane_waist::Event;
use airlane_waist::stamp::Stamps;

use crate::output::Output;
use crate::rx::keys::KeyTable;
use crate::vmacs::Vmacs;

/// The vMACs, their keys, and what leaves the card.
#[derive(Default)]
pub(crate) struct Card {
    pub(crate) vmacs: Vmacs,
    pub(crate) keys: KeyTable,
    pub(crate) out: Output,
    pub(crate) stamps: Stamps,
}

impl Card {
    /// Runs the timers of each vMAC: its access point changes its channel, a beacon fails to come. Says when the next
    /// one is due. `on_channel` tells since when the radio has been on a channel and awake.
    pub(crate) fn run_timers(
        &mut self,
        now: Instant,
        on_channel: impl Fn(Channel) -> Option<Instant>,
    ) -> Option<Instant> {
        let Self { vmacs, out, .. } = self;
        let mut next = None;
        for (vm, vmac) in vmacs.iter_mut() {
            if let Some(channel) = vmac.follow_switch(now) {
                out.emit(vm, Event::ChannelSwitched(channel));
            }
            next = Instant::earlier(next, vmac.switch.map(|(at, _)| at));
            let Some(channel) = vmac.channel().filter(|_| vmac.associated()) else {
                continue;
            };
            let here = on_channel(channel);
            if let Some(missed) = vmac.beacons.pass(now, here) {
                out.emit(vm, Event::MissedBeacons(missed));
            }
            next = Instant::earlier(next, vmac.beacons.deadline(here));
        }
        next
    }
}
