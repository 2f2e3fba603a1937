//! SCAN and SCAN_ABORT (`struct iwl_scan_cmd`): fixed part, probe request template, channels.

use airlane_dot11::{Band, Channel, Rate};
use airlane_lane::Micros;
use airlane_waist::{Command, ScanChannel, ScanRequest};

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::decoder::{Asked, DriverState};
use super::rxon::{self, Filter};
use crate::rate;
use crate::wire::TxCommand;

/// RXON's flag for 2.4 GHz.
const BAND_2GHZ: u32 = 1;

/// `struct iwl_scan_cmd` before the probe request's template, which is followed by the channels.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
pub struct ScanCommand {
    length: U16,
    scan_flags: u8,
    channels: u8,
    /// When a channel counts as quiet or good, and the receive chains.
    thresholds: [U16; 4],
    /// Longest time away from the operating channel, in microseconds; 0 when not associated.
    max_away: U32,
    suspend_time: U32,
    /// RXON's.
    flags: U32,
    /// RXON's.
    filter: U32,
    /// How the template is sent.
    probe: TxCommand,
    names: [NameEntry; 20],
}

/// `struct iwl_ssid_ie`.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
struct NameEntry {
    element: u8,
    length: u8,
    name: [u8; 32],
}

/// `struct iwl_scan_channel`. Dwell times are in milliseconds.
#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct ChannelEntry {
    /// Bit 0: active. Bits 20:1: an unbroken run of ones, one for each name that is asked for.
    kind: U32,
    channel: U16,
    tx_gain: u8,
    dsp_attenuation: u8,
    active_dwell: U16,
    passive_dwell: U16,
}

/// SCAN. Malformed without a channel, or with one that the band does not have.
pub fn decode(_: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    let (asked, rest) = ScanCommand::read_from_prefix(payload).ok()?;
    let template = usize::from(asked.probe.length.get());
    let (probe, rest) = rest.split_at_checked(template)?;
    let count = usize::from(asked.channels);
    let (entries, _) = <[ChannelEntry]>::ref_from_prefix_with_elems(rest, count).ok()?;
    let band = if asked.flags.get() & BAND_2GHZ != 0 {
        Band::Ghz2
    } else {
        Band::Ghz5
    };
    let channels: Option<Vec<_>> = entries.iter().map(|entry| channel(entry, band)).collect();
    let request = ScanRequest {
        ssids: ssids(&asked.names, entries.first()?.kind.get()),
        channels: channels?,
        probe: probe.to_vec(),
        rate: rate::decode(asked.probe.rate.get()).unwrap_or(slowest(band)),
        max_away: Micros(u64::from(asked.max_away.get())),
        filter: rxon::receive_filter(Filter::from_bits_retain(asked.filter.get())),
    };
    Some(Asked::Radio(Command::Scan(Box::new(request))))
}

/// SCAN_ABORT, whatever its payload.
pub fn abort(_: &mut DriverState, _: &[u8]) -> Option<Asked> {
    Some(Asked::Radio(Command::AbortScan))
}

const fn slowest(band: Band) -> Rate {
    match band {
        Band::Ghz2 => Rate::DSSS_1,
        Band::Ghz5 => Rate::OFDM_6,
    }
}

fn channel(entry: &ChannelEntry, band: Band) -> Option<ScanChannel> {
    let active = entry.kind.get() & 1 != 0;
    let dwell = if active {
        entry.active_dwell
    } else {
        entry.passive_dwell
    };
    Some(ScanChannel {
        channel: Channel::new(band, entry.channel.get()).ok()?,
        active,
        dwell: Micros::from_millis(u64::from(dwell.get())),
    })
}

/// Networks to ask for besides the template's; an empty name asks for all. Only a channel's type says how
/// many there are, in bits 1 to n: an entry of length zero may be a wildcard, or none (`IWL_SCAN_PROBE_MASK`).
fn ssids(names: &[NameEntry], kind: u32) -> Vec<Vec<u8>> {
    let count = (kind >> 1).trailing_ones() as usize;
    let name = |entry: &NameEntry| Some(entry.name.get(..usize::from(entry.length))?.to_vec());
    names.iter().take(count).filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::put;

    const FIXED: usize = size_of::<ScanCommand>();
    const NAMES: usize = 0x54;

    /// A scan of channel 36 with `names` in its table, of which its type counts `counted`.
    fn names(names: &[&[u8]], counted: u32) -> Vec<Vec<u8>> {
        let mut payload = vec![0; FIXED + size_of::<ChannelEntry>()];
        payload[0x03] = 1;
        for (index, name) in names.iter().enumerate() {
            let at = NAMES + index * size_of::<NameEntry>();
            payload[at + 1] = name.len() as u8;
            put(&mut payload, at + 2, name);
        }
        let kind = 1 | ((1 << counted) - 1) << 1;
        put(&mut payload, FIXED, &u32::to_le_bytes(kind));
        put(&mut payload, FIXED + 4, &[36]);
        match decode(&mut DriverState::default(), &payload) {
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
