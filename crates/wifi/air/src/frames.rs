//! The frames of an exchange as they go on the air: from where, at what rate, how long, and for how
//! long they reserve the medium (IEEE 802.11-2020 9.2.5, 10.6.6).

use airlane_dot11::airtime::{
    ACK_BYTES, BLOCK_ACK_BYTES, RTS_BYTES, block_ack_nav, data_nav, duration, protection_rate,
    response_rate, sifs,
};
use airlane_dot11::{Band, Rate};
use airlane_lane::{Instant, Micros};
use arrayvec::ArrayVec;

use crate::aggregate::PpduPlan;
use crate::ppdu::{Content, Mpdu, Ppdu, Source, is_ht40};
use crate::queue::Pending;
use crate::radio::Radio;

/// The radio has left the channel of the frame that it was about to send.
#[derive(Debug)]
pub(crate) struct NotHere;

/// A radio in the middle of an exchange of its own.
struct Sender<'a> {
    radio: &'a Radio,
    head: &'a Pending,
    plan: PpduPlan,
    now: Instant,
}

impl<'a> Sender<'a> {
    fn of(radio: &'a Radio, now: Instant) -> Self {
        let exchange = radio.exchange.as_ref().zip(radio.exchanged());
        let (exchange, head) = exchange.expect("an exchange has a frame");
        Self {
            radio,
            head,
            plan: exchange.plan,
            now,
        }
    }

    fn band(&self) -> Band {
        self.head.transmission.channel.band()
    }

    /// A frame's shell, beginning now.
    fn ppdu(&self, content: Content, rate: Rate, octets: usize) -> Result<Ppdu, NotHere> {
        let Self { radio, head, .. } = self;
        let channel = head.transmission.channel;
        let primary = radio.channel().filter(|_| radio.is_on(channel));
        Ok(Ppdu {
            source: Source {
                power: head.transmission.power.unwrap_or(radio.tx_power),
                ..radio.source()
            },
            primary: primary.ok_or(NotHere)?,
            secondary: radio.secondary.filter(|_| is_ht40(rate)),
            channel,
            rate,
            content,
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

    /// How long the data and their answer last together.
    fn data_and_answer(&self) -> Micros {
        let data = duration(self.band(), self.plan.rate, self.plan.octets);
        if self.head.expects_ack() {
            data + self.answer_nav()
        } else {
            data
        }
    }

    fn answer_nav(&self) -> Micros {
        if self.plan.frames > 1 {
            block_ack_nav(self.band(), self.plan.rate)
        } else {
            data_nav(self.band(), self.plan.rate)
        }
    }
}

/// The RTS before the frames of the exchange.
pub(crate) fn rts(radio: &Radio, now: Instant) -> Result<Ppdu, NotHere> {
    let sender = Sender::of(radio, now);
    let band = sender.band();
    let control = response_rate(sender.plan.rate);
    let cts = sifs(band) + duration(band, control, ACK_BYTES);
    Ok(Ppdu {
        nav: cts + sifs(band) + sender.data_and_answer(),
        ..sender.ppdu(Content::Rts, control, RTS_BYTES)?
    })
}

/// The CTS-to-self before the frames of the exchange.
pub(crate) fn cts_to_self(radio: &Radio, now: Instant) -> Result<Ppdu, NotHere> {
    let sender = Sender::of(radio, now);
    let (band, head) = (sender.band(), sender.head);
    let control = protection_rate(band, sender.plan.rate, head.transmission.short_preamble);
    Ok(Ppdu {
        receiver: head.transmitter.unwrap_or(head.receiver),
        transmitter: None,
        nav: sifs(band) + sender.data_and_answer(),
        ..sender.ppdu(Content::CtsToSelf, control, ACK_BYTES)?
    })
}

/// The frames of the exchange, as one PPDU.
pub(crate) fn data(radio: &Radio, now: Instant, mpdus: Vec<Mpdu>) -> Result<Ppdu, NotHere> {
    let sender = Sender::of(radio, now);
    let acknowledge = sender.head.expects_ack();
    let content = Content::Data { mpdus, acknowledge };
    let nav = if acknowledge {
        sender.answer_nav()
    } else {
        Micros(0)
    };
    Ok(Ppdu {
        nav,
        ..sender.ppdu(content, sender.plan.rate, sender.plan.octets)?
    })
}

/// The CTS, ACK or BlockAck with which `radio` answers `ppdu`.
pub(crate) fn answer(radio: &Radio, now: Instant, ppdu: &Ppdu, content: Content) -> Ppdu {
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
        source: radio.source(),
        rate,
        content,
        receiver: ppdu.transmitter.unwrap_or(ppdu.receiver),
        transmitter: Some(ppdu.receiver),
        octets,
        start: now,
        end: now + length,
        nav: ppdu.nav.saturating_sub(sifs(band) + length),
        overlaps: ArrayVec::new(),
        jammed: false,
        primary: ppdu.primary,
        secondary: None,
        channel: ppdu.channel,
    }
}
