//! Radiotap headers, as every capture tool reads them (radiotap.org, version 0): what a monitor
//! interface would have put before a frame.
//!
//! Not here: the capture file around them (link type 127, `LINKTYPE_IEEE802_11_RADIOTAP`).

use airlane_dot11::{Band, DsssRate, Rate};
use arrayvec::ArrayVec;

use crate::{Captured, Subframe};

/// A radiotap header.
pub type Radiotap = ArrayVec<u8, 64>;

/// Bits of the presence word (radiotap.org, "Defined fields").
mod present {
    pub const TSFT: u32 = 1 << 0;
    pub const FLAGS: u32 = 1 << 1;
    pub const RATE: u32 = 1 << 2;
    pub const CHANNEL: u32 = 1 << 3;
    pub const SIGNAL: u32 = 1 << 5;
    pub const TX_POWER: u32 = 1 << 10;
    pub const MCS: u32 = 1 << 19;
    pub const AMPDU_STATUS: u32 = 1 << 20;
}

/// Flags field: short preamble. FCS at the end (0x10) is never set: frames come without.
const SHORT_PREAMBLE: u8 = 0x02;

/// Channel flags.
const CCK: u16 = 0x0020;
const OFDM: u16 = 0x0040;
const GHZ2: u16 = 0x0080;
const GHZ5: u16 = 0x0100;

/// MCS field: which parts are known (bandwidth, index, guard interval, format), and the parts.
const MCS_KNOWN: u8 = 0x01 | 0x02 | 0x04 | 0x08;
const MCS_40_MHZ: u8 = 0x01;
const MCS_SHORT_GUARD: u8 = 0x04;
const MCS_GREENFIELD: u8 = 0x08;

/// A-MPDU status flags.
const AMPDU_LAST_KNOWN: u16 = 0x0004;
const AMPDU_IS_LAST: u16 = 0x0008;

/// The header for `captured`: start time, flags, rate or MCS, channel, signal where there is one,
/// and transmit power.
pub fn radiotap(captured: &Captured<'_>) -> Radiotap {
    let mut header = Radiotap::new();
    header.extend([0; 8]);
    let mut present = present::TSFT | present::FLAGS | present::CHANNEL | present::TX_POWER;
    header.extend(captured.start.0.to_le_bytes());
    header.push(flags(captured.rate));
    if let Some(rate) = half_megabits(captured.rate) {
        present |= present::RATE;
        header.push(rate);
    }
    align(&mut header, 2);
    header.extend(frequency(captured).to_le_bytes());
    header.extend(channel_flags(captured).to_le_bytes());
    if let Some(signal) = captured.signal {
        present |= present::SIGNAL;
        header.push(signal.rounded().cast_unsigned());
    }
    header.push(captured.power.rounded().cast_unsigned());
    if let Some(mcs) = mcs(captured.rate) {
        present |= present::MCS;
        header.extend(mcs);
    }
    if let Some(subframe) = captured.subframe {
        present |= present::AMPDU_STATUS;
        align(&mut header, 4);
        header.extend(ampdu_status(captured, subframe));
    }
    finish(&mut header, present);
    header
}

/// Version and pad stay 0; length and presence word are known only now.
fn finish(header: &mut Radiotap, present: u32) {
    // At most the 64 of the type.
    let [length, ..] = header.len().to_le_bytes();
    let [a, b, c, d] = present.to_le_bytes();
    let fixed = [0, 0, length, 0, a, b, c, d];
    for (octet, value) in header.iter_mut().zip(fixed) {
        *octet = value;
    }
}

fn align(header: &mut Radiotap, to: usize) {
    while !header.len().is_multiple_of(to) {
        header.push(0);
    }
}

fn flags(rate: Rate) -> u8 {
    match rate {
        Rate::Dsss {
            short_preamble: true,
            rate,
        } if rate != DsssRate::M1 => SHORT_PREAMBLE,
        _ => 0,
    }
}

/// The rate field counts 500 kb/s; HT rates have the MCS field instead.
fn half_megabits(rate: Rate) -> Option<u8> {
    match rate {
        Rate::Ht { .. } => None,
        _ => u8::try_from(rate.hundred_kbps() / 5).ok(),
    }
}

fn frequency(captured: &Captured<'_>) -> u16 {
    u16::try_from(captured.channel.frequency()).unwrap_or(0)
}

