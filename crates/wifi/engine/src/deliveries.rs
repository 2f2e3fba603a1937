//! What became of the data frames that access points have sent to each station: those that the station has acknowledged,
//! and those that were given up. A station that nobody can look into is seen to receive by its acknowledgements.

use std::collections::BTreeMap;

use airlane_air::Outcome;
use airlane_dot11::MacAddr;

/// Stations that are counted: a flood of strangers must not fill our memory.
const MAX_STATIONS: usize = 1_024;

/// Of one station: MPDUs that carry data, each counted once however often it was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Acknowledged by the station.
    pub acknowledged: u64,
    /// Bytes of those, MAC header and cipher included, FCS not.
    pub acknowledged_bytes: u64,
    /// Given up after the last attempt.
    pub failed: u64,
}

/// By the station's address.
#[derive(Default)]
pub struct Deliveries(BTreeMap<MacAddr, Delivered>);

impl Deliveries {
    /// A frame of so many bytes to this station has ended.
    pub fn count(&mut self, station: MacAddr, bytes: usize, outcome: Outcome) {
        if self.0.len() >= MAX_STATIONS && !self.0.contains_key(&station) {
            return;
        }
        let entry = self.0.entry(station).or_default();
        match outcome {
            Outcome::Acknowledged => {
                entry.acknowledged += 1;
                entry.acknowledged_bytes += bytes as u64;
            }
            Outcome::NoAck => entry.failed += 1,
            // Nobody acknowledges group frames; what was cancelled comes again.
            Outcome::Unacknowledged | Outcome::Cancelled => {}
        }
    }

    /// All stations.
    pub fn iter(&self) -> impl Iterator<Item = (MacAddr, Delivered)> {
        self.0.iter().map(|(station, count)| (*station, *count))
    }
}

impl Delivered {
    /// Of several access points together.
    pub(crate) fn add(&mut self, other: Self) {
        self.acknowledged += other.acknowledged;
        self.acknowledged_bytes += other.acknowledged_bytes;
        self.failed += other.failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_station_has_acknowledged_is_delivered_to_it() {
        let (mut deliveries, station) = (Deliveries::default(), MacAddr([2; 6]));
        for outcome in [Outcome::Acknowledged, Outcome::NoAck, Outcome::Cancelled] {
            deliveries.count(station, 100, outcome);
        }
        let expected = Delivered {
            acknowledged: 1,
            acknowledged_bytes: 100,
            failed: 1,
        };
        assert_eq!(deliveries.iter().collect::<Vec<_>>(), [(station, expected)]);
    }

    #[test]
    fn strangers_without_end_are_not_remembered() {
        let mut deliveries = Deliveries::default();
        for number in 0..2_000_u16 {
            let [high, low] = number.to_be_bytes();
            deliveries.count(MacAddr([2, 0, 0, 0, high, low]), 1, Outcome::NoAck);
        }
        assert_eq!(deliveries.iter().count(), MAX_STATIONS);
    }
}
