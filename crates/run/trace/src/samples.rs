//! Many numbers in little memory: when there are too many, every second one is kept, then every fourth, and so on.

/// At most so many are kept.
const MOST: usize = 65_536;

/// What was measured.
#[derive(Clone, Debug)]
pub struct Samples {
    kept: Vec<u64>,
    /// One of so many is kept.
    stride: u64,
    seen: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            stride: 1,
            seen: 0,
        }
    }
}

impl Samples {
    /// One more.
    pub fn add(&mut self, value: u64) {
        let keep = self.seen.is_multiple_of(self.stride);
        self.seen += 1;
        if keep {
            self.kept.push(value);
        }
        if self.kept.len() >= MOST {
            let mut number = 0_usize;
            self.kept.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride = self.stride.saturating_mul(2);
        }
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.seen
    }

    /// First quartile, median, third quartile; `None` when there are none.
    pub fn quartiles(&self) -> Option<[u64; 3]> {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        let at = |quarter: usize| sorted.get((last * quarter + 2) / 4).copied().unwrap_or(0);
        Some([at(1), at(2), at(3)])
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
    fn a_million_values_keep_their_median_in_little_memory() {
        let samples = of(0..1_000_000);
        assert!(samples.kept.len() < MOST);
        assert_eq!(samples.count(), 1_000_000);
        let median = samples.quartiles().unwrap()[1];
        assert!(median.abs_diff(500_000) < 5_000, "{median}");
    }
}
