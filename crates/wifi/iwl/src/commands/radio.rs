//! Commands about the radio as a whole: RXON, timing, channel access, power, calibration, flush.

use airlane_dot11::{Band, Channel, EdcaParameters, time_units};
use airlane_lane::Micros;
use airlane_waist::{ChannelSwitch, Command, PowerSave, Timing};

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Unaligned};

use super::decoder::{Asked, DriverState};
use super::rxon::{self, Flags, Rxon};
use crate::wire::read;

/// `struct iwl_qosparam_cmd`.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
pub struct QosCommand {
    flags: U32,
    /// By access category, background first.
    categories: [CategoryParameters; 4],
}

/// `struct iwl_ac_qos`.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
struct CategoryParameters {
    cw_min: U16,
    cw_max: U16,
    aifsn: u8,
    reserved: u8,
    /// Transmit opportunity, in microseconds.
    txop: U16,
}

/// `struct iwl_rxon_time_cmd`. Intervals are in time units, the listen interval in beacons.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
pub struct TimingCommand {
    timestamp: U64,
    beacon_interval: U16,
    atim_window: U16,
    beacon_timer: U32,
    listen_interval: U16,
    dtim_period: u8,
    delta_cp_bss_tbtts: u8,
}

/// `struct iwl_calib_cfg_cmd`.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
pub struct CalibrationCommand {
    /// What to calibrate: once, periodically.
    elements: [[U32; 5]; 2],
    /// Bit 0: CALIBRATION_COMPLETE is wanted.
    flags: U32,
    /// The same of the driver.
    unread: [U32; 12],
}

/// `struct iwl_powertable_cmd`.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
pub struct PowerCommand {
    /// Bit 0: power save is on.
    flags: U16,
    keep_alive_seconds: u8,
    debug_flags: u8,
    /// How long the radio stays awake after the last frame received, in microseconds.
    receive_timeout: U32,
    /// How long the radio stays awake after the last frame sent, in microseconds.
    transmit_timeout: U32,
    /// In beacon intervals; the last is the longest.
    sleep_intervals: [U32; 5],
    keep_alive_beacons: U32,
}

/// `struct iwl5000_channel_switch_cmd`, up to its table of transmit power.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
pub struct ChannelSwitchCommand {
    /// 0 is 5 GHz.
    band: u8,
    expect_beacon: u8,
    channel: U16,
    /// RXON's.
    flags: U32,
    filter: U32,
    /// As in [`until`].
    time: U32,
}

fn radio(command: Command) -> Option<Asked> {
    Some(Asked::Radio(command))
}

/// RXON: without ASSOC, stations and keys are forgotten.
pub fn configure(state: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    let rxon = Rxon::parse(payload)?;
    let forget = !rxon.is_associated();
    let configuration = rxon.configuration(forget)?;
    if forget {
        state.first_rates = Default::default();
        state.station_flags = Default::default();
    }
    state.rxon = Some(rxon);
    radio(Command::Configure(Box::new(configuration)))
}

/// RXON_ASSOC: new flags for the last RXON. Before the first RXON there is nothing to change.
pub fn reconfigure(state: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    let rxon = state.rxon.as_mut()?;
    rxon.change(payload)?;
    let configuration = rxon.configuration(false)?;
    radio(Command::Configure(Box::new(configuration)))
}

/// QOS_PARAM: contention parameters of each category.
pub fn edca(_: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    let asked: QosCommand = read(payload)?;
    let parameters = asked.categories.map(|of| EdcaParameters {
        cw_min: of.cw_min.get(),
        cw_max: of.cw_max.get(),
        aifsn: of.aifsn,
        txop: Micros(u64::from(of.txop.get())),
    });
    radio(Command::Edca(parameters))
}

/// RXON_TIMING: the BSS's intervals. The beacon interval is kept for channel switches.
pub fn timing(state: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    let asked: TimingCommand = read(payload)?;
    let timing = Timing {
        beacon_interval: asked.beacon_interval.get(),
        listen_interval: asked.listen_interval.get(),
        dtim_period: asked.dtim_period,
    };
    state.beacon_interval = timing.beacon_interval;
    radio(Command::Timing(timing))
}

