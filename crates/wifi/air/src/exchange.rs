//! Frame exchanges: RTS, CTS, data, ACK, each a SIFS after the other, and what happens when one
//! does not come (IEEE 802.11-2020 10.3.2.9, 10.3.2.11, 10.23.2.12).
//!
//! Each step says what follows: nothing before a planned event, a frame that begins now, or a radio
//! that contends again. Not here: how a radio wins the medium ([`crate::contend`]), and what of an
//! ended exchange is sent again ([`crate::settle`]).

use airlane_dot11::airtime::{answer_timeout, response_rate};
use airlane_dot11::{AccessCategory, BufferPool};

use crate::block_ack::BaBitmap;
use crate::frames::{self, NotHere};
use crate::medium::{Due, Medium};
use crate::ppdu::{Content, Mpdu, Ppdu};
use crate::queue::Pending;
use crate::radio::{Exchange, Phase};
use crate::receive::Receivers;
use crate::settle::Settlement;
use crate::transmission::PpduId;
use crate::{Outcome, Protection, RadioId};

/// Buffers for frames with the Retry bit: A-MPDUs of several stations may wait to be sent again.
const RETRY_BUFFERS: usize = 384;

/// What follows from a step of an exchange.
#[must_use]
pub(crate) enum Next {
    /// Nothing now: the next step is planned, or there is none.
    Wait,
    /// This frame begins.
    Begin(PpduId),
    /// This radio contends again.
    Contend(RadioId),
}

/// What exchanges need beside the medium: buffers and lists that are used again without allocation.
pub(crate) struct Exchanges {
    retries: BufferPool,
    spare: Vec<Vec<Mpdu>>,
    settlement: Settlement,
}

impl Exchanges {
    pub fn new() -> Self {
        Self {
            retries: BufferPool::new(RETRY_BUFFERS),
            spare: Vec::new(),
            settlement: Settlement::default(),
        }
    }

    /// A queue has won the medium: its exchange begins.
    pub fn begin(&mut self, medium: &mut Medium, id: RadioId, category: AccessCategory) -> Next {
        let now = medium.now;
        let in_20_mhz = medium
            .space
            .secondary_is_busy(&medium.space.radios[id], now);
        let radio = &mut medium.space.radios[id];
        let queue = &mut radio.queues[category];
        let plan = queue.plan(in_20_mhz);
        let (plan, head) = plan
            .zip(queue.pending.front())
            .expect("a queue that has won the medium has a frame");
        let phase = match head.transmission.protect {
            Protection::RtsCts if head.expects_ack() => Phase::Rts,
            Protection::CtsToSelf => Phase::CtsToSelf,
            Protection::None | Protection::RtsCts => Phase::Data,
        };
        let serial = radio.next_serial();
        radio.exchange = Some(Exchange {
            category,
            phase,
            started: now,
            ended: now,
            serial,
            plan,
        });
        let ppdu = match phase {
            Phase::Rts => frames::rts(radio, now).inspect(|_| medium.output.counters.rts += 1),
            Phase::CtsToSelf => {
                frames::cts_to_self(radio, now).inspect(|_| medium.output.counters.cts += 1)
            }
            _ => self.data(medium, id),
        };
        match ppdu {
            Ok(ppdu) => Next::Begin(medium.space.ppdus.insert(ppdu)),
            Err(NotHere) => self.fail(medium, id),
        }
    }

    /// The frames of a radio's exchange as a PPDU: one attempt more at each.
    fn data(&mut self, medium: &mut Medium, id: RadioId) -> Result<Ppdu, NotHere> {
        let radio = &mut medium.space.radios[id];
        let Exchange { category, plan, .. } = radio.exchange.expect("a radio in an exchange");
        let mut mpdus = self.spare.pop().unwrap_or_default();
        let counters = &mut medium.output.counters;
        let waiting = radio.queues[category].pending.iter_mut();
        let in_ppdu = waiting.filter(|pending| pending.in_ppdu);
        for pending in in_ppdu.take(plan.frames.into()) {
            counters.retries += u64::from(pending.attempts > 0);
            counters.frames += 1;
            counters.bytes += pending.octets() as u64;
            pending.attempt(plan.rate, &mut self.retries);
            mpdus.push(Mpdu {
                frame: pending.transmission.frame.clone(),
                session: pending.session,
            });
        }
        counters.aggregates += u64::from(mpdus.len() > 1);
        frames::data(radio, medium.now, mpdus)
    }

