//! The frames of an exchange as they go on the air: who, at what rate, how long, and for how long
//! they reserve the medium (IEEE 802.11-2020 9.2.5, 10.6.6).

use airlane_wlan::{AccessCategory, Buffer, BufferPool, Micros, Rate, frame};
use arrayvec::ArrayVec;

use crate::airtime::{
    ACK_BYTES, RTS_BYTES, data_nav, duration, frame_duration, protection_rate, response_rate, sifs,
};
use crate::medium::{Content, Ppdu, Source};
use crate::queue::Pending;
use crate::radio::Radio;
use crate::{Air, RadioId};

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

    pub(crate) fn rts(&mut self, id: RadioId, category: AccessCategory) -> Option<Ppdu> {
        let radio = self.radios.get(id)?;
        let head = radio.queue(category).pending.front()?;
        let (band, rate) = (head.transmission.channel.band(), head.next_rate());
        let control = response_rate(rate);
        let cts = sifs(band) + duration(band, control, ACK_BYTES);
        self.counters.rts += 1;
        Some(Ppdu {
            nav: cts + sifs(band) + data_and_ack(head, rate),
            ..self.ppdu(radio, head, control, RTS_BYTES)?
        })
    }

    pub(crate) fn cts_to_self(&mut self, id: RadioId, category: AccessCategory) -> Option<Ppdu> {
        let radio = self.radios.get(id)?;
        let head = radio.queue(category).pending.front()?;
        let (band, rate) = (head.transmission.channel.band(), head.next_rate());
        let control = protection_rate(band, rate, head.transmission.short_preamble);
        self.counters.cts += 1;
        Some(Ppdu {
            content: Content::CtsToSelf,
            receiver: head.transmitter.unwrap_or(head.receiver),
            transmitter: None,
            nav: sifs(band) + data_and_ack(head, rate),
            ..self.ppdu(radio, head, control, ACK_BYTES)?
        })
    }

    /// The next attempt at the head of the queue.
    pub(crate) fn data(&mut self, id: RadioId, category: AccessCategory) -> Option<Ppdu> {
        let radio = self.radios.get_mut(id)?;
        let head = radio.queue_mut(category).pending.front_mut()?;
        let rate = head.next_rate();
        if head.attempts > 0 {
            self.counters.retries += 1;
            head.transmission.frame = retried(&mut self.retries, &head.transmission.frame);
        }
        head.attempts = head.attempts.saturating_add(1);
        let octets = head.transmission.frame.len() + frame::FCS;
        self.counters.frames += 1;
        self.counters.bytes += octets as u64;
        let radio = self.radios.get(id)?;
        let head = radio.queue(category).pending.front()?;
        let acknowledge = head.expects_ack();
        let nav = data_nav(head.transmission.channel.band(), rate);
        Some(Ppdu {
            content: Content::Data {
                frame: head.transmission.frame.clone(),
                acknowledge,
            },
            nav: if acknowledge { nav } else { Micros(0) },
            ..self.ppdu(radio, head, rate, octets)?
        })
    }

    /// The CTS or ACK with which `radio` answers `ppdu`.
    pub(crate) fn answer(&self, radio: &Radio, ppdu: &Ppdu, content: Content) -> Ppdu {
        let band = ppdu.channel.band();
        let rate = match content {
            Content::Cts(_) => ppdu.rate,
            _ => response_rate(ppdu.rate),
        };
        let length = duration(band, rate, ACK_BYTES);
        Ppdu {
            source: Source {
                radio: radio.id,
                position: radio.position,
                power: radio.tx_power,
            },
            rate,
            content,
            receiver: ppdu.transmitter.unwrap_or(ppdu.receiver),
            transmitter: None,
            octets: ACK_BYTES,
            start: self.now,
            end: self.now + length,
            nav: ppdu.nav - (sifs(band) + length),
            overlaps: ArrayVec::new(),
            jammed: false,
            medium: ppdu.medium,
            channel: ppdu.channel,
        }
    }
}

/// How long the frame and its answer last together.
fn data_and_ack(head: &Pending, rate: Rate) -> Micros {
    let channel = head.transmission.channel;
    let data = frame_duration(channel, rate, head.transmission.frame.len());
    if head.expects_ack() {
        data + data_nav(channel.band(), rate)
    } else {
        data
    }
}

/// A copy with the Retry bit, in a buffer of our own: the first one may still be shared.
fn retried(pool: &mut BufferPool, original: &Buffer) -> Buffer {
    let copy = pool.fill(original.len(), |bytes| {
        bytes.copy_from_slice(original);
        frame::set_retry(bytes);
        Ok::<(), ()>(())
    });
    copy.unwrap_or_else(|()| original.clone())
}
