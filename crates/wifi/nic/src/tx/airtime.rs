//! What frames cost: the guess when they go to the air, the truth when they have ended.
//!
//! Airtime alone would favour whoever sends many small frames: each contends for the medium anew, and all
//! who share the radio wait meanwhile. So a vMAC pays for contention, too; frames of one A-MPDU share that.

use airlane_dot11::{AccessCategory, EdcaParameters, PerAc, Rate};
use airlane_lane::{Dispatcher, Instant, LaneId, LaneSet, MAX_WEIGHT, Micros, WhenEmpty};
use airlane_waist::{MAX_VMS, PerVm, VmId};

use crate::tx::frame::Prepared;

/// Microseconds of a slot (IEEE 802.11-2020 table 17-21).
const SLOT: u64 = 9;
/// Microseconds of a SIFS (the same table).
const SIFS: u64 = 16;
/// Microseconds of preamble, gap and answer around a frame.
const OVERHEAD: u64 = 120;
/// A frame's part in those of an A-MPDU of many frames.
const SHARED_OVERHEAD: u64 = 8;

/// What the air has of one access category.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    /// Estimated airtime of those frames.
    pub(crate) cost: Micros,
    /// How many of those frames may share PPDUs.
    pub(crate) aggregates: usize,
}

impl Held {
    /// Takes a frame out; `false` when that leaves less than nothing.
    fn release(&mut self, prepared: &Prepared) -> bool {
        let one = usize::from(prepared.aggregates());
        let cost = self.cost.checked_sub(prepared.cost);
        let aggregates = self.aggregates.checked_sub(one);
        *self = Self {
            cost: cost.unwrap_or_default(),
            aggregates: aggregates.unwrap_or_default(),
        };
        cost.is_some() && aggregates.is_some()
    }
}

/// The last A-MPDU that ended, whose frames are told one by one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastAggregate {
    pub(crate) at: Instant,
    pub(crate) frames: u8,
}

impl LastAggregate {
    /// How many frames shared the exchange that ended at this moment.
    pub(crate) fn sharers(self, at: Instant) -> u64 {
        if self.at == at {
            u64::from(self.frames.max(1))
        } else {
            1
        }
    }
}

/// What one attempt for a frame of `length` bytes takes, roughly. `shared`: it may share a PPDU.
pub(crate) fn estimate(length: usize, rate: Rate, shared: bool) -> Micros {
    let overhead = if shared { SHARED_OVERHEAD } else { OVERHEAD };
    let tenths = u64::from(rate.hundred_kbps()).max(1);
    Micros(overhead + length as u64 * 80 / tenths)
}

/// Mean time of waiting for the medium, as if nobody else did: AIFS and half the window for each attempt, the
/// window doubled after each in vain (IEEE 802.11-2020 10.23.2.2).
pub(crate) fn contention(edca: EdcaParameters, attempts: u8) -> Micros {
    let mut window = u64::from(edca.cw_min);
    let mut time = 0;
    for _ in 0..attempts {
        time += SIFS + SLOT * u64::from(edca.aifsn) + SLOT * window / 2;
        window = (2 * window + 1).min(u64::from(edca.cw_max));
    }
    Micros(time)
}

/// Airtime that one round gives to a vMAC of weight 1.
const QUANTUM: Micros = Micros(1_000);
/// Deepest debt that is remembered: the longest frame with all its retries.
const DEBT: Micros = Micros(100_000);

/// How a vMAC stands to the air in one access category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// A frame waits that may be sent where the radio is.
    Ready,
    /// Frames wait for another channel.
    Elsewhere,
    /// No frame waits.
    Empty,
}

/// One access category: whose turn it is, and what the air has.
struct Account {
    /// The lane of each vMAC has the number of its VM.
    turns: Dispatcher<Micros>,
    /// vMACs that may have frames, for whatever channel; all others have none.
    queued: LaneSet,
    held: Held,
}

/// The accounts of all vMACs: who may send next, and what is still to be paid for.
pub(crate) struct Airtime {
    accounts: PerAc<Account>,
    weights: PerVm<u16>,
}

impl Default for Airtime {
    fn default() -> Self {
        let account = |_| Account {
            turns: Dispatcher::new(MAX_VMS, QUANTUM, DEBT, WhenEmpty::Lose),
            queued: LaneSet::default(),
            held: Held::default(),
        };
        Self {
            accounts: PerAc::from_fn(account),
            weights: PerVm::from_fn(|_| 1),
        }
    }
}

impl Airtime {
    /// A vMAC's share, relative to the others'.
    pub(crate) fn weight(&self, vm: VmId) -> u16 {
        self.weights[vm]
    }

