//! Who may send when: carrier sense, reservation, and the race of the back-off counters.
//!
//! Only radios with something to send, or with a post-back-off still running, are kept up to date;
//! an idle radio costs nothing and looks back at the recent past when it begins to contend.

use airlane_dot11::{AccessCategory, Channel};
use airlane_lane::{Instant, Micros};

use crate::medium::{Past, Ppdu};
use crate::queue::Pending;
use crate::radio::{MediumId, Radio};
use crate::schedule::Due;
use crate::{Air, RadioId};
use airlane_dot11::airtime::eifs_extra;

/// How long a signal lasts before a radio that is about to send can act on it: aCCATime and
/// aRxTxTurnaroundTime (IEEE 802.11-2020 table 17-21).
pub(crate) const NOTICED: Micros = Micros(6);

impl Air {
    pub(crate) fn enqueue(&mut self, id: RadioId, pending: Pending) {
        let category = pending.transmission.category;
        if let Some(radio) = self.radios.get_mut(id) {
            radio.queue_mut(category).pending.push_back(pending);
        }
        if self.queued(id, category) == 1 {
            self.head_changed(id, category);
        }
    }

    /// A queue has another head, or none: the radio may begin to contend with it.
    pub(crate) fn head_changed(&mut self, id: RadioId, category: AccessCategory) {
        let Some((medium, channel)) = self.radios.get(id).and_then(|radio| radio.tuned) else {
            return;
        };
        self.contend(id, medium, channel);
        let now = self.now;
        let Some(radio) = self.radios.get_mut(id) else {
            return;
        };
        let sense = radio.sense;
        let free = sense.counting && sense.clear_from() <= now;
        let queue = radio.queue_mut(category);
        if queue.ready(channel).is_some() {
            queue.arm(now, free, &mut self.rng);
        }
        radio.plan_access();
        self.plan_access(medium);
    }

    pub(crate) fn join_medium(&mut self, id: RadioId, channel: Channel) {
        let medium_id = self.medium_of(channel);
        let now = self.now;
        let (Some(radio), Some(medium)) =
            (self.radios.get_mut(id), self.media.get_mut(medium_id.0))
        else {
            return;
        };
        radio.tuned = Some((medium_id, channel));
        radio.tuned_since = now;
        medium.tuned.push(id);
        if radio.promiscuous {
            medium.monitors.push(id);
        }
        for category in AccessCategory::ALL {
            self.head_changed(id, category);
        }
    }

    pub(crate) fn leave_medium(&mut self, id: RadioId) {
        let now = self.now;
        let Some(radio) = self.radios.get_mut(id) else {
            return;
        };
        radio.stop_counting(now);
        radio.sense.contending = false;
        let Some((medium_id, _)) = radio.tuned.take() else {
            return;
        };
        if let Some(medium) = self.media.get_mut(medium_id.0) {
            medium.leave(id);
        }
        self.plan_access(medium_id);
    }

    /// Puts a radio among the contenders, with what it could hear until now.
    fn contend(&mut self, id: RadioId, medium_id: MediumId, channel: Channel) {
        let Some(radio) = self.radios.get(id) else {
            return;
        };
        let wants = radio.queues.iter().any(|queue| queue.contends(channel));
        if radio.sense.contending || !wants {
            return;
        }
        let busy = self.hears_any(radio, medium_id);
        let (idle_since, nav_until) = self.look_back(radio, medium_id);
        if let Some(medium) = self.media.get_mut(medium_id.0) {
            medium.contenders.push(id);
        }
        if let Some(radio) = self.radios.get_mut(id) {
            radio.sense.contending = true;
            radio.sense.busy = busy;
            radio.sense.idle_since = idle_since;
            radio.sense.nav_until = nav_until;
            radio.start_counting(self.now);
        }
    }

    fn hears(&self, radio: &Radio, ppdu: &Ppdu) -> bool {
        let half = radio.medium() != Some(ppdu.medium);
        radio.id == ppdu.source.radio || self.senses(radio, &ppdu.source, ppdu.channel, half)
    }

    fn hears_any(&self, radio: &Radio, medium: MediumId) -> bool {
        let Some(medium) = self.media.get(medium.0) else {
            return false;
        };
        let mut on_air = medium.on_air().filter_map(|id| self.ppdus.get(id));
        on_air.any(|ppdu| self.hears(radio, ppdu))
    }

