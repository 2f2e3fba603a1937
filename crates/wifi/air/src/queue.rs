//! One of the four transmit queues of a radio, with its contention window and back-off counter, and the transmissions
//! that wait in it (IEEE 802.11-2020 10.3.4.3, 10.23.2.2).

use std::collections::VecDeque;

use airlane_dot11::airtime::{sifs, slot};
use airlane_dot11::frame::{self, Header};
use airlane_dot11::{Buffer, BufferPool, Channel, EdcaParameters, MacAddr, Rate};
use airlane_lane::{Instant, Micros};
use rand::Rng;
use rand::rngs::SmallRng;

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

/// Spaces between frames in microseconds, as the head of a queue wants them.
#[derive(Clone, Copy)]
struct Timing {
    aifs: u64,
    slot: u64,
}

impl Default for Timing {
    fn default() -> Self {
        Self { aifs: 34, slot: 9 }
    }
}

#[derive(Default)]
pub(crate) struct Queue {
    pub pending: VecDeque<Pending>,
    /// `None` after success: the window starts at its minimum.
    window: Option<u16>,
    /// Slots still to wait; `None` when no back-off is owed.
    backoff: Option<u32>,
    /// Slots are not counted before this.
    from: Instant,
    timing: Timing,
}

impl Queue {
    /// The head, if it may be sent on `channel`'s primary.
    pub fn ready(&self, channel: Channel) -> Option<&Pending> {
        self.pending
            .front()
            .filter(|head| head.transmission.channel.primary() == channel.primary())
    }

    /// Frames to send here, or a post-back-off that is still running.
    pub fn contends(&self, channel: Channel) -> bool {
        self.ready(channel).is_some() || self.backoff.is_some()
    }

    /// Takes over the parameters of the head. Without a head, those of the last one stay.
    pub fn adopt_head(&mut self) -> EdcaParameters {
        let Some(head) = self.pending.front() else {
            return EdcaParameters::DCF;
        };
        let transmission = &head.transmission;
        let band = transmission.channel.band();
        let slot = slot(band, transmission.short_slot).0;
        self.timing = Timing {
            aifs: sifs(band).0 + u64::from(transmission.edca.aifsn) * slot,
            slot,
        };
        transmission.edca
    }

    /// The queue has a head: unless a back-off is owed already, it goes at the next slot boundary
    /// when the medium is free, and else after a back-off.
    pub fn arm(&mut self, now: Instant, medium_free: bool, rng: &mut SmallRng) {
        let edca = self.adopt_head();
        if self.backoff.is_none() {
            self.backoff = Some(if medium_free {
                0
            } else {
                draw(rng, self.window.unwrap_or(edca.cw_min))
            });
            self.from = now;
        }
    }

    /// Another radio sends in the slot in which the head would go: it waits for at least one more.
    pub fn give_way(&mut self, rng: &mut SmallRng) {
        let window = self.adopt_head().cw_min;
        self.backoff = Some(1 + draw(rng, window));
    }

    /// The back-off after an exchange. `doubled`: the exchange failed, and the window grows.
    pub fn back_off(&mut self, doubled: bool, edca: &EdcaParameters, rng: &mut SmallRng) {
        let window = if doubled {
            let last = self.window.unwrap_or(edca.cw_min);
            last.saturating_mul(2).saturating_add(1).min(edca.cw_max)
        } else {
            edca.cw_min
        };
        self.window = Some(window).filter(|_| doubled);
        self.backoff = Some(draw(rng, window));
    }

    /// The window starts at its minimum again: its frame is gone.
    pub fn forget_window(&mut self) {
        self.window = None;
    }

    /// The post-back-off is over and no frame was waiting for it.
    pub fn end_backoff(&mut self) {
        self.backoff = None;
    }

    /// Counting starts again now.
    pub fn resume(&mut self, now: Instant) {
        self.from = now;
    }

    /// When the counter reaches zero if no frame begins before, the medium being free since
    /// `clear_from`.
    pub fn access_at(&self, clear_from: Instant) -> Option<Instant> {
        let slots = u64::from(self.backoff?);
        Some(Instant(
            self.count_from(clear_from) + slots * self.timing.slot,
        ))
    }

    /// Takes off the slots that began until `now`. A counter above zero is taken down at the
    /// beginning of a slot, whatever becomes of the slot (IEEE 802.11-2020 10.23.2.4): a radio that
    /// waits while another sends has one slot less to wait after it.
    pub fn freeze(&mut self, now: Instant, clear_from: Instant) {
        let Some(counted) = now.0.checked_sub(self.count_from(clear_from)) else {
            return;
        };
        let begun = counted / self.timing.slot + 1;
        if let Some(slots) = &mut self.backoff {
            *slots = slots.saturating_sub(u32::try_from(begun).unwrap_or(u32::MAX));
        }
    }

    /// The first slot boundary after AIFS that is not before `from`: all radios for which the medium
    /// became idle at the same time share their boundaries.
    fn count_from(&self, clear_from: Instant) -> u64 {
        let Timing { aifs, slot } = self.timing;
        let first = clear_from.0.saturating_add(aifs);
        let late = self.from.0.saturating_sub(first);
        first.saturating_add(late.div_ceil(slot) * slot)
    }
}

fn draw(rng: &mut SmallRng, window: u16) -> u32 {
    u32::from(rng.random_range(0..=window))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn queue(backoff: u32) -> Queue {
        Queue {
            backoff: Some(backoff),
            ..Queue::default()
        }
    }

    #[test]
    fn the_counter_runs_from_aifs_on_and_keeps_what_is_left() {
        let mut queue = queue(5);
        assert_eq!(queue.access_at(Instant(100)), Some(Instant(100 + 34 + 45)));
        queue.freeze(Instant(100 + 34 + 20), Instant(100));
        assert_eq!(queue.backoff, Some(2));
        queue.freeze(Instant(90), Instant(100));
        assert_eq!(queue.backoff, Some(2));
        queue.freeze(Instant(100 + 34), Instant(100));
        assert_eq!(
            queue.backoff,
            Some(1),
            "the slot in which another begins counts"
        );
    }

    #[test]
    fn a_late_comer_waits_for_the_slot_boundary_of_the_others() {
        let mut queue = queue(0);
        queue.resume(Instant(140));
        assert_eq!(queue.access_at(Instant(100)), Some(Instant(143)));
    }

    #[test]
    fn the_window_doubles_up_to_its_maximum_and_falls_back() {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut queue = queue(0);
        let windows: Vec<_> = (0..8)
            .map(|_| {
                queue.back_off(true, &EdcaParameters::DCF, &mut rng);
                queue.window.unwrap()
            })
            .collect();
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023, 1023]);
        queue.back_off(false, &EdcaParameters::DCF, &mut rng);
        assert_eq!(queue.window, None);
        assert!(queue.backoff.unwrap() <= 15);
    }
}
