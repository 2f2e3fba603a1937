//! The medium's outside: radios come, move, tune, send; time passes; events come out. Wires the
//! parts: channel access says who sends, exchanges say what, receivers say who hears it.

use airlane_dot11::{AccessCategory, Channel, MacAddr, frame::Header};
use airlane_lane::Instant;

use crate::exchange::{Exchanges, Next};
use crate::horizon::horizon;
use crate::medium::{Due, Medium};
use crate::queue::Pending;
use crate::receive::deliver_at_once;
use crate::transmission::{ChannelId, PpduId};
use crate::{
    AirConfig, AirCounters, AirEvent, AirMode, Outcome, Position, RadioConfig, RadioId, Tap,
    Transmission, contend,
};

/// A wireless medium with its radios. See the crate's documentation.
///
/// ```
/// use airlane_air::{Air, AirConfig, AirEvent, Ended, Outcome, Position, RadioConfig, Transmission};
/// use airlane_dot11::frame::{FrameControl, FrameKind, three_address_header};
/// use airlane_dot11::{Band, Buffer, Channel, Dbm, MacAddr, Rate};
/// use airlane_lane::Instant;
///
/// let mut air = Air::new(AirConfig::default());
/// let channel = Channel::new(Band::Ghz5, 36)?;
/// let mut radio = |name: &str, address| {
///     let (position, tx_power) = (Position::default(), Dbm(15.0));
///     let name = name.to_owned();
///     let id = air.add_radio(RadioConfig { name, position, tx_power });
///     air.tune(Instant(0), id, Some(channel));
///     air.set_addresses(id, &[address]);
///     id
/// };
/// let (ap, station) = (MacAddr([2, 0, 0, 0, 1, 0]), MacAddr([2, 0, 0, 0, 0, 1]));
/// radio("access point", ap);
/// let sender = radio("station", station);
///
/// let control = FrameKind::NULL.with(FrameControl::TO_DS);
/// let frame = three_address_header(control, [ap, station, ap], 0);
/// let frame = Buffer::from_slice(&frame).ok_or("a buffer holds any header")?;
/// air.transmit(Instant(0), sender, Transmission::new(7, frame, channel, Rate::OFDM_6));
///
/// // Nothing happens before the time that `step` names.
/// let mut now = Instant(0);
/// while let Some(next) = air.step(now) {
///     now = next;
/// }
/// let events: Vec<AirEvent> = std::iter::from_fn(|| air.next_event()).collect();
/// assert!(matches!(
///     events[..],
///     [
///         AirEvent::Received(_),
///         AirEvent::Sent(Ended { token: 7, outcome: Outcome::Acknowledged, .. }),
///     ]
/// ));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Air {
    mode: AirMode,
    medium: Medium,
    exchanges: Exchanges,
    tap: Option<Box<dyn Tap + Send>>,
    /// Radios that send at the same moment, used again without allocation.
    winners: Vec<RadioId>,
}

impl Air {
    /// An empty medium at time zero.
    pub fn new(config: AirConfig) -> Self {
        Self {
            mode: config.mode,
            medium: Medium::new(&config),
            exchanges: Exchanges::new(),
            tap: None,
            winners: Vec::new(),
        }
    }

    /// A new radio: deaf, without address.
    pub fn add_radio(&mut self, config: RadioConfig) -> RadioId {
        self.medium.space.radios.add(config)
    }

    /// Takes a radio away. What it had queued is reported as cancelled; a frame of it that is on
    /// the air still ends there.
    pub fn remove_radio(&mut self, id: RadioId) {
        if self.medium.space.radios.find(id).is_none() {
            return;
        }
        self.cancel_where(id, |_| true, true);
        contend::leave_channel(&mut self.medium, id);
        let space = &mut self.medium.space;
        if let Some(radio) = space.radios.remove(id) {
            for address in radio.addresses {
                space.addresses.remove(address, id);
            }
        }
    }

    /// Puts a radio elsewhere. Holds for frames that begin from now on, and for what is received
    /// from now on.
    pub fn move_radio(&mut self, id: RadioId, position: Position) {
        if let Some(radio) = self.medium.space.radios.find_mut(id) {
            radio.position = position;
        }
    }