    /// Sets a vMAC's share, within 1 and [`MAX_WEIGHT`].
    pub(crate) fn set_weight(&mut self, vm: VmId, weight: u16) {
        let weight = weight.clamp(1, MAX_WEIGHT);
        self.weights[vm] = weight;
        for account in self.accounts.values_mut() {
            account.turns.set_weight(lane(vm), weight);
        }
    }

    /// What the air has of this category.
    pub(crate) fn held(&self, category: AccessCategory) -> Held {
        self.accounts[category].held
    }

    /// A frame of this category has come into the vMAC's queue.
    pub(crate) fn queue(&mut self, vm: VmId, category: AccessCategory) {
        self.accounts[category].queued.insert(lane(vm));
    }

    /// Finds out which vMACs wait for their turn, among those that may have frames. True when there is one.
    pub(crate) fn refresh(
        &mut self,
        category: AccessCategory,
        readiness: impl Fn(VmId) -> Readiness,
    ) -> bool {
        let Account { turns, queued, .. } = &mut self.accounts[category];
        if queued.is_empty() {
            return false;
        }
        let mut from = 0;
        while let Some(lane) = queued.next_from(from) {
            from = lane.index() + 1;
            let readiness = VmId::new(lane.index()).map_or(Readiness::Empty, &readiness);
            turns.set_waiting(lane, readiness == Readiness::Ready);
            if readiness == Readiness::Empty {
                queued.remove(lane);
            }
        }
        turns.any_waiting()
    }

    /// A vMAC has sent its last frame that waited for its turn; true when another one still waits.
    pub(crate) fn rest(&mut self, vm: VmId, category: AccessCategory, rest: Readiness) -> bool {
        let Account { turns, queued, .. } = &mut self.accounts[category];
        turns.set_waiting(lane(vm), false);
        if rest == Readiness::Empty {
            queued.remove(lane(vm));
        }
        turns.any_waiting()
    }

    /// The vMAC that may send next, among those that wait.
    pub(crate) fn pick(&mut self, category: AccessCategory) -> Option<VmId> {
        let lane = self.accounts[category].turns.pick()?;
        VmId::new(lane.index()).ok()
    }

    /// A frame goes to the air: its estimate is paid.
    pub(crate) fn charge(&mut self, vm: VmId, prepared: &Prepared) {
        let Account { turns, held, .. } = &mut self.accounts[prepared.category()];
        turns.charge(lane(vm), prepared.cost);
        held.cost += prepared.cost;
        held.aggregates += usize::from(prepared.aggregates());
    }

    /// The air has a frame no longer. `false` when it had less than that frame: a defect of the card.
    #[must_use]
    pub(crate) fn release(&mut self, prepared: &Prepared) -> bool {
        self.accounts[prepared.category()].held.release(prepared)
    }

    /// A frame has ended: what it took is paid instead of its estimate. `false` as for [`Self::release`].
    #[must_use]
    pub(crate) fn settle(&mut self, vm: VmId, prepared: &Prepared, took: Micros) -> bool {
        let Account { turns, held, .. } = &mut self.accounts[prepared.category()];
        turns.refund(lane(vm), prepared.cost);
        turns.charge(lane(vm), took);
        held.release(prepared)
    }

    /// A new vMAC starts without debt.
    pub(crate) fn forget(&mut self, vm: VmId) {
        for account in self.accounts.values_mut() {
            account.turns.forget(lane(vm));
        }
    }

    /// Credits of a vMAC by category, and its weight.
    #[cfg(test)]
    pub(crate) fn account(&self, vm: VmId) -> (Vec<i64>, u16) {
        let accounts = self.accounts.values();
        let credits = accounts.map(|account| account.turns.credit(lane(vm)));
        (credits.collect(), self.weights[vm])
    }
}

fn lane(vm: VmId) -> LaneId {
    LaneId::new(u8::from(vm).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attempt_waits_longer_up_to_the_largest_window() {
        let edca = EdcaParameters {
            cw_min: 15,
            cw_max: 31,
            aifsn: 3,
            txop: Micros(0),
        };
        let times = [0, 1, 2, 3].map(|attempts| contention(edca, attempts).0);
        assert_eq!(times, [0, 110, 110 + 182, 110 + 182 + 182]);
    }

    #[test]
    fn frames_of_one_exchange_share_its_contention() {
        let last = LastAggregate {
            at: Instant(5),
            frames: 42,
        };
        assert_eq!(
            [last.sharers(Instant(5)), last.sharers(Instant(6))],
            [42, 1]
        );
    }
}
