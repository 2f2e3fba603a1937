//! Frames on the air: what each carries, from where, on which channels, and what overlaps it.

use std::ops::{Index, IndexMut};

use airlane_dot11::{Buffer, Channel, Dbm, MacAddr, Rate, frame};
use airlane_lane::{Instant, Micros};
use arrayvec::ArrayVec;

use crate::block_ack::{BaBitmap, BaSession};
use crate::transmission::{ChannelId, PpduId};
use crate::{Position, RadioId};

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
    BlockAck(RadioId, BaBitmap),
    /// One MPDU, or an A-MPDU of several.
    Data {
        mpdus: Vec<Mpdu>,
        acknowledge: bool,
    },
}

impl Content {
    /// The radio whose frame this answers.
    pub fn answers(&self) -> Option<RadioId> {
        match self {
            Self::Cts(peer) | Self::Ack(peer) | Self::BlockAck(peer, _) => Some(*peer),
            Self::Rts | Self::CtsToSelf | Self::Data { .. } => None,
        }
    }
}

/// One MPDU on the air.
#[derive(Debug)]
pub(crate) struct Mpdu {
    pub frame: Buffer,
    /// Where it may stand in a BlockAck.
    pub session: Option<BaSession>,
}

impl Mpdu {
    /// Its bytes, FCS included.
    pub fn octets(&self) -> usize {
        self.frame.len() + frame::FCS
    }

    /// Its sequence number in a BlockAck, where it may stand in one.
    pub fn sequence(&self) -> u16 {
        self.session.map_or(0, |session| session.sequence)
    }
}

/// A transmitter: where and how strong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub radio: RadioId,
    pub position: Position,
    pub power: Dbm,
}

/// Half the power, in dB.
pub(crate) const HALF_POWER_DB: f32 = 3.01;

/// Frames that may overlap one frame before it counts as lost everywhere.
const OVERLAPS: usize = 6;

/// One frame on the air.
#[derive(Debug)]
pub(crate) struct Ppdu {
    pub source: Source,
    /// Its primary channel.
    pub primary: ChannelId,
    /// Its secondary channel, when it is 40 MHz wide.
    pub secondary: Option<ChannelId>,
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
            Content::Data { mpdus, .. } => mpdus.first().map_or(frame::FCS, Mpdu::octets),
            _ => self.octets,
        }
    }

    /// The 20 MHz channels that it is on.
    pub fn channels(&self) -> impl Iterator<Item = ChannelId> + use<> {
        std::iter::once(self.primary).chain(self.secondary)
    }

    /// Another frame was on the air at some time of it.
    pub fn is_overlapped(&self) -> bool {
        self.jammed || !self.overlaps.is_empty()
    }

    /// `radio` was sending itself at some time of it.
    pub fn sent_over(&self, radio: RadioId) -> bool {
        self.overlaps.iter().any(|other| other.radio == radio)
    }

    /// Notes on both that they overlap.
    pub fn overlap(&mut self, other: &mut Self) {
        other.overlapped_by(self);
        self.overlapped_by(other);
    }

    fn overlapped_by(&mut self, other: &Self) {
        let power = other.power_into(self.secondary.is_some());
        let source = Source {
            power,
            ..other.source
        };
        self.jammed |= self.overlaps.try_push(source).is_err();
    }

    /// What of its power falls into another frame: half of a 40 MHz one into a 20 MHz one.
    fn power_into(&self, ht40: bool) -> Dbm {
        if self.secondary.is_some() && !ht40 {
            Dbm(self.source.power.0 - HALF_POWER_DB)
        } else {
            self.source.power
        }
    }
}

/// True for 40 MHz rates.
pub(crate) fn is_ht40(rate: Rate) -> bool {
    matches!(rate, Rate::Ht { ht40: true, .. })
}

/// The frames on the air or about to be; their slots are used again without allocation. The map is
/// total: a [`PpduId`] is given out by [`Ppdus::insert`], and who takes the frame out drops its ID.
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

    /// Takes a frame out.
    #[track_caller]
    pub fn remove(&mut self, id: PpduId) -> Ppdu {
        let ppdu = self.slots.get_mut(id.0).and_then(Option::take);
        let Some(ppdu) = ppdu else { absent(id) };
        self.free.push(id);
        ppdu
    }
}

impl Index<PpduId> for Ppdus {
    type Output = Ppdu;

    #[track_caller]
    fn index(&self, id: PpduId) -> &Ppdu {
        match self.slots.get(id.0) {
            Some(Some(ppdu)) => ppdu,
            _ => absent(id),
        }
    }
}

impl IndexMut<PpduId> for Ppdus {
    #[track_caller]
    fn index_mut(&mut self, id: PpduId) -> &mut Ppdu {
        match self.slots.get_mut(id.0) {
            Some(Some(ppdu)) => ppdu,
            _ => absent(id),
        }
    }
}

/// An ID outlived its frame: the plan of the medium is wrong, and nothing after it can be right.
#[cold]
#[track_caller]
fn absent(id: PpduId) -> ! {
    panic!("there is no frame {id:?} on the air")
}
