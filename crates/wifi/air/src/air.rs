//! The medium's outside: radios come, move, tune, send; time passes; events come out.

use std::collections::{BTreeSet, VecDeque};

use airlane_dot11::{AccessCategory, BufferPool, Channel, MacAddr, frame::Header};
use airlane_lane::{Instant, Micros};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::counters::ChannelAirtime;
use crate::medium::{Medium, Mpdu, Ppdus};
use crate::queue::Pending;
use crate::radio::{MediumId, Radio, Radios};
use crate::schedule::{Due, Schedule};
use crate::{
    AirConfig, AirCounters, AirEvent, AirMode, Outcome, Position, RadioConfig, RadioId, RealAir,
    Tap, Transmission,
};

/// Buffers for frames with the Retry bit: A-MPDUs of several stations may wait to be sent again.
const RETRY_BUFFERS: usize = 384;

/// A wireless medium with its radios. See the crate's documentation.
pub struct Air {
    pub(crate) config: AirConfig,
    pub(crate) real: RealAir,
    pub(crate) radios: Radios,
    pub(crate) media: Vec<Medium>,
    pub(crate) ppdus: Ppdus,
    pub(crate) schedule: Schedule,
    pub(crate) events: VecDeque<AirEvent>,
    pub(crate) counters: AirCounters,
    pub(crate) rng: SmallRng,
    pub(crate) retries: BufferPool,
    /// Who acknowledges which address.
    pub(crate) addresses: BTreeSet<(MacAddr, RadioId)>,
    pub(crate) tap: Option<Box<dyn Tap + Send>>,
    /// Never goes back.
    pub(crate) now: Instant,
    /// Lists of MPDUs, used again without allocation.
    pub(crate) spare: Vec<Vec<Mpdu>>,
    /// Frames that an exchange has left in their queue.
    pub(crate) kept: Vec<Pending>,
    /// Lists of radios that are walked while the medium changes under them.
    pub(crate) scratch: Vec<RadioId>,
    pub(crate) winners: Vec<RadioId>,
}

impl Air {
    /// An empty medium at time zero.
    pub fn new(config: AirConfig) -> Self {
        Self {
            config,
            real: match config.mode {
                AirMode::Real(real) => real,
                AirMode::Infinite => RealAir::default(),
            },
            radios: Radios::default(),
            media: Vec::new(),
            ppdus: Ppdus::default(),
            schedule: Schedule::default(),
            events: VecDeque::new(),
            counters: AirCounters::default(),
            rng: SmallRng::seed_from_u64(config.seed),
            retries: BufferPool::new(RETRY_BUFFERS),
            addresses: BTreeSet::new(),
            tap: None,
            now: Instant(0),
            spare: Vec::new(),
            kept: Vec::new(),
            scratch: Vec::new(),
            winners: Vec::new(),
        }
    }

    /// A new radio: deaf, without address.
    pub fn add_radio(&mut self, config: RadioConfig) -> RadioId {
        self.radios.add(config)
    }

    /// Takes a radio away. What it had queued is reported as cancelled; a frame of it that is on
    /// the air still ends there.
    pub fn remove_radio(&mut self, id: RadioId) {
        self.cancel_where(id, |_| true, true);
        self.leave_medium(id);
        if let Some(radio) = self.radios.remove(id) {
            for address in radio.addresses {
                self.addresses.remove(&(address, id));
            }
        }
    }

    /// Puts a radio elsewhere. Holds for frames that begin from now on, and for what is received
    /// from now on.
    pub fn move_radio(&mut self, id: RadioId, position: Position) {
        if let Some(radio) = self.radios.get_mut(id) {
            radio.position = position;
        }
    }

    /// The name that a radio was given.
    pub fn name(&self, id: RadioId) -> Option<&str> {
        Some(&self.radios.get(id)?.name)
    }

