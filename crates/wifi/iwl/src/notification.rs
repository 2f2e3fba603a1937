//! What the card tells its driver unasked: scan progress, missed beacons, channel switches
//! (`dvm/commands.h`).

use airlane_dot11::{Band, Channel};
use airlane_waist::{MissedBeacons, ScanEvent};

use crate::response::{NOTIFICATION, Packet, id};

/// SCAN_COMPLETE: ended normally.
const SCAN_DONE: u8 = 1;
/// SCAN_COMPLETE: ended early.
const SCAN_ABORTED: u8 = 2;

/// One step of a scan.
pub fn scan(event: &ScanEvent) -> Packet {
    match *event {
        ScanEvent::Started(channel) => Packet::zeroed(id::SCAN_START, NOTIFICATION, 20)
            .with(12, &[channel.number(), band(channel)])
            .with(16, &[1]),
        ScanEvent::Left(channel) => Packet::zeroed(id::SCAN_RESULTS, NOTIFICATION, 16)
            .with(0, &[channel.number(), band(channel)]),
        ScanEvent::Complete {
            channels,
            last,
            aborted,
        } => {
            let status = if aborted { SCAN_ABORTED } else { SCAN_DONE };
            let last = last.map_or(0, Channel::number);
            Packet::zeroed(id::SCAN_COMPLETE, NOTIFICATION, 12)
                .with(0, &[channels, status, 0, last])
        }
    }
}

/// A scan that never began is over.
pub fn scan_failed() -> Packet {
    scan(&ScanEvent::Complete {
        channels: 0,
        last: None,
        aborted: true,
    })
}

/// Beacons are missing.
pub fn missed_beacons(missed: &MissedBeacons) -> Packet {
    Packet::zeroed(id::MISSED_BEACONS, NOTIFICATION, 16)
        .with(0, &missed.consecutive.to_le_bytes())
        .with(4, &missed.total.to_le_bytes())
        .with(8, &missed.expected.to_le_bytes())
        .with(12, &missed.received.to_le_bytes())
}

/// The channel switch is done.
pub fn channel_switched(channel: Channel) -> Packet {
    Packet::zeroed(id::CHANNEL_SWITCH, NOTIFICATION, 8)
        .with(0, &u16::from(band(channel)).to_le_bytes())
        .with(2, &u16::from(channel.number()).to_le_bytes())
}

/// The INIT image's calibration is complete.
pub fn calibration_complete() -> Packet {
    Packet::zeroed(id::CALIBRATION_COMPLETE, NOTIFICATION, 4)
}

/// As notifications spell a band: 1 is 2.4 GHz, 0 is 5 GHz.
fn band(channel: Channel) -> u8 {
    u8::from(channel.band() == Band::Ghz2)
}
