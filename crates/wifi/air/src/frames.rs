//! The frames of an exchange as they go on the air: who, at what rate, how long, and for how long
//! they reserve the medium (IEEE 802.11-2020 9.2.5, 10.6.6).

use airlane_dot11::{Band, Buffer, BufferPool, Rate, frame};
use airlane_lane::Micros;
use arrayvec::ArrayVec;

use crate::aggregate::Load;
use crate::medium::{Content, Mpdu, Ppdu, Source};
use crate::queue::Pending;
use crate::radio::{Exchange, Radio};
use crate::receive::is_wide;
use crate::{Air, RadioId};
use airlane_dot11::airtime::{
    ACK_BYTES, BLOCK_ACK_BYTES, RTS_BYTES, block_ack_nav, data_nav, duration, protection_rate,
    response_rate, sifs,
};

impl Air {
    /// A frame's shell, beginning now; `None` when the radio has left the frame's channel.
    fn ppdu(&self, radio: &Radio, head: &Pending, rate: Rate, octets: usize) -> Option<Ppdu> {
        let (medium, tuned) = radio.tuned?;
        let channel = head.transmission.channel;
        if tuned.primary() != channel.primary() {
            return None;
        }
        Some(Ppdu {
            source: Source {
                radio: radio.id,
                position: radio.position,
                power: head.transmission.power.unwrap_or(radio.tx_power),
            },
            medium,
            second: radio.second.filter(|_| is_wide(rate)),
            channel,
            rate,
            content: Content::Rts,
            receiver: head.receiver,
            transmitter: head.transmitter,
            octets,
            start: self.now,
            end: self.now + duration(channel.band(), rate, octets),
            nav: Micros(0),
            overlaps: ArrayVec::new(),
            jammed: false,
        })
    }

    pub(crate) fn rts(&mut self, id: RadioId, exchange: &Exchange) -> Option<Ppdu> {
        let radio = self.radios.get(id)?;
        let head = radio.queue(exchange.category).pending.front()?;
        let (band, load) = (head.transmission.channel.band(), exchange.load);
        let control = response_rate(load.rate);
        let cts = sifs(band) + duration(band, control, ACK_BYTES);
        self.counters.rts += 1;
        Some(Ppdu {
            nav: cts + sifs(band) + data_and_answer(head, &load),
            ..self.ppdu(radio, head, control, RTS_BYTES)?
        })
    }

    pub(crate) fn cts_to_self(&mut self, id: RadioId, exchange: &Exchange) -> Option<Ppdu> {
        let radio = self.radios.get(id)?;
        let head = radio.queue(exchange.category).pending.front()?;
        let (band, load) = (head.transmission.channel.band(), exchange.load);
        let control = protection_rate(band, load.rate, head.transmission.short_preamble);
        self.counters.cts += 1;
        Some(Ppdu {
            content: Content::CtsToSelf,
            receiver: head.transmitter.unwrap_or(head.receiver),
            transmitter: None,
            nav: sifs(band) + data_and_answer(head, &load),
            ..self.ppdu(radio, head, control, ACK_BYTES)?
        })
    }

    /// The frames of the exchange, as one PPDU.
    pub(crate) fn data(&mut self, id: RadioId, exchange: &Exchange) -> Option<Ppdu> {
        let mpdus = self.take_aboard(id, exchange)?;
        let radio = self.radios.get(id)?;
        let head = radio.queue(exchange.category).pending.front()?;
        let (acknowledge, load) = (head.expects_ack(), exchange.load);
        let nav = answer_nav(head.transmission.channel.band(), &load);
        Some(Ppdu {
            content: Content::Data { mpdus, acknowledge },
            nav: if acknowledge { nav } else { Micros(0) },
            ..self.ppdu(radio, head, load.rate, load.octets)?
        })
    }

    /// One attempt more at each frame of the exchange.
    fn take_aboard(&mut self, id: RadioId, exchange: &Exchange) -> Option<Vec<Mpdu>> {
        let radio = self.radios.get_mut(id)?;
        let mut mpdus = self.spare.pop().unwrap_or_default();
        let waiting = radio.queue_mut(exchange.category).pending.iter_mut();
        let aboard = waiting.filter(|pending| pending.aboard);
        for pending in aboard.take(exchange.load.frames.into()) {
            self.counters.retries += u64::from(pending.attempts > 0);
            self.counters.frames += 1;
            self.counters.bytes += pending.octets() as u64;
            pending.attempt(exchange.load.rate, &mut self.retries);
            mpdus.push(Mpdu {
                frame: pending.transmission.frame.clone(),
                stream: pending.stream,
            });
        }
        self.counters.aggregates += u64::from(mpdus.len() > 1);
        Some(mpdus)
    }

    /// Keeps what a PPDU listed its MPDUs in.
    pub(crate) fn reuse(&mut self, content: Content) {
        if let Content::Data { mut mpdus, .. } = content {
            mpdus.clear();
            self.spare.push(mpdus);
        }
    }

    /// The CTS, ACK or BlockAck with which `radio` answers `ppdu`.
    pub(crate) fn answer(&self, radio: &Radio, ppdu: &Ppdu, content: Content) -> Ppdu {
        let band = ppdu.channel.band();
        let rate = match content {
            Content::Cts(_) => ppdu.rate,
            _ => response_rate(ppdu.rate),
        };
        let octets = match content {
            Content::BlockAck(..) => BLOCK_ACK_BYTES,
            _ => ACK_BYTES,
        };
        let length = duration(band, rate, octets);
        Ppdu {
            source: Source {
                radio: radio.id,
                position: radio.position,
                power: radio.tx_power,
            },
            rate,
            content,
            receiver: ppdu.transmitter.unwrap_or(ppdu.receiver),
            transmitter: Some(ppdu.receiver),
            octets,
            start: self.now,
            end: self.now + length,
            nav: ppdu.nav.saturating_sub(sifs(band) + length),
            overlaps: ArrayVec::new(),
            jammed: false,
            medium: ppdu.medium,
            second: None,
            channel: ppdu.channel,
        }
    }
}

impl Pending {
    /// On the air once more. From the second time on with the Retry bit, set on a copy in a buffer
    /// of our own: receivers may still hold the first one.
    fn attempt(&mut self, rate: Rate, pool: &mut BufferPool) {
        if self.attempts == 1 {
            self.transmission.frame = retried(pool, &self.transmission.frame);
        }
        self.attempts = self.attempts.saturating_add(1);
        let (first, _) = self.used.unwrap_or((rate, rate));
        self.used = Some((first, rate));
    }
}

/// How long the data and their answer last together.
fn data_and_answer(head: &Pending, load: &Load) -> Micros {
    let band = head.transmission.channel.band();
    let data = duration(band, load.rate, load.octets);
    if head.expects_ack() {
        data + answer_nav(band, load)
    } else {
        data
    }
}

fn answer_nav(band: Band, load: &Load) -> Micros {
    if load.frames > 1 {
        block_ack_nav(band, load.rate)
    } else {
        data_nav(band, load.rate)
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