    /// What a radio hears, and where it sends, from now on; `None`: nothing. A frame that began
    /// before is not heard, unless only the width changes. At 40 MHz a frame at a wide rate takes both
    /// halves, and goes out at the narrow rate when the other half is busy.
    pub fn tune(&mut self, now: Instant, id: RadioId, channel: Option<Channel>) {
        self.run_until(now);
        let second = channel.and_then(Channel::secondary);
        let second = second.map(|secondary| self.medium_of(secondary));
        let Some(radio) = self.radios.get_mut(id) else {
            return;
        };
        radio.second = second;
        let primary = |channel: Option<Channel>| channel.map(Channel::primary);
        let before = radio.tuned.map(|(_, channel)| channel);
        if let (Some((_, current)), Some(channel)) = (&mut radio.tuned, channel)
            && current.primary() == channel.primary()
        {
            *current = channel;
            return;
        }
        if primary(before) != primary(channel) {
            self.leave_medium(id);
        }
        if let Some(channel) = channel {
            self.join_medium(id, channel);
        }
    }

    /// The receiver addresses that a radio acknowledges and takes unicast frames for. Replaces
    /// earlier ones; group addresses are ignored, everyone hears those.
    pub fn set_addresses(&mut self, id: RadioId, addresses: &[MacAddr]) {
        let Some(radio) = self.radios.get_mut(id) else {
            return;
        };
        for old in radio.addresses.drain(..) {
            self.addresses.remove(&(old, id));
        }
        let stations = addresses.iter().filter(|address| address.is_station());
        radio.addresses.extend(stations);
        for address in &radio.addresses {
            self.addresses.insert((*address, id));
        }
    }

    /// Hears unicast frames to anyone. Control frames that the medium makes are for the tap alone.
    pub fn set_promiscuous(&mut self, id: RadioId, promiscuous: bool) {
        let Some(radio) = self.radios.get_mut(id) else {
            return;
        };
        radio.promiscuous = promiscuous;
        let medium = radio.medium();
        if let Some(medium) = medium.and_then(|id| self.media.get_mut(id.0)) {
            medium.monitors.retain(|other| *other != id);
            if promiscuous {
                medium.monitors.push(id);
            }
        }
    }

    /// Puts a frame at the end of its queue. Its end comes as [`AirEvent::Sent`].
    pub fn transmit(&mut self, now: Instant, id: RadioId, transmission: Transmission) {
        self.run_until(now);
        if self.radios.get(id).is_none() {
            self.counters.removed_radio += 1;
            return;
        }
        self.counters.offered += 1;
        let header = Header::parse(&transmission.frame);
        let pending = Pending::new(transmission, header.ok());
        if header.is_err() {
            self.counters.malformed += 1;
            self.report(id, &pending, Outcome::Cancelled, None);
            return;
        }
        match self.config.mode {
            AirMode::Infinite => self.deliver_at_once(id, pending),
            AirMode::Real(_) => self.enqueue(id, pending),
        }
    }

    /// How many frames wait in a queue, the one on the air included.
    pub fn queued(&self, id: RadioId, category: AccessCategory) -> usize {
        let queue = |radio: &Radio| radio.queue(category).pending.len();
        self.radios.get(id).map_or(0, queue)
    }

    /// Drops the queued transmissions whose token `matches`; each is reported as cancelled. The one
    /// in the middle of its frame exchange stays.
    pub fn cancel(&mut self, now: Instant, id: RadioId, matches: impl FnMut(u64) -> bool) {
        self.run_until(now);
        self.cancel_where(id, matches, false);
    }

    /// Runs everything due until `now`, each at its own time, and says when to come back: before that,
    /// no event can come out. `None`: none can, unless something more goes in. Called late, nothing is
    /// hurried or reordered.
    pub fn step(&mut self, now: Instant) -> Option<Instant> {
        let due = self.schedule.next().is_some_and(|(time, _)| time <= now);
        if due && let Some(expected) = self.horizon() {
            let lag = now.saturating_since(expected);
            self.counters.lag_max = self.counters.lag_max.max(lag);
        }
        self.run_until(now);
        self.horizon()
    }

