//! All vMACs of the card, found by VM-ID or by address.

use airlane_air::Aggregation;
use airlane_dot11::{MacAddr, frame::Header};
use airlane_waist::{MAX_VMS, PerVm, VmId};
use arrayvec::ArrayVec;

use crate::identity::{AddressPolicy, Assignments};
use crate::vmac::Vmac;

/// What the 5000 series receives: A-MPDUs of 65,535 bytes, MPDUs 4 µs apart (`iwl-eeprom-parse.c`,
/// `iwl_init_ht_hw_capab`).
const RECEIVES: Aggregation = Aggregation {
    spacing_nanos: 4_000,
    ..Aggregation::LARGEST
};

/// The table of vMACs, and who may bear which address.
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

    /// True when the address is one that this VM may have and that nobody else has.
    pub(crate) fn may_bear(&self, vm: VmId, address: MacAddr) -> bool {
        let taken = self.owner(address).is_some_and(|owner| owner != vm);
        let of_access_point = || {
            let mut peers = self.iter().filter_map(|(_, vmac)| vmac.bssid());
            peers.any(|bssid| bssid == address)
        };
        !address.is_group() && !taken && self.assignments.allow(vm, address) && !of_access_point()
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
