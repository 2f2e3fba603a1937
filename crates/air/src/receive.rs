//! Who receives a frame that has ended, and who does not and why.

use airlane_wlan::{Channel, Dbm, MacAddr, Rate, Width};
use rand::Rng;

use crate::error_model::success_probability;
use crate::medium::{Content, Ppdu, Source};
use crate::propagation::{dbm, milliwatts, noise_floor_dbm};
use crate::radio::Radio;
use crate::{Air, AirEvent, RadioId};

/// Why a frame did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    /// The receiver was not on the channel for the whole frame.
    Deaf,
    Sending,
    TooWide,
    Collision,
    Noise,
}

impl Air {
    /// How strong `source` arrives at `radio`, in dBm.
    pub(crate) fn signal(&self, radio: &Radio, source: &Source, channel: Channel) -> f32 {
        let path_loss = &self.config.path_loss;
        source.power.0 - path_loss.loss_db(source.position, radio.position, channel)
    }

    fn interference(&self, radio: &Radio, ppdu: &Ppdu) -> f32 {
        let others = ppdu.overlaps.iter();
        others
            .map(|other| milliwatts(self.signal(radio, other, ppdu.channel)))
            .sum()
    }

    /// True when overlapping frames leave too little of this one at `radio`. All who overlapped
    /// count as if they had done so all the time.
    pub(crate) fn collided(&self, radio: &Radio, ppdu: &Ppdu) -> bool {
        if ppdu.jammed || ppdu.overlaps.is_empty() {
            return ppdu.jammed;
        }
        let signal = self.signal(radio, &ppdu.source, ppdu.channel);
        let margin = signal - dbm(self.interference(radio, ppdu));
        margin < self.real.capture_margin_db || ppdu.sent_over(radio.id)
    }

    /// Signal of `ppdu` at `radio`, if it arrives whole.
    fn hear(&mut self, id: RadioId, ppdu: &Ppdu) -> Result<Dbm, Lost> {
        let radio = self.radios.get(id).ok_or(Lost::Deaf)?;
        let (medium, channel) = radio.tuned.ok_or(Lost::Deaf)?;
        if medium != ppdu.medium || radio.tuned_since > ppdu.start {
            return Err(Lost::Deaf);
        }
        if ppdu.sent_over(id) {
            return Err(Lost::Sending);
        }
        if is_wide(ppdu.rate) && channel.width() == Width::Mhz20 {
            return Err(Lost::TooWide);
        }
        if self.collided(radio, ppdu) {
            return Err(Lost::Collision);
        }
        let signal = self.signal(radio, &ppdu.source, ppdu.channel);
        let noise = noise_floor_dbm(ppdu.rate, self.config.noise_figure_db);
        let disturbance = if ppdu.overlaps.is_empty() {
            noise
        } else {
            dbm(milliwatts(noise) + self.interference(radio, ppdu))
        };
        let success = success_probability(ppdu.rate, ppdu.octets, signal - disturbance);
        if self.rng.random::<f64>() < success {
            Ok(Dbm(signal))
        } else {
            Err(Lost::Noise)
        }
    }

    fn count(&mut self, lost: Lost) {
        let counter = match lost {
            Lost::Deaf => &mut self.counters.no_receiver,
            Lost::Sending => &mut self.counters.receiver_sending,
            Lost::TooWide => &mut self.counters.too_wide,
            Lost::Collision => &mut self.counters.collisions,
            Lost::Noise => &mut self.counters.noise_errors,
        };
        *counter += 1;
    }

    /// Hands a data frame to whom it reaches; who answers it, if anyone.
    pub(crate) fn receive_data(&mut self, ppdu: &Ppdu) -> Option<RadioId> {
        if ppdu.receiver.is_group() {
            self.receive_group(ppdu);
            return None;
        }
        let responder = self.receive_unicast(ppdu);
        self.receive_promiscuous(ppdu);
        responder
    }

    /// All on the channel, one by one; the index walks a list that nothing changes meanwhile.
    fn receive_group(&mut self, ppdu: &Ppdu) {
        for at in 0.. {
            let medium = self.media.get(ppdu.medium.0);
            let Some(id) = medium.and_then(|medium| medium.tuned.get(at)).copied() else {
                return;
            };
            if id == ppdu.source.radio {
                continue;
            }
            match self.hear(id, ppdu) {
                Ok(signal) => self.deliver(id, ppdu, signal),
                Err(Lost::Deaf) => {}
                Err(lost) => self.count(lost),
            }
        }
    }

