//! At what rate a station is sent to: up after ten frames without a retry, down after two with one
//! (as Lucent's ARF, Kamerman and Monteban 1997). Not here: HT.

use airlane_dot11::{OfdmRate, Rate, RateTable};

/// Frames in a row that went through at once before a higher rate is tried.
const UP: u8 = 10;
/// Frames in a row that did not before a lower one is used.
const DOWN: u8 = 2;
/// Attempts at the rate itself, and at each of the next two below.
const TRIES: usize = 2;

/// The state for one station.
#[derive(Clone, Copy, Debug)]
pub struct RateControl {
    /// Bit `n`: the station has the rate `OfdmRate::ALL[n]`.
    rates: u8,
    /// Index into `OfdmRate::ALL`.
    current: usize,
    good: u8,
    bad: u8,
}

impl Default for RateControl {
    /// Every rate, beginning with the highest.
    fn default() -> Self {
        Self {
            rates: 0xff,
            current: OfdmRate::ALL.len() - 1,
            good: 0,
            bad: 0,
        }
    }
}

impl RateControl {
    /// For a station with these rates, in units of 500 kb/s. Every station has 6 Mb/s here.
    pub fn of(rates: impl Iterator<Item = u8>) -> Self {
        let bit = |rate: u8| {
            let known = OfdmRate::ALL
                .iter()
                .position(|ofdm| ofdm.mbps() * 2 == u32::from(rate));
            known.map_or(0, |at| 1u8 << at)
        };
        let rates = rates.fold(1, |all, rate| all | bit(rate));
        let mut control = Self {
            rates,
            ..Self::default()
        };
        control.current = control.at_most(OfdmRate::ALL.len() - 1);
        control
    }

    /// What to try, one attempt each.
    pub fn ladder(&self) -> RateTable {
        let mut ladder = RateTable::new();
        let mut at = self.current;
        for _ in 0..3 {
            let rate = OfdmRate::ALL.get(at).copied().unwrap_or(OfdmRate::M6);
            ladder.extend(std::iter::repeat_n(Rate::Ofdm(rate), TRIES));
            at = self.at_most(at.saturating_sub(1));
        }
        ladder.extend([Rate::OFDM_6; TRIES]);
        ladder
    }

    /// The rate that is tried first.
    pub fn rate(&self) -> Rate {
        Rate::Ofdm(
            OfdmRate::ALL
                .get(self.current)
                .copied()
                .unwrap_or(OfdmRate::M6),
        )
    }

    /// How a frame went.
    pub fn report(&mut self, at_once: bool) {
        if at_once {
            self.bad = 0;
            self.good = self.good.saturating_add(1);
        } else {
            self.good = 0;
            self.bad = self.bad.saturating_add(1);
        }
        if self.good >= UP {
            self.move_to(self.at_least(self.current + 1));
        } else if self.bad >= DOWN {
            self.move_to(self.at_most(self.current.saturating_sub(1)));
        }
    }

    fn move_to(&mut self, rate: usize) {
        (self.current, self.good, self.bad) = (rate, 0, 0);
    }

    fn has(&self, at: usize) -> bool {
        at < OfdmRate::ALL.len() && self.rates >> at & 1 != 0
    }

    fn at_most(&self, at: usize) -> usize {
        (0..=at).rev().find(|&at| self.has(at)).unwrap_or(0)
    }

    fn at_least(&self, at: usize) -> usize {
        let found = (at..OfdmRate::ALL.len()).find(|&at| self.has(at));
        found.unwrap_or(self.current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_falls_with_failures_and_rises_again() {
        let mut control = RateControl::default();
        for _ in 0..4 {
            control.report(false);
        }
        assert_eq!(control.rate(), Rate::Ofdm(OfdmRate::M36));
        for _ in 0..50 {
            control.report(true);
        }
        assert_eq!(control.rate(), Rate::Ofdm(OfdmRate::M54));
    }

    #[test]
    fn only_rates_that_the_station_has_are_used() {
        let mut control = RateControl::of([12, 24, 48, 2].into_iter());
        assert_eq!(control.rate(), Rate::Ofdm(OfdmRate::M24));
        let ladder: Vec<u32> = control
            .ladder()
            .iter()
            .map(|rate| rate.hundred_kbps())
            .collect();
        assert_eq!(ladder, [240, 240, 120, 120, 60, 60, 60, 60]);
        for _ in 0..20 {
            control.report(false);
        }
        assert_eq!(control.rate(), Rate::OFDM_6);
    }
}
