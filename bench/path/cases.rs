//! What is measured, and in which order: in every round each case has its turn, so that what disturbs
//! the machine for a while disturbs them all.

use airlane_air::AirMode;
use airlane_bench::stats::Spread;
use airlane_daemon::Wifi;

use crate::behind::{Behind, Parts};
use crate::caches::Caches;
use crate::found::{Baseline, Case, Direction, Effort, Outcome, Surroundings};
use crate::frames::{Cipher, Shape};
use crate::probe::{Allocations, Probe, STAGES, Ticks, Whole, median};
use crate::world::{Load, World};

/// UDP payloads.
pub const PAYLOADS: [usize; 2] = [64, 1_472];
/// Numbers of VMs.
const VMS: [usize; 2] = [1, 16];
/// Frames before anything is measured: every ring has gone round, every queue has its size.
const WARM_UP: u64 = 600;
/// Caches take long to fill with something else: so many times fewer frames are measured with cold ones.
const FEWER_COLD: u64 = 64;

/// The worlds that the cases need: for the whole, and for stages.
struct Worlds {
    vms: usize,
    real_medium: bool,
    whole: World<Wifi>,
    parts: World<Parts>,
}

struct Running {
    case: Case,
    load: Load,
    whole: Vec<f64>,
    stages: [Vec<f64>; STAGES],
    allocations: [f64; STAGES],
}

/// Measures every case.
pub fn measure(ticks: &Ticks, effort: Effort) -> (Vec<Outcome>, Vec<Baseline>) {
    let mut worlds: Vec<Worlds> = [false, true]
        .into_iter()
        .flat_map(|real_medium| VMS.map(|vms| Worlds::new(vms, real_medium)))
        .collect();
    let mut caches = Caches::new();
    let mut running = start(&mut worlds, effort);
    let mut alone = PAYLOADS.map(|_| Vec::new());
    for _ in 0..effort.rounds {
        for one in &mut running {
            one.round(
                Worlds::of(&mut worlds, one.case),
                &mut caches,
                ticks,
                effort,
            );
        }
        for (payload, samples) in PAYLOADS.into_iter().zip(&mut alone) {
            samples.push(cipher_alone(payload, ticks, effort));
        }
    }
    let baselines = PAYLOADS.into_iter().zip(&alone);
    let baselines = baselines.map(|(payload, samples)| Baseline {
        bytes: encrypted(payload),
        ticks: Spread::of(samples),
    });
    let baselines = baselines.collect();
    (running.into_iter().map(Running::end).collect(), baselines)
}

impl Worlds {
    fn new(vms: usize, real_medium: bool) -> Self {
        let mode = match real_medium {
            true => AirMode::default(),
            false => AirMode::Infinite,
        };
        Self {
            vms,
            real_medium,
            whole: World::new(vms, mode),
            parts: World::new(vms, mode),
        }
    }

    fn of(all: &mut [Self], case: Case) -> &mut Self {
        let real = case.surroundings == Surroundings::RealMedium;
        let mut all = all.iter_mut();
        let found = all.find(|worlds| worlds.vms == case.vms && worlds.real_medium == real);
        found.expect("a world for every case")
    }
}

/// Every shape in bare surroundings, then the smallest and the largest in others.
fn all() -> Vec<Case> {
    let mut cases = bare();
    let smallest = Shape {
        payload: 64,
        ccmp: false,
    };
    let largest = Shape {
        payload: 1_472,
        ccmp: true,
    };
    for surroundings in [Surroundings::RealMedium, Surroundings::ColdCaches] {
        for direction in [Direction::Transmit, Direction::Receive] {
            for shape in [smallest, largest] {
                cases.extend(VMS.map(|vms| Case {
                    surroundings,
                    direction,
                    shape,
                    vms,
                }));
            }
        }
    }
    cases
}

fn bare() -> Vec<Case> {
    let mut cases = Vec::new();
    for direction in [Direction::Transmit, Direction::Receive] {
        for payload in PAYLOADS {
            for ccmp in [false, true] {
                let shape = Shape { payload, ccmp };
                cases.extend(VMS.map(|vms| Case {
                    surroundings: Surroundings::Bare,
                    direction,
                    shape,
                    vms,
                }));
            }
        }
    }
    cases
}

/// Warms up, and counts allocations in the steady state that follows.
fn start(all_worlds: &mut [Worlds], effort: Effort) -> Vec<Running> {
    let mut running = Vec::new();
    for case in all() {
        let worlds = Worlds::of(all_worlds, case);
        let load = worlds.whole.load(case.shape);
        let quiet = Allocations::default();
        for _ in 0..WARM_UP * case.vms as u64 {
            case.go(&mut worlds.whole, &load, &quiet);
            case.go(&mut worlds.parts, &load, &quiet);
        }
        let counter = Allocations::default();
        for _ in 0..effort.frames {
            case.go(&mut worlds.parts, &load, &counter);
        }
        let counted = counter.take();
        running.push(Running {
            case,
            load,
            whole: Vec::new(),
            stages: Default::default(),
            allocations: counted.map(|count| count as f64 / effort.frames as f64),
        });
    }
    running
}

impl Case {
    fn go<B: Behind>(self, world: &mut World<B>, load: &Load, probe: &impl Probe) {
        match self.direction {
            Direction::Transmit => world.transmit(load, probe),
            Direction::Receive => world.receive(load, probe),
        }
    }
}

impl Running {
    fn round(&mut self, worlds: &mut Worlds, caches: &mut Caches, ticks: &Ticks, effort: Effort) {
        let cold = self.case.surroundings == Surroundings::ColdCaches;
        let count = effort.frames / if cold { FEWER_COLD } else { 1 };
        let mut prepare = || {
            if cold {
                caches.chill();
            }
        };
        let whole = Whole::new(ticks);
        let frames = (0..count).map(|_| {
            prepare();
            self.case.go(&mut worlds.whole, &self.load, &whole);
            whole.take()
        });
        self.whole.push(median(frames.collect()));
        let frames = (0..count).map(|_| {
            prepare();
            self.case.go(&mut worlds.parts, &self.load, ticks);
            ticks.take()
        });
        let frames: Vec<_> = frames.collect();
        for (stage, samples) in self.stages.iter_mut().enumerate() {
            samples.push(median(frames.iter().map(|frame| frame[stage]).collect()));
        }
    }

    fn end(self) -> Outcome {
        Outcome {
            case: self.case,
            whole: Spread::of(&self.whole),
            stages: self.stages.map(|samples| Spread::of(&samples)),
            allocations: self.allocations,
        }
    }
}

fn encrypted(payload: usize) -> usize {
    let ccmp = true;
    Shape { payload, ccmp }.body()
}

fn cipher_alone(payload: usize, ticks: &Ticks, effort: Effort) -> f64 {
    let cipher = Cipher::new();
    let mut body = vec![0; encrypted(payload)];
    let frames = (0..effort.frames).map(|_| {
        let (spent, mic) = ticks.of(|| cipher.seal(&[0; 24], [0; 13], &mut body));
        std::hint::black_box(mic);
        spent
    });
    median(frames.collect())
}
