//! A received frame as the card writes it: RX_PHY, what the receiver measured, and RX_MPDU, the frame
//! with a status word (`struct iwl_rx_phy_res`, `struct iwl_rx_mpdu_res_start`).

use airlane_dot11::{Band, Dbm, Rate};
use airlane_waist::{Received, RxCipher};

use arrayvec::ArrayVec;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromZeros, Immutable, IntoBytes, Unaligned};

use crate::rate;

/// RX_PHY's payload, `struct iwl_rx_phy_res`.
#[derive(FromZeros, Immutable, IntoBytes, Unaligned)]
#[repr(C)]
pub struct RxPhy {
    /// Words of `measured` in use.
    words: u8,
    configured_words: u8,
    statistics: u8,
    reserved: u8,
    /// When the reception ended, in microseconds since the run began.
    timestamp: U64,
    beacon_timestamp: U32,
    flags: U16,
    channel: U16,
    /// `struct iwlagn_non_cfg_phy`: second the gain, third RSSI of antennas A and B, fourth of C.
    measured: [U32; 8],
    rate: U32,
    length: U16,
    frame_time: U16,
}

/// RX_PHY's payload. The beacon time stamp is left at zero: the driver's channel switch arithmetic
/// then counts from now.
pub fn phy(received: &Received) -> RxPhy {
    let measured = [0, gain(received.signal), RSSI_A_B, RSSI_C, 0, 0, 0, 0];
    RxPhy {
        words: 8,
        timestamp: U64::new(received.at.0),
        flags: U16::new(phy_flags(received)),
        channel: U16::new(received.channel.number().into()),
        measured: measured.map(U32::new),
        rate: U32::new(rate::encode(received.rate)),
        length: U16::new(length(received)),
        ..RxPhy::new_zeroed()
    }
}

/// RX_MPDU's payload before the frame: its length.
pub fn mpdu_head(length: usize) -> [u8; 4] {
    let length = u16::try_from(length).unwrap_or(u16::MAX);
    let [low, high] = length.to_le_bytes();
    [low, high, 0, 0]
}

/// RX_MPDU's status word: no CRC error, no overflow, and what became of the cipher.
pub fn status(cipher: RxCipher) -> u32 {
    match cipher {
        RxCipher::Clear => 0x003,
        RxCipher::Ccmp => 0xa43,
        RxCipher::CcmpBad => 0xa03,
        RxCipher::Encrypted => 0x203,
    }
}

/// The frame check sequence (IEEE 802.11-2020 9.2.4.8), which a monitor's driver expects.
fn frame_check_sequence(frame: &[u8]) -> u32 {
    !frame.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| {
            (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg())
        })
    })
}

/// The frame check sequence as bytes, or none.
pub fn frame_check_sequence_bytes(frame: &[u8], wanted: bool) -> ArrayVec<u8, 4> {
    if wanted {
        frame_check_sequence(frame).to_le_bytes().into()
    } else {
        ArrayVec::new()
    }
}

/// The driver takes the greatest of three RSSI values, less the gain, less 44.
const RSSI: u32 = 50;
const RSSI_A_B: u32 = RSSI | RSSI << 16;
const RSSI_C: u32 = RSSI;

/// The gain, in bits 15:9, that makes the driver see `signal`.
fn gain(signal: Dbm) -> u32 {
    let clamped = i32::from(signal.rounded()).clamp(-121, 6);
    (6 - clamped).unsigned_abs() << 9
}

fn phy_flags(received: &Received) -> u16 {
    let cck = matches!(received.rate, Rate::Dsss { .. });
    let short = matches!(
        received.rate,
        Rate::Dsss {
            short_preamble: true,
            ..
        }
    );
    u16::from(received.channel.band() == Band::Ghz2)
        | u16::from(cck) << 1
        | u16::from(short) << 2
        | 1 << 4 // antenna A
        | u16::from(received.aggregated) << 7
}

fn length(received: &Received) -> u16 {
    u16::try_from(received.frame.len()).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `iwlagn_calc_rssi` computes it.
    fn driver_rssi(signal: f32) -> i32 {
        let gain = (gain(Dbm(signal)) >> 9) & 0x7f;
        RSSI as i32 - gain as i32 - 44
    }

    #[test]
    fn the_driver_sees_the_signal() {
        for signal in [-121.0, -50.0, -49.6, 0.0, 6.0] {
            assert_eq!(driver_rssi(signal), signal.round() as i32);
        }
        assert_eq!(driver_rssi(-200.0), -121, "clamped");
    }

    #[test]
    fn the_check_sequence_is_crc_32() {
        assert_eq!(frame_check_sequence(b"123456789"), 0xcbf4_3926);
    }
}
