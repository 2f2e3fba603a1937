//! Transmit commands (REPLY_TX, `struct iwl_tx_cmd`): what the driver put before a frame, and where
//! the frame lies.

use airlane_dma::{Frame, Memory, Window};
use airlane_dot11::{AccessCategory, Rate, frame::Header};
use airlane_lane::stamp::{Point, Stamps};
use airlane_waist::{STATIONS, StationIndex, Transmit, TxCipher, TxRate, TxReport, TxStatus};

use crate::commands::Known;
use crate::rate;
use crate::response::{Transmitted, id};
use crate::scheduler::{self, Queue};
use crate::tfd::Tfd;
use crate::wire::{array_at, u8_at, u16_at, u32_at};

/// Command header and transmit command: where the MAC header begins.
const FRAME: usize = 4 + 56;
/// As much of a MAC header as there can be: four addresses, QoS, HT control.
const LONGEST_HEADER: usize = 36;
/// "No traffic identifier".
const NO_TID: u8 = 8;

bitflags::bitflags! {
    /// Transmit flags.
    struct Flags: u32 {
        const PROTECT = 1;
        const ACKNOWLEDGE = 1 << 3;
        const STATION_RATE = 1 << 4;
        const ASSIGN_SEQUENCE = 1 << 13;
        const HEADER_PAD = 1 << 20;
    }
}

/// Status codes of transmit responses.
mod code {
    pub const SUCCESS: u8 = 0x01;
    pub const LONG_LIMIT: u8 = 0x83;
    pub const HOST_ABORTED: u8 = 0x89;
    pub const STATION_INVALID: u8 = 0x8b;
    pub const FLUSHED: u8 = 0x8e;
}

/// A frame that was taken from a ring and is not answered yet: what its response will say of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct InFlight {
    station: u8,
    tid: u8,
    rate: u32,
    byte_count: u16,
    frame_control: u16,
    sequence_control: u16,
    /// From a queue of a block-ack agreement: its sequence number is its ring index.
    aggregated: bool,
    /// False for a descriptor without a command: nobody waits for a response.
    answerable: bool,
}

/// How a transmission ended.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    status: u8,
    retries: u8,
    rts_failures: u8,
    airtime: u16,
    /// As sent; `None` when it was not sent.
    sequence_control: Option<u16>,
}

impl Completion {
    /// Dropped by a flush.
    pub const FLUSHED: Self = Self::unsent(code::FLUSHED);
    /// Not acceptable.
    pub const REFUSED: Self = Self::unsent(code::HOST_ABORTED);

    const fn unsent(status: u8) -> Self {
        Self {
            status,
            retries: 0,
            rts_failures: 0,
            airtime: 0,
            sequence_control: None,
        }
    }
}

impl From<&TxReport> for Completion {
    fn from(report: &TxReport) -> Self {
        let (status, sent) = match report.status {
            TxStatus::Success => (code::SUCCESS, true),
            TxStatus::NoAck => (code::LONG_LIMIT, true),
            TxStatus::Flushed => (code::FLUSHED, false),
            TxStatus::UnknownStation => (code::STATION_INVALID, false),
            TxStatus::Refused | TxStatus::Malformed => (code::HOST_ABORTED, false),
        };
        Self {
            status,
            retries: report.retries,
            rts_failures: report.rts_failures,
            airtime: u16::try_from(report.airtime.0).unwrap_or(u16::MAX),
            sequence_control: sent.then_some(report.sequence_control),
        }
    }
}

/// A transmit command that was taken from its ring.
pub enum Taken {
    /// For the radio.
    Send(InFlight, Transmit),
    /// Answered without the radio.
    Refuse(InFlight),
    /// No command: not answered at all.
    Nothing,
}

/// Reads the transmit command that `tfd`, of queue `number`, describes. The frame stays where it is.
pub fn take(
    tfd: &Tfd,
    number: u8,
    queue: &Queue,
    known: &Known,
    memory: &mut Memory,
    window: &mut Window,
    stamps: &mut Stamps,
) -> Taken {
    let mut start = [0; FRAME + LONGEST_HEADER];
    let Ok(length) = tfd.read(memory, window, &mut start) else {
        return Taken::Nothing;
    };
    let start = start.get(..length).unwrap_or_default();
    if length < FRAME || u8_at(start, 0) != Some(id::TX) {
        return Taken::Nothing;
    }
    let Some((mut in_flight, header)) = describe(start, known) else {
        return Taken::Refuse(describe_headless(start));
    };
    in_flight.aggregated = queue.aggregates && in_flight.tid != NO_TID;
    let frame = |length, flags: &Flags| frame(length, &header, flags, tfd, memory, window, stamps);
    match transmit(start, &header, frame) {
        Some(mut transmit) => {
            (transmit.queue, transmit.category) = (number, queue.category());
            transmit.aggregate = in_flight.aggregated;
            Taken::Send(in_flight, transmit)
        }
        None => Taken::Refuse(in_flight),
    }
}

