//! A frame of an hwsim radio as a transmission of our air, and how its attempts are reported back.
//! Pure; which radio sends it where is [`super::access_points`]'s.

use airlane_air::Transmission;
use airlane_dot11::elements::{BEACON_FIXED, Elements};
use airlane_dot11::frame::{Header, THREE_ADDRESSES};
use airlane_dot11::{AccessCategory, Channel, EdcaParameters, Rate, RateTable, Width};
use airlane_lane::Micros;
use airlane_waist::hwsim::{HwsimFrame, MAX_RATES};
use arrayvec::ArrayVec;

/// How often each of a frame's rates may be tried.
pub type Tries = ArrayVec<u8, MAX_RATES>;

/// The frame, sent by itself.
pub fn transmission(token: u64, frame: HwsimFrame, header: &Header) -> Transmission {
    let category = category(header);
    let rates = ladder(&frame);
    let slowest = rates.first().copied().unwrap_or(Rate::OFDM_6);
    Transmission {
        category,
        edca: access_point_edca(category),
        retry_limit: u8::try_from(rates.len().saturating_sub(1)).unwrap_or(u8::MAX),
        rates,
        acknowledge: !frame.no_ack() && !header.receiver.is_group(),
        ..Transmission::new(token, frame.frame, frame.channel, slowest)
    }
}

/// Entries of a [`RateTable`].
const LADDER: usize = 16;

/// One attempt an entry, as many as the guest's rate control asked for.
fn ladder(frame: &HwsimFrame) -> RateTable {
    let attempts = |&(rate, tries): &(Rate, u8)| std::iter::repeat_n(rate, usize::from(tries));
    let all = frame.rates.iter().flat_map(attempts);
    all.take(LADDER).collect()
}

/// How `attempts` attempts divide among the rates. `stayed`: all were at the first, as happens to a
/// frame that one BlockAck after the other leaves out.
pub fn spent(tries: &Tries, attempts: u8, stayed: bool) -> Tries {
    if stayed {
        return Some(attempts)
            .filter(|&attempts| attempts > 0)
            .into_iter()
            .collect();
    }
    let mut left = attempts;
    let each = tries.iter().map(|&tries| {
        let now = left.min(tries);
        left -= now;
        now
    });
    each.take_while(|&now| now > 0).collect()
}

/// IEEE 802.11-2020 table 10-1 (user priority to access category).
pub fn category(header: &Header) -> AccessCategory {
    match (header.is_data(), header.tid) {
        (true, Some(1 | 2)) => AccessCategory::Background,
        (true, Some(4 | 5)) => AccessCategory::Video,
        (true, Some(6 | 7)) | (false, _) => AccessCategory::Voice,
        (true, _) => AccessCategory::BestEffort,
    }
}

/// Channel access parameters of an access point's own frames.
pub fn access_point_edca(category: AccessCategory) -> EdcaParameters {
    let (cw_min, cw_max, aifsn) = match category {
        AccessCategory::Background => (15, 1023, 7),
        AccessCategory::BestEffort => (15, 63, 3),
        AccessCategory::Video => (7, 15, 1),
        AccessCategory::Voice => (3, 7, 1),
    };
    EdcaParameters {
        cw_min,
        cw_max,
        aifsn,
        txop: Micros(0),
    }
}

/// Where a beacon's elements begin (IEEE 802.11-2020 9.3.3.2).
const BEACON_ELEMENTS: usize = THREE_ADDRESSES + BEACON_FIXED;

/// How wide the BSS works whose beacon this is. Its channel must be the one that it is sent on.
pub fn beacon_width(beacon: &[u8], channel: Channel) -> Width {
    let elements = beacon.get(BEACON_ELEMENTS..).map(Elements::new);
    let operation = elements.and_then(Elements::ht_operation);
    operation.map_or(Width::Mhz20, |operation| operation.width_on(channel))
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_dot11::Band;

    fn tries(list: &[u8]) -> Tries {
        list.iter().copied().collect()
    }

    #[test]
    fn attempts_divide_along_the_ladder() {
        let allowed = tries(&[2, 3, 1]);
        assert_eq!(spent(&allowed, 4, false), tries(&[2, 2]));
        assert_eq!(spent(&allowed, 0, true), tries(&[]));
    }

    #[test]
    fn what_block_acks_left_out_was_tried_at_the_first_rate() {
        assert_eq!(spent(&tries(&[2, 3, 1]), 5, true), tries(&[5]));
    }

    fn beacon(elements: &[u8]) -> Vec<u8> {
        [&[0; BEACON_ELEMENTS], elements].concat()
    }

    #[test]
    fn a_beacon_tells_the_side_of_the_secondary_channel() {
        let channel = Channel::new(Band::Ghz5, 36).unwrap();
        let width = |elements: &[u8]| beacon_width(&beacon(elements), channel);
        assert_eq!(width(&[0, 1, b'x', 61, 3, 36, 5, 0]), Width::Mhz40Above);
        assert_eq!(width(&[61, 3, 36, 7, 0]), Width::Mhz40Below);
        assert_eq!(width(&[61, 3, 36, 4, 0]), Width::Mhz20);
        assert_eq!(width(&[61, 3, 40, 5, 0]), Width::Mhz20, "another channel's");
        assert_eq!(width(&[0, 1, b'x']), Width::Mhz20, "no 802.11n");
    }

    #[test]
    fn no_prefix_of_a_beacon_panics() {
        let channel = Channel::new(Band::Ghz5, 36).unwrap();
        let whole = beacon(&[0, 1, b'x', 61, 3, 36, 5, 0]);
        for length in 0..whole.len() {
            beacon_width(&whole[..length], channel);
        }
    }
}
