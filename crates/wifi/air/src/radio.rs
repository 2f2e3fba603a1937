//! The radios of a medium: who they are, where, tuned to what, and how far each is in sending.

use airlane_dot11::{AccessCategory, Channel, Dbm, MacAddr};
use airlane_lane::Instant;

use crate::aggregate::Load;
use crate::queue::Queue;

/// Names one radio of one medium. Never used again for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RadioId {
    index: u32,
    generation: u32,
}

impl RadioId {
    /// Between no radio and all: bounds of a search.
    pub(crate) const LOWEST: Self = Self {
        index: 0,
        generation: 0,
    };
}

/// A place, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Position {
    pub x: f32,
    pub y: f32,
    pub z: f32,
}

impl Position {
    /// Metres to `other`.
    pub fn distance(self, other: Self) -> f32 {
        let (x, y, z) = (self.x - other.x, self.y - other.y, self.z - other.z);
        (x * x + y * y + z * z).sqrt()
    }
}

/// A new radio.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioConfig {
    /// For people.
    pub name: String,
    /// Where it stands.
    pub position: Position,
    /// Transmit power.
    pub tx_power: Dbm,
}

/// Index into the list of media, one per primary channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MediumId(pub usize);

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
    pub load: Load,
}

/// What a radio knows of its medium while it has something to send.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sense {
    /// On the medium's list of contenders: kept up to date. Otherwise the rest is stale.
    pub contending: bool,
    /// Hears someone.
    pub busy: bool,
    /// Back-off counters are running.
    pub counting: bool,
    /// From when its AIFS counts: since it hears nobody, or later where the standard says so (a frame
    /// that it could not read, an answer that did not come).
    pub idle_since: Instant,
    /// Until when others have reserved the medium.
    pub nav_until: Instant,
    /// When its next back-off counter reaches zero.
    pub access_at: Option<Instant>,
}

impl Sense {
    /// Since when, or from when, neither signal nor reservation holds it back.
    pub fn clear_from(&self) -> Instant {
        self.idle_since.max(self.nav_until)
    }
}

pub(crate) struct Radio {
    pub id: RadioId,
    pub name: String,
    pub position: Position,
    pub tx_power: Dbm,
    pub tuned: Option<(MediumId, Channel)>,
    /// The other half of a 40 MHz channel.
    pub second: Option<MediumId>,
    /// When it came to this primary channel.
    pub tuned_since: Instant,
    pub addresses: Vec<MacAddr>,
    pub promiscuous: bool,
    pub queues: [Queue; 4],
    pub sense: Sense,
    pub exchange: Option<Exchange>,
    /// Owes or sends a CTS or ACK.
    pub responding: bool,
    pub serial: u32,
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
            second: None,
            tuned_since: Instant(0),
            addresses: Vec::new(),
            promiscuous: false,
            queues: Default::default(),
            sense: Sense::default(),
            exchange: None,
            responding: false,
            serial: 0,
            sent_until: Instant(0),
        }
    }

    pub fn queue(&self, category: AccessCategory) -> &Queue {
        let [background, best_effort, video, voice] = &self.queues;
        match category {
            AccessCategory::Background => background,
            AccessCategory::BestEffort => best_effort,
            AccessCategory::Video => video,
            AccessCategory::Voice => voice,
        }
    }

    pub fn queue_mut(&mut self, category: AccessCategory) -> &mut Queue {
        let [background, best_effort, video, voice] = &mut self.queues;
        match category {
            AccessCategory::Background => background,
            AccessCategory::BestEffort => best_effort,
            AccessCategory::Video => video,
            AccessCategory::Voice => voice,
        }
    }

    pub fn medium(&self) -> Option<MediumId> {
        self.tuned.map(|(medium, _)| medium)
    }

    /// In the middle of its own or another's frame exchange.
    pub fn engaged(&self) -> bool {
        self.exchange.is_some() || self.responding
    }

    /// A number for a new phase, by which time-outs of earlier ones are told.
    pub fn next_serial(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }
}

/// All radios.
#[derive(Default)]
pub(crate) struct Radios {
    slots: Vec<(u32, Option<Radio>)>,
    free: Vec<u32>,
}

impl Radios {
    pub fn add(&mut self, config: RadioConfig) -> RadioId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() as u32 - 1
        });
        let mut id = RadioId {
            index,
            generation: 0,
        };
        if let Some((generation, slot)) = self.slots.get_mut(index as usize) {
            *generation = generation.wrapping_add(1);
            id.generation = *generation;
            *slot = Some(Radio::new(id, config));
        }
        id
    }

    pub fn remove(&mut self, id: RadioId) -> Option<Radio> {
        self.get(id)?;
        let (_, slot) = self.slots.get_mut(id.index as usize)?;
        self.free.push(id.index);
        slot.take()
    }

    pub fn get(&self, id: RadioId) -> Option<&Radio> {
        let (_, slot) = self.slots.get(id.index as usize)?;
        slot.as_ref().filter(|radio| radio.id == id)
    }

    pub fn get_mut(&mut self, id: RadioId) -> Option<&mut Radio> {
        let (_, slot) = self.slots.get_mut(id.index as usize)?;
        slot.as_mut().filter(|radio| radio.id == id)
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
        assert!(radios.get(first).is_none() && radios.remove(first).is_none());
        assert!(radios.get(second).is_some());
    }
}
