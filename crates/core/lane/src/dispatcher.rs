//! Deficit weighted round robin over lanes (Shreedhar and Varghese, *Efficient Fair Queuing using Deficit Round
//! Robin*, SIGCOMM 1995): whose turn it is, by what each has used up so far, bytes on a wire or microseconds on the
//! air.
//!
//! A lane may send while it has credit. What is sent is charged, as an estimate if the cost is known only later, so
//! a lane may fall into debt; each round gives every lane that waits a quantum times its weight. A decision takes
//! constant time as long as no charge is much larger than a quantum: a debt is paid off one round after the other.
//!
//! Not here: what waits ([`crate::LaneQueues`]).

use std::marker::PhantomData;

use crate::{LaneId, LaneSet, MAX_LANES, Micros};

/// More weight than this is this.
pub const MAX_WEIGHT: u16 = 1_000;

/// What sending uses up.
pub trait Cost: Copy {
    /// The cost as a number.
    fn units(self) -> u64;
}

/// Bytes on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Cost for Bytes {
    fn units(self) -> u64 {
        self.0
    }
}

impl Cost for Micros {
    fn units(self) -> u64 {
        self.0
    }
}

/// What becomes of the credit of a lane that waits no longer when its turn passes. Debt always stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenEmpty {
    /// It is lost: nobody saves up for a burst.
    #[default]
    Lose,
    /// It stays, as in an offload engine whose queues run empty between two requests.
    Keep,
}

#[derive(Clone, Copy, Debug)]
struct Account {
    credit: i64,
    weight: u16,
}

/// Whose turn it is among up to [`MAX_LANES`] lanes.
///
/// ```
/// use airlane_lane::{Bytes, Dispatcher, LaneId, WhenEmpty};
///
/// let mut turns = Dispatcher::new(2, Bytes(1_500), Bytes(64_000), WhenEmpty::Lose);
/// let [fast, slow] = [0, 1].map(|number| LaneId::new(number));
/// turns.set_weight(fast, 3);
/// turns.set_waiting(fast, true);
/// turns.set_waiting(slow, true);
/// let mut frames = [0, 0];
/// for _ in 0..400 {
///     let lane = turns.pick().unwrap();
///     turns.charge(lane, Bytes(1_500));
///     frames[lane.index()] += 1;
/// }
/// assert_eq!(frames, [300, 100]);
/// ```
#[derive(Debug)]
pub struct Dispatcher<C> {
    accounts: Vec<Account>,
    waiting: LaneSet,
    /// Lanes with credit.
    rich: LaneSet,
    turn: usize,
    /// Credit that one round gives to a lane of weight 1.
    quantum: i64,
    /// The deepest debt that is remembered, below zero.
    debt: i64,
    when_empty: WhenEmpty,
    cost: PhantomData<C>,
}

impl<C: Cost> Dispatcher<C> {
    /// For 1 to [`MAX_LANES`] lanes, each of weight 1. `debt`: the deepest that is remembered, the largest charge.
    pub fn new(lanes: usize, quantum: C, debt: C, when_empty: WhenEmpty) -> Self {
        let account = Account {
            credit: 0,
            weight: 1,
        };
        Self {
            accounts: vec![account; lanes.clamp(1, MAX_LANES)],
            waiting: LaneSet::default(),
            rich: LaneSet::default(),
            turn: 0,
            quantum: bounded(quantum.units()).max(1),
            debt: -bounded(debt.units()),
            when_empty,
            cost: PhantomData,
        }
    }

    /// Says whether a lane has something to send.
    #[inline]
    pub fn set_waiting(&mut self, lane: LaneId, waiting: bool) {
        match waiting && lane.index() < self.accounts.len() {
            true => self.waiting.insert(lane),
            false => self.waiting.remove(lane),
        }
    }

    /// True while a lane has something to send.
    #[inline]
    pub fn any_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The lane that may send next; `None` while none waits. It stays this lane's turn until it has been charged
    /// more than its credit. One that waits alone is never held back.
    #[inline]
    pub fn pick(&mut self) -> Option<LaneId> {
        let first = self.waiting.next_from(0)?;
        if self.waiting.len() == 1 {
            return Some(first);
        }
        self.pick_among_several(first)
    }

    fn pick_among_several(&mut self, first: LaneId) -> Option<LaneId> {
        loop {
            let lane = self.waiting.next_from(self.turn).unwrap_or(first);
            self.pass_idle(lane);
            let account = self.accounts.get_mut(lane.index())?;
            if account.credit > 0 {
                self.turn = lane.index();
                return Some(lane);
            }
            account.credit += self.quantum * i64::from(account.weight);
            if account.credit > 0 {
                self.rich.insert(lane);
            }
            self.turn = (lane.index() + 1) % self.accounts.len();
        }
    }

    /// Charges a lane for what it sends.
    pub fn charge(&mut self, lane: LaneId, cost: C) {
        self.add(lane, -self.clamped(cost));
    }

    /// Gives back what was charged as an estimate.
    pub fn refund(&mut self, lane: LaneId, cost: C) {
        self.add(lane, self.clamped(cost));
    }

    /// Sets a lane's share, relative to the others': 1 to [`MAX_WEIGHT`]. Holds from its next turn on.
    pub fn set_weight(&mut self, lane: LaneId, weight: u16) {
        if let Some(account) = self.accounts.get_mut(lane.index()) {
            account.weight = weight.clamp(1, MAX_WEIGHT);
        }
    }

    /// What a lane may still send; negative: what it owes.
    pub fn credit(&self, lane: LaneId) -> i64 {
        let account = self.accounts.get(lane.index());
        account.map_or(0, |account| account.credit)
    }

    /// Whoever gets this lane next starts without credit and without debt.
    pub fn forget(&mut self, lane: LaneId) {
        self.set_credit(lane, |_| 0);
    }

    /// The turn goes to `lane`, and passes those before it, none of which waits.
    fn pass_idle(&mut self, lane: LaneId) {
        if self.when_empty == WhenEmpty::Keep {
            return;
        }
        let to = lane.index();
        if self.turn <= to {
            self.take_credit(self.turn, to);
        } else {
            self.take_credit(self.turn, self.accounts.len());
            self.take_credit(0, to);
        }
    }

    fn take_credit(&mut self, from: usize, to: usize) {
        while let Some(lane) = self.rich.next_from(from).filter(|lane| lane.index() < to) {
            self.set_credit(lane, |_| 0);
        }
    }

    fn add(&mut self, lane: LaneId, amount: i64) {
        let (debt, ceiling) = (self.debt, self.quantum * i64::from(MAX_WEIGHT));
        self.set_credit(lane, |credit| {
            credit.saturating_add(amount).clamp(debt, ceiling)
        });
    }

    fn set_credit(&mut self, lane: LaneId, change: impl FnOnce(i64) -> i64) {
        let Some(account) = self.accounts.get_mut(lane.index()) else {
            return;
        };
        let was = account.credit;
        account.credit = change(was);
        match (was > 0, account.credit > 0) {
            (false, true) => self.rich.insert(lane),
            (true, false) => self.rich.remove(lane),
            _ => {}
        }
    }

    fn clamped(&self, cost: C) -> i64 {
        bounded(cost.units()).min(-self.debt)
    }
}

/// Small enough for [`MAX_WEIGHT`] times as much to be a number.
fn bounded(units: u64) -> i64 {
    i64::try_from(units).unwrap_or(i64::MAX).min(1 << 40)
}

#[cfg(test)]
#[path = "dispatcher_tests.rs"]
mod tests;
