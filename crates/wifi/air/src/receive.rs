//! Which radios receive a frame, and which do not and why. On a medium with air that is known when
//! the frame has ended; on one without air, for benchmarks of everything else, every frame arrives, and
//! is acknowledged, in the moment in which it is sent.

use airlane_dot11::{Dbm, Rate};
use airlane_lane::Instant;
use rand::Rng;
use rand::rngs::SmallRng;

use crate::block_ack::BaBitmap;
use crate::error_model::success_probability;
use crate::medium::{Medium, Output, Space};
use crate::ppdu::{Mpdu, Ppdu};
use crate::queue::Pending;
use crate::radio::Radio;
use crate::signal::{Arrival, Lost};
use crate::{Heard, Outcome, RadioId};

/// The receiving side of all radios: sees where they are, draws bit errors, tells what arrived.
pub(crate) struct Receivers<'a> {
    space: &'a Space,
    output: &'a mut Output,
    rng: &'a mut SmallRng,
    now: Instant,
}

impl<'a> Receivers<'a> {
    pub fn of(medium: &'a mut Medium) -> Self {
        Self {
            space: &medium.space,
            output: &mut medium.output,
            rng: &mut medium.rng,
            now: medium.now,
        }
    }

    /// Hands the frames of a PPDU to the radios that they reach; the one that answers, if any, and
    /// what of an A-MPDU it has.
    pub fn data(&mut self, ppdu: &Ppdu, mpdus: &[Mpdu]) -> Option<(RadioId, BaBitmap)> {
        if ppdu.receiver.is_group() {
            self.group(ppdu, mpdus);
            return None;
        }
        let answer = self.unicast(ppdu, mpdus);
        self.monitors(ppdu, mpdus);
        answer
    }

    fn group(&mut self, ppdu: &Ppdu, mpdus: &[Mpdu]) {
        for radio in self.space.others_on(ppdu.primary, ppdu.source.radio) {
            match self.space.signals.arrives(radio, ppdu) {
                Ok(arrival) => {
                    self.take_in(radio, ppdu, mpdus, arrival, true);
                }
                Err(Lost::Deaf) => {}
                Err(lost) => self.output.lost(lost),
            }
        }
    }

    fn unicast(&mut self, ppdu: &Ppdu, mpdus: &[Mpdu]) -> Option<(RadioId, BaBitmap)> {
        let (mut answer, mut addressed) = (None, false);
        for radio in self.space.addressed(ppdu) {
            addressed = true;
            match self.space.signals.arrives(radio, ppdu) {
                Ok(arrival) => {
                    let bitmap = self.take_in(radio, ppdu, mpdus, arrival, true);
                    if let (None, Some(bitmap)) = (answer, bitmap) {
                        answer = self.free_to_answer(radio).map(|id| (id, bitmap));
                    }
                }
                Err(lost) => self.output.lost(lost),
            }
        }
        self.output.counters.no_receiver += u64::from(!addressed);
        answer
    }

    fn monitors(&mut self, ppdu: &Ppdu, mpdus: &[Mpdu]) {
        let space = self.space;
        for radio in space.monitors(ppdu.primary, ppdu.receiver, ppdu.source.radio) {
            if let Ok(arrival) = space.signals.arrives(radio, ppdu) {
                self.take_in(radio, ppdu, mpdus, arrival, false);
            }
        }
    }

