//! A received frame as the card writes it: RX_PHY, what the receiver measured, and RX_MPDU, the frame
//! with a status word (`struct iwl_rx_phy_res`, `struct iwl_rx_mpdu_res_start`).

use airlane_dot11::{Band, Dbm, Rate};
use airlane_waist::{Received, RxCipher};

use arrayvec::ArrayVec;

use crate::rate;
use crate::wire::put;

/// Bytes of RX_PHY's payload.
pub const PHY: usize = 60;

/// RX_PHY's payload. The beacon time stamp is left at zero: the driver's channel switch arithmetic
/// then counts from now.
pub fn phy(received: &Received) -> [u8; PHY] {
    let mut bytes = [0; PHY];
    put(&mut bytes, 0x00, &[8]); // words of non_cfg_phy in use
    put(&mut bytes, 0x04, &received.at.0.to_le_bytes());
    put(&mut bytes, 0x10, &phy_flags(received).to_le_bytes());
    let channel = u16::from(received.channel.number());
    put(&mut bytes, 0x12, &channel.to_le_bytes());
    put(&mut bytes, 0x18, &gain(received.signal).to_le_bytes());
    put(&mut bytes, 0x1c, &RSSI_A_B.to_le_bytes());
    put(&mut bytes, 0x20, &RSSI_C.to_le_bytes());
    put(&mut bytes, 0x34, &rate::encode(received.rate).to_le_bytes());
    put(&mut bytes, 0x38, &length(received).to_le_bytes());
    bytes
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