    /// Keeps what a PPDU listed its MPDUs in.
    pub fn reuse(&mut self, content: Content) {
        if let Content::Data { mut mpdus, .. } = content {
            mpdus.clear();
            self.spare.push(mpdus);
        }
    }

    /// A SIFS has passed: the frame begins, unless its sender has gone elsewhere meanwhile.
    pub fn start_planned(&mut self, medium: &mut Medium, id: PpduId) -> Next {
        let ppdu = &medium.space.ppdus[id];
        let answers = ppdu.content.answers();
        let sender = medium.space.radios.find_mut(ppdu.source.radio);
        let sender = sender.filter(|radio| radio.channel() == Some(ppdu.primary));
        let Some(sender) = sender else {
            return self.call_off(medium, id);
        };
        if answers.is_none()
            && let Some(exchange) = &mut sender.exchange
        {
            exchange.phase = Phase::Data;
        }
        Next::Begin(id)
    }

    fn call_off(&mut self, medium: &mut Medium, id: PpduId) -> Next {
        let ppdu = medium.space.ppdus.remove(id);
        let from = ppdu.source.radio;
        let next = if let Some(peer) = ppdu.content.answers() {
            responded(medium, from);
            plan_timeout(medium, peer, &ppdu);
            // It may contend elsewhere by now.
            Next::Contend(from)
        } else {
            self.fail(medium, from)
        };
        self.reuse(ppdu.content);
        next
    }

    /// A frame is over, and its channels know.
    pub fn over(&mut self, medium: &mut Medium, ppdu: &Ppdu) -> Next {
        match &ppdu.content {
            Content::Rts => rts_over(medium, ppdu),
            Content::CtsToSelf => self.send_data(medium, ppdu.source.radio),
            Content::Cts(peer) => self.cts_over(medium, ppdu, *peer),
            Content::Ack(peer) => self.ack_over(medium, ppdu, *peer, None),
            Content::BlockAck(peer, bitmap) => self.ack_over(medium, ppdu, *peer, Some(*bitmap)),
            Content::Data { mpdus, acknowledge } => {
                self.data_over(medium, ppdu, mpdus, *acknowledge)
            }
        }
    }

    fn data_over(
        &mut self,
        medium: &mut Medium,
        ppdu: &Ppdu,
        mpdus: &[Mpdu],
        acknowledge: bool,
    ) -> Next {
        let responder = Receivers::of(medium).data(ppdu, mpdus);
        let sender = ppdu.source.radio;
        if !acknowledge {
            let ended = |_: &mut Pending| Some(Outcome::Unacknowledged);
            let settled = self.settlement.succeed(medium, sender, (None, None), ended);
            return contend_if(settled, sender);
        }
        let answer = responder.map(|(responder, bitmap)| {
            let radio = &medium.space.radios[responder];
            let content = match mpdus {
                [_] => Content::Ack(sender),
                _ => Content::BlockAck(sender, bitmap),
            };
            frames::answer(radio, medium.now, ppdu, content)
        });
        await_answer(medium, ppdu, Phase::AwaitAck, answer)
    }

    fn cts_over(&mut self, medium: &mut Medium, ppdu: &Ppdu, peer: RadioId) -> Next {
        responded(medium, ppdu.source.radio);
        if !waits(medium, peer, Phase::AwaitCts) {
            return Next::Wait;
        }
        match Receivers::of(medium).answer(peer, ppdu) {
            Some(_) => self.send_data(medium, peer),
            None => self.fail(medium, peer),
        }
    }

    /// The medium is reserved: the frame itself follows, if its sender was not removed meanwhile.
    fn send_data(&mut self, medium: &mut Medium, id: RadioId) -> Next {
        let sender = medium.space.radios.find(id);
        if sender.is_none_or(|radio| radio.exchange.is_none()) {
            return Next::Wait;
        }
        match self.data(medium, id) {
            Ok(ppdu) => {
                medium.after_sifs(ppdu);
                Next::Wait
            }
            Err(NotHere) => self.fail(medium, id),
        }
    }

