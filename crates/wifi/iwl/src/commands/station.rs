//! ADD_STA, REMOVE_STA, TX_LINK_QUALITY: the station table, its keys and rates.

use airlane_dot11::{MacAddr, PeerHt, RateTable};
use airlane_lane::Micros;
use airlane_waist::{AggregationLimits, BlockAck, Cipher, Command, Key, StationIndex};

use super::{Asked, Known};
use crate::rate;
use crate::wire::{array_at, u8_at, u16_at, u32_at};

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
pub fn add(known: &mut Known, payload: &[u8]) -> Option<Asked> {
    let station = StationIndex(u8_at(payload, 0x0c)?);
    let added = u8_at(payload, 0)? == MODE_ADD;
    let peer = peer(known, station, added, payload)?;
    if added {
        let address = MacAddr(array_at(payload, 0x04)?);
        return radio(Command::AddStation(station, address, peer));
    }
    let modify = Modify::from_bits_retain(u8_at(payload, 0x0d)?);
    if modify.contains(Modify::KEY) {
        radio(key(station, payload)?)
    } else if modify.contains(Modify::ADD_BLOCK_ACK) {
        let start = Some(u16_at(payload, 0x56)? & 0xfff);
        block_ack(station, u8_at(payload, 0x54)?, start)
    } else if modify.contains(Modify::REMOVE_BLOCK_ACK) {
        block_ack(station, u8_at(payload, 0x55)?, None)
    } else {
        radio(Command::ModifyStation(station, peer))
    }
}

/// What the peer can by its station flags: those of the payload, where the mask of a change says so.
fn peer(known: &mut Known, station: StationIndex, added: bool, payload: &[u8]) -> Option<PeerHt> {
    let (flags, mask) = (u32_at(payload, 0x48)?, u32_at(payload, 0x4c)?);
    let mut ignored = 0;
    let kept = known.station_flags.get_mut(usize::from(station.0));
    let kept = kept.unwrap_or(&mut ignored);
    let mask = if added { u32::MAX } else { mask };
    *kept = *kept & !mask | flags & mask;
    Some(PeerHt {
        ampdu_exponent: ((*kept >> MAX_AGGREGATE) & 3) as u8,
        ampdu_spacing: ((*kept >> DENSITY) & 7) as u8,
        ht40: StationFlags::from_bits_retain(*kept).contains(StationFlags::WIDE),
    })
}

fn block_ack(station: StationIndex, tid: u8, start: Option<u16>) -> Option<Asked> {
    radio(Command::BlockAck(BlockAck {
        station,
        tid,
        start,
    }))
}

fn key(station: StationIndex, payload: &[u8]) -> Option<Command> {
    let bits = u16_at(payload, 0x10)?;
    let flags = KeyFlags::from_bits_retain(bits);
    let slot = u8_at(payload, 0x1e)?;
    if flags.contains(KeyFlags::INVALID) {
        return Some(Command::RemoveKey(station, slot));
    }
    let cipher = match bits & 7 {
        CIPHER_CCMP => Cipher::Ccmp,
        _ => Cipher::Software,
    };
    Some(Command::SetKey(Box::new(Key {
        station,
        slot,
        index: ((bits >> 8) & 3) as u8,
        group: flags.contains(KeyFlags::MULTICAST),
        cipher,
        bytes: array_at(payload, 0x20)?,
    })))
}

/// REMOVE_STA.
pub fn remove(_: &mut Known, payload: &[u8]) -> Option<Asked> {
    radio(Command::RemoveStation(MacAddr(array_at(payload, 4)?)))
}

/// TX_LINK_QUALITY: 16 rate words. Words of no rate are left out; the first is kept to be echoed. Before them,
/// the bounds of A-MPDUs.
pub fn link_quality(known: &mut Known, payload: &[u8]) -> Option<Asked> {
    let station = u8_at(payload, 0)?;
    let words = (0..16).filter_map(|index| u32_at(payload, 0x14 + 4 * index));
    let ladder: RateTable = words.filter_map(rate::decode).collect();
    let first = known.first_rates.get_mut(usize::from(station))?;
    *first = u32_at(payload, 0x14)?;
    let limits = AggregationLimits {
        frames: u8_at(payload, 0x0f)?,
        time: Micros(u64::from(u16_at(payload, 0x0c)?)),
        no_start_after: u8_at(payload, 0x0e)?,
    };
    let (station, ladder) = (StationIndex(station), Box::new(ladder));
    radio(Command::RateTable(station, ladder, limits))
}
