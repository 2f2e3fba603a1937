//! Frame exchanges: RTS, CTS, data, ACK, each a SIFS after the other, and what happens when one
//! does not come (IEEE 802.11-2020 10.3.2.9, 10.3.2.11, 10.23.2.12).

use airlane_dot11::{AccessCategory, Band};
use airlane_lane::Micros;

use crate::medium::{Content, Mpdu, Past, Ppdu, PpduId};
use crate::queue::Pending;
use crate::radio::{Exchange, Phase, Radio};
use crate::record::Record;
use crate::schedule::Due;
use crate::{Air, Outcome, Protection, RadioId};
use airlane_dot11::airtime::{answer_timeout, response_rate, sifs, slot};

impl Air {
    pub(crate) fn begin_exchange(&mut self, id: RadioId, category: AccessCategory) {
        let now = self.now;
        let narrow = self.second_half_is_busy(id);
        let Some(radio) = self.radios.get_mut(id) else {
            return;
        };
        let Some(load) = radio.queue_mut(category).load(narrow) else {
            return;
        };
        let Some(head) = radio.queue(category).pending.front() else {
            return;
        };
        let phase = match head.transmission.protect {
            Protection::RtsCts if head.expects_ack() => Phase::Rts,
            Protection::CtsToSelf => Phase::CtsToSelf,
            _ => Phase::Data,
        };
        let exchange = Exchange {
            category,
            phase,
            started: now,
            ended: now,
            serial: radio.next_serial(),
            load,
        };
        radio.exchange = Some(exchange);
        let ppdu = match phase {
            Phase::Rts => self.rts(id, &exchange),
            Phase::CtsToSelf => self.cts_to_self(id, &exchange),
            _ => self.data(id, &exchange),
        };
        if let Some(ppdu) = ppdu {
            let ppdu = self.ppdus.insert(ppdu);
            self.start(ppdu);
        }
    }

    /// Puts a frame on the air.
    fn start(&mut self, id: PpduId) {
        let Some(mut ppdu) = self.ppdus.remove(id) else {
            return;
        };
        self.overlap(&mut ppdu);
        self.carrier_rises(&ppdu);
        let (medium, second, end) = (ppdu.medium, ppdu.second, ppdu.end);
        let id = self.ppdus.insert(ppdu);
        if let Some(medium) = self.media.get_mut(medium.0) {
            if medium.active.is_empty() {
                medium.busy_since = self.now;
            }
            medium.active.push(id);
        }
        if let Some(second) = second.and_then(|second| self.media.get_mut(second.0)) {
            second.halves.push(id);
        }
        self.schedule.at(end, Due::End(id));
        self.plan_access(medium);
        if let Some(second) = second {
            self.plan_access(second);
        }
    }

    /// Plans a frame a SIFS from now.
    fn after_sifs(&mut self, mut ppdu: Ppdu) {
        let start = self.now + sifs(ppdu.channel.band());
        let span = ppdu.end.checked_since(ppdu.start);
        debug_assert!(span.is_some(), "a planned frame ends before it begins");
        ppdu.end = start + span.unwrap_or_default();
        ppdu.start = start;
        let id = self.ppdus.insert(ppdu);
        self.schedule.at(start, Due::Start(id));
    }

    /// A SIFS has passed: the frame begins, unless its sender has gone elsewhere meanwhile.
    pub(crate) fn start_planned(&mut self, id: PpduId) {
        let Some(ppdu) = self.ppdus.get(id) else {
            return;
        };
        let (from, medium) = (ppdu.source.radio, ppdu.medium);
        let answered = ppdu.content.answers();
        let here = self
            .radios
            .get(from)
            .is_some_and(|radio| radio.medium() == Some(medium));
        if !here {
            if let Some(ppdu) = self.ppdus.remove(id) {
                self.called_off(&ppdu, answered);
                self.reuse(ppdu.content);
            }
            return;
        }
        if answered.is_none() {
            self.enter(from, Phase::Data);
        }
        self.start(id);
    }

