//! What waits for stations: frames kept for those that sleep, and the map that tells them
//! (IEEE 802.11-2020 11.2.3). U-APSD is not offered.

use std::collections::VecDeque;

use crate::msdu::Msdu;

/// Frames that may wait for one station.
pub const MAX_WAITING: usize = 256;
/// Octets of the whole map: association IDs 0 to 2007.
const MAP: usize = 251;

/// Frames for one station that the medium does not have yet.
#[derive(Default)]
pub struct Waiting {
    /// The station sleeps.
    pub dozes: bool,
    /// Came back from the medium: these are older than all others.
    returned: VecDeque<Msdu>,
    fresh: VecDeque<Msdu>,
}

impl Waiting {
    /// Puts a frame behind all others; gives it back when too many wait.
    pub fn push(&mut self, msdu: Msdu) -> Result<(), Msdu> {
        if self.len() >= MAX_WAITING {
            return Err(msdu);
        }
        self.fresh.push_back(msdu);
        Ok(())
    }

    /// Puts back a frame that the medium had; the order in which they come back is kept.
    pub fn put_back(&mut self, msdu: Msdu) {
        self.returned.push_back(msdu);
    }

    /// The oldest frame.
    pub fn pop(&mut self) -> Option<Msdu> {
        let returned = self.returned.pop_front();
        returned.or_else(|| self.fresh.pop_front())
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.returned.len() + self.fresh.len()
    }

    /// True when none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The body of a traffic indication map (IEEE 802.11-2020 9.4.2.5): `count` beacons until the DTIM, of
/// which there is one every `period`; whether group frames wait; who has frames waiting.
pub fn traffic_map(count: u8, period: u8, group: bool, ids: impl Iterator<Item = u16>) -> Vec<u8> {
    let mut bits = [0u8; MAP];
    for id in ids {
        if let Some(octet) = bits.get_mut(usize::from(id / 8)) {
            *octet |= 1 << (id % 8);
        }
    }
    let first = bits.iter().position(|&octet| octet != 0).unwrap_or(0) & !1;
    let last = bits.iter().rposition(|&octet| octet != 0).unwrap_or(0);
    let control = u8::try_from(first).unwrap_or(0) | u8::from(group);
    let mut body = vec![count, period, control];
    body.extend(bits.get(first..=last).unwrap_or_default());
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_dot11::Buffer;

    fn msdu(priority: u8) -> Msdu {
        Msdu {
            ethernet: Buffer::from_slice(&[]).unwrap(),
            priority,
        }
    }

    #[test]
    fn what_came_back_goes_first_and_in_order() {
        let mut waiting = Waiting::default();
        waiting.push(msdu(3)).unwrap();
        waiting.put_back(msdu(1));
        waiting.put_back(msdu(2));
        let order: Vec<u8> = std::iter::from_fn(|| waiting.pop())
            .map(|m| m.priority)
            .collect();
        assert_eq!(order, [1, 2, 3]);
    }

    #[test]
    fn too_many_frames_are_given_back() {
        let mut waiting = Waiting::default();
        let taken = (0..MAX_WAITING + 9).filter(|_| waiting.push(msdu(0)).is_ok());
        assert_eq!(taken.count(), MAX_WAITING);
    }

    #[test]
    fn the_map_is_cut_to_where_bits_are() {
        assert_eq!(traffic_map(1, 2, false, [].into_iter()), [1, 2, 0, 0]);
        assert_eq!(traffic_map(0, 2, true, [1, 5].into_iter()), [0, 2, 1, 0x22]);
        // From an even octet on: the offset counts pairs of octets.
        let map = traffic_map(0, 1, false, [24, 34].into_iter());
        assert_eq!(map, [0, 1, 2, 0, 1, 4]);
        assert_eq!(traffic_map(0, 1, false, [9_999].into_iter()), [0, 1, 0, 0]);
    }
}
