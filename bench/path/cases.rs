//! What is measured, and in which order: in every round each case has its turn, so that what disturbs
//! the machine for a while disturbs them all.

use airlane_bench::stats::Spread;
use airlane_daemon::radio::Radio;

use crate::behind::{Behind, Parts};
use crate::found::{Baseline, Case, Direction, Effort, Outcome};
use crate::frames::{Cipher, Shape};
use crate::probe::{Allocations, Probe, STAGES, Ticks, Whole, median};
use crate::world::{Load, World};

/// UDP payloads.
pub const PAYLOADS: [usize; 2] = [64, 1_472];
/// Numbers of VMs.
const VMS: [usize; 2] = [1, 16];
/// Frames before anything is measured: every ring has gone round, every queue has its size.
const WARM_UP: u64 = 600;

/// The worlds that the cases need: for the whole, and for stages.
struct Worlds {
    vms: usize,
    whole: World<Radio>,
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
    let mut worlds = VMS.map(|vms| Worlds {
        vms,
        whole: World::new(vms),
        parts: World::new(vms),
    });
    let mut running = start(&mut worlds, effort);
    let mut alone = PAYLOADS.map(|_| Vec::new());
    for _ in 0..effort.rounds {
        for one in &mut running {
            let worlds = worlds.iter_mut().find(|worlds| worlds.vms == one.case.vms);
            one.round(worlds.expect("a world for every case"), ticks, effort);
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

fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for direction in [Direction::Transmit, Direction::Receive] {
        for payload in PAYLOADS {
            for ccmp in [false, true] {
                let shape = Shape { payload, ccmp };
                cases.extend(VMS.map(|vms| Case {
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
fn start(worlds: &mut [Worlds], effort: Effort) -> Vec<Running> {
    let mut running = Vec::new();
    for case in all() {
        let worlds = worlds.iter_mut().find(|worlds| worlds.vms == case.vms);
        let worlds = worlds.expect("a world for every case");
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
    fn round(&mut self, worlds: &mut Worlds, ticks: &Ticks, effort: Effort) {
        let whole = Whole::new(ticks);
        let frames = (0..effort.frames).map(|_| {
            self.case.go(&mut worlds.whole, &self.load, &whole);
            whole.take()
        });
        self.whole.push(median(frames.collect()));
        let frames = (0..effort.frames).map(|_| {
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