    fn ack_over(
        &mut self,
        medium: &mut Medium,
        ppdu: &Ppdu,
        peer: RadioId,
        bitmap: Option<BaBitmap>,
    ) -> Next {
        responded(medium, ppdu.source.radio);
        if !waits(medium, peer, Phase::AwaitAck) {
            return Next::Wait;
        }
        let Some(signal) = Receivers::of(medium).answer(peer, ppdu) else {
            return self.fail(medium, peer);
        };
        let answer = (bitmap, Some(signal));
        let settled = self
            .settlement
            .succeed(medium, peer, answer, |pending| pending.answered(bitmap));
        contend_if(settled, peer)
    }

    /// No answer began in time.
    pub fn time_out(&mut self, medium: &mut Medium, id: RadioId, serial: u32) -> Next {
        let now = medium.now;
        let Some(radio) = medium.space.radios.find_mut(id) else {
            return Next::Wait;
        };
        let current = |exchange: Exchange| exchange.serial == serial;
        if !radio.exchange.is_some_and(current) {
            return Next::Wait;
        }
        // IEEE 802.11-2020 10.23.2.4: its slots follow an AIFS after the time-out, nearly when
        // those of the bystanders follow their EIFS.
        radio.sense.idle_since = radio.sense.idle_since.max(now);
        self.fail(medium, id)
    }

    fn fail(&mut self, medium: &mut Medium, id: RadioId) -> Next {
        contend_if(self.settlement.fail(medium, id), id)
    }
}

fn contend_if(settled: bool, id: RadioId) -> Next {
    if settled {
        Next::Contend(id)
    } else {
        Next::Wait
    }
}

fn rts_over(medium: &mut Medium, ppdu: &Ppdu) -> Next {
    let responder = Receivers::of(medium).rts(ppdu);
    let cts = responder.map(|id| {
        let content = Content::Cts(ppdu.source.radio);
        frames::answer(&medium.space.radios[id], medium.now, ppdu, content)
    });
    await_answer(medium, ppdu, Phase::AwaitCts, cts)
}

/// The sender of `ppdu`, unless it was removed, waits for `answer`, which comes or does not.
fn await_answer(medium: &mut Medium, ppdu: &Ppdu, phase: Phase, answer: Option<Ppdu>) -> Next {
    let sender = ppdu.source.radio;
    let now = medium.now;
    if let Some(radio) = medium.space.radios.find_mut(sender)
        && let Some(exchange) = &mut radio.exchange
    {
        exchange.phase = phase;
        exchange.ended = now;
    }
    match answer {
        Some(answer) => plan_answer(medium, answer),
        None => plan_timeout(medium, sender, ppdu),
    }
    Next::Wait
}

fn plan_answer(medium: &mut Medium, answer: Ppdu) {
    let counters = &mut medium.output.counters;
    match answer.content {
        Content::Cts(_) => counters.cts += 1,
        Content::BlockAck(..) => counters.block_acks += 1,
        _ => counters.acks += 1,
    }
    let now = medium.now;
    let radio = &mut medium.space.radios[answer.source.radio];
    radio.stop_counting(now);
    radio.responding = true;
    medium.after_sifs(answer);
}

/// No answer will begin: the radio that waits for one gives up when it should have begun. `ppdu`
/// is what it sent, or the answer that was called off: both tell the answer's rate. A radio that was
/// removed waits for nothing.
fn plan_timeout(medium: &mut Medium, id: RadioId, ppdu: &Ppdu) {
    let band = ppdu.channel.band();
    let Some(radio) = medium.space.radios.find_mut(id) else {
        return;
    };
    let slot = radio.slot(band);
    let serial = radio.next_serial();
    if let Some(exchange) = &mut radio.exchange {
        exchange.serial = serial;
        let wait = answer_timeout(band, slot, response_rate(ppdu.rate));
        let due = Due::Timeout(id, serial);
        medium.planned.at(exchange.ended + wait, due);
    }
}

fn waits(medium: &Medium, id: RadioId, phase: Phase) -> bool {
    let radio = medium.space.radios.find(id);
    let exchange = radio.and_then(|radio| radio.exchange);
    exchange.is_some_and(|exchange| exchange.phase == phase)
}

fn responded(medium: &mut Medium, responder: RadioId) {
    if let Some(radio) = medium.space.radios.find_mut(responder) {
        radio.responding = false;
    }
}