    /// Since when the radio has heard nobody, and until when the medium is reserved for it.
    fn look_back(&self, radio: &Radio, medium: MediumId) -> (Instant, Instant) {
        let mut idle_since = radio.sent_until.max(radio.tuned_since);
        let mut nav_until = Instant(0);
        let past = self.media.get(medium.0).map(|medium| medium.past.iter());
        for past in past.into_iter().flatten() {
            let began_after_tuning = past.end > radio.tuned_since;
            if began_after_tuning && self.heard(radio, past) {
                let read = past.source.radio == radio.id || self.could_read(radio, past);
                let extra = eifs_extra(past.channel.band());
                idle_since = idle_since.max(if read { past.end } else { past.end + extra });
                if read
                    && !radio.addresses.contains(&past.receiver)
                    && past.source.radio != radio.id
                {
                    nav_until = nav_until.max(past.nav_until);
                }
            }
        }
        (idle_since, nav_until)
    }

    /// Who did not follow what happened takes every overlapped frame for a lost one.
    fn could_read(&self, radio: &Radio, past: &Past) -> bool {
        let Past {
            source,
            channel,
            rate,
            octets,
            overlapped,
            half,
            ..
        } = past;
        let whole = !overlapped && !half && radio.takes_width_of(*rate);
        whole && self.legible(radio, source, *channel, *rate, *octets)
    }

    fn heard(&self, radio: &Radio, past: &Past) -> bool {
        radio.id == past.source.radio || self.senses(radio, &past.source, past.channel, past.half)
    }

    /// A frame has begun: who hears it stops counting, except who is about to send and can notice
    /// no more.
    pub(crate) fn carrier_rises(&mut self, ppdu: &Ppdu) {
        for medium in ppdu.media() {
            self.carrier_rises_on(medium, ppdu);
        }
    }

    fn carrier_rises_on(&mut self, medium: MediumId, ppdu: &Ppdu) {
        let contenders = self.take_contenders(medium);
        for id in &contenders {
            let heard = self.radios.get(*id).is_some_and(|r| self.hears(r, ppdu));
            let now = self.now;
            if let Some(radio) = self.radios.get_mut(*id).filter(|_| heard) {
                radio.sense.busy = true;
                if radio.sense.access_at.is_none_or(|at| at >= now + NOTICED) {
                    radio.stop_counting(now);
                }
            }
        }
        self.scratch = contenders;
    }

    /// A frame is over: who hears nobody any more counts on after its AIFS.
    pub(crate) fn carrier_falls(&mut self, ppdu: &Ppdu) {
        for medium in ppdu.media() {
            self.carrier_falls_on(medium, ppdu);
        }
    }

    fn carrier_falls_on(&mut self, medium: MediumId, ppdu: &Ppdu) {
        let contenders = self.take_contenders(medium);
        for id in &contenders {
            self.fall_for(*id, medium, ppdu);
        }
        self.scratch = contenders;
    }

    fn fall_for(&mut self, id: RadioId, medium: MediumId, ppdu: &Ppdu) {
        let Some(radio) = self.radios.get(id) else {
            return;
        };
        if !radio.sense.busy {
            return;
        }
        let busy = self.hears_any(radio, medium);
        let own = ppdu.source.radio == radio.id;
        let read = own || self.reads(radio, ppdu);
        let reserved = read && self.reserves(radio, ppdu);
        let now = self.now;
        let Some(radio) = self.radios.get_mut(id) else {
            return;
        };
        if reserved {
            radio.sense.nav_until = radio.sense.nav_until.max(now + ppdu.nav);
        }
        if !busy {
            radio.sense.busy = false;
            radio.sense.idle_since = if read {
                now
            } else {
                now + eifs_extra(ppdu.channel.band())
            };
            radio.start_counting(now);
        }
    }

    /// The Duration of a frame binds who understands it and is not meant by it
    /// (IEEE 802.11-2020 10.3.2.4). Bit errors are not drawn for this.
    fn reserves(&self, radio: &Radio, ppdu: &Ppdu) -> bool {
        ppdu.nav > Micros(0)
            && ppdu.source.radio != radio.id
            && !radio.addresses.contains(&ppdu.receiver)
            && self.hears(radio, ppdu)
    }

    /// A frame that a radio has heard is one whose header it can read, and a good one as far as
    /// channel access goes. Bit errors are not drawn for this: what arrives more often than not,
    /// arrives.
    fn reads(&self, radio: &Radio, ppdu: &Ppdu) -> bool {
        radio.medium() == Some(ppdu.medium)
            && radio.takes_width_of(ppdu.rate)
            && !self.collided(radio, ppdu)
            && self.legible(
                radio,
                &ppdu.source,
                ppdu.channel,
                ppdu.rate,
                ppdu.mpdu_octets(),
            )
    }

