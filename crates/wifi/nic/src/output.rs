//! What leaves the card: events, and what is counted.

use std::collections::VecDeque;

use airlane_waist::{Event, NicEvent, PerVm, VmId};

use crate::counters::{Counters, VmCounters};

/// Events in the order in which they happened, and all counters.
#[derive(Default)]
pub(crate) struct Output {
    events: VecDeque<NicEvent>,
    pub(crate) counters: Counters,
    /// They outlive the vMACs.
    pub(crate) vms: PerVm<VmCounters>,
}

impl Output {
    /// Tells a VM's driver.
    pub(crate) fn emit(&mut self, vm: VmId, event: Event) {
        self.events.push_back(NicEvent::Vif(vm, event));
    }

    /// Tells the host driver.
    pub(crate) fn tell_host(&mut self, event: NicEvent) {
        self.events.push_back(event);
    }

    /// Takes the oldest event out.
    pub(crate) fn next(&mut self) -> Option<NicEvent> {
        self.events.pop_front()
    }

    /// Notes that something holds no longer which the card itself must see to: tests stop there, a running card
    /// counts it and goes on.
    #[cold]
    pub(crate) fn broken(&mut self, invariant: &str) {
        debug_assert!(false, "broken invariant: {invariant}");
        self.counters.broken_invariants += 1;
    }
}
