//! Messages that wait for a receive buffer of the guest: bounded, in order.

use std::collections::VecDeque;

use airlane_waist::hwsim::ToHwsim;

use super::counters::HwsimCounters;

/// How many may wait. A guest gives up on frames without status beyond 200 per radio.
pub const CAPACITY: usize = 512;

/// The queue.
pub struct Waiting(VecDeque<ToHwsim>);

impl Waiting {
    /// An empty one; it does not allocate later.
    pub fn new() -> Self {
        Self(VecDeque::with_capacity(CAPACITY + 1))
    }

    /// Appends `message`. When too many wait, the oldest received frame goes, as on a busy card: a
    /// frame can come again, a status cannot. Only when nothing but statuses wait goes the oldest one.
    pub fn push(&mut self, message: ToHwsim, counters: &mut HwsimCounters) {
        self.0.push_back(message);
        if self.0.len() <= CAPACITY {
            return;
        }
        let is_frame = |message: &ToHwsim| matches!(message, ToHwsim::Receive { .. });
        if let Some(at) = self.0.iter().position(is_frame) {
            self.0.remove(at);
            counters.receive_overflow += 1;
        } else {
            self.0.pop_front();
            counters.status_overflow += 1;
        }
    }

    /// The next to send.
    pub fn front(&self) -> Option<&ToHwsim> {
        self.0.front()
    }

    /// The next has been sent, or cannot be.
    pub fn pop(&mut self) {
        self.0.pop_front();
    }

    /// The guest is gone.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hwsim::TxInfo;
    use airlane_dot11::{Band, Buffer, Channel, Dbm, MacAddr, Rate};

    fn status(cookie: u64) -> ToHwsim {
        ToHwsim::Status {
            radio: MacAddr::ZERO,
            cookie,
            flags: 0,
            acknowledged: true,
            signal: Dbm(-50.0),
            used: TxInfo::default(),
        }
    }

    fn receive() -> ToHwsim {
        ToHwsim::Receive {
            radio: MacAddr::ZERO,
            frame: Buffer::from_slice(&[0; 24]).unwrap(),
            rate: Rate::OFDM_6,
            signal: Dbm(-50.0),
            channel: Channel::new(Band::Ghz5, 36).unwrap(),
        }
    }

    #[test]
    fn received_frames_go_before_any_status() {
        let (mut waiting, mut counters) = (Waiting::new(), HwsimCounters::default());
        waiting.push(status(0), &mut counters);
        for _ in 1..CAPACITY {
            waiting.push(receive(), &mut counters);
        }
        for cookie in 1..CAPACITY as u64 {
            waiting.push(status(cookie), &mut counters);
        }
        assert_eq!(counters.receive_overflow, CAPACITY as u64 - 1);
        assert_eq!(counters.status_overflow, 0);
        assert!(matches!(
            waiting.front(),
            Some(ToHwsim::Status { cookie: 0, .. })
        ));
    }

    #[test]
    fn only_among_statuses_the_oldest_goes() {
        let (mut waiting, mut counters) = (Waiting::new(), HwsimCounters::default());
        for cookie in 0..=CAPACITY as u64 {
            waiting.push(status(cookie), &mut counters);
        }
        assert_eq!(counters.status_overflow, 1);
        assert!(matches!(
            waiting.front(),
            Some(ToHwsim::Status { cookie: 1, .. })
        ));
    }
}
