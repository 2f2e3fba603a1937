//! The card's rate word, rate_n_flags (`dvm/commands.h`), to and from [`Rate`].

use airlane_dot11::{DsssRate, OfdmRate, Rate};

const HT: u32 = 1 << 8;
const CCK: u32 = 1 << 9;
const GREENFIELD: u32 = 1 << 10;
const WIDE: u32 = 1 << 11;
const SHORT_GUARD: u32 = 1 << 13;
const ANTENNA_A: u32 = 1 << 14;

/// Signal field of each OFDM rate (IEEE 802.11-2020 table 17-6).
const OFDM: [(u32, OfdmRate); 8] = [
    (13, OfdmRate::M6),
    (15, OfdmRate::M9),
    (5, OfdmRate::M12),
    (7, OfdmRate::M18),
    (9, OfdmRate::M24),
    (11, OfdmRate::M36),
    (1, OfdmRate::M48),
    (3, OfdmRate::M54),
];

/// Signal field of each DSSS rate (IEEE 802.11-2020 15.2.3.4).
const DSSS: [(u32, DsssRate); 4] = [
    (10, DsssRate::M1),
    (20, DsssRate::M2),
    (55, DsssRate::M5_5),
    (110, DsssRate::M11),
];

/// What the word says; `None` when its code stands for no rate.
///
/// Not inlined: nearly all frames go at their station's rates and need none of this. Inlined, its first steps are taken
/// before it is known whether a frame does.
#[inline(never)]
pub fn decode(word: u32) -> Option<Rate> {
    if word & HT != 0 {
        return Some(Rate::Ht {
            mcs: (word & 0x1f) as u8,
            ht40: word & WIDE != 0,
            short_guard: word & SHORT_GUARD != 0,
            greenfield: word & GREENFIELD != 0,
        });
    }
    let code = word & 0xff;
    if word & CCK != 0 {
        let &(_, rate) = DSSS.iter().find(|&&(plcp, _)| plcp == code)?;
        return Some(Rate::Dsss {
            rate,
            short_preamble: false,
        });
    }
    let &(_, rate) = OFDM.iter().find(|&&(plcp, _)| plcp == code)?;
    Some(Rate::Ofdm(rate))
}

/// The word for a rate, on as many antennas as it has streams.
pub fn encode(rate: Rate) -> u32 {
    match rate {
        Rate::Dsss { rate, .. } => ANTENNA_A | CCK | code_of(&DSSS, rate),
        Rate::Ofdm(rate) => ANTENNA_A | code_of(&OFDM, rate),
        Rate::Ht {
            mcs,
            ht40,
            short_guard,
            greenfield,
        } => {
            let flag = |set: bool, bit: u32| if set { bit } else { 0 };
            HT | u32::from(mcs & 0x1f)
                | flag(ht40, WIDE)
                | flag(short_guard, SHORT_GUARD)
                | flag(greenfield, GREENFIELD)
                | antennas(mcs)
        }
    }
}

fn code_of<T: Copy + PartialEq>(table: &[(u32, T)], rate: T) -> u32 {
    let row = table.iter().find(|&&(_, candidate)| candidate == rate);
    row.map_or(0, |&(plcp, _)| plcp)
}

/// Antennas A, AB or ABC.
fn antennas(mcs: u8) -> u32 {
    match mcs / 8 {
        0 => ANTENNA_A,
        1 => ANTENNA_A * 0b011,
        _ => ANTENNA_A * 0b111,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_rate() -> impl Iterator<Item = Rate> {
        let dsss = DsssRate::ALL.into_iter().map(|rate| Rate::Dsss {
            rate,
            short_preamble: false,
        });
        let ht = (0..24).flat_map(|mcs| {
            (0..8).map(move |bits| Rate::Ht {
                mcs,
                ht40: bits & 1 != 0,
                short_guard: bits & 2 != 0,
                greenfield: bits & 4 != 0,
            })
        });
        dsss.chain(OfdmRate::ALL.into_iter().map(Rate::Ofdm))
            .chain(ht)
    }

    #[test]
    fn every_rate_survives_the_round_trip() {
        for rate in every_rate() {
            assert_eq!(decode(encode(rate)), Some(rate));
        }
    }

    #[test]
    fn known_words() {
        assert_eq!(encode(Rate::DSSS_1), 0x420a);
        assert_eq!(encode(Rate::OFDM_6), 0x400d);
        let wide_two_streams = Rate::Ht {
            mcs: 15,
            ht40: true,
            short_guard: true,
            greenfield: false,
        };
        assert_eq!(encode(wide_two_streams), 0xe90f);
    }

    #[test]
    fn a_code_of_no_rate_is_refused() {
        assert_eq!(decode(0x4000), None);
        assert_eq!(decode(0x4200 | 13), None);
    }
}
