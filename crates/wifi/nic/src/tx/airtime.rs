//! What frames cost: the guess when they go to the air, the truth when they have ended.
//!
//! Airtime alone would favour whoever sends many small frames: each contends for the medium anew, and all
//! who share the radio wait meanwhile. So a vMAC pays for contention, too; frames of one A-MPDU share that.

use airlane_dot11::{AccessCategory, EdcaParameters, Rate};
use airlane_lane::{Instant, Micros, VmId};

use crate::nic::Nic;
use crate::tx::prepare::Prepared;
use crate::tx::transmitter::Ended;

/// Slot and SIFS (IEEE 802.11-2020 table 17-21).
const SLOT: u64 = 9;
const SIFS: u64 = 16;
/// Preamble, gap and answer around a frame, and that of a frame among many in one A-MPDU.
const OVERHEAD: u64 = 120;
const SHARED_OVERHEAD: u64 = 8;

/// What the air has of one access category.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InAir {
    /// Its estimated time.
    pub(crate) cost: Micros,
    /// Frames that may share PPDUs.
    pub(crate) aggregates: usize,
}

/// The A-MPDU whose frames end now.
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

/// What one attempt takes, roughly.
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

impl Nic {
    pub(crate) fn in_air(&self, category: AccessCategory) -> InAir {
        let held = self.in_air.get(category as usize);
        held.copied().unwrap_or_default()
    }

    /// A frame goes to the air.
    pub(crate) fn charge(&mut self, vm: VmId, prepared: &Prepared) {
        if let Some(dwrr) = self.dwrr_mut(prepared.category) {
            dwrr.charge(vm, prepared.cost);
        }
        if let Some(held) = self.in_air.get_mut(prepared.category as usize) {
            held.cost += prepared.cost;
            held.aggregates += usize::from(prepared.aggregation.is_some());
        }
    }

    /// The air has a frame no longer.
    pub(crate) fn release(&mut self, prepared: &Prepared) {
        if let Some(held) = self.in_air.get_mut(prepared.category as usize) {
            let left = held.cost.checked_sub(prepared.cost);
            debug_assert!(
                left.is_some(),
                "a frame gives back more airtime than the air holds"
            );
            held.cost = left.unwrap_or_default();
            let one = usize::from(prepared.aggregation.is_some());
            held.aggregates = held.aggregates.saturating_sub(one);
        }
    }

    /// Charges what the frame took instead of what was estimated.
    pub(crate) fn settle_account(&mut self, vm: VmId, prepared: &Prepared, ended: &Ended) {
        self.release(prepared);
        let edca = self.vmac(vm).map(|vmac| vmac.edca(prepared.category));
        let waited = contention(edca.unwrap_or(EdcaParameters::DCF), ended.attempts);
        let waited = Micros(waited.0 / ended.sharers.max(1));
        if let Some(dwrr) = self.dwrr_mut(prepared.category) {
            dwrr.refund(vm, prepared.cost);
            dwrr.charge(vm, ended.airtime + waited);
        }
        let retries = u64::from(ended.attempts.saturating_sub(1));
        self.count(vm, |counters| {
            counters.airtime += ended.airtime;
            counters.contention += waited;
            counters.retries += retries;
        });
        if let Some(vmac) = self.vmac_mut(vm) {
            let statistics = &mut vmac.statistics;
            statistics.airtime += ended.airtime;
            statistics.retries = statistics.retries.wrapping_add(retries as u32);
        }
    }
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
