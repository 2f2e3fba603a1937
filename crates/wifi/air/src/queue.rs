//! One of the four transmit queues of a radio, with its contention window and back-off counter
//! (IEEE 802.11-2020 10.3.4.3, 10.23.2.2).

use std::collections::VecDeque;

use airlane_dot11::airtime::{sifs, slot};
use airlane_dot11::{Channel, EdcaParameters};
use airlane_lane::Instant;
use rand::Rng;
use rand::rngs::SmallRng;

use crate::pending::Pending;

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
