//! Frames kept for stations that sleep (IEEE 802.11-2020 11.2.3). U-APSD is not offered.

use std::collections::VecDeque;

use crate::msdu::Msdu;

/// Frames that may wait for one station.
pub const MAX_WAITING: usize = 256;

/// Frames for one station that the medium does not have yet.
#[derive(Default)]
pub struct Waiting {
    /// The station sleeps.
    pub asleep: bool,
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
}
