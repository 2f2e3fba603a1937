//! Listening to everything: each frame on the air is shown to the tap when it ends.

use airlane_dot11::frame::{FCS, FrameKind};
use airlane_dot11::{Channel, Dbm, MacAddr, Rate};
use airlane_lane::Instant;
use arrayvec::ArrayVec;

use crate::RadioId;
use crate::ppdu::{Content, Ppdu};

/// One frame as it was on the air.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// When its first preamble bit was sent.
    pub start: Instant,
    /// When the last bit of its PPDU was sent.
    pub end: Instant,
    /// The channel that the PPDU was sent on, with its width.
    pub channel: Channel,
    /// The rate of its PPDU.
    pub rate: Rate,
    /// Transmit power, in dBm.
    pub power: Dbm,
    /// Signal at a receiver, if it was taken there; a tap sees the air itself, and has none.
    pub signal: Option<Dbm>,
    /// The radio that sent it.
    pub from: RadioId,
    /// Overlapped by another frame somewhere in its time.
    pub overlapped: bool,
    /// Its place in an A-MPDU; `None`: it was sent by itself.
    pub subframe: Option<Subframe>,
    /// The frame, without FCS. The Retry bit is in it.
    pub frame: &'a [u8],
}

/// Where in its A-MPDU a frame stands. All of one A-MPDU have the same start and sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subframe {
    /// True for the last subframe of its A-MPDU.
    pub last: bool,
}

/// Sees every frame on the air, ACK, CTS and RTS included, in order of their ends.
pub trait Tap {
    /// One frame has ended. Called in order of ends, and for each MPDU of an A-MPDU.
    fn frame(&mut self, captured: &Captured<'_>);
}

/// BlockAck control: the compressed variant (IEEE 802.11-2020 table 9-28).
const COMPRESSED: u16 = 2 << 1;

/// Bytes of the control frame that `ppdu` is, without FCS (IEEE 802.11-2020 9.3.1.2 to 9.3.1.4,
/// 9.3.1.8).
fn control_frame(ppdu: &Ppdu) -> ArrayVec<u8, 32> {
    let mut bytes = ArrayVec::new();
    let kind = match &ppdu.content {
        Content::Rts => FrameKind::RTS,
        Content::CtsToSelf | Content::Cts(_) => FrameKind::CTS,
        Content::Ack(_) => FrameKind::ACK,
        Content::BlockAck(..) => FrameKind::BLOCK_ACK,
        Content::Data { .. } => return bytes,
    };
    let duration = u16::try_from(ppdu.nav.0).unwrap_or(0x7fff).min(0x7fff);
    bytes.extend([kind.octet(), 0]);
    bytes.extend(duration.to_le_bytes());
    bytes.extend(ppdu.receiver.0);
    if matches!(ppdu.content, Content::Rts | Content::BlockAck(..)) {
        bytes.extend(ppdu.transmitter.unwrap_or(MacAddr::ZERO).0);
    }
    if let Content::BlockAck(_, bitmap) = ppdu.content {
        bytes.extend((COMPRESSED | u16::from(bitmap.tid) << 12).to_le_bytes());
        bytes.extend((bitmap.start << 4).to_le_bytes());
        bytes.extend(bitmap.bits.to_le_bytes());
    }
    bytes
}

/// Shows `ppdu` to `tap`, MPDU by MPDU.
pub(crate) fn show(tap: &mut dyn Tap, ppdu: &Ppdu) {
    let Content::Data { mpdus, .. } = &ppdu.content else {
        let control = control_frame(ppdu);
        debug_assert!(control.len() + FCS == ppdu.octets);
        tap.frame(&captured(ppdu, &control, None));
        return;
    };
    for (at, mpdu) in mpdus.iter().enumerate() {
        let subframe = Subframe {
            last: at + 1 == mpdus.len(),
        };
        let aggregated = (mpdus.len() > 1).then_some(subframe);
        tap.frame(&captured(ppdu, &mpdu.frame, aggregated));
    }
}

fn captured<'a>(ppdu: &Ppdu, frame: &'a [u8], subframe: Option<Subframe>) -> Captured<'a> {
    Captured {
        start: ppdu.start,
        end: ppdu.end,
        channel: ppdu.channel,
        rate: ppdu.rate,
        power: ppdu.source.power,
        signal: None,
        from: ppdu.source.radio,
        overlapped: ppdu.is_overlapped(),
        subframe,
        frame,
    }
}
