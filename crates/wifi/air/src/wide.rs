//! 40 MHz frames: they take two 20 MHz channels, disturb who is on either, and go out narrow when
//! their other half is in use (IEEE 802.11-2020 11.15.9, 19.3.15.4).
//!
//! Not here: channels that overlap without sharing a 20 MHz channel, as in 2.4 GHz.

use airlane_dot11::{Channel, Dbm, Rate, Width};
use airlane_lane::Micros;

use crate::contend::NOTICED;
use crate::medium::{HALF_DB, Ppdu, Source};
use crate::radio::Radio;
use crate::receive::is_wide;
use crate::{Air, RadioId};

/// A signal this strong keeps the other half busy (IEEE 802.11-2020 19.3.19.5.4).
const SECOND_HALF_SENSE: Dbm = Dbm(-62.0);
/// How long the other half must have been idle: PIFS in 5 GHz (IEEE 802.11-2020 10.3.7).
const PIFS: Micros = Micros(25);

impl Air {
    /// Notes whom a frame that begins disturbs, and who disturbs it: all that share a half with it.
    pub(crate) fn overlap(&mut self, ppdu: &mut Ppdu) {
        for here in ppdu.media() {
            let Some(medium) = self.media.get(here.0) else {
                continue;
            };
            for other in medium.on_air() {
                let Some(other) = self.ppdus.get_mut(other) else {
                    continue;
                };
                let seen = here != ppdu.medium && other.media().any(|half| half == ppdu.medium);
                if !seen {
                    other.overlapped_by(ppdu);
                    ppdu.overlapped_by(other);
                }
            }
        }
    }

    /// Whether a signal, or the half of it that is here, makes the medium busy.
    pub(crate) fn senses(
        &self,
        radio: &Radio,
        source: &Source,
        channel: Channel,
        half: bool,
    ) -> bool {
        let lost = if half { HALF_DB } else { 0.0 };
        self.signal(radio, source, channel) - lost >= self.real.carrier_sense.0
    }

    /// The other half of a radio's 40 MHz channel is in use, or was a PIFS ago (IEEE 802.11-2020
    /// 11.15.9, 19.3.19.5.4).
    pub(crate) fn second_half_is_busy(&self, id: RadioId) -> bool {
        let Some(radio) = self.radios.get(id) else {
            return false;
        };
        let Some(medium) = radio.second.and_then(|medium| self.media.get(medium.0)) else {
            return false;
        };
        let strong = |source: &Source, channel| {
            source.radio != id && self.signal(radio, source, channel) >= SECOND_HALF_SENSE.0
        };
        let mut on_air = medium.on_air().filter_map(|id| self.ppdus.get(id));
        let mut past = medium.past.iter().rev();
        on_air.any(|ppdu| ppdu.start + NOTICED <= self.now && strong(&ppdu.source, ppdu.channel))
            || past.any(|past| past.end + PIFS > self.now && strong(&past.source, past.channel))
    }
}

impl Radio {
    /// A radio tuned to 20 MHz cannot read a 40 MHz frame.
    pub(crate) fn takes_width_of(&self, rate: Rate) -> bool {
        let wide = self
            .tuned
            .is_some_and(|(_, channel)| channel.width() != Width::Mhz20);
        wide || !is_wide(rate)
    }
}
