//! SCAN and SCAN_ABORT (`struct iwl_scan_cmd`): fixed part, probe request template, channels.

use airlane_dot11::{Band, Channel, Rate};
use airlane_lane::Micros;
use airlane_waist::{Command, ScanChannel, ScanRequest};

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
        ssids: ssids(payload, channels_at),
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

/// Networks to ask for besides the template's; an empty name asks for all. Only a channel's type says how
/// many there are, in bits 1 to n: an entry of length zero may be a wildcard, or none (`IWL_SCAN_PROBE_MASK`).
fn ssids(payload: &[u8], channels_at: usize) -> Vec<Vec<u8>> {
    let kind = u32_at(payload, channels_at).unwrap_or(0);
    let count = (kind >> 1).trailing_ones() as usize;
    let entry = |index: usize| {
        let at = DIRECT + index * DIRECT_SIZE;
        let length = usize::from(u8_at(payload, at + 1)?);
        let name = payload.get(at + 2..at + 2 + length)?;
        (length <= 32).then(|| name.to_vec())
    };
    (0..count.min(DIRECT_ENTRIES)).filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::put;

    /// A scan of channel 36 with `names` in its table, of which its type counts `counted`.
    fn names(names: &[&[u8]], counted: u32) -> Vec<Vec<u8>> {
        let mut payload = vec![0; FIXED + CHANNEL_SIZE];
        payload[0x03] = 1;
        for (index, name) in names.iter().enumerate() {
            let at = DIRECT + index * DIRECT_SIZE;
            payload[at + 1] = name.len() as u8;
            put(&mut payload, at + 2, name);
        }
        let kind = 1 | ((1 << counted) - 1) << 1;
        put(&mut payload, FIXED, &u32::to_le_bytes(kind));
        put(&mut payload, FIXED + 4, &[36]);
        match decode(&mut Known::default(), &payload) {
            Some(Asked::Radio(Command::Scan(request))) => request.ssids,
            _ => panic!("no scan"),
        }
    }

    #[test]
    fn a_wildcard_behind_a_name_is_asked_for() {
        assert_eq!(names(&[b"corp", b""], 2), [b"corp".to_vec(), Vec::new()]);
    }

    #[test]
    fn entries_that_no_channel_counts_are_none() {
        assert!(names(&[b"corp", b"home"], 0).is_empty());
        assert_eq!(names(&[b"corp", b"home"], 1), [b"corp".to_vec()]);
    }

    #[test]
    fn a_name_longer_than_any_is_left_out() {
        assert!(names(&[&[b'x'; 33]], 1).is_empty());
    }
}