    fn called_off(&mut self, ppdu: &Ppdu, answered: Option<RadioId>) {
        let from = ppdu.source.radio;
        let Some(peer) = answered else {
            return self.fail(from);
        };
        self.answered(from);
        // It may contend elsewhere by now.
        self.rejoin(from);
        self.plan_timeout(peer, ppdu);
    }

    fn enter(&mut self, id: RadioId, phase: Phase) {
        if let Some(radio) = self.radios.get_mut(id)
            && let Some(exchange) = &mut radio.exchange
        {
            exchange.phase = phase;
        }
    }

    /// A frame is over.
    pub(crate) fn end(&mut self, id: PpduId) {
        let Some(ppdu) = self.ppdus.remove(id) else {
            return;
        };
        self.leave_air(id, &ppdu);
        if let Some(tap) = &mut self.tap {
            crate::tap::show(tap.as_mut(), &ppdu);
        }
        if let Some(radio) = self.radios.get_mut(ppdu.source.radio) {
            radio.sent_until = self.now;
        }
        match &ppdu.content {
            Content::Rts => self.rts_over(&ppdu),
            Content::CtsToSelf => self.protected(&ppdu),
            Content::Cts(peer) => self.cts_over(&ppdu, *peer),
            Content::Ack(peer) => self.ack_over(&ppdu, *peer, None),
            Content::BlockAck(peer, record) => self.ack_over(&ppdu, *peer, Some(*record)),
            Content::Data { mpdus, acknowledge } => self.data_over(&ppdu, mpdus, *acknowledge),
        }
        self.sense_again(ppdu.source.radio, &ppdu);
        self.carrier_falls(&ppdu);
        for medium in ppdu.media() {
            self.plan_access(medium);
        }
        self.reuse(ppdu.content);
    }

    fn leave_air(&mut self, id: PpduId, ppdu: &Ppdu) {
        let now = self.now;
        for here in ppdu.media() {
            let Some(medium) = self.media.get_mut(here.0) else {
                continue;
            };
            let half = here != ppdu.medium;
            medium.active.retain(|other| *other != id);
            medium.halves.retain(|other| *other != id);
            medium.remember(Past::of(ppdu, half, now), now);
            if !half
                && medium.active.is_empty()
                && let Some(airtime) = self.counters.channels.get_mut(here.0)
            {
                airtime.busy += now.saturating_since(medium.busy_since);
            }
        }
    }

    /// The sender could not hear while it sent: it listens again, and its own frame counts as busy.
    fn sense_again(&mut self, id: RadioId, ppdu: &Ppdu) {
        if let Some(radio) = self.radios.get_mut(id)
            && radio.medium() == Some(ppdu.medium)
        {
            radio.stop_counting(self.now);
            radio.sense.busy = true;
        }
    }

    fn rts_over(&mut self, ppdu: &Ppdu) {
        let cts = self.receive_rts(ppdu).and_then(|responder| {
            let radio = self.radios.get(responder)?;
            Some(self.answer(radio, ppdu, Content::Cts(ppdu.source.radio)))
        });
        self.await_answer(ppdu, Phase::AwaitCts, cts);
    }

    fn data_over(&mut self, ppdu: &Ppdu, mpdus: &[Mpdu], acknowledge: bool) {
        let responder = self.receive_data(ppdu, mpdus);
        let sender = ppdu.source.radio;
        if !acknowledge {
            let ended = |_: &mut Pending| Some(Outcome::Unacknowledged);
            self.succeed(sender, None, None, ended);
            return;
        }
        let ack = responder.and_then(|(responder, record)| {
            let radio = self.radios.get(responder)?;
            let content = match mpdus {
                [_] => Content::Ack(sender),
                _ => Content::BlockAck(sender, record),
            };
            Some(self.answer(radio, ppdu, content))
        });
        self.await_answer(ppdu, Phase::AwaitAck, ack);
    }

    /// The sender of `ppdu` waits for `answer`, which comes or does not.
    fn await_answer(&mut self, ppdu: &Ppdu, phase: Phase, answer: Option<Ppdu>) {
        let sender = ppdu.source.radio;
        let now = self.now;
        if let Some(radio) = self.radios.get_mut(sender)
            && let Some(exchange) = &mut radio.exchange
        {
            exchange.phase = phase;
            exchange.ended = now;
        }
        match answer {
            Some(answer) => self.plan_answer(answer),
            None => self.plan_timeout(sender, ppdu),
        }
    }

