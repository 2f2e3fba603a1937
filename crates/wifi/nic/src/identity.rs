//! Who may bear which address. The daemon assigns each VM one; from then on nobody else can have it, whether
//! its owner is up or not, and its owner can have another only if its policy says so.
//!
//! Not here: the check of each frame, which compares it with the address that its vMAC bears (`prepare`).

use std::collections::BTreeSet;

use airlane_dot11::MacAddr;
use airlane_waist::{PerVm, Refusal, VmId};

/// Whether a VM may bear another address than the one assigned to it, as NetworkManager does for scans and
/// `ip link set address` for good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressPolicy {
    /// The assigned one and no other.
    #[default]
    Fixed,
    /// Any that is assigned to nobody else, and that no vMAC and no access point of theirs has.
    Free,
}

#[derive(Clone, Copy)]
struct Assignment {
    address: MacAddr,
    policy: AddressPolicy,
}

/// All assignments. A VM without one may bear what nobody else has.
#[derive(Default)]
pub(crate) struct Assignments {
    of: PerVm<Option<Assignment>>,
    /// Addresses that are kept for VMs which have no VM-ID now, or may have lost theirs.
    reserved: BTreeSet<MacAddr>,
}

impl Assignments {
    pub(crate) fn assign(&mut self, vm: VmId, address: MacAddr, policy: AddressPolicy) {
        self.of[vm] = Some(Assignment { address, policy });
    }

    /// Whoever gets this VM-ID next has no assignment.
    pub(crate) fn release(&mut self, vm: VmId) {
        self.of[vm] = None;
    }

    /// From now on only a VM to which it is assigned may bear the address.
    pub(crate) fn reserve(&mut self, address: MacAddr) {
        self.reserved.insert(address);
    }

    /// Why `vm` may not bear `address` as far as assignments go. Zero is no address: the interface is down.
    pub(crate) fn allow(&self, vm: VmId, address: MacAddr) -> Result<(), Refusal> {
        let mut all = self.of.iter().filter_map(|(_, assigned)| *assigned);
        match self.of[vm] {
            _ if address == MacAddr::ZERO => Ok(()),
            Some(own) if own.address == address => Ok(()),
            _ if self.reserved.contains(&address) => Err(Refusal::AddressTaken(address)),
            _ if all.any(|other| other.address == address) => Err(Refusal::AddressTaken(address)),
            Some(own) if own.policy == AddressPolicy::Fixed => Err(Refusal::AddressFixed(address)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const OTHERS: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
    const NOBODYS: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);

    const TAKEN: Result<(), Refusal> = Err(Refusal::AddressTaken(OTHERS));

    fn allowed(policy: Option<AddressPolicy>) -> [Result<(), Refusal>; 4] {
        let [me, other] = [0, 1].map(|number| VmId::new(number).unwrap());
        let mut assignments = Assignments::default();
        assignments.assign(other, OTHERS, AddressPolicy::Fixed);
        if let Some(policy) = policy {
            assignments.assign(me, OWN, policy);
        }
        [OWN, NOBODYS, OTHERS, MacAddr::ZERO].map(|address| assignments.allow(me, address))
    }

    #[test]
    fn a_reserved_address_waits_for_the_vm_to_which_it_is_assigned() {
        let [me, other] = [0, 1].map(|number| VmId::new(number).unwrap());
        let mut assignments = Assignments::default();
        assignments.reserve(OTHERS);
        assignments.assign(me, OWN, AddressPolicy::Free);
        assert_eq!(
            assignments.allow(me, OTHERS),
            TAKEN,
            "its owner has not come"
        );
        assignments.assign(other, OTHERS, AddressPolicy::Fixed);
        assert_eq!(assignments.allow(other, OTHERS), Ok(()));
        assignments.release(other);
        assert_eq!(assignments.allow(me, OTHERS), TAKEN, "its owner has gone");
        assert_eq!(
            assignments.allow(other, NOBODYS),
            Ok(()),
            "the VM-ID is another's"
        );
    }

    #[test]
    fn nobody_gets_what_is_assigned_to_another() {
        let fixed = Err(Refusal::AddressFixed(NOBODYS));
        assert_eq!(
            allowed(Some(AddressPolicy::Fixed)),
            [Ok(()), fixed, TAKEN, Ok(())]
        );
        assert_eq!(
            allowed(Some(AddressPolicy::Free)),
            [Ok(()), Ok(()), TAKEN, Ok(())]
        );
        assert_eq!(allowed(None), [Ok(()), Ok(()), TAKEN, Ok(())]);
    }
}
