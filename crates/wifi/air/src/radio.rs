//! The radios of a medium: where each is, tuned to what, how far it is in sending, and which addresses it acknowledges.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::{Index, IndexMut};

use airlane_dot11::airtime::slot;
use airlane_dot11::{AccessCategory, Band, Channel, Dbm, MacAddr, PerAc, Width};
use airlane_lane::{Instant, Micros};

use crate::aggregate::PpduPlan;
use crate::ppdu::Source;
use crate::queue::{Pending, Queue};
use crate::transmission::ChannelId;
use crate::{Position, RadioConfig, RadioId};

/// Where in its frame exchange a sending radio is.
///
/// Legal edges: `Rts -> AwaitCts -> Data`, `CtsToSelf -> Data`, `Data -> AwaitAck`, and from every
/// one out of the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Rts,
    AwaitCts,
    CtsToSelf,
    Data,
    AwaitAck,
}

/// One attempt to send the head of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub category: AccessCategory,
    pub phase: Phase,
    pub started: Instant,
    /// End of its last frame so far.
    pub ended: Instant,
    /// Time-outs of earlier phases carry an older number.
    pub serial: u32,
    /// What is sent in it.
    pub plan: PpduPlan,
}

/// What a radio knows of its channel while it has something to send.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sense {
    /// On the channel's list of contenders: kept up to date. Otherwise the rest is stale.
    pub contending: bool,
    /// Hears a frame.
    pub busy: bool,
    /// Back-off counters are running.
    pub counting: bool,
    /// From when its AIFS counts: since it hears no frame, or later where the standard says so (a
    /// frame that it could not read, an answer that did not come).
    pub idle_since: Instant,
    /// Until when other stations have reserved the medium.
    pub nav_until: Instant,
    /// When its next back-off counter reaches zero.
    pub access_at: Option<Instant>,
}

impl Sense {
    /// Since when, or from when, neither signal nor reservation holds the radio back.
    pub fn clear_from(&self) -> Instant {
        self.idle_since.max(self.nav_until)
    }
}

pub(crate) struct Radio {
    pub id: RadioId,
    pub name: String,
    pub position: Position,
    pub tx_power: Dbm,
    pub tuned: Option<(ChannelId, Channel)>,
    /// The secondary channel, when it is tuned to 40 MHz.
    pub secondary: Option<ChannelId>,
    /// When it came to this primary channel.
    pub tuned_since: Instant,
    pub addresses: Vec<MacAddr>,
    pub promiscuous: bool,
    pub queues: PerAc<Queue>,
    pub sense: Sense,
    pub exchange: Option<Exchange>,
    /// Owes or sends a CTS or ACK.
    pub responding: bool,
    serial: u32,
    /// End of the last frame that it sent.
    pub sent_until: Instant,
}

impl Radio {
    fn new(id: RadioId, config: RadioConfig) -> Self {
        Self {
            id,
            name: config.name,
            position: config.position,
            tx_power: config.tx_power,
            tuned: None,
            secondary: None,
            tuned_since: Instant(0),
            addresses: Vec::new(),
            promiscuous: false,
            queues: PerAc::default(),
            sense: Sense::default(),
            exchange: None,
            responding: false,
            serial: 0,
            sent_until: Instant(0),
        }
    }

    pub fn channel(&self) -> Option<ChannelId> {
        self.tuned.map(|(channel, _)| channel)
    }

    /// True while it is tuned to this primary 20 MHz.
    pub fn is_on(&self, primary: Channel) -> bool {
        self.tuned
            .is_some_and(|(_, tuned)| tuned.primary() == primary.primary())
    }

    /// True when it is tuned to 40 MHz: at 20 MHz it cannot read a 40 MHz frame.
    pub fn is_ht40(&self) -> bool {
        self.tuned
            .is_some_and(|(_, channel)| channel.width() != Width::Mhz20)
    }

    /// This radio as a transmitter, at its own power.
    pub fn source(&self) -> Source {
        Source {
            radio: self.id,
            position: self.position,
            power: self.tx_power,
        }
    }

    /// In the middle of its own or another's frame exchange.
    pub fn engaged(&self) -> bool {
        self.exchange.is_some() || self.responding
    }

    /// The first frame of the queue whose exchange is going on.
    pub fn exchanged(&self) -> Option<&Pending> {
        let exchange = self.exchange?;
        self.queues[exchange.category].pending.front()
    }

    /// How long a slot lasts in the exchange that is going on.
    pub fn slot(&self, band: Band) -> Micros {
        let head = self.exchanged();
        slot(band, head.is_none_or(|head| head.transmission.short_slot))
    }

    /// A number for a new phase, by which time-outs of earlier ones are told.
    pub fn next_serial(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }

    /// True while a queue has something for the channel that it is tuned to.
    pub fn contends(&self, channel: Channel) -> bool {
        self.queues.values().any(|queue| queue.contends(channel))
    }