    fn receive_unicast(&mut self, ppdu: &Ppdu) -> Option<RadioId> {
        let mut responder = None;
        let mut receiver = self.next_addressed(ppdu, RadioId::LOWEST);
        if receiver.is_none() {
            self.counters.no_receiver += 1;
        }
        while let Some(id) = receiver {
            match self.hear(id, ppdu) {
                Ok(signal) => {
                    self.deliver(id, ppdu, signal);
                    responder = responder.or_else(|| self.free_to_answer(id));
                }
                Err(lost) => self.count(lost),
            }
            receiver = self.next_addressed(ppdu, id);
        }
        responder
    }

    /// The next radio after `after` on the frame's channel that has its receiver address.
    pub(crate) fn next_addressed(&self, ppdu: &Ppdu, after: RadioId) -> Option<RadioId> {
        self.addressed(ppdu.receiver, after)
            .find(|id| self.on_medium_of(*id, ppdu))
    }

    /// Radios after `after` that have this address.
    pub(crate) fn addressed(
        &self,
        address: MacAddr,
        after: RadioId,
    ) -> impl Iterator<Item = RadioId> + '_ {
        use std::ops::Bound::{Excluded, Unbounded};
        let range = (Excluded((address, after)), Unbounded);
        let radios = self.addresses.range(range);
        radios
            .take_while(move |(other, _)| *other == address)
            .map(|(_, id)| *id)
    }

    fn on_medium_of(&self, id: RadioId, ppdu: &Ppdu) -> bool {
        let medium = self.radios.get(id).and_then(Radio::medium);
        medium == Some(ppdu.medium) && id != ppdu.source.radio
    }

    fn receive_promiscuous(&mut self, ppdu: &Ppdu) {
        for at in 0.. {
            let medium = self.media.get(ppdu.medium.0);
            let Some(id) = medium.and_then(|medium| medium.monitors.get(at)).copied() else {
                return;
            };
            if id == ppdu.source.radio || self.addresses.contains(&(ppdu.receiver, id)) {
                continue;
            }
            if let Ok(signal) = self.hear(id, ppdu) {
                self.deliver(id, ppdu, signal);
            }
        }
    }

    fn free_to_answer(&mut self, id: RadioId) -> Option<RadioId> {
        let engaged = self.radios.get(id).is_none_or(Radio::engaged);
        self.counters.answer_withheld += u64::from(engaged);
        (!engaged).then_some(id)
    }

    fn deliver(&mut self, radio: RadioId, ppdu: &Ppdu, signal: Dbm) {
        let Content::Data { frame, .. } = &ppdu.content else {
            return;
        };
        self.counters.received += 1;
        self.events.push_back(AirEvent::Received {
            radio,
            frame: frame.clone(),
            channel: ppdu.channel,
            rate: ppdu.rate,
            signal,
            at: self.now,
            from: ppdu.source.radio,
        });
    }

    /// Who answers an RTS: the receiver, if it hears it, is free, and the medium is not reserved
    /// by others as far as it knows (IEEE 802.11-2020 10.3.2.9).
    pub(crate) fn receive_rts(&mut self, ppdu: &Ppdu) -> Option<RadioId> {
        let Some(id) = self.next_addressed(ppdu, RadioId::LOWEST) else {
            self.counters.no_receiver += 1;
            return None;
        };
        if let Err(lost) = self.hear(id, ppdu) {
            self.count(lost);
            return None;
        }
        let radio = self.radios.get(id)?;
        if self.reserved_for_others(radio, ppdu) {
            self.counters.answer_withheld += 1;
            return None;
        }
        self.free_to_answer(id)
    }

    /// Signal of the answer to `id`, if it arrives.
    pub(crate) fn receive_answer(&mut self, id: RadioId, ppdu: &Ppdu) -> Option<Dbm> {
        let heard = self.hear(id, ppdu);
        heard.map_err(|lost| self.count(lost)).ok()
    }
}

impl Ppdu {
    /// `radio` was sending itself at some time of this frame.
    fn sent_over(&self, radio: RadioId) -> bool {
        self.overlaps.iter().any(|other| other.radio == radio)
    }
}

fn is_wide(rate: Rate) -> bool {
    matches!(rate, Rate::Ht { wide: true, .. })
}
