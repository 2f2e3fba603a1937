//! The order of measurement: in every round each has its turn, so that what disturbs the machine for a
//! while disturbs them all.

use std::rc::Rc;
use std::time::Duration;

use anyhow::Context;

use super::configuration::Configuration;
use super::load::{Doorbell, Load, Measurement, Rig, Setting, UDP};
use super::progress::Line;
use super::saturated::{Saturated, Turns};

/// Frames that a saturating VM keeps under way.
const DEPTH: u32 = 64;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds.
    pub pairs: usize,
    /// Of each turn.
    pub span: Duration,
}

/// Load is on for so long before each turn (see [`super::load`]), and setting up takes its time, too.
const BEFORE_EACH: Duration = Duration::from_millis(120);

impl Effort {
    /// About how long so many turns in each round take.
    pub fn takes(&self, turns: usize) -> Duration {
        let turns = u32::try_from(turns * self.pairs).unwrap_or(u32::MAX);
        (self.span + BEFORE_EACH).saturating_mul(turns)
    }

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
    saturated: Option<Rc<Saturated>>,
}

impl Bench {
    /// Says on `progress` what it is at.
    pub fn new(effort: Effort, progress: Line) -> Self {
        let saturated = None;
        Self {
            effort,
            progress,
            saturated,
        }
    }

    /// What several figures are read from; measured when the first of them asks.
    pub fn saturated(&mut self) -> anyhow::Result<Rc<Saturated>> {
        if let Some(measured) = &self.saturated {
            return Ok(Rc::clone(measured));
        }
        let measured = Rc::new(self.saturate()?);
        self.saturated = Some(Rc::clone(&measured));
        Ok(measured)
    }

    /// Turns in each round of what several figures are read from: every configuration, with three loads.
    pub fn saturated_turns() -> usize {
        3 * Configuration::ALL.len()
    }

    /// Every configuration has its turn in every round.
    fn saturate(&mut self) -> anyhow::Result<Saturated> {
        let mut rigs = self.rigs(Configuration::ALL.map(Setting::alone))?;
        let up = |doorbell| Load::Up {
            payload: UDP,
            depth: DEPTH.into(),
            doorbell,
        };
        let down = Load::Down {
            payload: UDP,
            depth: DEPTH,
        };
        let mut turns = |title, load| {
            let turns = self.interleave(title, &mut rigs, &load)?;
            Ok::<_, anyhow::Error>(Turns { title, turns })
        };
        Ok(Saturated {
            up: turns("from the VM", up(Doorbell::PerFrame))?,
            burst: turns(
                "from the VM, one doorbell per burst",
                up(Doorbell::PerBurst),
            )?,
            down: turns("to the VM", down)?,
        })
    }

    /// Whose turn it is.
    pub fn say(&mut self, what: &str, rig: &Rig, round: usize) {
        let Setting {
            configuration, vms, ..
        } = rig.setting;
        let (name, pairs) = (configuration.name(), self.effort.pairs);
        let detail = format!("{name}, {vms} VM, round {} of {pairs}", round + 1);
        self.progress.say(what, &detail);
    }

    /// What is done that is no rig's turn.
    pub fn say_plain(&mut self, what: &str, detail: &str) {
        self.progress.say(what, detail);
    }

    /// What people should know before it begins.
    pub fn announce(&mut self, text: &str) {
        self.progress.announce(text);
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
                self.say(what, rig, round);
                turns.push(rig.measure(load, self.effort.span)?);
            }
        }
        Ok(turns)
    }
}
