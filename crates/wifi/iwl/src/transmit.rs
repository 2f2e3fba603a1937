//! Transmit commands (REPLY_TX, `struct iwl_tx_cmd`): what the driver put before a frame, where the frame lies, and
//! what the driver is told when it has been sent.

use airlane_dma::{Frame, Memory, Window};
use airlane_dot11::{AccessCategory, Rate, frame::Header};
use airlane_waist::stamp::{Point, Stamps};
use airlane_waist::{STATIONS, StationIndex, Transmit, TxCipher, TxRate, TxReport, TxStatus};
use smallvec::SmallVec;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, Unaligned};

use crate::commands::DriverState;
use crate::rate;
use crate::response::{Packet, TRANSMITTED, id};
use crate::scheduler::{self, Queue};
use crate::tfd::Tfd;
use crate::wire::{CommandHeader, TxCommand};

/// What stands before the MAC header.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
struct Head {
    header: CommandHeader,
    command: TxCommand,
}

/// Where the MAC header begins.
const FRAME: usize = size_of::<Head>();
/// As much of a MAC header as there can be: four addresses, QoS, HT control.
const LONGEST_HEADER: usize = 36;
/// "No traffic identifier".
const NO_TID: u8 = 8;

bitflags::bitflags! {
    /// `TX_CMD_FLG_*`.
    struct Flags: u32 {
        const PROTECT = 1;
        const ACKNOWLEDGE = 1 << 3;
        const STATION_RATE = 1 << 4;
        const ASSIGN_SEQUENCE = 1 << 13;
        const HEADER_PAD = 1 << 20;
    }
}

/// Status codes of transmit responses, `TX_STATUS_*`.
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

/// What the response says of how a transmission ended.
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
    /// A flush dropped the frame.
    pub const FLUSHED: Self = Self::unsent(code::FLUSHED);
    /// The card did not hand the frame to the radio.
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

/// What was fetched from an entry of a data queue.
pub enum Fetched {
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
    state: &DriverState,
    memory: &mut Memory,
    window: &mut Window,
    stamps: &mut Stamps,
) -> Fetched {
    let mut start = [0; FRAME + LONGEST_HEADER];
    let Ok(length) = tfd.read(memory, window, &mut start) else {
        return Fetched::Nothing;
    };
    let start = start.get(..length).unwrap_or_default();
    let command = match Head::read_from_prefix(start) {
        Ok((head, _)) if head.header.id == id::TX => head.command,
        _ => return Fetched::Nothing,
    };
    let Ok(header) = Header::parse(start.get(FRAME..).unwrap_or_default()) else {
        return Fetched::Refuse(describe_headless(&command));
    };
    let mut in_flight = describe(&command, &header, state);
    in_flight.aggregated = queue.aggregates && in_flight.tid != NO_TID;
    let frame = |length, flags: &Flags| frame(length, &header, flags, tfd, memory, window, stamps);
    match transmit(&command, &header, frame) {
        Some(mut transmit) => {
            (transmit.queue, transmit.category) = (number, queue.category());
            transmit.aggregate = in_flight.aggregated;
            Fetched::Send(in_flight, transmit)
        }
        None => Fetched::Refuse(in_flight),
    }
}

fn flags(command: &TxCommand) -> Flags {
    Flags::from_bits_retain(command.flags.get())
}