fn channel_flags(captured: &Captured<'_>) -> u16 {
    let band = match captured.channel.band() {
        Band::Ghz2 => GHZ2,
        Band::Ghz5 => GHZ5,
    };
    let modulation = match captured.rate {
        Rate::Dsss { .. } => CCK,
        Rate::Ofdm(_) | Rate::Ht { .. } => OFDM,
    };
    band | modulation
}

/// A-MPDU status: a reference that all frames of one A-MPDU share, flags, no delimiter CRC.
fn ampdu_status(captured: &Captured<'_>, subframe: Subframe) -> [u8; 8] {
    // One sender begins one PPDU at a time: its start tells its A-MPDUs apart.
    let [a, b, c, d, ..] = captured.start.0.to_le_bytes();
    let last = if subframe.last { AMPDU_IS_LAST } else { 0 };
    let [low, high] = (AMPDU_LAST_KNOWN | last).to_le_bytes();
    [a, b, c, d, low, high, 0, 0]
}

fn mcs(rate: Rate) -> Option<[u8; 3]> {
    let Rate::Ht {
        mcs,
        ht40,
        short_guard,
        greenfield,
    } = rate
    else {
        return None;
    };
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    let flags = flag(ht40, MCS_40_MHZ)
        | flag(short_guard, MCS_SHORT_GUARD)
        | flag(greenfield, MCS_GREENFIELD);
    Some([MCS_KNOWN, flags, mcs])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Air, AirConfig, Position, RadioConfig};
    use airlane_dot11::{Channel, Dbm, OfdmRate};
    use airlane_lane::Instant;

    fn captured(rate: Rate, signal: Option<Dbm>) -> Radiotap {
        header(rate, signal, None)
    }

    fn header(rate: Rate, signal: Option<Dbm>, subframe: Option<Subframe>) -> Radiotap {
        let from = Air::new(AirConfig::default()).add_radio(RadioConfig {
            name: "r".into(),
            position: Position::default(),
            tx_power: Dbm(15.0),
        });
        radiotap(&Captured {
            start: Instant(0x0102_0304_0506_0708),
            end: Instant(0),
            channel: Channel::new(Band::Ghz2, 1).unwrap(),
            rate,
            power: Dbm(15.0),
            signal,
            from,
            overlapped: false,
            subframe,
            frame: &[],
        })
    }

    #[test]
    fn an_ofdm_frame_has_a_rate() {
        let header = captured(Rate::Ofdm(OfdmRate::M54), Some(Dbm(-50.0)));
        let expected = [
            0, 0, 24, 0, 0x2f, 0x04, 0, 0, // version, length, presence
            8, 7, 6, 5, 4, 3, 2, 1, // TSFT
            0, 108, // flags, rate
            0x6c, 0x09, 0xc0, 0x00, // 2412 MHz, OFDM in 2.4 GHz
            206, 15, // -50 dBm, 15 dBm
        ];
        assert_eq!(header.as_slice(), expected);
    }

    #[test]
    fn an_ht_frame_has_an_mcs_and_the_channel_stays_aligned() {
        let rate = Rate::Ht {
            mcs: 15,
            ht40: true,
            short_guard: true,
            greenfield: false,
        };
        let header = captured(rate, None);
        assert_eq!(header.len(), 26);
        assert_eq!(header[4..8], [0x0b, 0x04, 0x08, 0]);
        assert_eq!(header[16..18], [0, 0], "flags and a pad byte");
        assert_eq!(header[18..20], 2412_u16.to_le_bytes());
        assert_eq!(header[22..], [15, 0x0f, 0x05, 15]);
    }

    #[test]
    fn a_frame_of_an_ampdu_names_it_and_says_whether_it_is_the_last() {
        let rate = Rate::Ht {
            mcs: 7,
            ht40: false,
            short_guard: false,
            greenfield: false,
        };
        for (last, flags) in [(false, 0x04), (true, 0x0c)] {
            let header = header(rate, None, Some(Subframe { last }));
            assert_eq!(header.len(), 36);
            assert_eq!(header[4..8], [0x0b, 0x04, 0x18, 0]);
            assert_eq!(header[28..], [8, 7, 6, 5, flags, 0, 0, 0]);
        }
    }

    #[test]
    fn only_frames_that_have_a_short_preamble_say_so() {
        let flags = |rate, short_preamble| {
            captured(
                Rate::Dsss {
                    rate,
                    short_preamble,
                },
                None,
            )[16]
        };
        assert_eq!(flags(DsssRate::M11, true), SHORT_PREAMBLE);
        assert_eq!(flags(DsssRate::M11, false), 0);
        assert_eq!(flags(DsssRate::M1, true), 0);
    }
}
