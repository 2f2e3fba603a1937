//! Rates as hwsim writes them, and as the standard names them.
//!
//! Source: `struct hwsim_tx_rate`, `hwsim_tx_rate_flag` of `mac80211_hwsim.h`; the index is
//! mac80211's (`struct ieee80211_tx_rate`): into the band's list of legacy rates, or an MCS.

use airlane_dot11::{Band, DsssRate, OfdmRate, Rate};

const SHORT_PREAMBLE: u16 = 1 << 2;
const HT: u16 = 1 << 3;
const GREENFIELD: u16 = 1 << 4;
const MHZ_40: u16 = 1 << 5;
const SHORT_GUARD: u16 = 1 << 7;
const VHT: u16 = 1 << 8;
const MHZ_80_OR_160: u16 = 1 << 9 | 1 << 10;

/// The rate of one entry of TX_INFO with its flags; `None` for an entry that names none.
///
/// 802.11ac rates become the 802.11n rate of the same modulation and streams, which is what a radio
/// without 802.11ac could do at best.
pub fn rate(band: Band, index: i8, flags: u16) -> Option<Rate> {
    let index = u8::try_from(index).ok()?;
    let ht = |mcs, ht40| Rate::Ht {
        mcs,
        ht40,
        short_guard: flags & SHORT_GUARD != 0,
        greenfield: flags & GREENFIELD != 0,
    };
    let ht40 = flags & (MHZ_40 | MHZ_80_OR_160) != 0;
    if flags & VHT != 0 {
        let (streams, mcs) = ((index >> 4).min(3), (index & 0xf).min(7));
        return Some(ht(streams * 8 + mcs, ht40));
    }
    if flags & HT != 0 {
        return (index < 32).then(|| ht(index, ht40));
    }
    legacy(band, index.into(), flags & SHORT_PREAMBLE != 0)
}

fn legacy(band: Band, index: usize, short_preamble: bool) -> Option<Rate> {
    let dsss = match band {
        Band::Ghz2 => DsssRate::ALL.as_slice(),
        Band::Ghz5 => &[],
    };
    if let Some(&rate) = dsss.get(index) {
        let short_preamble = short_preamble && rate != DsssRate::M1;
        return Some(Rate::Dsss {
            rate,
            short_preamble,
        });
    }
    let ofdm = OfdmRate::ALL.get(index.checked_sub(dsss.len())?)?;
    Some(Rate::Ofdm(*ofdm))
}

/// The slowest rate of a band.
pub fn slowest(band: Band) -> Rate {
    match band {
        Band::Ghz2 => Rate::DSSS_1,
        Band::Ghz5 => Rate::OFDM_6,
    }
}

/// The legacy index of the rate nearest to `rate`: hwsim's receiver knows no other. An 802.11n rate
/// becomes an OFDM rate, a DSSS rate in 5 GHz (which no radio sends) the slowest.
pub fn legacy_index(band: Band, rate: Rate) -> u32 {
    let first_ofdm = match band {
        Band::Ghz2 => DsssRate::ALL.len(),
        Band::Ghz5 => 0,
    };
    let index = match rate {
        Rate::Dsss { rate, .. } if band == Band::Ghz2 => {
            DsssRate::ALL.iter().position(|&other| other == rate)
        }
        other => nearest_ofdm(other.hundred_kbps()).map(|index| first_ofdm + index),
    };
    index
        .and_then(|index| u32::try_from(index).ok())
        .unwrap_or(0)
}

fn nearest_ofdm(hundred_kbps: u32) -> Option<usize> {
    let distance = |rate: &OfdmRate| (rate.mbps() * 10).abs_diff(hundred_kbps);
    let rates = OfdmRate::ALL.iter().enumerate();
    rates
        .min_by_key(|(_, rate)| distance(rate))
        .map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_legacy_index_names_a_rate_and_comes_back() {
        for (band, count) in [(Band::Ghz2, 12u8), (Band::Ghz5, 8)] {
            for index in 0..count {
                let rate = rate(band, index as i8, 0).unwrap();
                assert_eq!(legacy_index(band, rate), u32::from(index));
            }
            assert_eq!(rate(band, count as i8, 0), None);
            assert_eq!(rate(band, -1, 0), None);
        }
    }

    #[test]
    fn flags_choose_the_ht_rate() {
        let expected = Rate::Ht {
            mcs: 15,
            ht40: true,
            short_guard: true,
            greenfield: false,
        };
        assert_eq!(
            rate(Band::Ghz5, 15, HT | MHZ_40 | SHORT_GUARD),
            Some(expected)
        );
        assert_eq!(rate(Band::Ghz5, 32, HT), None);
        let from_vht = rate(Band::Ghz5, 0x17, VHT | MHZ_80_OR_160 | SHORT_GUARD);
        assert_eq!(from_vht, Some(expected));
    }

    #[test]
    fn an_ht_rate_becomes_the_nearest_legacy_index() {
        let ht = |mcs, ht40| Rate::Ht {
            mcs,
            ht40,
            short_guard: false,
            greenfield: false,
        };
        assert_eq!(legacy_index(Band::Ghz2, ht(0, false)), 4, "6.5 Mb/s: 6");
        assert_eq!(legacy_index(Band::Ghz5, ht(4, false)), 5, "39 Mb/s: 36");
        assert_eq!(legacy_index(Band::Ghz5, ht(23, true)), 7, "405 Mb/s: 54");
    }
}
