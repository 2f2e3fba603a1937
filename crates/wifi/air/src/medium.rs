//! One primary channel: who is tuned to it, who contends for it, what is on it.

use std::collections::VecDeque;

use airlane_dot11::{Buffer, Channel, Dbm, MacAddr, Rate, frame};
use airlane_lane::{Instant, Micros};
use arrayvec::ArrayVec;

use crate::queue::Stream;
use crate::radio::MediumId;
use crate::record::Record;
use crate::{Position, RadioId};

/// Index of a frame on the air or about to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PpduId(pub usize);

/// What a PPDU carries.
#[derive(Debug)]
pub(crate) enum Content {
    Rts,
    CtsToSelf,
    /// Answers the RTS of this radio.
    Cts(RadioId),
    /// Answers the data of this radio.
    Ack(RadioId),
    /// Answers the A-MPDU of this radio.
    BlockAck(RadioId, Record),
    /// One MPDU, or an A-MPDU of several.
    Data {
        mpdus: Vec<Mpdu>,
        acknowledge: bool,
    },
}

/// One MPDU on the air.
#[derive(Debug)]
pub(crate) struct Mpdu {
    pub frame: Buffer,
    /// TID and sequence number, where it may stand in a BlockAck.
    pub stream: Option<Stream>,
}

/// A transmitter: where and how strong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub radio: RadioId,
    pub position: Position,
    pub power: Dbm,
}

/// Half the power, in dB.
pub(crate) const HALF_DB: f32 = 3.01;

/// Frames that may overlap one frame before it counts as lost everywhere.
const OVERLAPS: usize = 6;

/// One frame on the air.
#[derive(Debug)]
pub(crate) struct Ppdu {
    pub source: Source,
    pub medium: MediumId,
    /// Where its other half is, when it is 40 MHz wide.
    pub second: Option<MediumId>,
    pub channel: Channel,
    pub rate: Rate,
    pub content: Content,
    pub receiver: MacAddr,
    pub transmitter: Option<MacAddr>,
    /// Bytes, FCS included.
    pub octets: usize,
    pub start: Instant,
    pub end: Instant,
    /// How long the medium stays reserved after the end.
    pub nav: Micros,
    pub overlaps: ArrayVec<Source, OVERLAPS>,
    /// More overlaps than there is room for.
    pub jammed: bool,
}

impl Ppdu {
    /// Bytes of one of its MPDUs: what an error destroys.
    pub fn mpdu_octets(&self) -> usize {
        match &self.content {
            Content::Data { mpdus, .. } => {
                let first = mpdus.first().map_or(0, |mpdu| mpdu.frame.len());
                first + frame::FCS
            }
            _ => self.octets,
        }
    }

    /// The 20 MHz channels that it is on.
    pub fn media(&self) -> impl Iterator<Item = MediumId> + use<> {
        std::iter::once(self.medium).chain(self.second)
    }

    pub fn overlapped_by(&mut self, other: &Self) {
        let power = other.power_beside(self.second.is_some());
        let source = Source {
            power,
            ..other.source
        };
        self.jammed |= self.overlaps.try_push(source).is_err();
    }

    /// What of its power falls into another frame: half of a wide one into a narrow one.
    fn power_beside(&self, wide: bool) -> Dbm {
        if self.second.is_some() && !wide {
            Dbm(self.source.power.0 - HALF_DB)
        } else {
            self.source.power
        }
    }
}

/// Slab of frames, used again without allocation.
#[derive(Default)]
pub(crate) struct Ppdus {
    slots: Vec<Option<Ppdu>>,
    free: Vec<PpduId>,
}

impl Ppdus {
    pub fn insert(&mut self, ppdu: Ppdu) -> PpduId {
        if let Some(id) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(id.0)
        {
            *slot = Some(ppdu);
            return id;
        }
        self.slots.push(Some(ppdu));
        PpduId(self.slots.len() - 1)
    }

    pub fn get(&self, id: PpduId) -> Option<&Ppdu> {
        self.slots.get(id.0)?.as_ref()
    }

    pub fn get_mut(&mut self, id: PpduId) -> Option<&mut Ppdu> {
        self.slots.get_mut(id.0)?.as_mut()
    }

    pub fn remove(&mut self, id: PpduId) -> Option<Ppdu> {
        let ppdu = self.slots.get_mut(id.0)?.take()?;
        self.free.push(id);
        Some(ppdu)
    }
}

/// A frame that is over, for radios that begin to contend after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past {
    pub source: Source,
    pub channel: Channel,
    pub receiver: MacAddr,
    pub rate: Rate,
    /// Bytes of its first MPDU.
    pub octets: usize,
    pub overlapped: bool,
    /// Only its other half was here.
    pub half: bool,
    pub end: Instant,
    pub nav_until: Instant,
}

impl Past {
    /// What is remembered of a frame that is over.
    pub fn of(ppdu: &Ppdu, half: bool, now: Instant) -> Self {
        Self {
            source: ppdu.source,
            channel: ppdu.channel,
            receiver: ppdu.receiver,
            rate: ppdu.rate,
            octets: ppdu.mpdu_octets(),
            overlapped: ppdu.jammed || !ppdu.overlaps.is_empty(),
            half,
            end: now,
            nav_until: now + ppdu.nav,
        }
    }
}

/// The longest wait after a frame there is: EIFS in 2.4 GHz, with 15 slots of 20 µs.
const LONGEST_WAIT: Micros = Micros(314 + 310);

pub(crate) struct Medium {
    pub primary: Channel,
    pub tuned: Vec<RadioId>,
    pub monitors: Vec<RadioId>,
    pub contenders: Vec<RadioId>,
    pub active: Vec<PpduId>,
    /// Wide frames on the air whose primary channel is another, but whose other half is here.
    pub halves: Vec<PpduId>,
    pub past: VecDeque<Past>,
    /// The planned access, and its number: older ones are void.
    pub access_at: Option<Instant>,
    pub access_serial: u32,
    pub busy_since: Instant,
}

impl Medium {
    pub fn new(primary: Channel) -> Self {
        Self {
            primary,
            tuned: Vec::new(),
            monitors: Vec::new(),
            contenders: Vec::new(),
            active: Vec::new(),
            halves: Vec::new(),
            past: VecDeque::new(),
            access_at: None,
            access_serial: 0,
            busy_since: Instant(0),
        }
    }

    /// All that can be heard here.
    pub fn on_air(&self) -> impl Iterator<Item = PpduId> + '_ {
        self.active.iter().chain(&self.halves).copied()
    }

    /// Remembers a frame for as long as it can hold anyone back.
    pub fn remember(&mut self, past: Past, now: Instant) {
        while let Some(oldest) = self.past.front()
            && oldest.nav_until.max(oldest.end + LONGEST_WAIT) < now
        {
            self.past.pop_front();
        }
        self.past.push_back(past);
    }

    pub fn leave(&mut self, radio: RadioId) {
        for list in [&mut self.tuned, &mut self.monitors, &mut self.contenders] {
            list.retain(|other| *other != radio);
        }
    }
}
