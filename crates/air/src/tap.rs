//! Listening to everything: each frame on the air is shown to the tap when it ends.

use airlane_wlan::{Channel, Dbm, MacAddr, Micros, Rate, frame};
use arrayvec::ArrayVec;

use crate::RadioId;
use crate::medium::{Content, Ppdu};

/// One frame as it was on the air.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// When its first preamble bit was sent.
    pub start: Micros,
    /// When it ended.
    pub end: Micros,
    /// On which channel.
    pub channel: Channel,
    /// At what rate.
    pub rate: Rate,
    /// Power at the transmitter.
    pub power: Dbm,
    /// Signal at a receiver, if it was taken there; a tap sees the air itself, and has none.
    pub signal: Option<Dbm>,
    /// Who sent it.
    pub from: RadioId,
    /// Overlapped by another frame somewhere in its time.
    pub overlapped: bool,
    /// The frame, without FCS. The Retry bit is in it.
    pub frame: &'a [u8],
}

/// Sees every frame on the air, ACK, CTS and RTS included, in order of their ends.
pub trait Tap {
    /// One frame is over.
    fn frame(&mut self, captured: &Captured<'_>);
}

/// IEEE 802.11-2020 table 9-1.
const RTS: u8 = 0xb4;
const CTS: u8 = 0xc4;
const ACK: u8 = 0xd4;

/// Bytes of the control frame that `ppdu` is, without FCS (IEEE 802.11-2020 9.3.1.2 to 9.3.1.4).
fn control_frame(ppdu: &Ppdu, first: u8) -> ArrayVec<u8, 16> {
    let mut bytes = ArrayVec::new();
    let duration = u16::try_from(ppdu.nav.0).unwrap_or(0x7fff).min(0x7fff);
    bytes.extend([first, 0]);
    bytes.extend(duration.to_le_bytes());
    bytes.extend(ppdu.receiver.0);
    if first == RTS {
        bytes.extend(ppdu.transmitter.unwrap_or(MacAddr::ZERO).0);
    }
    bytes
}

/// Shows `ppdu` to `tap`.
pub(crate) fn show(tap: &mut dyn Tap, ppdu: &Ppdu) {
    let control = match &ppdu.content {
        Content::Rts => control_frame(ppdu, RTS),
        Content::CtsToSelf | Content::Cts(_) => control_frame(ppdu, CTS),
        Content::Ack(_) => control_frame(ppdu, ACK),
        Content::Data { .. } => ArrayVec::new(),
    };
    let frame = match &ppdu.content {
        Content::Data { frame, .. } => frame,
        _ => control.as_slice(),
    };
    debug_assert!(frame.len() + frame::FCS == ppdu.octets);
    tap.frame(&Captured {
        start: ppdu.start,
        end: ppdu.end,
        channel: ppdu.channel,
        rate: ppdu.rate,
        power: ppdu.source.power,
        signal: None,
        from: ppdu.source.radio,
        overlapped: ppdu.jammed || !ppdu.overlaps.is_empty(),
        frame,
    });
}
