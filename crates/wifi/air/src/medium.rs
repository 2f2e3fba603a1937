//! The state that all parts of the medium look at: radios, channels, frames on the air, what is
//! planned, what has come out, the clock and the dice. What each radio hears of it is here; what
//! follows from that is decided in the parts ([`crate::contend`], [`crate::exchange`],
//! [`crate::receive`]).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use airlane_dot11::airtime::{eifs_extra, sifs};
use airlane_dot11::{Channel, Dbm, MacAddr};
use airlane_lane::{Instant, Micros};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::channel::{Channels, Past};
use crate::ppdu::{Ppdu, Ppdus, Source, is_ht40};
use crate::queue::Pending;
use crate::radio::{Addresses, Radio, Radios};
use crate::signal::{Lost, SignalModel};
use crate::transmission::{ChannelId, PpduId};
use crate::{AirConfig, AirCounters, AirEvent, ChannelAirtime, Ended, Heard, Outcome, RadioId};

/// How long a signal lasts before a radio that is about to send can act on it: aCCATime and
/// aRxTxTurnaroundTime (IEEE 802.11-2020 table 17-21).
pub(crate) const NOTICED: Micros = Micros(6);
/// How long the secondary channel must have been idle: PIFS in 5 GHz (IEEE 802.11-2020 10.3.7).
const PIFS: Micros = Micros(25);

pub(crate) struct Medium {
    pub space: Space,
    pub planned: EventQueue,
    pub output: Output,
    pub rng: SmallRng,
    /// The latest time that the medium has run to.
    pub now: Instant,
}

/// Which radios are where, and what is on the air.
pub(crate) struct Space {
    pub radios: Radios,
    pub channels: Channels,
    pub ppdus: Ppdus,
    pub addresses: Addresses,
    pub signals: SignalModel,
}

impl Medium {
    /// Empty, at time zero.
    pub fn new(config: &AirConfig) -> Self {
        Self {
            space: Space {
                radios: Radios::default(),
                channels: Channels::default(),
                ppdus: Ppdus::default(),
                addresses: Addresses::default(),
                signals: SignalModel::new(config),
            },
            planned: EventQueue::default(),
            output: Output::default(),
            rng: SmallRng::seed_from_u64(config.seed),
            now: Instant(0),
        }
    }

    /// The channel of this primary 20 MHz; made when the first radio tunes to it.
    pub fn channel_of(&mut self, channel: Channel) -> ChannelId {
        let primary = channel.primary();
        self.space.channels.find(primary).unwrap_or_else(|| {
            self.output.counters.channels.push(ChannelAirtime {
                channel: primary,
                busy: Micros(0),
            });
            self.space.channels.add(primary)
        })
    }

    /// Plans a frame a SIFS from now.
    pub fn after_sifs(&mut self, mut ppdu: Ppdu) {
        let start = self.now + sifs(ppdu.channel.band());
        ppdu.end = start + ppdu.end.since(ppdu.start);
        ppdu.start = start;
        let id = self.space.ppdus.insert(ppdu);
        self.planned.at(start, Due::Start(id));
    }

    /// A frame is on the air from now until its end.
    pub fn put_on_air(&mut self, ppdu: Ppdu) {
        let (primary, secondary, end) = (ppdu.primary, ppdu.secondary, ppdu.end);
        let id = self.space.ppdus.insert(ppdu);
        let channels = &mut self.space.channels;
        channels[primary].begin(id, self.now);
        if let Some(secondary) = secondary {
            channels[secondary].secondaries.push(id);
        }
        self.planned.at(end, Due::End(id));
    }

    /// A frame is over: its sender, unless it was removed, and its channels remember it.
    pub fn take_off_air(&mut self, id: PpduId) -> Ppdu {
        let ppdu = self.space.ppdus.remove(id);
        if let Some(sender) = self.space.radios.find_mut(ppdu.source.radio) {
            sender.sent_until = self.now;
        }
        for here in ppdu.channels() {
            let past = Past::of(&ppdu, here != ppdu.primary, self.now);
            let busy = self.space.channels[here].end(id, past, self.now);
            if let Some(busy) = busy {
                let airtime = self.output.counters.channels.get_mut(here.0);
                airtime
                    .expect("a channel is counted from when it is known")
                    .busy += busy;
            }
        }
        ppdu
    }
}

