//! What it costs to find the pages behind a guest's addresses, in each of the three ways: one look-up, the
//! look-ups of one transmitted frame, and the frame as a whole. The ways take turns in every round.

use std::hint::black_box;

use airlane_air::AirMode;
use airlane_bench::stats::Spread;
use airlane_daemon::Wifi;
use airlane_dma::{Backing, Memory, Translation, Window};

use crate::found::{Effort, Translated};
use crate::frames::Shape;
use crate::probe::{Ticks, Whole, median};
use crate::world::{World, map_others};

const MEMORY: u64 = 256 << 20;
/// Look-ups between two readings of the counter.
const BATCH: u64 = 256;
/// Frames before anything is measured.
const WARM_UP: usize = 600;

struct Running {
    way: Translation,
    guest: Guest,
    world: World<Wifi>,
    samples: [Vec<f64>; 3],
}

/// Measures the three.
pub fn measure(ticks: &Ticks, effort: Effort) -> Vec<Translated> {
    let mut all = Translation::ALL.map(Running::new);
    for _ in 0..effort.rounds {
        for one in &mut all {
            one.round(ticks, effort);
        }
    }
    all.into_iter().map(Running::end).collect()
}

impl Running {
    fn new(way: Translation) -> Self {
        let mut world = World::translated(1, way, AirMode::Infinite);
        let load = world.load(SHAPE);
        let idle = crate::probe::Unwatched;
        (0..WARM_UP).for_each(|_| world.transmit(&load, &idle));
        Self {
            way,
            guest: Guest::new(way),
            world,
            samples: Default::default(),
        }
    }

    fn round(&mut self, ticks: &Ticks, effort: Effort) {
        let Self { guest, world, .. } = self;
        let batches = 0..effort.frames / 8;
        let look_up = |batch| per_item(ticks, || guest.look_ups(batch));
        let look_up = batches.clone().map(look_up).collect();
        let guest = &mut self.guest;
        let frame = |batch| per_item(ticks, || guest.frames(batch));
        let frame = batches.map(frame).collect();
        let (whole, load) = (Whole::new(ticks), world.load(SHAPE));
        let transmit = |_| {
            world.transmit(&load, &whole);
            whole.take() * SCALE
        };
        let transmit = (0..effort.frames).map(transmit).collect();
        for (samples, round) in self.samples.iter_mut().zip([look_up, frame, transmit]) {
            samples.push(median(round) / SCALE as f64);
        }
    }

    fn end(self) -> Translated {
        let [look_up, frame, whole] = self.samples.map(|samples| Spread::of(&samples));
        Translated {
            way: self.way,
            look_up,
            frame,
            whole,
        }
    }
}

const SHAPE: Shape = Shape {
    payload: 64,
    ccmp: false,
};

/// Samples are kept in hundredths of a tick.
const SCALE: u64 = 100;

fn per_item(ticks: &Ticks, work: impl FnOnce()) -> u64 {
    ticks.of(work).0 * SCALE / BATCH
}

/// Memory and those who look into it for a frame.
struct Guest {
    memory: Memory,
    windows: [Window; USERS],
}

/// Transmit ring, command and frame, receive ring, receive buffer, receive status, interrupt table.
const USERS: usize = 6;

impl Guest {
    fn new(way: Translation) -> Self {
        let mut memory = Memory::translated(way, 3, "bench");
        memory
            .map(0, MEMORY, Backing::Anonymous, true)
            .expect("memory can be mapped");
        map_others(&mut memory);
        Self {
            memory,
            windows: [Window::default(); USERS],
        }
    }

    /// One user, from page to page.
    fn look_ups(&mut self, batch: u64) {
        for number in 0..BATCH {
            let address = page(batch * BATCH + number);
            self.look(1, address, 64);
        }
    }

    /// What the card looks up for a transmitted frame: its descriptor, command and header, the pieces of the frame,
    /// the buffer, the ring and the status for its response, the interrupt.
    fn frames(&mut self, batch: u64) {
        for number in 0..BATCH {
            let (ring, at) = (number * 128, page(batch * BATCH + number));
            self.look(0, 0x10_0000 + ring, 128);
            self.look(1, at, 20);
            self.look(1, at + 20, 66);
            self.pieces(at + 60, at + 0x1000);
            self.look(2, 0x20_0000 + number * 4, 4);
            self.look(3, 0x30_0000 + number * 0x1000, 64);
            self.look(4, 0x21_0000, 2);
            self.look(5, 0x22_0000 + number * 4, 4);
        }
    }

    /// Once when the frame is made and once when it is copied; flat keeps what it has found, and merged does not look
    /// before it copies.
    fn pieces(&mut self, header: u64, payload: u64) {
        let times = match self.memory.translation() {
            Translation::Software => 2,
            Translation::Flat | Translation::Merged => 1,
        };
        for _ in 0..times {
            self.look(1, header, 26);
            self.look(1, payload, 100);
        }
    }

    fn look(&mut self, user: usize, address: u64, length: usize) {
        let window = &mut self.windows[user];
        black_box(self.memory.contains_via(window, black_box(address), length));
    }
}

/// Somewhere in memory, never twice in a row the same page.
fn page(number: u64) -> u64 {
    (number.wrapping_mul(0x9e37_79b9) % (MEMORY / 0x1000 - 2)) * 0x1000
}
