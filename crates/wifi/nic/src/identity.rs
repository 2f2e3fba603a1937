//! Who may bear which address. The daemon assigns each VM one; from then on nobody else can have it, whether
//! its owner is up or not, and its owner can have another only if its policy says so.
//!
//! Not here: the check of each frame, which compares it with the address that its vMAC bears (`prepare`).

use airlane_dot11::MacAddr;
use airlane_lane::VmId;
use airlane_waist::PerVm;

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
pub(crate) struct Assignments(PerVm<Option<Assignment>>);

impl Assignments {
    pub(crate) fn assign(&mut self, vm: VmId, address: MacAddr, policy: AddressPolicy) {
        self.0[vm] = Some(Assignment { address, policy });
    }

    /// True when `vm` may bear `address` as far as assignments go. Zero is no address: the interface is down.
    pub(crate) fn allow(&self, vm: VmId, address: MacAddr) -> bool {
        let mut all = self.0.iter().filter_map(|(_, assigned)| *assigned);
        match self.0[vm] {
            _ if address == MacAddr::ZERO => true,
            Some(own) if own.address == address => true,
            Some(own) if own.policy == AddressPolicy::Fixed => false,
            _ => !all.any(|other| other.address == address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const OTHERS: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
    const NOBODYS: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);

    fn allowed(policy: Option<AddressPolicy>) -> [bool; 4] {
        let [me, other] = [0, 1].map(|number| VmId::new(number).unwrap());
        let mut assignments = Assignments::default();
        assignments.assign(other, OTHERS, AddressPolicy::Fixed);
        if let Some(policy) = policy {
            assignments.assign(me, OWN, policy);
        }
        [OWN, NOBODYS, OTHERS, MacAddr::ZERO].map(|address| assignments.allow(me, address))
    }

    #[test]
    fn nobody_gets_what_is_assigned_to_another() {
        assert_eq!(
            allowed(Some(AddressPolicy::Fixed)),
            [true, false, false, true]
        );
        assert_eq!(
            allowed(Some(AddressPolicy::Free)),
            [true, true, false, true]
        );
        assert_eq!(allowed(None), [true, true, false, true]);
    }
}
