//! What every part of the NIC works on. [`crate::Nic`] owns it beside the parts and lends it to one of them at a time,
//! so that a part can change a vMAC while it changes its own state, and no part knows another.

use std::collections::VecDeque;

use airlane_dot11::Channel;
use airlane_lane::{Instant, Micros};
use airlane_waist::stamp::Stamps;
use airlane_waist::{Event, NicEvent, PerVm, VmId};

use crate::counters::{Counters, VmCounters};
use crate::rx::keys::KeyTable;
use crate::vmacs::Vmacs;

/// How much a card holds.
#[derive(Clone, Copy, Debug)]
pub struct NicConfig {
    /// Frames that one vMAC's queues hold.
    pub queue_limit: usize,
    /// Frames per access category that the air holds at a time. Few: what is with the air can be
    /// neither shared out anew nor flushed.
    pub air_depth: usize,
    /// Estimated airtime that the air holds of one access category where frames share PPDUs: enough for the longest PPDU.
    pub air_ahead: Micros,
    /// Buffers for frames on their way out.
    pub tx_buffers: usize,
    /// Buffers for decrypted frames on their way in.
    pub rx_buffers: usize,
}

impl Default for NicConfig {
    fn default() -> Self {
        Self {
            queue_limit: 4_096,
            air_depth: 2,
            air_ahead: Micros::from_millis(6),
            tx_buffers: 512,
            rx_buffers: 512,
        }
    }
}

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

/// Events in the order in which they happened, and all counters.
#[derive(Default)]
pub(crate) struct Output {
    events: VecDeque<NicEvent>,
    pub(crate) counters: Counters,
    /// Of each VM; these counters outlive its vMACs.
    pub(crate) vms: PerVm<VmCounters>,
}

impl Output {
    /// Puts an event for a VM's driver behind those that are not taken out yet.
    pub(crate) fn emit(&mut self, vm: VmId, event: Event) {
        self.events.push_back(NicEvent::Vif(vm, event));
    }

    /// Puts an event for the host driver behind those that are not taken out yet.
    pub(crate) fn tell_host(&mut self, event: NicEvent) {
        self.events.push_back(event);
    }

    /// Takes the oldest event out, whoever it is for.
    pub(crate) fn next(&mut self) -> Option<NicEvent> {
        self.events.pop_front()
    }

    /// Counts that an invariant which the card itself keeps does not hold: tests stop there, a running card goes on.
    #[cold]
    pub(crate) fn broken(&mut self, invariant: &str) {
        debug_assert!(false, "broken invariant: {invariant}");
        self.counters.broken_invariants += 1;
    }
}
