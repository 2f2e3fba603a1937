//! Who receives a frame that has ended, and who does not and why.

use airlane_dot11::{Channel, Dbm, MacAddr, Rate, Width, frame};
use rand::Rng;

use crate::error_model::success_probability;
use crate::medium::{Mpdu, Ppdu, Source};
use crate::propagation::{dbm, milliwatts, noise_floor_dbm};
use crate::radio::Radio;
use crate::record::Record;
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

/// A PPDU at a receiver.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    signal: Dbm,
    /// Over noise and interference.
    snr_db: f32,
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

    /// How `ppdu` arrives at a radio, bit errors aside.
    fn arrives(&self, id: RadioId, ppdu: &Ppdu) -> Result<Arrival, Lost> {
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
        Ok(Arrival {
            signal: Dbm(signal),
            snr_db: signal - disturbance,
        })
    }

    /// More likely than not, such a frame arrives undisturbed without error.
    pub(crate) fn legible(
        &self,
        radio: &Radio,
        source: &Source,
        channel: Channel,
        rate: Rate,
        octets: usize,
    ) -> bool {
        let noise = noise_floor_dbm(rate, self.config.noise_figure_db);
        let snr_db = self.signal(radio, source, channel) - noise;
        success_probability(rate, octets, snr_db) >= 0.5
    }

    /// Draws whether `octets` bytes of what arrives are free of errors.
    fn intact(&mut self, rate: Rate, octets: usize, arrival: Arrival) -> Result<Dbm, Lost> {
        let success = success_probability(rate, octets, arrival.snr_db);
        if self.rng.random::<f64>() < success {
            Ok(arrival.signal)
        } else {
            Err(Lost::Noise)
        }
    }

    /// Signal of a control frame at `radio`, if it arrives whole.
    fn hear(&mut self, id: RadioId, ppdu: &Ppdu) -> Result<Dbm, Lost> {
        let arrival = self.arrives(id, ppdu)?;
        self.intact(ppdu.rate, ppdu.octets, arrival)
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

    /// Hands the frames of a PPDU to whom they reach; who answers, if anyone, and what of an A-MPDU
    /// it has.
    pub(crate) fn receive_data(
        &mut self,
        ppdu: &Ppdu,
        mpdus: &[Mpdu],
    ) -> Option<(RadioId, Record)> {
        if ppdu.receiver.is_group() {
            self.receive_group(ppdu, mpdus);
            return None;
        }
        let answer = self.receive_unicast(ppdu, mpdus);
        self.receive_promiscuous(ppdu, mpdus);
        answer
    }

    /// All on the channel, one by one; the index walks a list that nothing changes meanwhile.
    fn receive_group(&mut self, ppdu: &Ppdu, mpdus: &[Mpdu]) {
        for at in 0.. {
            let medium = self.media.get(ppdu.medium.0);
            let Some(id) = medium.and_then(|medium| medium.tuned.get(at)).copied() else {
                return;
            };
            if id == ppdu.source.radio {
                continue;
            }
            match self.arrives(id, ppdu) {
                Ok(arrival) => {
                    self.take_in(id, ppdu, mpdus, arrival, true);
                }
                Err(Lost::Deaf) => {}
                Err(lost) => self.count(lost),
            }
        }
    }

    fn receive_unicast(&mut self, ppdu: &Ppdu, mpdus: &[Mpdu]) -> Option<(RadioId, Record)> {
        let mut answer = None;
        let mut receiver = self.next_addressed(ppdu, RadioId::LOWEST);
        if receiver.is_none() {
            self.counters.no_receiver += 1;
        }
        while let Some(id) = receiver {
            match self.arrives(id, ppdu) {
                Ok(arrival) => {
                    let record = self.take_in(id, ppdu, mpdus, arrival, true);
                    if let (None, Some(record)) = (answer, record) {
                        answer = self.free_to_answer(id).map(|id| (id, record));
                    }
                }
                Err(lost) => self.count(lost),
            }
            receiver = self.next_addressed(ppdu, id);
        }
        answer
    }

    /// Takes each MPDU that is free of errors; `None` when none is.
    fn take_in(
        &mut self,
        id: RadioId,
        ppdu: &Ppdu,
        mpdus: &[Mpdu],
        arrival: Arrival,
        meant: bool,
    ) -> Option<Record> {
        let mut record = None;
        for mpdu in mpdus {
            let octets = mpdu.frame.len() + frame::FCS;
            match self.intact(ppdu.rate, octets, arrival) {
                Ok(signal) => {
                    self.deliver(id, ppdu, mpdu, mpdus.len() > 1, signal);
                    let record = record.get_or_insert_with(|| Record::of(mpdus));
                    record.note(mpdu.stream.map_or(0, |stream| stream.sequence));
                }
                Err(lost) if meant => self.count(lost),
                Err(_) => {}
            }
        }
        record
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

    fn receive_promiscuous(&mut self, ppdu: &Ppdu, mpdus: &[Mpdu]) {
        for at in 0.. {
            let medium = self.media.get(ppdu.medium.0);
            let Some(id) = medium.and_then(|medium| medium.monitors.get(at)).copied() else {
                return;
            };
            if id == ppdu.source.radio || self.addresses.contains(&(ppdu.receiver, id)) {
                continue;
            }
            if let Ok(arrival) = self.arrives(id, ppdu) {
                self.take_in(id, ppdu, mpdus, arrival, false);
            }
        }
    }

    fn free_to_answer(&mut self, id: RadioId) -> Option<RadioId> {
        let engaged = self.radios.get(id).is_none_or(Radio::engaged);
        self.counters.answer_withheld += u64::from(engaged);
        (!engaged).then_some(id)
    }

    fn deliver(&mut self, radio: RadioId, ppdu: &Ppdu, mpdu: &Mpdu, aggregated: bool, signal: Dbm) {
        self.counters.received += 1;
        self.events.push_back(AirEvent::Received {
            radio,
            frame: mpdu.frame.clone(),
            channel: ppdu.channel,
            rate: ppdu.rate,
            signal,
            at: self.now,
            from: ppdu.source.radio,
            aggregated,
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

impl Record {
    /// An empty record for these MPDUs. A receiver that keeps no record longer than an exchange
    /// ("partial state", IEEE 802.11-2020 10.25.6.4) begins it anew.
    fn of(mpdus: &[Mpdu]) -> Self {
        let stream = mpdus.first().and_then(|mpdu| mpdu.stream);
        Self {
            tid: stream.map_or(0, |stream| stream.tid),
            start: stream.map_or(0, |stream| stream.sequence),
            bitmap: 0,
        }
    }
}

impl Ppdu {
    /// `radio` was sending itself at some time of this frame.
    fn sent_over(&self, radio: RadioId) -> bool {
        self.overlaps.iter().any(|other| other.radio == radio)
    }
}

/// 40 MHz wide.
pub(crate) fn is_wide(rate: Rate) -> bool {
    matches!(rate, Rate::Ht { ht40: true, .. })
}