    /// Takes each MPDU that is free of errors; `None` when none is. `meant`: a loss counts.
    fn take_in(
        &mut self,
        radio: &Radio,
        ppdu: &Ppdu,
        mpdus: &[Mpdu],
        arrival: Arrival,
        meant: bool,
    ) -> Option<BaBitmap> {
        let mut bitmap = None;
        for mpdu in mpdus {
            match self.intact(ppdu.rate, mpdu.octets(), arrival) {
                Ok(signal) => {
                    self.output.received(Heard {
                        radio: radio.id,
                        frame: mpdu.frame.clone(),
                        channel: ppdu.channel,
                        rate: ppdu.rate,
                        signal,
                        at: self.now,
                        from: ppdu.source.radio,
                        aggregated: mpdus.len() > 1,
                    });
                    let first = mpdus.first().and_then(|mpdu| mpdu.session);
                    let bitmap = bitmap.get_or_insert_with(|| BaBitmap::starting_at(first));
                    bitmap.set(mpdu.sequence());
                }
                Err(lost) if meant => self.output.lost(lost),
                Err(_) => {}
            }
        }
        bitmap
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

    /// Signal of a control frame at a radio, if it arrives whole; counted when it does not.
    fn control(&mut self, radio: Option<&Radio>, ppdu: &Ppdu) -> Option<Dbm> {
        let arrival = radio.ok_or(Lost::Deaf);
        let arrival = arrival.and_then(|radio| self.space.signals.arrives(radio, ppdu));
        let heard = arrival.and_then(|arrival| self.intact(ppdu.rate, ppdu.octets, arrival));
        heard.map_err(|lost| self.output.lost(lost)).ok()
    }

    /// The radio that answers an RTS: the receiver, if it hears it, is free, and the medium is not
    /// reserved by others as far as it knows (IEEE 802.11-2020 10.3.2.9).
    pub fn rts(&mut self, ppdu: &Ppdu) -> Option<RadioId> {
        let Some(radio) = self.space.addressed(ppdu).next() else {
            self.output.counters.no_receiver += 1;
            return None;
        };
        self.control(Some(radio), ppdu)?;
        if self.space.reserved_for_others(radio, ppdu) {
            self.output.counters.answer_withheld += 1;
            return None;
        }
        self.free_to_answer(radio)
    }

    /// Signal of the answer to `id`, if it arrives.
    pub fn answer(&mut self, id: RadioId, ppdu: &Ppdu) -> Option<Dbm> {
        self.control(self.space.radios.find(id), ppdu)
    }

    fn free_to_answer(&mut self, radio: &Radio) -> Option<RadioId> {
        let engaged = radio.engaged();
        self.output.counters.answer_withheld += u64::from(engaged);
        (!engaged).then_some(radio.id)
    }
}

/// Without air: sends a frame, and tells how it ended.
pub(crate) fn deliver_at_once(medium: &mut Medium, from: RadioId, mut pending: Pending) {
    pending.note_attempt(pending.next_rate());
    medium.output.counters.frames += 1;
    medium.output.counters.bytes += pending.octets() as u64;
    let reached = if pending.receiver.is_group() {
        to_group(medium, from, &pending);
        None
    } else {
        to_station(medium, from, &pending)
    };
    let outcome = match (pending.expects_ack(), reached) {
        (false, _) => Outcome::Unacknowledged,
        (true, Some(_)) => Outcome::Acknowledged,
        (true, None) => Outcome::NoAck,
    };
    let signal = reached.filter(|_| pending.expects_ack());
    let now = medium.now;
    medium.output.sent(now, from, &pending, outcome, signal);
}

fn to_group(medium: &mut Medium, from: RadioId, pending: &Pending) {
    let channel = medium.channel_of(pending.transmission.channel);
    let Medium {
        space, output, now, ..
    } = medium;
    let sender = &space.radios[from];
    for radio in space.others_on(channel, from) {
        let signal = signal(space, sender, radio, pending);
        output.received(arrival(*now, sender, radio, pending, signal));
    }
}

/// Signal at the first receiver, if there is one.
fn to_station(medium: &mut Medium, from: RadioId, pending: &Pending) -> Option<Dbm> {
    let channel = medium.channel_of(pending.transmission.channel);
    let Medium {
        space, output, now, ..
    } = medium;
    let sender = &space.radios[from];
    let owners = space.owners(pending.receiver);
    let mut owners = owners
        .filter(|radio| radio.channel() == Some(channel))
        .peekable();
    if owners.peek().is_none() {
        output.counters.no_receiver += 1;
    }
    let mut reached = None;
    for radio in owners.filter(|radio| radio.id != from) {
        let signal = signal(space, sender, radio, pending);
        output.received(arrival(*now, sender, radio, pending, signal));
        reached = reached.or(Some(signal));
    }
    for radio in space.monitors(channel, pending.receiver, from) {
        let signal = signal(space, sender, radio, pending);
        output.received(arrival(*now, sender, radio, pending, signal));
    }
    reached
}

fn signal(space: &Space, sender: &Radio, receiver: &Radio, pending: &Pending) -> Dbm {
    let (source, channel) = (sender.source(), pending.transmission.channel);
    Dbm(space.signals.strength(receiver, &source, channel))
}

fn arrival(at: Instant, sender: &Radio, receiver: &Radio, pending: &Pending, signal: Dbm) -> Heard {
    Heard {
        radio: receiver.id,
        frame: pending.transmission.frame.clone(),
        channel: pending.transmission.channel,
        rate: pending.transmission.rate(0),
        signal,
        at,
        from: sender.id,
        aggregated: false,
    }
}
