//! Commands about the radio as a whole: timing, channel access, power, calibration, flush.

use airlane_dot11::{Band, Channel, EdcaParameters, Width, time_units};
use airlane_lane::Micros;
use airlane_waist::{ChannelSwitch, Command, PowerSave, Timing};

use super::rxon::{self, Flags};
use super::{Asked, Known};
use crate::wire::{u8_at, u16_at, u32_at};

fn radio(command: Command) -> Option<Asked> {
    Some(Asked::Radio(command))
}

/// QOS_PARAM: four categories from offset 4, background first.
pub fn edca(_: &mut Known, payload: &[u8]) -> Option<Asked> {
    let category = |index: usize| {
        let at = 4 + 8 * index;
        Some(EdcaParameters {
            cw_min: u16_at(payload, at)?,
            cw_max: u16_at(payload, at + 2)?,
            aifsn: u8_at(payload, at + 4)?,
            txop: Micros(u64::from(u16_at(payload, at + 6)?)),
        })
    };
    radio(Command::Edca([
        category(0)?,
        category(1)?,
        category(2)?,
        category(3)?,
    ]))
}

/// RXON_TIMING.
pub fn timing(known: &mut Known, payload: &[u8]) -> Option<Asked> {
    let timing = Timing {
        beacon_interval: u16_at(payload, 0x08)?,
        listen_interval: u16_at(payload, 0x10)?,
        dtim_period: u8_at(payload, 0x12)?,
    };
    known.beacon_interval = timing.beacon_interval;
    radio(Command::Timing(timing))
}

/// TXFIFO_FLUSH: 8 bytes with a 32-bit mask, or 4 with a 16-bit one.
pub fn flush(_: &mut Known, payload: &[u8]) -> Option<Asked> {
    let mask = match payload.len() {
        ..8 => u32::from(u16_at(payload, 0)?),
        _ => u32_at(payload, 0)?,
    };
    radio(Command::Flush(mask))
}

/// LEDS.
pub fn led(_: &mut Known, _: &[u8]) -> Option<Asked> {
    radio(Command::Led)
}

/// COEX_PRIORITY_TABLE and the Bluetooth commands.
pub fn coexistence(_: &mut Known, _: &[u8]) -> Option<Asked> {
    radio(Command::Coexistence)
}

/// CT_KILL_CONFIG.
pub fn thermal(_: &mut Known, _: &[u8]) -> Option<Asked> {
    radio(Command::Thermal)
}

/// SENSITIVITY.
pub fn sensitivity(_: &mut Known, _: &[u8]) -> Option<Asked> {
    radio(Command::Sensitivity)
}

/// PHY_CALIBRATION.
pub fn calibrate(_: &mut Known, _: &[u8]) -> Option<Asked> {
    radio(Command::Calibrate)
}

/// CALIBRATION_CFG: flags bit 0 asks to be told when it is complete, as the INIT image is asked.
pub fn calibration_config(_: &mut Known, payload: &[u8]) -> Option<Asked> {
    if u32_at(payload, 0x28)? & 1 != 0 {
        Some(Asked::Calibration(Command::Calibrate))
    } else {
        radio(Command::Calibrate)
    }
}

/// POWER_TABLE. Times are in microseconds; the last of five sleep intervals is the longest.
pub fn power_table(_: &mut Known, payload: &[u8]) -> Option<Asked> {
    radio(Command::PowerSave(PowerSave {
        enabled: u16_at(payload, 0)? & 1 != 0,
        receive_timeout: Micros(u64::from(u32_at(payload, 0x04)?)),
        transmit_timeout: Micros(u64::from(u32_at(payload, 0x08)?)),
        sleep_interval: u32_at(payload, 0x1c)?,
    }))
}

/// TX_POWER_DBM: half dBm.
pub fn tx_power(_: &mut Known, payload: &[u8]) -> Option<Asked> {
    let limit = u8_at(payload, 0)?;
    radio(Command::TxPower(i8::from_le_bytes([limit])))
}

/// TX_ANT_CONFIG.
pub fn tx_antennas(_: &mut Known, payload: &[u8]) -> Option<Asked> {
    radio(Command::TxAntennas(u8_at(payload, 0)?))
}

/// STATISTICS: bit 0 clears.
pub fn statistics(_: &mut Known, payload: &[u8]) -> Option<Asked> {
    let clear = u32_at(payload, 0)? & 1 != 0;
    radio(Command::Statistics { clear })
}

/// CHANNEL_SWITCH. The time is a beacon timer that runs down, beacons in bits 31:22.
pub fn channel_switch(known: &mut Known, payload: &[u8]) -> Option<Asked> {
    let band = match u8_at(payload, 0)? {
        0 => Band::Ghz5,
        _ => Band::Ghz2,
    };
    let flags = Flags::from_bits_retain(u32_at(payload, 4)?);
    let number = u16_at(payload, 2)?;
    let channel = Channel::new(band, number).ok()?;
    let width: Width = rxon::width(flags);
    let time = u32_at(payload, 0x0c)?;
    radio(Command::SwitchChannel(ChannelSwitch {
        channel: channel.with_width(width),
        after: until(time, known.beacon_interval),
    }))
}

/// The span that a beacon timer describes, seen from a timer of zero: whole intervals, less one, and
/// what the running one has left (`iwl_add_beacon_time`).
fn until(timer: u32, beacon_interval: u16) -> Micros {
    let interval = time_units(u64::from(beacon_interval)).0;
    let (beacons, left) = (u64::from(timer >> 22), u64::from(timer & 0x003f_ffff));
    let whole = beacons.saturating_sub(1).saturating_mul(interval);
    let part = if left == 0 {
        0
    } else {
        interval.saturating_sub(left)
    };
    Micros(whole.saturating_add(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beacon_timer_is_the_span_that_the_driver_added_to_zero() {
        // 2 intervals and 5,000 µs after 0: left = interval - 5,000, one more beacon.
        let timer = 3 << 22 | (102_400 - 5_000);
        assert_eq!(until(timer, 100), Micros(2 * 102_400 + 5_000));
        assert_eq!(until(1 << 22, 100), Micros(0));
        assert_eq!(until(0, 100), Micros(0));
    }

    #[test]
    fn the_short_flush_has_a_short_mask() {
        let mut known = Known::default();
        let long = flush(&mut known, &[0xef, 0xfd, 0x0f, 0, 2, 0, 0, 0]);
        assert!(matches!(long, Some(Asked::Radio(Command::Flush(0xf_fdef)))));
        let short = flush(&mut known, &[0xef, 0xfd, 2, 0]);
        assert!(matches!(short, Some(Asked::Radio(Command::Flush(0xfdef)))));
    }
}
