//! The end of an exchange: which of its frames have ended, and how, and which are sent again
//! (IEEE 802.11-2020 10.3.4.3, 10.23.2.2, 10.25.6.7).

use airlane_dot11::{AccessCategory, Dbm};
use airlane_lane::Micros;

use crate::queue::Pending;
use crate::radio::{Exchange, Phase};
use crate::record::Record;
use crate::{Air, AirEvent, Outcome, RadioId};

impl Air {
    /// The exchange is over as it should: each of its frames has ended as `end` says, or waits to be
    /// sent again.
    pub(crate) fn succeed(
        &mut self,
        id: RadioId,
        record: Option<Record>,
        signal: Option<Dbm>,
        end: impl FnMut(&mut Pending) -> Option<Outcome>,
    ) {
        let now = self.now;
        let Some(radio) = self.radios.get_mut(id) else {
            return;
        };
        let Some(exchange) = radio.exchange.take() else {
            return;
        };
        let queue = radio.queue_mut(exchange.category);
        let edca = queue.adopt_head();
        queue.back_off(false, &edca, &mut self.rng);
        let spent = now.saturating_since(exchange.started);
        self.settle(id, &exchange, spent, (record, signal), end);
        self.rejoin(id);
    }

    /// The exchange is over without its answer: once more, or not. A lost BlockAck is no exception:
    /// all its frames are sent again, and their receiver knows them by their numbers.
    pub(crate) fn fail(&mut self, id: RadioId) {
        let Some(radio) = self.radios.get_mut(id) else {
            return;
        };
        let Some(exchange) = radio.exchange.take() else {
            return;
        };
        let tuned = radio.tuned.map(|(_, channel)| channel.primary());
        let queue = radio.queue_mut(exchange.category);
        let edca = queue.adopt_head();
        let Some(head) = queue.pending.front_mut() else {
            return;
        };
        let here = tuned == Some(head.transmission.channel.primary());
        let rts = exchange.phase == Phase::AwaitCts;
        let again = here && !head.exhausted_after(rts);
        queue.back_off(again, &edca, &mut self.rng);
        let spent = exchange.ended.saturating_since(exchange.started);
        self.settle(id, &exchange, spent, (None, None), |pending| {
            pending.unanswered(rts, here)
        });
        self.rejoin(id);
    }

    /// Takes the frames of an exchange off the air: out of their queue with their outcome, or back
    /// to their places.
    fn settle(
        &mut self,
        id: RadioId,
        exchange: &Exchange,
        spent: Micros,
        (record, signal): (Option<Record>, Option<Dbm>),
        mut end: impl FnMut(&mut Pending) -> Option<Outcome>,
    ) {
        self.tell_aggregate(id, exchange, record, signal);
        let frames = u64::from(exchange.load.frames).max(1);
        for nth in 0..frames {
            let Some(mut pending) = self.next_aboard(id, exchange.category) else {
                break;
            };
            // Shares differ by a microsecond at most, and add up to what was spent.
            pending.airtime += Micros(spent.0 * (nth + 1) / frames - spent.0 * nth / frames);
            match end(&mut pending) {
                Some(outcome) => self.report(id, &pending, outcome, signal),
                None => self.kept.push(pending),
            }
        }
        let Some(radio) = self.radios.get_mut(id) else {
            return;
        };
        let queue = radio.queue_mut(exchange.category);
        while let Some(pending) = self.kept.pop() {
            queue.pending.push_front(pending);
        }
        queue.adopt_head();
    }

    /// Takes the next frame of an exchange out of its queue; those before it that have no part in
    /// the exchange are kept.
    fn next_aboard(&mut self, id: RadioId, category: AccessCategory) -> Option<Pending> {
        let queue = self.radios.get_mut(id)?.queue_mut(category);
        loop {
            let mut pending = queue.pending.pop_front()?;
            if std::mem::take(&mut pending.aboard) {
                return Some(pending);
            }
            self.kept.push(pending);
        }
    }

    fn tell_aggregate(
        &mut self,
        id: RadioId,
        exchange: &Exchange,
        record: Option<Record>,
        ack_signal: Option<Dbm>,
    ) {
        let radio = self.radios.get(id);
        let head = radio.and_then(|radio| radio.queue(exchange.category).pending.front());
        let (Some(head), 2.., Phase::AwaitAck) = (head, exchange.load.frames, exchange.phase)
        else {
            return;
        };
        self.events.push_back(AirEvent::Aggregated {
            radio: id,
            first: head.transmission.token,
            frames: exchange.load.frames,
            start: head.stream.map_or(0, |stream| stream.sequence),
            bitmap: record.map(|record| record.bitmap),
            rate: exchange.load.rate,
            ack_signal,
            at: self.now,
        });
    }

    /// Back among those who contend.
    pub(crate) fn rejoin(&mut self, id: RadioId) {
        let now = self.now;
        if let Some(radio) = self.radios.get_mut(id) {
            radio.start_counting(now);
            if let Some(medium) = radio.medium() {
                self.plan_access(medium);
            }
        }
    }
}
