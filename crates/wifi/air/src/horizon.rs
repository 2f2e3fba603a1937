//! When the next event can come out of the medium.
//!
//! Most of what is planned leads only to something else that is planned: a back-off counter reaches
//! zero and a frame begins; a SIFS is over and an ACK begins. Nobody outside can tell whether that
//! was worked out at its time or later, so no caller need come back for it. Ends of frames and
//! time-outs do come out: what is heard, what has been sent.

use airlane_dot11::Channel;
use airlane_dot11::airtime::{ACK_BYTES, duration, protection_rate, response_rate};
use airlane_lane::{Instant, Micros};

use crate::Protection;
use crate::medium::{Due, Medium, Space};
use crate::queue::Pending;
use crate::radio::Radio;
use crate::transmission::{ChannelId, PpduId};

/// The earliest time at which an event can come out while nothing more goes in.
pub(crate) fn horizon(medium: &Medium) -> Option<Instant> {
    let planned = medium.planned.iter();
    planned
        .filter_map(|(time, due)| comes_out(&medium.space, time, due))
        .min()
}

fn comes_out(space: &Space, time: Instant, due: Due) -> Option<Instant> {
    match due {
        Due::End(_) | Due::Timeout(..) => Some(time),
        Due::Start(ppdu) => Some(end_of_planned(space, ppdu).unwrap_or(time)),
        Due::Access(channel, serial) => first_end_on(space, channel, serial),
    }
}

/// `None`: it is called off, which may be told.
fn end_of_planned(space: &Space, id: PpduId) -> Option<Instant> {
    let ppdu = &space.ppdus[id];
    let sender = space.radios.find(ppdu.source.radio)?;
    (sender.channel() == Some(ppdu.primary)).then_some(ppdu.end)
}

/// The earliest end of a frame that one of the contenders begins. Those with a post-back-off alone
/// begin none.
fn first_end_on(space: &Space, id: ChannelId, serial: u32) -> Option<Instant> {
    let channel = &space.channels[id];
    if channel.access_serial != serial {
        return None;
    }
    let contenders = channel.contenders.iter();
    contenders
        .filter_map(|id| first_end(&space.radios[*id]))
        .min()
}

fn first_end(radio: &Radio) -> Option<Instant> {
    let (_, channel) = radio.tuned?;
    let shortest = shortest_head(radio, channel)?;
    Some(radio.sense.access_at? + shortest)
}

fn shortest_head(radio: &Radio, channel: Channel) -> Option<Micros> {
    let heads = radio.queues.values();
    let heads = heads.filter_map(|queue| queue.ready(channel));
    heads.map(shortest).min()
}

/// How long the first PPDU of a frame's exchange lasts at least: at 20 MHz, or in an A-MPDU, longer.
fn shortest(pending: &Pending) -> Micros {
    let rate = pending.next_rate();
    let transmission = &pending.transmission;
    let band = transmission.channel.band();
    let alone = duration(band, rate, pending.octets());
    match transmission.protect {
        Protection::None => alone,
        Protection::RtsCts => alone.min(duration(band, response_rate(rate), ACK_BYTES)),
        Protection::CtsToSelf => {
            let control = protection_rate(band, rate, transmission.short_preamble);
            alone.min(duration(band, control, ACK_BYTES))
        }
    }
}