    fn plan_answer(&mut self, answer: Ppdu) {
        match answer.content {
            Content::Cts(_) => self.counters.cts += 1,
            Content::BlockAck(..) => self.counters.block_acks += 1,
            _ => self.counters.acks += 1,
        }
        if let Some(radio) = self.radios.get_mut(answer.source.radio) {
            radio.stop_counting(self.now);
            radio.responding = true;
        }
        self.after_sifs(answer);
    }

    /// No answer will begin: the radio that waits for one gives up when it should have begun. `ppdu`
    /// is what it sent, or the answer that was called off: both tell the answer's rate.
    fn plan_timeout(&mut self, id: RadioId, ppdu: &Ppdu) {
        let band = ppdu.channel.band();
        let Some(radio) = self.radios.get_mut(id) else {
            return;
        };
        let slot = radio.slot(band);
        let serial = radio.next_serial();
        if let Some(exchange) = &mut radio.exchange {
            exchange.serial = serial;
            let wait = answer_timeout(band, slot, response_rate(ppdu.rate));
            let due = Due::Timeout(id, serial);
            self.schedule.at(exchange.ended + wait, due);
        }
    }

    pub(crate) fn time_out(&mut self, id: RadioId, serial: u32) {
        let now = self.now;
        let Some(radio) = self.radios.get_mut(id) else {
            return;
        };
        if radio
            .exchange
            .is_some_and(|exchange| exchange.serial == serial)
        {
            // IEEE 802.11-2020 10.23.2.4: its slots follow an AIFS after the time-out, nearly when
            // those of the bystanders follow their EIFS.
            radio.sense.idle_since = radio.sense.idle_since.max(now);
            self.fail(id);
        }
    }

    fn cts_over(&mut self, ppdu: &Ppdu, peer: RadioId) {
        self.answered(ppdu.source.radio);
        if !self.waits(peer, Phase::AwaitCts) {
            return;
        }
        match self.receive_answer(peer, ppdu) {
            Some(_) => self.reserved(peer),
            None => self.fail(peer),
        }
    }

    fn protected(&mut self, ppdu: &Ppdu) {
        self.reserved(ppdu.source.radio);
    }

    /// The medium is reserved: the frame itself follows.
    fn reserved(&mut self, id: RadioId) {
        let exchange = self.radios.get(id).and_then(|radio| radio.exchange);
        let Some(exchange) = exchange else {
            return;
        };
        match self.data(id, &exchange) {
            Some(ppdu) => self.after_sifs(ppdu),
            None => self.fail(id),
        }
    }

    fn ack_over(&mut self, ppdu: &Ppdu, peer: RadioId, record: Option<Record>) {
        self.answered(ppdu.source.radio);
        if !self.waits(peer, Phase::AwaitAck) {
            return;
        }
        match self.receive_answer(peer, ppdu) {
            None => self.fail(peer),
            signal => self.succeed(peer, record, signal, |pending| pending.answered(record)),
        }
    }

    fn waits(&self, id: RadioId, phase: Phase) -> bool {
        let exchange = self.radios.get(id).and_then(|radio| radio.exchange);
        exchange.is_some_and(|exchange| exchange.phase == phase)
    }

    fn answered(&mut self, responder: RadioId) {
        if let Some(radio) = self.radios.get_mut(responder) {
            radio.responding = false;
        }
    }
}

impl Radio {
    fn slot(&self, band: Band) -> Micros {
        let exchange = self.exchange;
        let head = exchange.and_then(|e| self.queue(e.category).pending.front());
        slot(band, head.is_none_or(|head| head.transmission.short_slot))
    }
}

impl Content {
    /// Whose frame this answers.
    fn answers(&self) -> Option<RadioId> {
        match self {
            Self::Cts(peer) | Self::Ack(peer) | Self::BlockAck(peer, _) => Some(*peer),
            _ => None,
        }
    }
}
