//! How long frames and the gaps between them last.
//!
//! Whole microseconds throughout: every duration of the standard is one, once a 3.6 µs symbol
//! count and a DSSS payload are rounded up as the standard rounds them.

use airlane_lane::Micros;

use crate::{Band, Channel, DsssRate, OfdmRate, Rate, frame};

/// Bytes of an ACK or CTS, FCS included (IEEE 802.11-2020 9.3.1.3, 9.3.1.4).
pub const ACK_BYTES: usize = 14;
/// Bytes of a compressed BlockAck, FCS included (IEEE 802.11-2020 9.3.1.8).
pub const BLOCK_ACK_BYTES: usize = 32;
/// Bytes of an RTS, FCS included (IEEE 802.11-2020 9.3.1.2).
pub const RTS_BYTES: usize = 20;

/// ERP and HT in 2.4 GHz end with 6 µs of silence (IEEE 802.11-2020 18.3.2.4).
const SIGNAL_EXTENSION: u64 = 6;
/// SERVICE and tail bits around an OFDM payload (IEEE 802.11-2020 17.3.2).
const SERVICE_BITS: u64 = 16;
const TAIL_BITS: u64 = 6;
const SYMBOL: u64 = 4;

/// Short inter-frame space (IEEE 802.11-2020 tables 15-5, 17-21, 18-5).
pub fn sifs(band: Band) -> Micros {
    Micros(match band {
        Band::Ghz2 => 10,
        Band::Ghz5 => 16,
    })
}

/// Slot time: 9 µs, or 20 µs in 2.4 GHz without the short slot.
pub fn slot(band: Band, short: bool) -> Micros {
    Micros(match band {
        Band::Ghz2 if !short => 20,
        _ => 9,
    })
}

/// How long `octets` bytes, FCS included, last at `rate` from the first preamble bit to the end of
/// the signal extension.
pub fn duration(band: Band, rate: Rate, octets: usize) -> Micros {
    let bits = 8 * octets as u64;
    Micros(match rate {
        Rate::Dsss {
            rate,
            short_preamble,
        } => dsss(rate, short_preamble, bits),
        Rate::Ofdm(rate) => ofdm(rate, bits) + extension(band),
        Rate::Ht {
            mcs,
            ht40,
            short_guard,
            greenfield,
        } => ht(mcs, ht40, short_guard, greenfield, bits) + extension(band),
    })
}

/// A whole frame body without FCS, as buffers hold it.
pub fn frame_duration(channel: Channel, rate: Rate, length: usize) -> Micros {
    duration(channel.band(), rate, length.saturating_add(frame::FCS))
}

/// What the Duration field of an acknowledged data or management frame at `rate` says: SIFS and
/// the ACK (IEEE 802.11-2020 9.2.5.2).
pub fn data_nav(band: Band, rate: Rate) -> Micros {
    sifs(band) + duration(band, response_rate(rate), ACK_BYTES)
}

/// The same for an A-MPDU: SIFS and the BlockAck.
pub fn block_ack_nav(band: Band, rate: Rate) -> Micros {
    sifs(band) + duration(band, response_rate(rate), BLOCK_ACK_BYTES)
}

/// The rate at which a receiver answers a frame sent at `rate`: the highest mandatory rate of the
/// same modulation class that is no faster (IEEE 802.11-2020 10.6.6.5.2), HT by its non-HT
/// reference rate (table 10-10). All mandatory rates count as basic.
pub fn response_rate(rate: Rate) -> Rate {
    match rate {
        Rate::Dsss { .. } => rate,
        Rate::Ofdm(rate) => Rate::Ofdm(match rate.mbps() {
            0..12 => OfdmRate::M6,
            12..24 => OfdmRate::M12,
            _ => OfdmRate::M24,
        }),
        Rate::Ht { mcs, .. } => Rate::Ofdm(match mcs % 8 {
            0 => OfdmRate::M6,
            1 | 2 => OfdmRate::M12,
            _ => OfdmRate::M24,
        }),
    }
}

/// The rate of a CTS-to-self before a frame at `rate`: 11 Mb/s in 2.4 GHz, which every station
/// there understands, otherwise the response rate.
pub fn protection_rate(band: Band, rate: Rate, short_preamble: bool) -> Rate {
    match band {
        Band::Ghz2 => Rate::Dsss {
            rate: DsssRate::M11,
            short_preamble,
        },
        Band::Ghz5 => response_rate(rate),
    }
}

/// How long after a frame's end its sender gives up waiting for an answer at `answer` to begin:
/// SIFS, a slot, and the receiver's preamble delay (IEEE 802.11-2020 10.3.2.11; aRxPHYStartDelay
/// of tables 15-5, 16-4, 17-21).
pub fn answer_timeout(band: Band, slot: Micros, answer: Rate) -> Micros {
    let preamble = match answer {
        Rate::Dsss {
            short_preamble: true,
            rate,
        } if rate != DsssRate::M1 => 96,
        Rate::Dsss { .. } => 192,
        _ => 20,
    };
    sifs(band) + slot + Micros(preamble)
}

/// How much longer than after a good frame a station waits after one that it could not read: EIFS
/// less DIFS, which is SIFS and an ACK at the slowest mandatory rate (IEEE 802.11-2020 10.3.7).
pub fn eifs_extra(band: Band) -> Micros {
    let slowest = match band {
        Band::Ghz2 => Rate::DSSS_1,
        Band::Ghz5 => Rate::OFDM_6,
    };
    sifs(band) + duration(band, slowest, ACK_BYTES)
}