impl Space {
    /// Notes what a frame that begins disturbs, and what disturbs it: all frames that share a
    /// channel with it.
    pub fn overlap(&mut self, ppdu: &mut Ppdu) {
        for here in ppdu.channels() {
            for other in self.channels[here].on_air() {
                let other = &mut self.ppdus[other];
                let seen = here != ppdu.primary && other.channels().any(|id| id == ppdu.primary);
                if !seen {
                    ppdu.overlap(other);
                }
            }
        }
    }

    /// True while a signal on its channel keeps a radio from sending.
    pub fn hears_any(&self, radio: &Radio, channel: ChannelId) -> bool {
        let mut on_air = self.channels[channel].on_air();
        on_air.any(|id| self.signals.hears(radio, &self.ppdus[id]))
    }

    /// Since when the radio has heard no frame, and until when the medium is reserved for others.
    pub fn look_back(&self, radio: &Radio, channel: ChannelId) -> (Instant, Instant) {
        let mut idle_since = radio.sent_until.max(radio.tuned_since);
        let mut nav_until = Instant(0);
        for past in &self.channels[channel].past {
            let ended_after_tuning = past.end > radio.tuned_since;
            if ended_after_tuning && self.heard(radio, past) {
                let own = past.source.radio == radio.id;
                let read = own || self.could_read(radio, past);
                let extra = eifs_extra(past.channel.band());
                idle_since = idle_since.max(if read { past.end } else { past.end + extra });
                if read && !own && !radio.addresses.contains(&past.receiver) {
                    nav_until = nav_until.max(past.nav_until);
                }
            }
        }
        (idle_since, nav_until)
    }

    fn heard(&self, radio: &Radio, past: &Past) -> bool {
        let (source, channel) = (&past.source, past.channel);
        let signals = &self.signals;
        radio.id == source.radio || signals.senses(radio, source, channel, past.in_secondary)
    }

    /// A decoder that missed the preamble counts every overlapped frame as lost.
    fn could_read(&self, radio: &Radio, past: &Past) -> bool {
        let Past {
            source,
            channel,
            rate,
            octets,
            overlapped,
            in_secondary,
            ..
        } = past;
        let fits = radio.is_ht40() || !is_ht40(*rate);
        let whole = !overlapped && !in_secondary && fits;
        whole
            && self
                .signals
                .legible(radio, source, *channel, *rate, *octets)
    }

    /// The virtual carrier sense of a radio asked to answer `ppdu`: its own record while it
    /// contends, otherwise what it could hear.
    pub fn reserved_for_others(&self, radio: &Radio, ppdu: &Ppdu) -> bool {
        let until = if radio.sense.contending {
            radio.sense.nav_until
        } else {
            self.look_back(radio, ppdu.primary).1
        };
        until > ppdu.start
    }

    /// The secondary channel of a radio tuned to 40 MHz is in use, or was a PIFS ago (IEEE
    /// 802.11-2020 11.15.9, 19.3.19.5.4).
    pub fn secondary_is_busy(&self, radio: &Radio, now: Instant) -> bool {
        let Some(secondary) = radio.secondary else {
            return false;
        };
        let strong = |source: &Source, channel| {
            let signals = &self.signals;
            signals.senses_on_secondary(radio, source, channel)
        };
        let channel = &self.channels[secondary];
        let mut on_air = channel.on_air().map(|id| &self.ppdus[id]);
        let mut past = channel.past.iter().rev();
        on_air.any(|ppdu| ppdu.start + NOTICED <= now && strong(&ppdu.source, ppdu.channel))
            || past.any(|past| past.end + PIFS > now && strong(&past.source, past.channel))
    }

