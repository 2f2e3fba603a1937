//! Many numbers in little memory: a histogram whose buckets are a thousandth of their value wide. Every number is
//! counted: to keep every second one, or every fourth, would see a burst that comes as often always or never.

use hdrhistogram::Histogram;

/// Of each number: quartiles are wrong by a thousandth at most.
const DIGITS: u8 = 3;

/// What was measured.
#[derive(Clone, Debug)]
pub struct Samples(Histogram<u32>);

impl Default for Samples {
    fn default() -> Self {
        Self(Histogram::new(DIGITS).expect("a histogram can have up to five digits"))
    }
}

impl Samples {
    /// Counts a number.
    pub fn add(&mut self, value: u64) {
        // Only `record` lets the histogram grow; what no histogram can hold counts as the largest that this one can.
        if self.0.record(value).is_err() {
            self.0.saturating_record(value);
        }
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// First quartile, median, third quartile; `None` when there are none.
    pub fn quartiles(&self) -> Option<[u64; 3]> {
        let quartile = |share| self.0.value_at_quantile(share);
        (!self.0.is_empty()).then(|| [0.25, 0.5, 0.75].map(quartile))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Samples {
        let mut samples = Samples::default();
        values.into_iter().for_each(|value| samples.add(value));
        samples
    }

    #[test]
    fn quartiles_are_of_the_sorted_values() {
        assert_eq!(of([5, 1, 4, 2, 3]).quartiles(), Some([2, 3, 4]));
        assert_eq!(of([7]).quartiles(), Some([7; 3]));
        assert_eq!(of([]).quartiles(), None);
    }

    #[test]
    fn a_million_values_keep_their_median() {
        let samples = of(0..1_000_000);
        assert_eq!(samples.count(), 1_000_000);
        let median = samples.quartiles().unwrap()[1];
        assert!(median.abs_diff(500_000) < 1_000, "{median}");
    }

    /// Every second number belongs to a burst: to keep every second one would lose the bursts, or all else.
    #[test]
    fn a_burst_that_comes_at_regular_times_is_seen_as_often_as_it_comes() {
        let bursts = (0..400_000).map(|number| if number % 2 == 0 { 10 } else { 1_000 });
        assert_eq!(
            of(bursts).quartiles().map(|[low, _, high]| [low, high]),
            Some([10, 1_000])
        );
    }

    /// A guest that hangs for an hour, at 5 GHz.
    #[test]
    fn the_longest_waits_are_counted() {
        let hour = 5_000_000_000 * 3_600;
        let samples = of([1, hour, hour]);
        let median = samples.quartiles().unwrap()[1];
        assert!(median.abs_diff(hour) < hour / 1_000, "{median}");
        assert_eq!(of([1, u64::MAX, u64::MAX]).count(), 3, "no number panics");
    }
}