fn extension(band: Band) -> u64 {
    match band {
        Band::Ghz2 => SIGNAL_EXTENSION,
        Band::Ghz5 => 0,
    }
}

/// IEEE 802.11-2020 16.2.2: 144 + 48 µs of long, 72 + 24 µs of short preamble and header.
fn dsss(rate: DsssRate, short_preamble: bool, bits: u64) -> u64 {
    let preamble = if short_preamble && rate != DsssRate::M1 {
        96
    } else {
        192
    };
    preamble + (bits * 10).div_ceil(u64::from(rate.hundred_kbps()))
}

/// IEEE 802.11-2020 17.4.3: 16 µs preamble, 4 µs SIGNAL, 4 µs symbols.
fn ofdm(rate: OfdmRate, bits: u64) -> u64 {
    let bits_per_symbol = SYMBOL * u64::from(rate.mbps());
    20 + SYMBOL * (SERVICE_BITS + bits + TAIL_BITS).div_ceil(bits_per_symbol)
}

/// IEEE 802.11-2020 19.4.3.
fn ht(mcs: u8, ht40: bool, short_guard: bool, greenfield: bool, bits: u64) -> u64 {
    let streams = u64::from(mcs / 8) + 1;
    let bits_per_symbol = ht_bits_per_symbol(mcs, ht40) * streams;
    let symbol_tenths = if short_guard { 36 } else { 40 };
    let encoders = if bits_per_symbol * 10 > 300 * symbol_tenths {
        2
    } else {
        1
    };
    let symbols = (SERVICE_BITS + bits + TAIL_BITS * encoders).div_ceil(bits_per_symbol);
    let data_tenths = symbols * symbol_tenths;
    let long_training_fields = match streams {
        3 => 4,
        other => other,
    };
    if greenfield {
        24 + 4 * (long_training_fields - 1) + data_tenths.div_ceil(10)
    } else {
        32 + 4 * long_training_fields + SYMBOL * data_tenths.div_ceil(10 * SYMBOL)
    }
}

/// Data bits per symbol of one stream (IEEE 802.11-2020 tables 19-27 and 19-31).
fn ht_bits_per_symbol(mcs: u8, ht40: bool) -> u64 {
    let narrow = match mcs % 8 {
        0 => 26,
        1 => 52,
        2 => 78,
        3 => 104,
        4 => 156,
        5 => 208,
        6 => 234,
        _ => 260,
    };
    if ht40 { narrow * 108 / 52 } else { narrow }
}

#[cfg(test)]
mod tests {
    use super::*;

    const M54: Rate = Rate::Ofdm(OfdmRate::M54);

    fn ht_rate(mcs: u8, ht40: bool, short_guard: bool, greenfield: bool) -> Rate {
        Rate::Ht {
            mcs,
            ht40,
            short_guard,
            greenfield,
        }
    }

    fn micros(band: Band, rate: Rate, octets: usize) -> u64 {
        duration(band, rate, octets).0
    }

    #[test]
    fn ofdm_frames_last_whole_symbols_and_six_microseconds_more_in_2_4_ghz() {
        assert_eq!(micros(Band::Ghz5, M54, 1514), 248);
        assert_eq!(micros(Band::Ghz2, M54, 1514), 254);
        assert_eq!(micros(Band::Ghz5, Rate::Ofdm(OfdmRate::M24), ACK_BYTES), 28);
        assert_eq!(micros(Band::Ghz5, Rate::OFDM_6, ACK_BYTES), 44);
    }

    #[test]
    fn dsss_frames_have_long_or_short_preambles_but_never_short_at_1_mbps() {
        let at = |rate, short_preamble| {
            let rate = Rate::Dsss {
                rate,
                short_preamble,
            };
            micros(Band::Ghz2, rate, ACK_BYTES)
        };
        assert_eq!(at(DsssRate::M1, false), 304);
        assert_eq!(at(DsssRate::M1, true), 304);
        assert_eq!(at(DsssRate::M11, false), 203);
        assert_eq!(at(DsssRate::M11, true), 107);
    }

    #[test]
    fn ht_frames_follow_clause_19() {
        let octets = 1536;
        let at = |rate| micros(Band::Ghz5, rate, octets);
        assert_eq!(at(ht_rate(7, false, false, false)), 36 + 4 * 48);
        assert_eq!(at(ht_rate(7, false, true, false)), 36 + 176);
        assert_eq!(at(ht_rate(15, true, false, false)), 40 + 4 * 12);
        assert_eq!(at(ht_rate(23, true, true, false)), 48 + 32);
        assert_eq!(at(ht_rate(7, false, false, true)), 24 + 4 * 48);
    }

    #[test]
    fn answers_come_at_the_highest_mandatory_rate_below() {
        let mbps = |rate| response_rate(rate).hundred_kbps() / 10;
        assert_eq!(mbps(M54), 24);
        assert_eq!(mbps(Rate::Ofdm(OfdmRate::M18)), 12);
        assert_eq!(mbps(Rate::Ofdm(OfdmRate::M9)), 6);
        assert_eq!(mbps(ht_rate(10, true, true, false)), 12);
        assert_eq!(mbps(Rate::DSSS_1), 1);
    }
}