    /// Lets the counters run, if nothing holds them.
    pub fn start_counting(&mut self, now: Instant) {
        if !self.sense.contending || self.sense.busy || self.engaged() || self.sense.counting {
            return;
        }
        self.sense.counting = true;
        for queue in self.queues.values_mut() {
            queue.resume(now);
        }
        self.plan_access();
    }

    /// Holds the counters where they are.
    pub fn stop_counting(&mut self, now: Instant) {
        let clear_from = self.sense.clear_from();
        if std::mem::take(&mut self.sense.counting) {
            for queue in self.queues.values_mut() {
                queue.freeze(now, clear_from);
            }
        }
        self.sense.access_at = None;
    }

    /// Works out when the first of the four counters reaches zero.
    pub fn plan_access(&mut self) {
        let clear_from = self.sense.clear_from();
        let counting = self.sense.counting;
        let queues = self.queues.values();
        let times = queues.filter_map(|queue| queue.access_at(clear_from));
        self.sense.access_at = times.min().filter(|_| counting);
    }
}

/// All radios. An ID that a caller keeps, or a frame on the air, may name one that was removed: those ask
/// [`Radios::find`]. What is taken off every list when a radio goes (its channel's lists, its addresses)
/// and what was found a moment ago is looked up by index, which stops when it is missing.
#[derive(Default)]
pub(crate) struct Radios {
    slots: Vec<Slot>,
    /// Slots without a radio.
    free: Vec<u32>,
}

#[derive(Default)]
struct Slot {
    /// Of the radio that is or was here last, from 1; each has another.
    generation: u32,
    radio: Option<Radio>,
}

impl Radios {
    pub fn add(&mut self, config: RadioConfig) -> RadioId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 radios")
        });
        let slot = self.slots.get_mut(index as usize).expect("a free slot");
        slot.generation = slot.generation.wrapping_add(1);
        let id = RadioId {
            index,
            generation: slot.generation,
        };
        slot.radio = Some(Radio::new(id, config));
        id
    }

    pub fn remove(&mut self, id: RadioId) -> Option<Radio> {
        self.find(id)?;
        self.free.push(id.index);
        self.slots.get_mut(id.index as usize)?.radio.take()
    }

    pub fn find(&self, id: RadioId) -> Option<&Radio> {
        let slot = self.slots.get(id.index as usize)?;
        slot.radio.as_ref().filter(|radio| radio.id == id)
    }

    pub fn find_mut(&mut self, id: RadioId) -> Option<&mut Radio> {
        let slot = self.slots.get_mut(id.index as usize)?;
        slot.radio.as_mut().filter(|radio| radio.id == id)
    }
}

impl Index<RadioId> for Radios {
    type Output = Radio;

    #[track_caller]
    fn index(&self, id: RadioId) -> &Radio {
        match self.find(id) {
            Some(radio) => radio,
            None => absent(id),
        }
    }
}

impl IndexMut<RadioId> for Radios {
    #[track_caller]
    fn index_mut(&mut self, id: RadioId) -> &mut Radio {
        match self.find_mut(id) {
            Some(radio) => radio,
            None => absent(id),
        }
    }
}

/// A list names a radio that is gone: it was not taken off the list when it went.
#[cold]
#[track_caller]
fn absent(id: RadioId) -> ! {
    panic!("{id:?} was removed, and is still on a list")
}

/// Pairs of an address and a radio that acknowledges it, ordered: the same address may have several.
#[derive(Default)]
pub(crate) struct Addresses(BTreeSet<(MacAddr, RadioId)>);

impl Addresses {
    pub fn insert(&mut self, address: MacAddr, radio: RadioId) {
        self.0.insert((address, radio));
    }

    pub fn remove(&mut self, address: MacAddr, radio: RadioId) {
        self.0.remove(&(address, radio));
    }

    pub fn has(&self, address: MacAddr, radio: RadioId) -> bool {
        self.0.contains(&(address, radio))
    }

    /// Radios that have this address, in order.
    pub fn owners(&self, address: MacAddr) -> impl Iterator<Item = RadioId> + '_ {
        let range = (Excluded((address, RadioId::LOWEST)), Unbounded);
        let radios = self.0.range(range);
        radios
            .take_while(move |(other, _)| *other == address)
            .map(|(_, id)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> RadioConfig {
        RadioConfig {
            name: "r".into(),
            position: Position::default(),
            tx_power: Dbm(15.0),
        }
    }

    #[test]
    fn a_removed_radio_is_not_its_successor() {
        let mut radios = Radios::default();
        let first = radios.add(config());
        assert!(radios.remove(first).is_some());
        let second = radios.add(config());
        assert_ne!(first, second);
        assert!(radios.find(first).is_none() && radios.remove(first).is_none());
        assert!(radios.find(second).is_some());
    }
}
