//! The end of an exchange: which of its frames have ended, and how, and which are sent again
//! (IEEE 802.11-2020 10.3.4.3, 10.23.2.2, 10.25.6.7).

use airlane_dot11::Dbm;
use airlane_lane::Micros;

use crate::block_ack::BaBitmap;
use crate::medium::Medium;
use crate::queue::{Pending, Queue};
use crate::radio::{Exchange, Phase, Radio, Radios};
use crate::{AirEvent, Outcome, RadioId};

/// What came back: the bitmap of a BlockAck, and how strong ACK or BlockAck arrived.
type Answer = (Option<BaBitmap>, Option<Dbm>);

/// Ends frame exchanges, and gives back to the queue what is sent again.
#[derive(Default)]
pub(crate) struct Settlement {
    /// Frames on their way back to the queue, used again without allocation.
    kept: Vec<Pending>,
}

impl Settlement {
    /// The exchange is over as it should: each of its frames has ended as `end` says, or waits to be
    /// sent again. False when the radio is in no exchange.
    pub fn succeed(
        &mut self,
        medium: &mut Medium,
        id: RadioId,
        answer: Answer,
        end: impl FnMut(&mut Pending) -> Option<Outcome>,
    ) -> bool {
        let Some((radio, exchange)) = take_exchange(&mut medium.space.radios, id) else {
            return false;
        };
        let spent = medium.now.since(exchange.started);
        let queue = &mut radio.queues[exchange.category];
        let edca = queue.adopt_head();
        queue.back_off(false, &edca, &mut medium.rng);
        self.settle(medium, id, &exchange, spent, answer, end);
        true
    }

    /// The exchange is over without its answer: once more, or not. A lost BlockAck is no exception:
    /// all its frames are sent again, and their receiver knows them by their numbers. False when the
    /// radio is in no exchange.
    pub fn fail(&mut self, medium: &mut Medium, id: RadioId) -> bool {
        let Some((radio, exchange)) = take_exchange(&mut medium.space.radios, id) else {
            return false;
        };
        let queue = &mut radio.queues[exchange.category];
        let edca = queue.adopt_head();
        let head = queue.pending.front().expect("an exchange has a frame");
        let channel = head.transmission.channel.primary();
        let here = radio
            .tuned
            .is_some_and(|(_, tuned)| tuned.primary() == channel);
        let rts = exchange.phase == Phase::AwaitCts;
        let again = here && !head.exhausted_after(rts);
        queue.back_off(again, &edca, &mut medium.rng);
        let spent = exchange.ended.since(exchange.started);
        self.settle(medium, id, &exchange, spent, (None, None), |pending| {
            pending.unanswered(rts, here)
        });
        true
    }

    /// Takes the frames of an exchange off the air: out of their queue with their outcome, or back
    /// to their places.
    fn settle(
        &mut self,
        medium: &mut Medium,
        id: RadioId,
        exchange: &Exchange,
        spent: Micros,
        (bitmap, signal): Answer,
        mut end: impl FnMut(&mut Pending) -> Option<Outcome>,
    ) {
        let (now, output) = (medium.now, &mut medium.output);
        let queue = &mut medium.space.radios[id].queues[exchange.category];
        let aggregate = queue.pending.front();
        let aggregate = aggregate.filter(|_| exchange.phase == Phase::AwaitAck);
        if let (Some(first), 2..) = (aggregate, exchange.plan.frames) {
            output.events.push_back(AirEvent::Aggregated {
                radio: id,
                first: first.transmission.token,
                frames: exchange.plan.frames,
                start: first.sequence(),
                bitmap: bitmap.map(|bitmap| bitmap.bits),
                rate: exchange.plan.rate,
                ack_signal: signal,
                at: now,
            });
        }
        let frames = u64::from(exchange.plan.frames).max(1);
        for nth in 0..frames {
            let mut pending = self.next_in_ppdu(queue);
            // Shares differ by a microsecond at most, and add up to what was spent.
            pending.airtime += Micros(spent.0 * (nth + 1) / frames - spent.0 * nth / frames);
            match end(&mut pending) {
                Some(outcome) => output.sent(now, id, &pending, outcome, signal),
                None => self.kept.push(pending),
            }
        }
        while let Some(pending) = self.kept.pop() {
            queue.pending.push_front(pending);
        }
        queue.adopt_head();
    }

    /// Takes the next frame of an exchange out of its queue; those before it that have no part in
    /// the exchange are kept.
    fn next_in_ppdu(&mut self, queue: &mut Queue) -> Pending {
        loop {
            let pending = queue.pending.pop_front();
            let mut pending = pending.expect("the frames of an exchange stay in their queue");
            if std::mem::take(&mut pending.in_ppdu) {
                return pending;
            }
            self.kept.push(pending);
        }
    }
}

/// A radio's exchange, which ends.
fn take_exchange(radios: &mut Radios, id: RadioId) -> Option<(&mut Radio, Exchange)> {
    let radio = radios.find_mut(id)?;
    let exchange = radio.exchange.take()?;
    Some((radio, exchange))
}
