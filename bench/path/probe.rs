//! What a stage costs: time-stamp ticks or allocations. A stage within a stage is taken off the
//! outer one, so that the stages of a frame add up to the whole.

use std::cell::Cell;

/// A part of a frame's way. Declared in the order in which a transmitted frame meets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The register write that says how far a ring is filled.
    Doorbell,
    /// From descriptor to request: what the card does when its lane is polled.
    Fetch,
    /// The rings between lane and radio, both ways.
    Ring,
    /// The host driver, both ways.
    Host,
    /// The NIC, both ways: its copy, its cipher, its queues, its receive filter.
    Nic,
    /// The medium, which has no airtime here.
    Air,
    /// From event to the guest's receive ring.
    Completion,
}

/// How many stages there are.
pub const STAGES: usize = 7;

impl Stage {
    /// All, in order.
    pub const ALL: [Self; STAGES] = [
        Self::Doorbell,
        Self::Fetch,
        Self::Ring,
        Self::Host,
        Self::Nic,
        Self::Air,
        Self::Completion,
    ];

    /// For tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Doorbell => "doorbell",
            Self::Fetch => "fetch",
            Self::Ring => "rings",
            Self::Host => "host",
            Self::Nic => "nic",
            Self::Air => "air",
            Self::Completion => "completion",
        }
    }
}

/// Watches stages, or the whole.
pub trait Probe {
    /// Runs `work`, the whole way of one frame.
    fn whole<R>(&self, work: impl FnOnce() -> R) -> R {
        work()
    }

    /// Runs `work` as part of `stage`.
    fn stage<R>(&self, stage: Stage, work: impl FnOnce() -> R) -> R;
}

/// Watches nothing, and costs nothing.
pub struct Unwatched;

impl Probe for Unwatched {
    fn stage<R>(&self, _: Stage, work: impl FnOnce() -> R) -> R {
        work()
    }
}

/// What has been spent, stage by stage.
#[derive(Default)]
struct Ledger {
    stages: [Cell<u64>; STAGES],
    /// What stages within the one that runs have taken.
    inner: Cell<u64>,
}

impl Ledger {
    /// Books what `measured` says of its work, less what stages within it have taken.
    fn book<R>(&self, stage: Stage, measured: impl FnOnce() -> (u64, R)) -> R {
        let outer = self.inner.replace(0);
        let (spent, result) = measured();
        let own = spent.saturating_sub(self.inner.get());
        let cell = &self.stages[stage as usize];
        cell.set(cell.get() + own);
        self.inner.set(outer + spent);
        result
    }

    fn take(&self) -> [u64; STAGES] {
        self.inner.set(0);
        std::array::from_fn(|at| self.stages[at].take())
    }
}

/// Counts ticks of the time-stamp counter.
pub struct Ticks {
    clock: quanta::Clock,
    /// What two readings one after the other are apart.
    reading: u64,
    ledger: Ledger,
}

impl Ticks {
    /// Measures itself first.
    pub fn new() -> Self {
        let clock = quanta::Clock::new();
        let mut gaps: Vec<u64> = (0..10_001).map(|_| gap(&clock)).collect();
        gaps.sort_unstable();
        Self {
            clock,
            reading: gaps[gaps.len() / 2],
            ledger: Ledger::default(),
        }
    }

    /// Ticks that `work` takes, less what reading the counter takes.
    pub fn of<R>(&self, work: impl FnOnce() -> R) -> (u64, R) {
        let start = self.clock.raw();
        let result = work();
        let end = self.clock.raw();
        (end.saturating_sub(start + self.reading), result)
    }

    /// Ticks of each stage since the last call.
    pub fn take(&self) -> [u64; STAGES] {
        self.ledger.take()
    }

    /// Ticks per microsecond.
    pub fn per_microsecond(&self) -> f64 {
        let second = 1_000_000_000;
        second as f64 * 1_000.0 / self.clock.delta_as_nanos(0, second) as f64
    }

    /// What reading the counter takes, in ticks.
    pub fn reading(&self) -> u64 {
        self.reading
    }
}

fn gap(clock: &quanta::Clock) -> u64 {
    let start = clock.raw();
    clock.raw().saturating_sub(start)
}

/// Counts ticks of the whole alone: no reading of the counter within.
pub struct Whole<'a> {
    ticks: &'a Ticks,
    spent: Cell<u64>,
}

impl<'a> Whole<'a> {
    /// With this counter.
    pub fn new(ticks: &'a Ticks) -> Self {
        let spent = Cell::new(0);
        Self { ticks, spent }
    }

    /// Ticks since the last call.
    pub fn take(&self) -> u64 {
        self.spent.take()
    }
}

impl Probe for Whole<'_> {
    fn whole<R>(&self, work: impl FnOnce() -> R) -> R {
        let (spent, result) = self.ticks.of(work);
        self.spent.set(self.spent.get() + spent);
        result
    }

    fn stage<R>(&self, _: Stage, work: impl FnOnce() -> R) -> R {
        work()
    }
}

impl Probe for Ticks {
    fn stage<R>(&self, stage: Stage, work: impl FnOnce() -> R) -> R {
        self.ledger.book(stage, || self.of(work))
    }
}

/// Counts allocations.
#[derive(Default)]
pub struct Allocations {
    ledger: Ledger,
}

impl Allocations {
    /// Allocations of each stage since the last call.
    pub fn take(&self) -> [u64; STAGES] {
        self.ledger.take()
    }
}

impl Probe for Allocations {
    fn stage<R>(&self, stage: Stage, work: impl FnOnce() -> R) -> R {
        self.ledger.book(stage, || {
            let mut result = None;
            let counted = allocation_counter::measure(|| result = Some(work()));
            (counted.count_total, result.expect("the work has run"))
        })
    }
}

/// Of the frames of one round: one that was preempted does not count for a thousand.
pub fn median(mut frames: Vec<u64>) -> f64 {
    frames.sort_unstable();
    frames
        .get(frames.len() / 2)
        .map_or(0.0, |&ticks| ticks as f64)
}