fn describe(command: &TxCommand, header: &Header, state: &DriverState) -> InFlight {
    let first_rate = state.first_rates.get(usize::from(command.station));
    InFlight {
        station: command.station,
        tid: response_tid(header, command.tid),
        rate: if flags(command).contains(Flags::STATION_RATE) {
            first_rate.copied().unwrap_or(0)
        } else {
            command.rate.get()
        },
        byte_count: command.length.get(),
        frame_control: header.control.bits(),
        sequence_control: header.sequence_control.unwrap_or(0),
        aggregated: false,
        answerable: true,
    }
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
fn describe_headless(command: &TxCommand) -> InFlight {
    InFlight {
        station: command.station,
        tid: NO_TID,
        answerable: true,
        ..InFlight::default()
    }
}

/// `None` for what the NIC cannot send: a frame shorter than it claims, not mapped, for a station
/// outside the table, or with a cipher that only old networks use.
fn transmit(
    command: &TxCommand,
    header: &Header,
    frame: impl FnOnce(usize, &Flags) -> Option<Frame>,
) -> Option<Transmit> {
    let flags = flags(command);
    let length = usize::from(command.length.get());
    if usize::from(command.station) >= STATIONS || length < header.length {
        return None;
    }
    Some(Transmit {
        frame: frame(length, &flags)?,
        queue: 0,
        category: AccessCategory::default(),
        station: StationIndex(command.station),
        acknowledge: flags.contains(Flags::ACKNOWLEDGE),
        assign_sequence: flags.contains(Flags::ASSIGN_SEQUENCE),
        protect: flags.contains(Flags::PROTECT),
        aggregate: false,
        rate: tx_rate(command, &flags),
        cipher: cipher(command)?,
        retry_limit: command.data_retry_limit,
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

fn tx_rate(command: &TxCommand, flags: &Flags) -> TxRate {
    if flags.contains(Flags::STATION_RATE) {
        return TxRate::Table;
    }
    TxRate::Fixed(rate::decode(command.rate.get()).unwrap_or(Rate::OFDM_6))
}

fn cipher(command: &TxCommand) -> Option<TxCipher> {
    match command.security & 7 {
        0 => Some(TxCipher::None),
        2 => Some(TxCipher::Ccmp(command.key)),
        _ => None,
    }
}

/// `struct iwlagn_tx_resp` for one frame, with its status and the next index to reclaim.
#[derive(FromZeros, Immutable, IntoBytes, Unaligned)]
#[repr(C)]
struct TxResponse {
    /// 1: longer responses tell of several.
    frames: u8,
    bt_kills: u8,
    /// RTS frames without an answer.
    rts_failures: u8,
    /// Attempts beyond the first.
    retries: u8,
    /// Rate word of the first attempt.
    rate: U32,
    /// Time on the medium, in microseconds.
    airtime: U16,
    amplifier: [u8; 10],
    tfd_info: U32,
    /// Sequence control as sent.
    sequence_control: U16,
    /// Bytes of the frame, without its padding.
    byte_count: U16,
    tlc_info: u8,
    /// Station in bits 7:4, traffic identifier in 3:0 (8: none).
    ra_tid: u8,
    /// The frame's first two bytes (IEEE 802.11-2020 9.2.4.1).
    frame_control: U16,
    /// One of [`code`].
    status: U16,
    /// Sequence word of the ring entry: index in bits 7:0, queue in 12:8.
    sequence: U16,
    /// Everything before this ring index, or sequence number, is done; bits 11:0.
    next: U32,
}

/// A packet has room for it, and needs no allocation.
const _: () = assert!(size_of::<TxResponse>() == TRANSMITTED);

/// The response to the frame at ring entry `index` of `queue`; `None` when nobody waits for one.
pub fn respond(
    queue: u8,
    index: u8,
    in_flight: &InFlight,
    completion: &Completion,
) -> Option<Packet> {
    let sequence_control = completion
        .sequence_control
        .unwrap_or(in_flight.sequence_control);
    let next = if in_flight.aggregated {
        (in_flight.sequence_control >> 4) + 1
    } else {
        u16::from(index.wrapping_add(1))
    };
    let sequence = scheduler::sequence(queue, index);
    let response = || TxResponse {
        frames: 1,
        rts_failures: completion.rts_failures,
        retries: completion.retries,
        rate: U32::new(in_flight.rate),
        airtime: U16::new(completion.airtime),
        sequence_control: U16::new(sequence_control),
        byte_count: U16::new(in_flight.byte_count),
        ra_tid: (in_flight.station & 0xf) << 4 | in_flight.tid,
        frame_control: U16::new(in_flight.frame_control),
        status: U16::new(completion.status.into()),
        sequence: U16::new(sequence),
        next: U32::new(u32::from(next & 0xfff)),
        ..TxResponse::new_zeroed()
    };
    in_flight.answerable.then(|| Packet {
        id: id::TX,
        sequence,
        payload: SmallVec::from_slice(response().as_bytes()),
    })
}
