//! What a frame costs once everything is warm.

mod common;

use airlane_air::*;
use airlane_dot11::*;
use airlane_lane::Instant;
use common::*;

struct Load {
    air: Air,
    frames: Vec<(RadioId, Buffer)>,
    now: Instant,
    numbered: Option<(BufferPool, [u16; 5])>,
}

impl Load {
    /// Five saturated stations and ten that say nothing, all on one channel.
    fn new(config: AirConfig) -> Self {
        let mut air = Air::new(config);
        radio(&mut air, ghz5(), ACCESS_POINT);
        for idle in 100..110 {
            radio(&mut air, ghz5(), address(idle));
        }
        let frames: Vec<_> = (0..5)
            .map(|number| {
                let id = radio(&mut air, ghz5(), address(number));
                (id, qos(ACCESS_POINT, address(number), 0, 1500))
            })
            .collect();
        let mut load = Self {
            air,
            frames,
            now: Instant(0),
            numbered: None,
        };
        for at in 0..load.frames.len() {
            load.send(at);
            load.send(at);
        }
        load
    }

    fn send(&mut self, at: usize) {
        let (id, frame) = &self.frames[at];
        let mut transmission = Transmission::new(at as u64, frame.clone(), ghz5(), M54);
        if let Some((pool, numbers)) = &mut self.numbered {
            numbers[at] = (numbers[at] + 1) & 0xfff;
            let frame = pool.fill(frame.len(), |bytes| {
                bytes.copy_from_slice(frame);
                frame::set_sequence_number(bytes, numbers[at]);
                Ok::<(), ()>(())
            });
            transmission.frame = frame.unwrap();
            transmission.rates = [ht(7, false, true)].into_iter().collect();
            transmission.aggregation = Some(Aggregation::LARGEST);
            transmission.retry_limit = 100;
        }
        self.air.transmit(self.now, *id, transmission);
    }

    /// From now on numbered frames, 62 more for each, at 65 Mb/s under block-ack agreements.
    fn aggregate(&mut self) {
        self.numbered = Some((BufferPool::new(1_024), [0; 5]));
        for at in 0..self.frames.len() {
            for _ in 0..62 {
                self.send(at);
            }
        }
    }

    fn run_until(&mut self, end: Instant) {
        while self.now < end {
            self.now = self.air.step(self.now).unwrap_or(end);
            while let Some(event) = self.air.next_event() {
                if let AirEvent::Sent(Ended { token, .. }) = event
                    && (token as usize) < self.frames.len()
                {
                    self.send(token as usize);
                }
            }
        }
    }
}

#[test]
fn frames_and_retries_allocate_nothing_once_warm() {
    let mut load = Load::new(AirConfig::default());
    load.run_until(Instant::from_millis(3_000));
    let before = load.air.counters().clone();
    let allocations = allocation_counter::measure(|| load.run_until(Instant::from_millis(4_000)));
    let counters = load.air.counters();
    assert!(counters.frames > before.frames + 2_000 && counters.retries > before.retries + 500);
    assert_eq!(allocations.count_total, 0);
}

#[test]
fn ampdus_and_their_retries_allocate_nothing_once_warm() {
    let mut load = Load::new(AirConfig {
        path_loss: PathLoss::Ideal { loss_db: 85.7 },
        ..AirConfig::default()
    });
    load.aggregate();
    load.run_until(Instant::from_millis(3_000));
    let before = load.air.counters().clone();
    let allocations = allocation_counter::measure(|| load.run_until(Instant::from_millis(4_000)));
    let counters = load.air.counters();
    assert!(counters.aggregates > before.aggregates + 100);
    assert!(counters.noise_errors > before.noise_errors + 100);
    assert_eq!(allocations.count_total, 0);
}

/// Not a check: `cargo test --release -p airlane-air --test steady -- --ignored --nocapture`.
#[test]
#[ignore = "prints a figure of this machine"]
#[expect(
    clippy::disallowed_methods,
    reason = "measures real time, decides nothing"
)]
fn cost_of_a_frame() {
    for stations in [1, 5] {
        let mut load = Load::new(AirConfig::default());
        load.frames.truncate(stations);
        load.run_until(Instant::from_millis(1_000));
        let before = load.air.counters().frames;
        let began = std::time::Instant::now();
        load.run_until(Instant::from_millis(61_000));
        let frames = load.air.counters().frames - before;
        let each = began.elapsed().as_nanos() as u64 / frames;
        println!("{stations} senders: {frames} frames, {each} ns each");
    }
}
