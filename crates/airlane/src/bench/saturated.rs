//! What several figures are read from: every configuration under full load of the same air, measured once.

use super::configuration::Configuration;
use super::figures::throughput::UDP;
use super::load::{Doorbell, Load, Measurement, Setting};
use super::pairs::Bench;

/// Frames that a VM keeps under way.
const DEPTH: u32 = 64;

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

impl Saturated {
    /// Measures all of it: every configuration has its turn in every round.
    pub fn measure(bench: &mut Bench) -> anyhow::Result<Self> {
        let setting = |configuration| Setting {
            configuration,
            vms: 1,
            air: true,
            ccmp: false,
        };
        let mut rigs = bench.rigs(Configuration::ALL.map(setting))?;
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
            let turns = bench.interleave(title, &mut rigs, &load)?;
            Ok::<_, anyhow::Error>(Turns { title, turns })
        };
        Ok(Self {
            up: turns("from the VM", up(Doorbell::PerFrame))?,
            burst: turns(
                "from the VM, one doorbell per burst",
                up(Doorbell::PerBurst),
            )?,
            down: turns("to the VM", down)?,
        })
    }
}
