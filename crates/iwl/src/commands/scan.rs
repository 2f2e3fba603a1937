//! SCAN and SCAN_ABORT (`struct iwl_scan_cmd`): fixed part, probe request template, channels.

use airlane_wlan::{Band, Channel, Command, Micros, Rate, ScanChannel, ScanRequest};

use super::rxon::{self, Filter};
use super::{Asked, Known};
use crate::rate;
use crate::wire::{u8_at, u16_at, u32_at};

/// Bytes before the template.
pub const FIXED: usize = 764;
const DIRECT: usize = 0x54;
const DIRECT_ENTRIES: usize = 20;
const DIRECT_SIZE: usize = 34;
const CHANNEL_SIZE: usize = 12;
const BAND_2GHZ: u32 = 1;

/// SCAN.
pub fn decode(_: &mut Known, payload: &[u8]) -> Option<Asked> {
    let template = usize::from(u16_at(payload, 0x1c)?);
    let channels_at = FIXED + template;
    let band = if u32_at(payload, 0x14)? & BAND_2GHZ != 0 {
        Band::Ghz2
    } else {
        Band::Ghz5
    };
    let count = usize::from(u8_at(payload, 0x03)?);
    let channels: Option<Vec<_>> = (0..count)
        .map(|index| channel(payload, channels_at + index * CHANNEL_SIZE, band))
        .collect();
    let filter = Filter::from_bits_retain(u32_at(payload, 0x18)?);
    let request = ScanRequest {
        channels: channels.filter(|channels| !channels.is_empty())?,
        probe: payload.get(FIXED..channels_at)?.to_vec(),
        ssids: ssids(payload),
        rate: rate::decode(u32_at(payload, 0x1c + 0x0c)?).unwrap_or(slowest(band)),
        max_away: Micros(u64::from(u32_at(payload, 0x0c)?)),
        filter: rxon::receive_filter(filter),
    };
    Some(Asked::Radio(Command::Scan(Box::new(request))))
}

/// SCAN_ABORT.
pub fn abort(_: &mut Known, _: &[u8]) -> Option<Asked> {
    Some(Asked::Radio(Command::AbortScan))
}

const fn slowest(band: Band) -> Rate {
    match band {
        Band::Ghz2 => Rate::DSSS_1,
        Band::Ghz5 => Rate::OFDM_6,
    }
}

/// One channel: type (bit 0 active), number, gains, dwell times in milliseconds.
fn channel(payload: &[u8], at: usize, band: Band) -> Option<ScanChannel> {
    let active = u32_at(payload, at)? & 1 != 0;
    let dwell = u16_at(payload, if active { at + 8 } else { at + 10 })?;
    Some(ScanChannel {
        channel: Channel::new(band, u16_at(payload, at + 4)?).ok()?,
        active,
        dwell: Micros::from_millis(u64::from(dwell)),
    })
}

/// Networks to ask for by name besides the template's.
fn ssids(payload: &[u8]) -> Vec<Vec<u8>> {
    let entry = |index: usize| {
        let at = DIRECT + index * DIRECT_SIZE;
        let length = usize::from(u8_at(payload, at + 1)?);
        let wanted = (1..=32).contains(&length);
        let name = payload.get(at + 2..at + 2 + length)?;
        wanted.then(|| name.to_vec())
    };
    (0..DIRECT_ENTRIES).filter_map(entry).collect()
}
