//! The key table: one for the whole card, indexed by access point, vMAC and key (Virtual WiFi,
//! section 4.3). So two VMs that joined the same access point never share an entry.

use std::collections::BTreeMap;

use airlane_dot11::{MacAddr, ccmp::Ccmp};
use airlane_waist::{Cipher, Key, PerVm, StationIndex, VmId};

/// Which of a peer's keys, by its use and its key ID (0 to 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KeyKind {
    /// For frames to and from this vMAC alone, by key ID.
    Pairwise(u8),
    /// For group frames that the peer sends, by key ID.
    Group(u8),
}

struct Entry {
    station: StationIndex,
    slot: u8,
    bytes: [u8; 16],
    /// The expanded key; `None` where the driver decrypts.
    ccmp: Option<Ccmp>,
}

/// The keys of all vMACs, and those that came with their frames.
#[derive(Default)]
pub(crate) struct KeyTable {
    entries: BTreeMap<(VmId, MacAddr, KeyKind), Entry>,
    /// The last key per vMAC that came with a frame and stands in no entry.
    spare: PerVm<Option<([u8; 16], Ccmp)>>,
}

impl KeyTable {
    /// Puts `key` of `peer` in, in place of what its slot held.
    pub(crate) fn set(&mut self, vm: VmId, peer: MacAddr, key: &Key) {
        self.remove(vm, key.station, key.slot);
        let kind = if key.group {
            KeyKind::Group(key.index & 3)
        } else {
            KeyKind::Pairwise(key.index & 3)
        };
        let entry = Entry {
            station: key.station,
            slot: key.slot,
            bytes: key.bytes,
            ccmp: (key.cipher == Cipher::Ccmp).then(|| Ccmp::new(&key.bytes)),
        };
        self.entries.insert((vm, peer, kind), entry);
    }

    /// Takes the key in this slot of this station out, if there is one.
    pub(crate) fn remove(&mut self, vm: VmId, station: StationIndex, slot: u8) {
        self.entries.retain(|&(owner, _, _), entry| {
            owner != vm || entry.station != station || entry.slot != slot
        });
    }

    /// Takes all keys of one peer out.
    pub(crate) fn forget_peer(&mut self, vm: VmId, peer: MacAddr) {
        self.entries
            .retain(|&(owner, address, _), _| owner != vm || address != peer);
    }

    /// Takes all keys of one vMAC out.
    pub(crate) fn forget(&mut self, vm: VmId) {
        self.entries.retain(|&(owner, _, _), _| owner != vm);
        self.spare[vm] = None;
    }

    /// The key to receive with; `None` when there is none or the driver decrypts itself.
    pub(crate) fn receive(&self, vm: VmId, peer: MacAddr, kind: KeyKind) -> Option<&Ccmp> {
        self.entries.get(&(vm, peer, kind))?.ccmp.as_ref()
    }

    /// The expanded form of the key that came with a frame to `peer`: expanded once, then reused
    /// for as long as the frames bring the same bytes.
    pub(crate) fn transmit(&mut self, vm: VmId, peer: MacAddr, bytes: &[u8; 16]) -> &Ccmp {
        let range = (vm, peer, KeyKind::Pairwise(0))..=(vm, peer, KeyKind::Group(u8::MAX));
        let mut of_peer = self.entries.range(range).map(|(_, entry)| entry);
        let known = of_peer.find(|entry| entry.bytes == *bytes);
        if let Some(ccmp) = known.and_then(|entry| entry.ccmp.as_ref()) {
            return ccmp;
        }
        let spare = &mut self.spare[vm];
        if spare.as_ref().is_some_and(|(known, _)| known != bytes) {
            *spare = None;
        }
        &spare.get_or_insert_with(|| (*bytes, Ccmp::new(bytes))).1
    }

    /// All that is kept for one vMAC.
    #[cfg(test)]
    pub(crate) fn picture(&self, vm: VmId) -> String {
        let own = self
            .entries
            .iter()
            .filter(|((owner, _, _), _)| *owner == vm);
        let own = own.map(|((_, peer, kind), entry)| {
            let Entry {
                station,
                slot,
                bytes,
                ccmp,
            } = entry;
            format!(
                "{peer} {kind:?} {station:?} {slot} {bytes:?} {}",
                ccmp.is_some()
            )
        });
        let spare = self.spare[vm].as_ref().map(|(bytes, _)| bytes);
        format!("{:?} {spare:?}", own.collect::<Vec<_>>())
    }

    #[cfg(test)]
    pub(crate) fn len(&self, vm: VmId) -> usize {
        self.entries
            .keys()
            .filter(|&&(owner, _, _)| owner == vm)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AP: MacAddr = MacAddr([2, 0, 0, 0, 1, 0]);

    fn vm(number: usize) -> VmId {
        VmId::new(number).unwrap()
    }

    fn key(slot: u8, index: u8, group: bool) -> Key {
        Key {
            station: StationIndex(0),
            slot,
            index,
            group,
            cipher: Cipher::Ccmp,
            bytes: [slot; 16],
        }
    }

    #[test]
    fn two_vmacs_of_one_access_point_share_no_entry() {
        let mut table = KeyTable::default();
        table.set(vm(0), AP, &key(0, 0, false));
        assert!(table.receive(vm(0), AP, KeyKind::Pairwise(0)).is_some());
        assert!(table.receive(vm(1), AP, KeyKind::Pairwise(0)).is_none());
        table.set(vm(1), AP, &key(0, 0, false));
        table.forget(vm(0));
        assert_eq!((table.len(vm(0)), table.len(vm(1))), (0, 1));
    }

    #[test]
    fn a_slot_holds_one_key() {
        let mut table = KeyTable::default();
        table.set(vm(0), AP, &key(1, 1, true));
        table.set(vm(0), AP, &key(1, 2, true));
        assert!(table.receive(vm(0), AP, KeyKind::Group(1)).is_none());
        assert!(table.receive(vm(0), AP, KeyKind::Group(2)).is_some());
        table.remove(vm(0), StationIndex(0), 1);
        assert_eq!(table.len(vm(0)), 0);
    }

    #[test]
    fn a_software_key_is_kept_and_never_used() {
        let mut table = KeyTable::default();
        let software = Key {
            cipher: Cipher::Software,
            ..key(0, 0, false)
        };
        table.set(vm(0), AP, &software);
        assert_eq!(table.len(vm(0)), 1);
        assert!(table.receive(vm(0), AP, KeyKind::Pairwise(0)).is_none());
    }
}
