//! Deficit weighted round robin over vMACs, in microseconds of airtime.
//!
//! A frame is charged its estimated airtime when it goes to the air, and the difference to what it
//! took (retries included) when it ends. So a vMAC on a slow link pays for its slowness itself.

use airlane_lane::{MAX_VMS, Micros, VmId};
use airlane_waist::PerVm;

/// Airtime that one round gives to a vMAC of weight 1.
const QUANTUM: i64 = 1_000;
/// Deepest debt that is remembered: the longest frame with all its retries.
const DEBT: i64 = -100_000;
/// More weight than this is this.
pub const MAX_WEIGHT: u16 = 1_000;

/// One round-robin ring.
pub(crate) struct Dwrr {
    credit: PerVm<i64>,
    weight: PerVm<u16>,
    turn: usize,
}

impl Default for Dwrr {
    fn default() -> Self {
        Self {
            credit: PerVm::default(),
            weight: PerVm::from_fn(|_| 1),
            turn: 0,
        }
    }
}

impl Dwrr {
    /// The vMAC that may send next, among those that `wants` holds (bit n = VM n).
    pub(crate) fn pick(&mut self, wants: u16) -> Option<VmId> {
        if wants == 0 {
            return None;
        }
        if wants.is_power_of_two() {
            return VmId::new(wants.trailing_zeros() as usize).ok();
        }
        loop {
            let vm = VmId::new(self.turn).ok()?;
            let wanted = wants & (1u16 << self.turn) != 0;
            let credit = &mut self.credit[vm];
            if wanted && *credit > 0 {
                return Some(vm);
            }
            if wanted {
                *credit += QUANTUM * i64::from(self.weight[vm]);
            } else {
                *credit = (*credit).min(0);
            }
            self.turn = (self.turn + 1) % MAX_VMS;
        }
    }

    /// Charges a vMAC for time on the air.
    pub(crate) fn charge(&mut self, vm: VmId, airtime: Micros) {
        self.add(vm, -(clamp(airtime)));
    }

    /// Gives an estimate back.
    pub(crate) fn refund(&mut self, vm: VmId, airtime: Micros) {
        self.add(vm, clamp(airtime));
    }

    /// Sets a vMAC's share, relative to the others': 1 to [`MAX_WEIGHT`].
    pub(crate) fn set_weight(&mut self, vm: VmId, weight: u16) {
        self.weight[vm] = weight;
    }

    /// A new vMAC starts without debt.
    pub(crate) fn forget(&mut self, vm: VmId) {
        self.credit[vm] = 0;
    }

    /// What a vMAC may still send, in microseconds; negative: what it owes.
    #[cfg(test)]
    pub(crate) fn credit(&self, vm: VmId) -> i64 {
        self.credit[vm]
    }

    fn add(&mut self, vm: VmId, amount: i64) {
        let ceiling = QUANTUM * i64::from(MAX_WEIGHT);
        let credit = &mut self.credit[vm];
        *credit = credit.saturating_add(amount).clamp(DEBT, ceiling);
    }
}

fn clamp(airtime: Micros) -> i64 {
    i64::try_from(airtime.0).unwrap_or(i64::MAX).min(-DEBT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(dwrr: &mut Dwrr, cost: [u64; 2]) -> [u64; 2] {
        let mut used = [0; 2];
        for _ in 0..10_000 {
            let vm = dwrr.pick(0b11).unwrap();
            dwrr.charge(vm, Micros(cost[vm.index()]));
            used[vm.index()] += cost[vm.index()];
        }
        used
    }

    #[test]
    fn unequal_frames_get_equal_airtime() {
        let [slow, fast] = shares(&mut Dwrr::default(), [12_000, 250]);
        assert!(slow.abs_diff(fast) < 30_000, "{slow} {fast}");
    }

    #[test]
    fn weights_divide_the_airtime() {
        let mut dwrr = Dwrr::default();
        dwrr.set_weight(VmId::new(0).unwrap(), 3);
        let [three, one] = shares(&mut dwrr, [300, 300]);
        assert!((three as f64 / one as f64 - 3.0).abs() < 0.05);
    }

    #[test]
    fn one_that_wants_alone_is_never_held_back() {
        let mut dwrr = Dwrr::default();
        let vm = VmId::new(15).unwrap();
        dwrr.charge(vm, Micros(90_000));
        assert_eq!(dwrr.pick(1 << 15), Some(vm));
        assert_eq!(dwrr.pick(0), None);
    }
}
