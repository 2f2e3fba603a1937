//! The order of measurement: in every round each has its turn, so that what disturbs the machine for a
//! while disturbs them all.

use std::time::Duration;

use anyhow::Context;

use super::load::{Load, Measurement, Rig, Setting};
use super::progress::Line;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds.
    pub pairs: usize,
    /// Of each turn.
    pub span: Duration,
}

impl Effort {
    /// To be believed.
    pub const FULL: Self = Self {
        pairs: 7,
        span: Duration::from_millis(1_000),
    };
    /// To see that all works.
    pub const QUICK: Self = Self {
        pairs: 2,
        span: Duration::from_millis(150),
    };
}

/// What measures figures.
pub struct Bench {
    /// How much.
    pub effort: Effort,
    progress: Line,
}

impl Bench {
    /// Says on `progress` what it is at.
    pub fn new(effort: Effort, progress: Line) -> Self {
        Self { effort, progress }
    }

    /// Sets up what is compared.
    pub fn rigs(
        &mut self,
        settings: impl IntoIterator<Item = Setting>,
    ) -> anyhow::Result<Vec<Rig>> {
        let rig = |setting: Setting| {
            let name = setting.configuration.name();
            Rig::new(setting).with_context(|| format!("cannot set up the path {name:?}"))
        };
        settings.into_iter().map(rig).collect()
    }

    /// Each rig's turns, in the order of the rigs.
    pub fn interleave(
        &mut self,
        what: &str,
        rigs: &mut [Rig],
        load: &Load,
    ) -> anyhow::Result<Vec<Vec<Measurement>>> {
        let mut turns: Vec<Vec<Measurement>> = rigs.iter().map(|_| Vec::new()).collect();
        for round in 0..self.effort.pairs {
            for (rig, turns) in rigs.iter_mut().zip(&mut turns) {
                let name = rig.setting.configuration.name();
                let pairs = self.effort.pairs;
                let detail = format!("{name}, round {} of {pairs}", round + 1);
                self.progress.say(what, &detail);
                turns.push(rig.measure(load, self.effort.span)?);
            }
        }
        Ok(turns)
    }
}