/// TXFIFO_FLUSH: 8 bytes with a 32-bit mask, or 4 with a 16-bit one.
pub fn flush(_: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    let mask = match payload.len() {
        ..8 => u32::from(read::<U16>(payload)?.get()),
        _ => read::<U32>(payload)?.get(),
    };
    radio(Command::Flush(mask))
}

/// LEDS: on or off, and how fast.
pub fn led(_: &mut DriverState, _: &[u8]) -> Option<Asked> {
    radio(Command::Led)
}

/// COEX_PRIORITY_TABLE and the Bluetooth commands.
pub fn coexistence(_: &mut DriverState, _: &[u8]) -> Option<Asked> {
    radio(Command::Coexistence)
}

/// CT_KILL_CONFIG: the temperatures at which the card switches itself off.
pub fn thermal(_: &mut DriverState, _: &[u8]) -> Option<Asked> {
    radio(Command::Thermal)
}

/// SENSITIVITY: thresholds of the receiver.
pub fn sensitivity(_: &mut DriverState, _: &[u8]) -> Option<Asked> {
    radio(Command::Sensitivity)
}

/// PHY_CALIBRATION: results of an earlier calibration.
pub fn calibrate(_: &mut DriverState, _: &[u8]) -> Option<Asked> {
    radio(Command::Calibrate)
}

/// CALIBRATION_CFG. The driver waits for the end of the INIT image's calibration only.
pub fn calibration_config(_: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    let asked: CalibrationCommand = read(payload)?;
    if asked.flags.get() & 1 != 0 {
        Some(Asked::Calibration(Command::Calibrate))
    } else {
        radio(Command::Calibrate)
    }
}

/// POWER_TABLE: when the station may sleep, and for how long.
pub fn power_table(_: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    let asked: PowerCommand = read(payload)?;
    let [.., longest] = asked.sleep_intervals;
    radio(Command::PowerSave(PowerSave {
        enabled: asked.flags.get() & 1 != 0,
        receive_timeout: Micros(u64::from(asked.receive_timeout.get())),
        transmit_timeout: Micros(u64::from(asked.transmit_timeout.get())),
        sleep_interval: longest.get(),
    }))
}

/// TX_POWER_DBM: a limit in half dBm comes first.
pub fn tx_power(_: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    radio(Command::TxPower(read(payload)?))
}

/// TX_ANT_CONFIG: a mask of antennas, A in bit 0.
pub fn tx_antennas(_: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    radio(Command::TxAntennas(read(payload)?))
}

/// STATISTICS: bit 0 clears.
pub fn statistics(_: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    let clear = read::<U32>(payload)?.get() & 1 != 0;
    radio(Command::Statistics { clear })
}

/// CHANNEL_SWITCH. The time is a beacon timer that runs down, beacons in bits 31:22.
pub fn channel_switch(state: &mut DriverState, payload: &[u8]) -> Option<Asked> {
    let asked: ChannelSwitchCommand = read(payload)?;
    let band = match asked.band {
        0 => Band::Ghz5,
        _ => Band::Ghz2,
    };
    let channel = Channel::new(band, asked.channel.get()).ok()?;
    let width = rxon::width(Flags::from_bits_retain(asked.flags.get()));
    radio(Command::SwitchChannel(ChannelSwitch {
        channel: channel.with_width(width),
        after: until(asked.time.get(), state.beacon_interval),
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
        let mut state = DriverState::default();
        let long = flush(&mut state, &[0xef, 0xfd, 0x0f, 0, 2, 0, 0, 0]);
        assert!(matches!(long, Some(Asked::Radio(Command::Flush(0xf_fdef)))));
        let short = flush(&mut state, &[0xef, 0xfd, 2, 0]);
        assert!(matches!(short, Some(Asked::Radio(Command::Flush(0xfdef)))));
    }
}
