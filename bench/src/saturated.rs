//! What several figures are read from: every configuration under full load of the same air, measured once.

use super::configuration::Configuration;
use super::load::Measurement;

/// A kind of load and its turns, by configuration.
pub struct Turns {
    /// What it is called.
    pub title: &'static str,
    /// By configuration, in the order of [`Configuration::ALL`].
    pub turns: Vec<Vec<Measurement>>,
}

/// All of them.
pub struct Saturated {
    /// Datagrams from the VM, a doorbell at every frame, as `iwlwifi` rings it.
    pub up: Turns,
    /// The same with one doorbell for a burst.
    pub burst: Turns,
    /// Datagrams to the VM.
    pub down: Turns,
}

impl Turns {
    /// One value of each turn of a configuration.
    pub fn samples(&self, of: Configuration, value: impl Fn(&Measurement) -> f64) -> Vec<f64> {
        let at = Configuration::ALL.iter().position(|one| *one == of);
        let turns = at.and_then(|at| self.turns.get(at));
        turns.into_iter().flatten().map(value).collect()
    }
}