    /// The virtual carrier sense of a radio asked to answer: its own record while it contends,
    /// otherwise what it could hear.
    pub(crate) fn reserved_for_others(&self, radio: &Radio, ppdu: &Ppdu) -> bool {
        let until = if radio.sense.contending {
            radio.sense.nav_until
        } else {
            self.look_back(radio, ppdu.medium).1
        };
        until > ppdu.start
    }

    fn take_contenders(&mut self, medium: MediumId) -> Vec<RadioId> {
        let mut list = std::mem::take(&mut self.scratch);
        list.clear();
        if let Some(medium) = self.media.get(medium.0) {
            list.extend(&medium.contenders);
        }
        list
    }

    /// Plans the medium's next access: the earliest of its contenders'.
    pub(crate) fn plan_access(&mut self, id: MediumId) {
        let Some(medium) = self.media.get_mut(id.0) else {
            return;
        };
        let radios = medium.contenders.iter();
        let earliest = radios
            .filter_map(|id| self.radios.get(*id)?.sense.access_at)
            .min();
        if earliest == medium.access_at {
            return;
        }
        medium.access_at = earliest;
        medium.access_serial = medium.access_serial.wrapping_add(1);
        if let Some(time) = earliest {
            let due = Due::Access(id, medium.access_serial);
            self.schedule.at(time.max(self.now), due);
        }
    }

    /// The counters that reach zero now: all of them send, unaware of each other.
    pub(crate) fn access(&mut self, id: MediumId, serial: u32) {
        let Some(medium) = self.media.get_mut(id.0) else {
            return;
        };
        if medium.access_serial != serial {
            return;
        }
        medium.access_at = None;
        let mut winners = std::mem::take(&mut self.winners);
        winners.extend(medium.contenders.iter().filter(|radio| {
            let radio = self.radios.get(**radio);
            radio.is_some_and(|radio| radio.sense.access_at.is_some_and(|at| at <= self.now))
        }));
        for radio in winners.drain(..) {
            self.win(radio, id);
        }
        self.winners = winners;
        self.plan_access(id);
    }

    /// One radio's counters have reached zero in one queue or several: the highest category sends,
    /// the others act as after a collision (IEEE 802.11-2020 10.23.2.4).
    fn win(&mut self, id: RadioId, medium: MediumId) {
        let now = self.now;
        let Some(radio) = self.radios.get_mut(id) else {
            return;
        };
        let Some((_, channel)) = radio.tuned else {
            return;
        };
        let clear_from = radio.sense.clear_from();
        let mut first = None;
        for category in AccessCategory::ALL.into_iter().rev() {
            let queue = radio.queue_mut(category);
            if queue.access_at(clear_from).is_none_or(|at| at > now) {
                continue;
            }
            if queue.ready(channel).is_none() {
                queue.rest();
            } else if first.is_none() {
                first = Some(category);
            } else {
                let edca = queue.adopt_head();
                queue.back_off(true, &edca, &mut self.rng);
                queue.resume(now);
                self.counters.internal_collisions += 1;
            }
        }
        radio.stop_counting(now);
        match first {
            Some(category) => self.begin_exchange(id, category),
            None => self.retire(id, medium, channel),
        }
    }

    /// A radio whose post-back-off has ended and that has nothing else to do contends no more.
    fn retire(&mut self, id: RadioId, medium: MediumId, channel: Channel) {
        let now = self.now;
        let Some(radio) = self.radios.get_mut(id) else {
            return;
        };
        if radio.queues.iter().any(|queue| queue.contends(channel)) {
            radio.start_counting(now);
            return;
        }
        radio.sense.contending = false;
        if let Some(medium) = self.media.get_mut(medium.0) {
            medium.contenders.retain(|other| *other != id);
        }
    }
}

impl Radio {
    /// Lets the counters run, if nothing holds them.
    pub(crate) fn start_counting(&mut self, now: Instant) {
        if !self.sense.contending || self.sense.busy || self.engaged() || self.sense.counting {
            return;
        }
        self.sense.counting = true;
        for queue in &mut self.queues {
            queue.resume(now);
        }
        self.plan_access();
    }

    /// Holds the counters where they are.
    pub(crate) fn stop_counting(&mut self, now: Instant) {
        let clear_from = self.sense.clear_from();
        if std::mem::take(&mut self.sense.counting) {
            for queue in &mut self.queues {
                queue.freeze(now, clear_from);
            }
        }
        self.sense.access_at = None;
    }

    /// When the first of the four counters reaches zero.
    pub(crate) fn plan_access(&mut self) {
        let clear_from = self.sense.clear_from();
        let counting = self.sense.counting;
        let times = self.queues.iter().filter_map(|q| q.access_at(clear_from));
        self.sense.access_at = times.min().filter(|_| counting);
    }
}
