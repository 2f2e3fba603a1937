//! Medians and quartiles.

use serde::Serialize;

/// How samples lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// A quarter of the samples is below.
    pub low: f64,
    /// Half of the samples is below.
    pub median: f64,
    /// A quarter of the samples is above.
    pub high: f64,
}

impl Spread {
    /// Of these samples; zeros of none. Between two samples it is interpolated.
    pub fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        Self {
            low: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            high: quantile(&sorted, 0.75),
        }
    }

    /// Of `samples`, each over the one of `base` that was taken beside it.
    pub fn of_ratios(samples: &[f64], base: &[f64]) -> Self {
        let ratios: Vec<f64> = samples.iter().zip(base).map(|(one, by)| one / by).collect();
        Self::of(&ratios)
    }
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len().saturating_sub(1) as f64;
    let below = sorted.get(place.floor() as usize).copied();
    let above = sorted.get(place.ceil() as usize).copied();
    let (Some(below), Some(above)) = (below, above) else {
        return 0.0;
    };
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_samples() {
        let spread = Spread::of(&[4.0, 1.0, 2.0, 3.0]);
        assert_eq!((spread.low, spread.median, spread.high), (1.75, 2.5, 3.25));
    }

    #[test]
    fn of_one_sample_all_is_the_same() {
        let spread = Spread::of(&[7.0]);
        assert_eq!((spread.low, spread.median, spread.high), (7.0, 7.0, 7.0));
    }

    #[test]
    fn ratios_are_of_neighbours() {
        let spread = Spread::of_ratios(&[2.0, 30.0, 4.0], &[1.0, 10.0, 2.0]);
        assert_eq!(spread.median, 2.0);
    }

    #[test]
    fn nothing_gives_zeros() {
        assert_eq!(Spread::of(&[]), Spread::default());
    }
}