fn flags(start: &[u8]) -> Option<Flags> {
    Some(Flags::from_bits_retain(u32_at(start, 4 + 0x04)?))
}

fn describe(start: &[u8], known: &Known) -> Option<(InFlight, Header)> {
    let header = Header::parse(start.get(FRAME..)?).ok()?;
    let flags = flags(start)?;
    let station = u8_at(start, 4 + 0x10)?;
    let ladder = known.first_rates.get(usize::from(station)).copied();
    let fixed = u32_at(start, 4 + 0x0c)?;
    let by_station = flags.contains(Flags::STATION_RATE);
    let in_flight = InFlight {
        station,
        tid: response_tid(&header, u8_at(start, 4 + 0x33)?),
        rate: if by_station {
            ladder.unwrap_or(0)
        } else {
            fixed
        },
        byte_count: u16_at(start, 4)?,
        frame_control: header.control.bits(),
        sequence_control: header.sequence_control.unwrap_or(0),
        aggregated: false,
        answerable: true,
    };
    Some((in_flight, header))
}

/// QoS data has its own; a QoS null frame, which takes no sequence number, has none.
fn response_tid(header: &Header, tid: u8) -> u8 {
    if header.tid.is_some() && header.has_payload() {
        tid & 0xf
    } else {
        NO_TID
    }
}

/// For a frame whose MAC header cannot be read.
fn describe_headless(start: &[u8]) -> InFlight {
    InFlight {
        station: u8_at(start, 4 + 0x10).unwrap_or(0),
        tid: NO_TID,
        answerable: true,
        ..InFlight::default()
    }
}

/// `None` for what the NIC cannot send: a frame shorter than it claims, not mapped, for a station
/// outside the table, or with a cipher that only old networks use.
fn transmit(
    start: &[u8],
    header: &Header,
    frame: impl FnOnce(usize, &Flags) -> Option<Frame>,
) -> Option<Transmit> {
    let flags = flags(start)?;
    let station = u8_at(start, 4 + 0x10)?;
    let length = usize::from(u16_at(start, 4)?);
    if usize::from(station) >= STATIONS || length < header.length {
        return None;
    }
    Some(Transmit {
        frame: frame(length, &flags)?,
        queue: 0,
        category: AccessCategory::default(),
        station: StationIndex(station),
        acknowledge: flags.contains(Flags::ACKNOWLEDGE),
        assign_sequence: flags.contains(Flags::ASSIGN_SEQUENCE),
        protect: flags.contains(Flags::PROTECT),
        aggregate: false,
        rate: tx_rate(start, &flags)?,
        cipher: cipher(start)?,
        retry_limit: u8_at(start, 4 + 0x32)?,
    })
}

/// MAC header, then, past the padding, the rest.
fn frame(
    length: usize,
    header: &Header,
    flags: &Flags,
    tfd: &Tfd,
    memory: &mut Memory,
    window: &mut Window,
    stamps: &mut Stamps,
) -> Option<Frame> {
    let pad = if flags.contains(Flags::HEADER_PAD) {
        2
    } else {
        0
    };
    let body = FRAME + header.length;
    let end = FRAME + length + pad;
    let pieces = tfd.pieces(FRAME, body).chain(tfd.pieces(body + pad, end));
    stamps.mark(Point::Translate);
    let frame = Frame::new_via(memory, window, pieces).ok()?;
    stamps.mark(Point::Translated);
    (frame.len() == length).then_some(frame)
}

fn tx_rate(start: &[u8], flags: &Flags) -> Option<TxRate> {
    if flags.contains(Flags::STATION_RATE) {
        return Some(TxRate::Table);
    }
    let rate = rate::decode(u32_at(start, 4 + 0x0c)?).unwrap_or(Rate::OFDM_6);
    Some(TxRate::Fixed(rate))
}

fn cipher(start: &[u8]) -> Option<TxCipher> {
    match u8_at(start, 4 + 0x11)? & 7 {
        0 => Some(TxCipher::None),
        2 => Some(TxCipher::Ccmp(array_at(start, 4 + 0x14)?)),
        _ => None,
    }
}

/// The response to the frame at ring entry `index` of `queue`; `None` when nobody waits for one.
pub fn respond(
    queue: u8,
    index: u8,
    in_flight: &InFlight,
    completion: &Completion,
) -> Option<Transmitted> {
    let sequence_control = completion
        .sequence_control
        .unwrap_or(in_flight.sequence_control);
    let next = if in_flight.aggregated {
        (in_flight.sequence_control >> 4) + 1
    } else {
        u16::from(index.wrapping_add(1))
    };
    in_flight.answerable.then(|| Transmitted {
        sequence: scheduler::sequence(queue, index),
        status: completion.status,
        retries: completion.retries,
        rts_failures: completion.rts_failures,
        rate: in_flight.rate,
        airtime: completion.airtime,
        sequence_control,
        byte_count: in_flight.byte_count,
        ra_tid: (in_flight.station & 0xf) << 4 | in_flight.tid,
        frame_control: in_flight.frame_control,
        next,
    })
}