    /// Radios on the frame's channel that have its receiver address, in order; not its sender.
    pub fn addressed(&self, ppdu: &Ppdu) -> impl Iterator<Item = &Radio> + '_ {
        let (primary, sender) = (ppdu.primary, ppdu.source.radio);
        self.owners(ppdu.receiver)
            .filter(move |radio| radio.channel() == Some(primary) && radio.id != sender)
    }

    /// Radios that have this address, in order.
    pub fn owners(&self, address: MacAddr) -> impl Iterator<Item = &Radio> + '_ {
        let owners = self.addresses.owners(address);
        owners.map(|id| &self.radios[id])
    }

    /// Radios in monitor mode on a channel that do not have this address, in order; not `sender`.
    pub fn monitors(
        &self,
        channel: ChannelId,
        address: MacAddr,
        sender: RadioId,
    ) -> impl Iterator<Item = &Radio> + '_ {
        let monitors = self.channels[channel].monitors.iter();
        monitors
            .filter(move |id| **id != sender && !self.addresses.has(address, **id))
            .map(|id| &self.radios[*id])
    }

    /// All radios tuned to a channel, in order; not `sender`.
    pub fn others_on(
        &self,
        channel: ChannelId,
        sender: RadioId,
    ) -> impl Iterator<Item = &Radio> + '_ {
        let tuned = self.channels[channel].tuned.iter();
        tuned
            .filter(move |id| **id != sender)
            .map(|id| &self.radios[*id])
    }
}

/// Events that nobody has taken yet, and totals.
#[derive(Default)]
pub(crate) struct Output {
    pub events: VecDeque<AirEvent>,
    pub counters: AirCounters,
}

impl Output {
    /// Counts a reception that failed.
    pub fn lost(&mut self, lost: Lost) {
        let counter = match lost {
            Lost::Deaf => &mut self.counters.no_receiver,
            Lost::Sending => &mut self.counters.receiver_sending,
            Lost::TooWide => &mut self.counters.too_wide,
            Lost::Collision => &mut self.counters.collisions,
            Lost::Noise => &mut self.counters.noise_errors,
        };
        *counter += 1;
    }

    /// Counts and tells an [`AirEvent::Received`].
    pub fn received(&mut self, heard: Heard) {
        self.counters.received += 1;
        self.events.push_back(AirEvent::Received(heard));
    }

    /// Counts and tells how a transmission ended.
    pub fn sent(
        &mut self,
        at: Instant,
        radio: RadioId,
        pending: &Pending,
        outcome: Outcome,
        ack_signal: Option<Dbm>,
    ) {
        let counter = match outcome {
            Outcome::Acknowledged => &mut self.counters.acknowledged,
            Outcome::NoAck => &mut self.counters.given_up,
            Outcome::Unacknowledged => &mut self.counters.unacknowledged,
            Outcome::Cancelled => &mut self.counters.cancelled,
        };
        *counter += 1;
        let (first, last) = pending.first_and_last_rate();
        self.events.push_back(AirEvent::Sent(Ended {
            radio,
            token: pending.transmission.token,
            outcome,
            attempts: pending.attempts,
            rts_failures: pending.rts_failures,
            rate: first,
            last_rate: last,
            airtime: pending.airtime,
            ack_signal,
            at,
        }));
    }
}

/// Something due. At the same moment, earlier variants come first: what ends makes room, answers
/// keep their SIFS, then radios that contend see the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// A frame is over.
    End(PpduId),
    /// A frame begins that was planned a SIFS ago.
    Start(PpduId),
    /// No answer began.
    Timeout(RadioId, u32),
    /// A back-off counter reaches zero on this channel.
    Access(ChannelId, u32),
}

/// What is to happen, in order of time.
#[derive(Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<(Instant, u8, u64, Due)>>,
    order: u64,
}

impl EventQueue {
    pub fn at(&mut self, time: Instant, due: Due) {
        self.order += 1;
        let rank = match due {
            Due::End(_) => 0,
            Due::Start(_) => 1,
            Due::Timeout(..) => 2,
            Due::Access(..) => 3,
        };
        self.heap.push(Reverse((time, rank, self.order, due)));
    }

    pub fn next(&self) -> Option<(Instant, Due)> {
        let Reverse((time, _, _, due)) = self.heap.peek()?;
        Some((*time, *due))
    }

    /// All that is planned, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Instant, Due)> + '_ {
        self.heap
            .iter()
            .map(|Reverse((time, _, _, due))| (*time, *due))
    }

    pub fn pop(&mut self) {
        self.heap.pop();
    }
}