    /// The name that a radio was given.
    pub fn name(&self, id: RadioId) -> Option<&str> {
        Some(&self.medium.space.radios.find(id)?.name)
    }

    /// What a radio hears, and where it sends, from now on; `None`: nothing. A frame that began
    /// before is not heard, unless only the width changes. At 40 MHz a frame at a 40 MHz rate takes
    /// both channels, and goes out at the same rate in 20 MHz when the secondary one is busy.
    pub fn tune(&mut self, now: Instant, id: RadioId, channel: Option<Channel>) {
        self.run_until(now);
        let secondary = channel.and_then(Channel::secondary);
        let secondary = secondary.map(|secondary| self.medium.channel_of(secondary));
        let Some(radio) = self.medium.space.radios.find_mut(id) else {
            return;
        };
        radio.secondary = secondary;
        if let (Some((_, current)), Some(channel)) = (&mut radio.tuned, channel)
            && current.primary() == channel.primary()
        {
            *current = channel;
            return;
        }
        if radio.tuned.is_some() {
            contend::leave_channel(&mut self.medium, id);
        }
        if let Some(channel) = channel {
            contend::join_channel(&mut self.medium, id, channel);
        }
    }

    /// The receiver addresses that a radio acknowledges and takes unicast frames for. Replaces
    /// earlier ones; group addresses are ignored, every radio hears those.
    pub fn set_addresses(&mut self, id: RadioId, addresses: &[MacAddr]) {
        let space = &mut self.medium.space;
        let Some(radio) = space.radios.find_mut(id) else {
            return;
        };
        for old in radio.addresses.drain(..) {
            space.addresses.remove(old, id);
        }
        let stations = addresses.iter().filter(|address| address.is_station());
        radio.addresses.extend(stations);
        for address in &radio.addresses {
            space.addresses.insert(*address, id);
        }
    }

    /// Hears unicast frames to any station. Control frames that the medium makes are for the tap
    /// alone.
    pub fn set_promiscuous(&mut self, id: RadioId, promiscuous: bool) {
        let space = &mut self.medium.space;
        let Some(radio) = space.radios.find_mut(id) else {
            return;
        };
        radio.promiscuous = promiscuous;
        if let Some(channel) = radio.channel() {
            let monitors = &mut space.channels[channel].monitors;
            monitors.retain(|other| *other != id);
            if promiscuous {
                monitors.push(id);
            }
        }
    }

    /// Puts a frame at the end of its queue. Its end comes as [`AirEvent::Sent`].
    pub fn transmit(&mut self, now: Instant, id: RadioId, transmission: Transmission) {
        self.run_until(now);
        let output = &mut self.medium.output;
        if self.medium.space.radios.find(id).is_none() {
            output.counters.removed_radio += 1;
            return;
        }
        output.counters.offered += 1;
        let header = Header::parse(&transmission.frame);
        let pending = Pending::new(transmission, header.ok());
        if header.is_err() {
            output.counters.malformed += 1;
            output.sent(self.medium.now, id, &pending, Outcome::Cancelled, None);
            return;
        }
        match self.mode {
            AirMode::Infinite => deliver_at_once(&mut self.medium, id, pending),
            AirMode::Real(_) => contend::enqueue(&mut self.medium, id, pending),
        }
    }

    /// How many frames wait in a queue, the one on the air included.
    pub fn queued(&self, id: RadioId, category: AccessCategory) -> usize {
        let radio = self.medium.space.radios.find(id);
        radio.map_or(0, |radio| radio.queues[category].pending.len())
    }

    /// Drops the queued transmissions whose token `matches`; each is reported as cancelled. The one
    /// in the middle of its frame exchange stays.
    pub fn cancel(&mut self, now: Instant, id: RadioId, matches: impl FnMut(u64) -> bool) {
        self.run_until(now);
        if self.medium.space.radios.find(id).is_some() {
            self.cancel_where(id, matches, false);
        }
    }

