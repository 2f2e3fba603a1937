//! What every part of the NIC works on: the table of vMACs, what leaves the card, and its radio. [`crate::Nic`] has
//! them beside the parts and lends them to one part at a time, so that a part can change a vMAC while it changes its
//! own state, and no part knows another.

use std::collections::VecDeque;

use airlane_air::{Aggregation, Air, RadioId, Transmission};
use airlane_dot11::{AccessCategory, Channel, MacAddr, frame::Header};
use airlane_lane::{Instant, Micros};
use airlane_waist::stamp::Stamps;
use airlane_waist::{Event, MAX_VMS, NicEvent, PerVm, Refusal, VmId};
use arrayvec::ArrayVec;

use crate::counters::{Counters, VmCounters};
use crate::identity::{AddressPolicy, Assignments};
use crate::rx::keys::KeyTable;
use crate::vmac::Vmac;

/// What the 5000 series receives: A-MPDUs of 65,535 bytes, MPDUs 4 µs apart (`iwl-eeprom-parse.c`,
/// `iwl_init_ht_hw_capab`).
const RECEIVES: Aggregation = Aggregation {
    spacing_nanos: 4_000,
    ..Aggregation::LARGEST
};

/// How much a card holds.
#[derive(Clone, Copy, Debug)]
pub struct NicConfig {
    /// Frames of one vMAC that the card has at most, from request to report.
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

/// All vMACs of the card, found by VM-ID or by address, and who may bear which address.
#[derive(Default)]
pub(crate) struct Vmacs {
    slots: PerVm<Option<Box<Vmac>>>,
    /// The address of each vMAC that has one, in ascending order. Looked through for each frame: a short list is
    /// faster than a tree.
    addresses: ArrayVec<(MacAddr, VmId), MAX_VMS>,
    /// How many vMACs receive the frames of others.
    promiscuous: usize,
    assignments: Assignments,
}

impl Vmacs {
    /// The vMAC of this VM, once its driver has initialized it.
    pub(crate) fn get(&self, vm: VmId) -> Option<&Vmac> {
        self.slots[vm].as_deref()
    }

    pub(crate) fn get_mut(&mut self, vm: VmId) -> Option<&mut Vmac> {
        self.slots[vm].as_deref_mut()
    }

    /// Every vMAC that exists, by VM-ID.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (VmId, &Vmac)> {
        let slots = self.slots.iter();
        slots.filter_map(|(vm, slot)| Some((vm, slot.as_deref()?)))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (VmId, &mut Vmac)> {
        let slots = self.slots.iter_mut();
        slots.filter_map(|(vm, slot)| Some((vm, slot.as_deref_mut()?)))
    }

    /// A new vMAC, unconfigured, in place of what the VM had.
    pub(crate) fn create(&mut self, vm: VmId) {
        self.slots[vm] = Some(Box::new(Vmac::new()));
    }

    pub(crate) fn take(&mut self, vm: VmId) -> Option<Box<Vmac>> {
        self.slots[vm].take()
    }

    /// The VM whose address this is.
    pub(crate) fn owner(&self, address: MacAddr) -> Option<VmId> {
        let mut known = self.addresses.iter();
        known
            .find(|(known, _)| *known == address)
            .map(|&(_, vm)| vm)
    }

    /// True when a vMAC receives everything.
    pub(crate) fn any_promiscuous(&self) -> bool {
        self.promiscuous > 0
    }

    /// The addresses of all vMACs, in ascending order.
    pub(crate) fn addresses(&self) -> Vec<MacAddr> {
        self.addresses.iter().map(|&(address, _)| address).collect()
    }

    /// Reads addresses and receive filters anew; after each change of a configuration.
    pub(crate) fn refresh(&mut self) {
        let of = |(vm, vmac): (VmId, &Vmac)| Some((vmac.address()?, vm));
        self.addresses = self.iter().filter_map(of).collect();
        self.addresses.sort_unstable();
        self.promiscuous = self.iter().filter(|(_, v)| v.listens_to_all()).count();
    }

    pub(crate) fn assign(&mut self, vm: VmId, address: MacAddr, policy: AddressPolicy) {
        self.assignments.assign(vm, address, policy);
    }

    pub(crate) fn reserve(&mut self, address: MacAddr) {
        self.assignments.reserve(address);
    }

    pub(crate) fn release(&mut self, vm: VmId) {
        self.assignments.release(vm);
    }

    /// Why this VM may not have the address: nobody else may have it, and the VM must be allowed it.
    pub(crate) fn may_bear(&self, vm: VmId, address: MacAddr) -> Result<(), Refusal> {
        let taken = self.owner(address).is_some_and(|owner| owner != vm);
        let of_access_point = || {
            let mut peers = self.iter().filter_map(|(_, vmac)| vmac.bssid());
            peers.any(|bssid| bssid == address)
        };
        if address.is_group() {
            return Err(Refusal::AddressOfGroup(address));
        }
        if taken || of_access_point() {
            return Err(Refusal::AddressTaken(address));
        }
        self.assignments.allow(vm, address)
    }

    /// How frames with this header may share A-MPDUs by the agreement that their receiver's driver
    /// has made; `None`: there is no such agreement, or no such vMAC.
    pub(crate) fn receive_agreement(&self, header: &Header) -> Option<Aggregation> {
        let vmac = self.get(self.owner(header.receiver)?)?;
        let agreed = vmac
            .stations
            .receives_aggregates(header.transmitter?, header.tid?);
        agreed.then_some(RECEIVES)
    }
}

/// What the NIC needs of the medium that its radio sends into: six calls. [`Air`] is the one there is;
/// the seam lets tests and benchmarks put a medium without radio waves in its place.
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