    /// The oldest event not yet taken.
    pub fn next_event(&mut self) -> Option<AirEvent> {
        self.events.pop_front()
    }

    /// From now on `tap` sees every frame on the air. An infinite medium shows none.
    pub fn set_tap(&mut self, tap: Box<dyn Tap + Send>) {
        self.tap = Some(tap);
    }

    /// Nobody listens any more.
    pub fn take_tap(&mut self) -> Option<Box<dyn Tap + Send>> {
        self.tap.take()
    }

    /// Totals so far.
    pub fn counters(&self) -> &AirCounters {
        &self.counters
    }

    fn run_until(&mut self, now: Instant) {
        while let Some((time, due)) = self.schedule.next()
            && time <= now
        {
            self.schedule.pop();
            self.now = self.now.max(time);
            self.happen(due);
        }
        self.now = self.now.max(now);
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::End(ppdu) => self.end(ppdu),
            Due::Start(ppdu) => self.start_planned(ppdu),
            Due::Timeout(radio, serial) => self.time_out(radio, serial),
            Due::Access(medium, serial) => self.access(medium, serial),
        }
    }

    /// The medium of this primary channel; made when the first radio tunes to it.
    pub(crate) fn medium_of(&mut self, channel: Channel) -> MediumId {
        let primary = channel.primary();
        let known = self.media.iter().position(|m| m.primary == primary);
        MediumId(known.unwrap_or_else(|| {
            self.media.push(Medium::new(primary));
            self.counters.channels.push(ChannelAirtime {
                channel: primary,
                busy: Micros(0),
            });
            self.media.len() - 1
        }))
    }

    fn cancel_where(
        &mut self,
        id: RadioId,
        mut matches: impl FnMut(u64) -> bool,
        even_on_air: bool,
    ) {
        for category in AccessCategory::ALL {
            self.cancel_in(id, category, &mut matches, even_on_air);
        }
    }

    fn cancel_in(
        &mut self,
        id: RadioId,
        category: AccessCategory,
        matches: &mut impl FnMut(u64) -> bool,
        even_on_air: bool,
    ) {
        let waiting = self.queued(id, category);
        for at in 0..waiting {
            let Some(radio) = self.radios.get_mut(id) else {
                return;
            };
            let queue = radio.queue_mut(category);
            let Some(pending) = queue.pending.pop_front() else {
                return;
            };
            let on_air = pending.aboard && !even_on_air;
            if !on_air && matches(pending.transmission.token) {
                if at == 0 {
                    queue.forget_window();
                }
                self.report(id, &pending, Outcome::Cancelled, None);
            } else {
                queue.pending.push_back(pending);
            }
        }
        self.head_changed(id, category);
    }

    /// Counts and tells how a transmission ended.
    pub(crate) fn report(
        &mut self,
        radio: RadioId,
        pending: &Pending,
        outcome: Outcome,
        ack_signal: Option<airlane_dot11::Dbm>,
    ) {
        let counter = match outcome {
            Outcome::Acknowledged => &mut self.counters.acknowledged,
            Outcome::NoAck => &mut self.counters.given_up,
            Outcome::Unacknowledged => &mut self.counters.unacknowledged,
            Outcome::Cancelled => &mut self.counters.cancelled,
        };
        *counter += 1;
        let (first, last) = pending.used.unwrap_or_else(|| {
            let rate = pending.next_rate();
            (rate, rate)
        });
        self.events.push_back(AirEvent::Sent {
            radio,
            token: pending.transmission.token,
            outcome,
            attempts: pending.attempts,
            rts_failures: pending.rts_failures,
            rate: first,
            last_rate: last,
            airtime: pending.airtime,
            ack_signal,
            at: self.now,
        });
    }
}