    /// Runs everything due until `now`, each at its own time, and says when to come back: before that,
    /// no event can come out. `None`: none can, unless something more goes in. Called late, nothing is
    /// hurried or reordered.
    pub fn step(&mut self, now: Instant) -> Option<Instant> {
        let due = self.medium.planned.next();
        if due.is_some_and(|(time, _)| time <= now)
            && let Some(expected) = horizon(&self.medium)
        {
            let lag = now.saturating_since(expected);
            let counters = &mut self.medium.output.counters;
            counters.lag_max = counters.lag_max.max(lag);
        }
        self.run_until(now);
        horizon(&self.medium)
    }

    /// The oldest event not yet taken.
    pub fn next_event(&mut self) -> Option<AirEvent> {
        self.medium.output.events.pop_front()
    }

    /// From now on `tap` sees every frame on the air. An infinite medium shows none.
    pub fn set_tap(&mut self, tap: Box<dyn Tap + Send>) {
        self.tap = Some(tap);
    }

    /// Takes the tap away: frames are shown to none any more.
    pub fn take_tap(&mut self) -> Option<Box<dyn Tap + Send>> {
        self.tap.take()
    }

    /// Totals since the medium was made.
    pub fn counters(&self) -> &AirCounters {
        &self.medium.output.counters
    }

    fn run_until(&mut self, now: Instant) {
        while let Some((time, due)) = self.medium.planned.next()
            && time <= now
        {
            self.medium.planned.pop();
            self.medium.now = self.medium.now.max(time);
            self.happen(due);
        }
        self.medium.now = self.medium.now.max(now);
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::End(ppdu) => self.end(ppdu),
            Due::Start(ppdu) => {
                let next = self.exchanges.start_planned(&mut self.medium, ppdu);
                self.follow(next);
            }
            Due::Timeout(radio, serial) => {
                let next = self.exchanges.time_out(&mut self.medium, radio, serial);
                self.follow(next);
            }
            Due::Access(channel, serial) => self.access(channel, serial),
        }
    }

    fn follow(&mut self, next: Next) {
        match next {
            Next::Wait => {}
            Next::Begin(ppdu) => self.begin(ppdu),
            Next::Contend(radio) => contend::rejoin(&mut self.medium, radio),
        }
    }

    /// Puts a frame on the air.
    fn begin(&mut self, id: PpduId) {
        let mut ppdu = self.medium.space.ppdus.remove(id);
        let channels = ppdu.channels();
        self.medium.space.overlap(&mut ppdu);
        contend::carrier_rises(&mut self.medium, &ppdu);
        self.medium.put_on_air(ppdu);
        for channel in channels {
            contend::plan(&mut self.medium, channel);
        }
    }

    /// A frame is over: the tap sees it, its receivers hear it, contenders count on.
    fn end(&mut self, id: PpduId) {
        let ppdu = self.medium.take_off_air(id);
        if let Some(tap) = &mut self.tap {
            crate::tap::show(tap.as_mut(), &ppdu);
        }
        let next = self.exchanges.over(&mut self.medium, &ppdu);
        self.follow(next);
        contend::carrier_falls(&mut self.medium, &ppdu);
        self.exchanges.reuse(ppdu.content);
    }

    /// Back-off counters have reached zero: their radios send.
    fn access(&mut self, channel: ChannelId, serial: u32) {
        let mut winners = std::mem::take(&mut self.winners);
        if contend::winners(&mut self.medium, channel, serial, &mut winners) {
            for radio in winners.drain(..) {
                self.send(radio);
            }
            contend::plan(&mut self.medium, channel);
        }
        self.winners = winners;
    }

    fn send(&mut self, radio: RadioId) {
        if let Some(category) = contend::win(&mut self.medium, radio) {
            let next = self.exchanges.begin(&mut self.medium, radio, category);
            self.follow(next);
        }
    }

    fn cancel_where(
        &mut self,
        id: RadioId,
        mut matches: impl FnMut(u64) -> bool,
        even_on_air: bool,
    ) {
        for category in AccessCategory::ALL {
            contend::cancel(&mut self.medium, id, category, &mut matches, even_on_air);
        }
    }
}
