//! When the next event can come out of the medium.
//!
//! Most of what is planned leads only to something else that is planned: a back-off counter reaches
//! zero and a frame begins; a SIFS is over and an ACK begins. Nobody outside can tell whether that
//! was worked out at its time or later, so nobody need come back for it. Ends of frames and
//! time-outs do come out: what is heard, what has been sent.

use airlane_dot11::Channel;
use airlane_lane::{Instant, Micros};

use crate::medium::PpduId;
use crate::queue::{Pending, Queue};
use crate::radio::{MediumId, Radio};
use crate::schedule::Due;
use crate::{Air, Protection};
use airlane_dot11::airtime::{ACK_BYTES, duration, protection_rate, response_rate};

impl Air {
    /// The earliest time at which an event can come out while nothing more goes in.
    pub(crate) fn horizon(&self) -> Option<Instant> {
        let planned = self.schedule.iter();
        planned
            .filter_map(|(time, due)| self.comes_out(time, due))
            .min()
    }

    fn comes_out(&self, time: Instant, due: Due) -> Option<Instant> {
        match due {
            Due::End(_) | Due::Timeout(..) => Some(time),
            Due::Start(ppdu) => Some(self.end_of_planned(ppdu).unwrap_or(time)),
            Due::Access(medium, serial) => self.first_end(medium, serial),
        }
    }

    /// `None`: it is called off, which may be told.
    fn end_of_planned(&self, id: PpduId) -> Option<Instant> {
        let ppdu = self.ppdus.get(id)?;
        let sender = self.radios.get(ppdu.source.radio)?;
        (sender.medium() == Some(ppdu.medium)).then_some(ppdu.end)
    }

    /// The earliest end of a frame that one of the contenders begins. Those with a post-back-off
    /// alone begin none.
    fn first_end(&self, id: MediumId, serial: u32) -> Option<Instant> {
        let medium = self.media.get(id.0)?;
        if medium.access_serial != serial {
            return None;
        }
        let contenders = medium.contenders.iter();
        let radios = contenders.filter_map(|id| self.radios.get(*id));
        radios.filter_map(Radio::first_end).min()
    }
}

impl Radio {
    fn first_end(&self) -> Option<Instant> {
        let (_, channel) = self.tuned?;
        let heads = self
            .queues
            .iter()
            .filter_map(|queue| queue.shortest(channel));
        Some(self.sense.access_at? + heads.min()?)
    }
}

impl Queue {
    /// How long the next PPDU of this queue lasts at least.
    fn shortest(&self, channel: Channel) -> Option<Micros> {
        self.ready(channel).map(Pending::shortest)
    }
}

impl Pending {
    /// How long the first PPDU of its exchange lasts at least: at 20 MHz, or in an A-MPDU, longer.
    fn shortest(&self) -> Micros {
        let rate = self.next_rate();
        let transmission = &self.transmission;
        let band = transmission.channel.band();
        let alone = duration(band, rate, self.octets());
        match transmission.protect {
            Protection::None => alone,
            Protection::RtsCts => alone.min(duration(band, response_rate(rate), ACK_BYTES)),
            Protection::CtsToSelf => {
                let control = protection_rate(band, rate, transmission.short_preamble);
                alone.min(duration(band, control, ACK_BYTES))
            }
        }
    }
}
