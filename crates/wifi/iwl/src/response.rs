//! Packets that the card writes about itself: responses to host commands and notifications
//! (`dvm/commands.h`). Pure encoders; where they go is the receive ring's business.
//!
//! Not here: the response to a transmit command ([`crate::transmit`]).

use airlane_dot11::{Band, Width};
use airlane_waist::{Refusal, Reply, Statistics};
use smallvec::SmallVec;

use crate::wire::put;

/// Bytes of the longest payload, statistics.
const MAX_PAYLOAD: usize = 480;
/// Bytes of the payload of a transmit response, of which there is one for each frame. Longer ones, which are rare, are
/// allocated.
pub const TRANSMITTED: usize = 40;
/// Bit of a sequence word: originated by the card.
pub const NOTIFICATION: u16 = 1 << 15;
/// Degrees Celsius that the card reports: far from any throttling.
const TEMPERATURE: u32 = 40;

/// Ids of what the card sends of itself, and of the response to a transmit command.
pub mod id {
    /// The microcode has started.
    pub const ALIVE: u8 = 0x01;
    /// A transmit command's response.
    pub const TX: u8 = 0x1c;
    /// Calibration by the INIT image is complete.
    pub const CALIBRATION_COMPLETE: u8 = 0x67;
    /// A channel switch is done.
    pub const CHANNEL_SWITCH: u8 = 0x73;
    /// A scan is on a channel.
    pub const SCAN_START: u8 = 0x82;
    /// A scan has left a channel.
    pub const SCAN_RESULTS: u8 = 0x83;
    /// A scan is over.
    pub const SCAN_COMPLETE: u8 = 0x84;
    /// Beacons are missing.
    pub const MISSED_BEACONS: u8 = 0xa2;
    /// What the receiver measured.
    pub const RX_PHY: u8 = 0xc0;
    /// A received frame.
    pub const RX_MPDU: u8 = 0xc1;
}

/// A response or notification before it is written into a receive buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Id of the command that it answers, or of [`id`].
    pub id: u8,
    /// The sequence word of the ring entry that it answers, or [`NOTIFICATION`].
    pub sequence: u16,
    /// The bytes after the header of eight, at most [`MAX_PAYLOAD`].
    pub payload: SmallVec<[u8; TRANSMITTED]>,
}

impl Packet {
    /// A packet with `length` zero bytes of payload (at most [`MAX_PAYLOAD`]).
    pub fn zeroed(id: u8, sequence: u16, length: usize) -> Self {
        let payload = SmallVec::from_elem(0, length.min(MAX_PAYLOAD));
        Self {
            id,
            sequence,
            payload,
        }
    }

    /// The same with `field` at `at`.
    pub fn with(mut self, at: usize, field: &[u8]) -> Self {
        put(&mut self.payload, at, field);
        self
    }
}

/// How the response to a command looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Eight zero bytes that nobody reads.
    Generic,
    /// One status byte: 1 done, 2 table full, 8 no such station.
    Station,
    /// le32: 1 started.
    Scan,
    /// le32: 1 aborting, 2 nothing to abort.
    ScanAbort,
    /// 480 bytes: flags, temperature, and counters that are all zero.
    Statistics,
}

impl Shape {
    /// The shape in words, for the document.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Generic => "8 zero bytes",
            Self::Station => "u8: 1 done, 2 table full, 8 no such station",
            Self::Scan => "le32: 1 started, 2 refused",
            Self::ScanAbort => "le32: 1 aborting, 2 no scan",
            Self::Statistics => "480 bytes of statistics",
        }
    }

    /// The response with this shape.
    pub fn encode(self, id: u8, sequence: u16, reply: &Reply) -> Packet {
        let ok = !matches!(reply, Reply::Refused(_));
        let one_or_two = if ok { 1_u32 } else { 2 };
        match self {
            Self::Generic => Packet::zeroed(id, sequence, 8),
            Self::Station => Packet::zeroed(id, sequence, 4).with(0, &[station_status(reply)]),
            Self::Scan | Self::ScanAbort => {
                Packet::zeroed(id, sequence, 4).with(0, &one_or_two.to_le_bytes())
            }
            Self::Statistics => match reply {
                Reply::Statistics(statistics) => encode_statistics(id, sequence, statistics),
                _ => encode_statistics(id, sequence, &Statistics::default()),
            },
        }
    }
}

fn station_status(reply: &Reply) -> u8 {
    match reply {
        Reply::Refused(Refusal::UnknownStation) => 8,
        Reply::Refused(_) => 2,
        _ => 1,
    }
}

fn encode_statistics(id: u8, sequence: u16, statistics: &Statistics) -> Packet {
    Packet::zeroed(id, sequence, 480)
        .with(0x000, &statistics_flags(statistics).to_le_bytes())
        .with(0x188, &TEMPERATURE.to_le_bytes())
}

/// Bit 0 cleared, bit 1 2.4 GHz, bit 3 40 MHz, bits 31:16 channel.
fn statistics_flags(statistics: &Statistics) -> u32 {
    let mut flags = u32::from(statistics.cleared);
    if let Some(channel) = statistics.channel {
        flags |= u32::from(channel.band() == Band::Ghz2) << 1;
        flags |= u32::from(channel.width() != Width::Mhz20) << 3;
        flags |= u32::from(channel.number()) << 16;
    }
    flags
}

/// REPLY_ALIVE (`struct iwl_alive_resp`): valid, with the place of the error table.
pub fn alive(error_table: u32) -> Packet {
    Packet::zeroed(id::ALIVE, NOTIFICATION, 32)
        .with(0x00, &[83, 8])
        .with(0x14, &error_table.to_le_bytes())
        .with(0x1c, &1_u32.to_le_bytes())
}
