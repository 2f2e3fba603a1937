//! ADD_STA, REMOVE_STA, TX_LINK_QUALITY: the station table, its keys and rates.

use airlane_dot11::{MacAddr, PeerHt, RateTable};
use airlane_lane::Micros;
use airlane_waist::{AggregationLimits, BlockAck, Cipher, Command, Key, StationIndex};

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Unaligned};

use super::decoder::{Asked, DriverState};
use crate::rate;
use crate::wire::read;

/// `struct iwl_addsta_cmd`.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
pub struct AddStationCommand {
    /// 0 adds, 1 modifies.
    mode: u8,
    reserved_1: [u8; 3],
    address: [u8; 6],
    reserved_2: U16,
    station: u8,
    /// As in [`Modify`].
    modify: u8,
    reserved_3: U16,
    key: KeyInformation,
    /// As in [`StationFlags`].
    flags: U32,
    /// Those of the flags that change.
    flags_mask: U32,
    disabled_tids: U16,
    reserved_4: U16,
    add_block_ack_tid: u8,
    remove_block_ack_tid: u8,
    /// First sequence number, in bits 11:0.
    block_ack_start: U16,
    sleep: [U16; 2],
}

/// `struct iwl_keyinfo`.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
struct KeyInformation {
    /// Cipher in bits 2:0, key index in 9:8, and [`KeyFlags`].
    flags: U16,
    tkip_receive: [U16; 6],
    /// Place in the card's table of keys.
    slot: u8,
    reserved: u8,
    bytes: [u8; 16],
    /// Sequence counter and Michael keys.
    unread: [U64; 3],
}

/// `struct iwl_rem_sta_cmd`.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
pub struct RemoveStationCommand {
    count: u8,
    reserved_1: [u8; 3],
    address: [u8; 6],
    reserved_2: U16,
}

/// `struct iwl_link_quality_cmd`.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
pub struct LinkQualityCommand {
    station: u8,
    reserved_1: u8,
    control: U16,
    general: [u8; 8],
    /// Longest A-MPDU, in microseconds.
    aggregation_time: U16,
    /// No aggregation after this many failures.
    aggregation_disable_start: u8,
    /// Most frames of an A-MPDU.
    aggregation_frames: u8,
    reserved_2: U32,
    /// Rate words, the first to be tried first.
    rates: [U32; 16],
    reserved_3: U32,
}

bitflags::bitflags! {
    /// What an ADD_STA of mode 1 changes.
    struct Modify: u8 {
        const KEY = 0x01;
        const ADD_BLOCK_ACK = 0x08;
        const REMOVE_BLOCK_ACK = 0x10;
    }

    /// Key flags above the cipher.
    struct KeyFlags: u16 {
        const INVALID = 0x0800;
        const MULTICAST = 0x4000;
    }

    /// Station flags that say what the peer can; 20:19 and 25:23 hold its A-MPDU parameters.
    struct StationFlags: u32 {
        const WIDE = 1 << 21;
    }
}

/// STA_FLG_MAX_AGG_SIZE_POS, two bits wide.
const MAX_AGGREGATE: u32 = 19;
/// STA_FLG_AGG_MPDU_DENSITY_POS, three bits wide.
const DENSITY: u32 = 23;

const MODE_ADD: u8 = 0;
const CIPHER_CCMP: u16 = 2;

fn radio(command: Command) -> Option<Asked> {
    Some(Asked::Radio(command))
}

/// ADD_STA. In mode 0 the modify mask may be left over from earlier and is ignored.
pub fn add(state: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    let asked: AddStationCommand = read(payload)?;
    let station = StationIndex(asked.station);
    let peer = peer(state, &asked);
    if asked.mode == MODE_ADD {
        let address = MacAddr(asked.address);
        return radio(Command::AddStation(station, address, peer));
    }
    let modify = Modify::from_bits_retain(asked.modify);
    if modify.contains(Modify::KEY) {
        radio(key(station, &asked.key))
    } else if modify.contains(Modify::ADD_BLOCK_ACK) {
        let start = Some(asked.block_ack_start.get() & 0xfff);
        block_ack(station, asked.add_block_ack_tid, start)
    } else if modify.contains(Modify::REMOVE_BLOCK_ACK) {
        block_ack(station, asked.remove_block_ack_tid, None)
    } else {
        radio(Command::ModifyStation(station, peer))
    }
}

/// What the peer can by its station flags: those of the command, where the mask of a change says so.
fn peer(state: &mut DriverState, asked: &AddStationCommand) -> PeerHt {
    let mut ignored = 0;
    let kept = state.station_flags.get_mut(usize::from(asked.station));
    let kept = kept.unwrap_or(&mut ignored);
    let mask = match asked.mode {
        MODE_ADD => u32::MAX,
        _ => asked.flags_mask.get(),
    };
    *kept = *kept & !mask | asked.flags.get() & mask;
    PeerHt {
        ampdu_exponent: ((*kept >> MAX_AGGREGATE) & 3) as u8,
        ampdu_spacing: ((*kept >> DENSITY) & 7) as u8,
        ht40: StationFlags::from_bits_retain(*kept).contains(StationFlags::WIDE),
    }
}

fn block_ack(station: StationIndex, tid: u8, start: Option<u16>) -> Option<Asked> {
    radio(Command::BlockAck(BlockAck {
        station,
        tid,
        start,
    }))
}

fn key(station: StationIndex, key: &KeyInformation) -> Command {
    let bits = key.flags.get();
    let flags = KeyFlags::from_bits_retain(bits);
    if flags.contains(KeyFlags::INVALID) {
        return Command::RemoveKey(station, key.slot);
    }
    let cipher = match bits & 7 {
        CIPHER_CCMP => Cipher::Ccmp,
        _ => Cipher::Software,
    };
    Command::SetKey(Box::new(Key {
        station,
        slot: key.slot,
        index: ((bits >> 8) & 3) as u8,
        group: flags.contains(KeyFlags::MULTICAST),
        cipher,
        bytes: key.bytes,
    }))
}

/// REMOVE_STA: by address, whatever its index.
pub fn remove(_: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    let asked: RemoveStationCommand = read(payload)?;
    radio(Command::RemoveStation(MacAddr(asked.address)))
}

/// TX_LINK_QUALITY: rate words and the bounds of A-MPDUs. Words of no rate are left out; the first is kept to be echoed.
pub fn link_quality(state: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    let asked: LinkQualityCommand = read(payload)?;
    let kept = state.first_rates.get_mut(usize::from(asked.station))?;
    let [first, ..] = asked.rates;
    *kept = first.get();
    let words = asked.rates.iter().map(|word| word.get());
    let table: RateTable = words.filter_map(rate::decode).collect();
    let limits = AggregationLimits {
        frames: asked.aggregation_frames,
        time: Micros(u64::from(asked.aggregation_time.get())),
        no_start_after: asked.aggregation_disable_start,
    };
    let station = StationIndex(asked.station);
    radio(Command::RateTable(station, Box::new(table), limits))
}
