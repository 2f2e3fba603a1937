//! A transmission that waits in a queue, and how far it has come.

use airlane_dot11::frame::{self, Header};
use airlane_dot11::{Buffer, BufferPool, MacAddr, Rate};
use airlane_lane::Micros;

use crate::block_ack::{BaBitmap, BaSession};
use crate::{Outcome, Transmission};

/// A transmission and how far it has come.
pub(crate) struct Pending {
    pub transmission: Transmission,
    pub receiver: MacAddr,
    pub transmitter: Option<MacAddr>,
    /// It is a beacon, which its sender's clock hands over.
    pub beacon: bool,
    /// What it may share an A-MPDU with.
    pub session: Option<BaSession>,
    /// Part of the frame exchange that is going on.
    pub in_ppdu: bool,
    /// Times that it was on the air.
    pub attempts: u8,
    /// Attempts since the last BlockAck: where in the rate table the next one is.
    rate_index: u8,
    pub rts_failures: u8,
    /// Time on the medium so far.
    pub airtime: Micros,
    /// Rates of its first and last attempt.
    used: Option<(Rate, Rate)>,
}

impl Pending {
    /// Not yet tried. Without a header it goes nowhere.
    pub fn new(transmission: Transmission, header: Option<Header>) -> Self {
        let session = header.and_then(|header| BaSession::of(&transmission, &header));
        Self {
            transmission,
            beacon: header.is_some_and(|header| header.is_beacon()),
            session,
            in_ppdu: false,
            rate_index: 0,
            used: None,
            receiver: header.map_or(MacAddr::ZERO, |header| header.receiver),
            transmitter: header.and_then(|header| header.transmitter),
            attempts: 0,
            rts_failures: 0,
            airtime: Micros(0),
        }
    }

    pub fn expects_ack(&self) -> bool {
        self.transmission.acknowledge && !self.receiver.is_group()
    }

    /// Its sequence number in a BlockAck, where it may stand in one.
    pub fn sequence(&self) -> u16 {
        self.session.map_or(0, |session| session.sequence)
    }

    /// On the air at `rate`.
    pub fn note_attempt(&mut self, rate: Rate) {
        self.attempts = self.attempts.saturating_add(1);
        let (first, _) = self.used.unwrap_or((rate, rate));
        self.used = Some((first, rate));
    }

    /// The same as part of an exchange. From the second time on with the Retry bit, set on a copy
    /// in a buffer of the pool: receivers may still hold the first one.
    pub fn attempt(&mut self, rate: Rate, pool: &mut BufferPool) {
        if self.attempts == 1 {
            self.transmission.frame = retried(pool, &self.transmission.frame);
        }
        self.note_attempt(rate);
    }

    /// Rates of the first and last attempt; without any, what the next would be.
    pub fn first_and_last_rate(&self) -> (Rate, Rate) {
        self.used.unwrap_or_else(|| {
            let rate = self.next_rate();
            (rate, rate)
        })
    }

    /// True when neither frame nor RTS may be tried once more.
    fn exhausted(&self) -> bool {
        self.exhausted_after(false)
    }

    /// The same, were one RTS more to have failed.
    pub fn exhausted_after(&self, rts: bool) -> bool {
        let tries = u16::from(self.attempts) + u16::from(self.rts_failures) + u16::from(rts);
        tries > u16::from(self.transmission.retry_limit)
    }

    /// How an answered exchange ends for this frame; `None`: it was missing in the BlockAck, and is
    /// sent again.
    pub fn answered(&mut self, bitmap: Option<BaBitmap>) -> Option<Outcome> {
        if bitmap.is_none_or(|bitmap| bitmap.has(self.sequence())) {
            return Some(Outcome::Acknowledged);
        }
        self.rate_index = 0;
        self.exhausted().then_some(Outcome::NoAck)
    }

    /// How an exchange without answer ends for this frame; `None`: it is sent again. `rts`: the
    /// answer that did not come was the CTS; `here`: the radio is still on the frame's channel.
    pub fn unanswered(&mut self, rts: bool, here: bool) -> Option<Outcome> {
        if rts {
            self.rts_failures = self.rts_failures.saturating_add(1);
        } else {
            self.rate_index = self.rate_index.saturating_add(1);
        }
        if self.exhausted() {
            return Some(Outcome::NoAck);
        }
        // Kept by a radio that has tuned away, it would hold up all that comes behind it.
        (!here).then_some(Outcome::Cancelled)
    }

    /// The rate of the attempt that is next.
    pub fn next_rate(&self) -> Rate {
        self.transmission.rate(self.rate_index)
    }

    /// Bytes of the MPDU, FCS included.
    pub fn octets(&self) -> usize {
        self.transmission.frame.len() + frame::FCS
    }
}

fn retried(pool: &mut BufferPool, original: &Buffer) -> Buffer {
    let copy = pool.fill(original.len(), |bytes| {
        bytes.copy_from_slice(original);
        frame::set_retry(bytes);
        Ok::<(), ()>(())
    });
    copy.unwrap_or_else(|()| original.clone())
}
