//! The access-point VMs as a source of the reactor: what their virtqueues bring, and what their radios hear.

use airlane_engine::Wifi;
use airlane_lane::Instant;
use airlane_lane::ring::{Receiver, Sender};
use airlane_waist::hwsim::{FromHwsim, ToHwsim};

use crate::reactor::{BATCH, Report, Source, Took};

/// The reactor's ends of one access-point VM's rings.
pub struct HwsimEnds {
    /// What its radios send.
    pub from_vm: Receiver<FromHwsim>,
    /// What its radios hear.
    pub to_vm: Sender<ToHwsim>,
}

/// All of them, by port.
pub struct AccessPointVms {
    ends: Vec<HwsimEnds>,
    ring_full: u64,
}

impl AccessPointVms {
    /// Between these rings.
    pub fn new(ends: Vec<HwsimEnds>) -> Self {
        Self { ends, ring_full: 0 }
    }
}

impl Source<Wifi> for AccessPointVms {
    fn take(&mut self, now: Instant, engine: &mut Wifi) -> Took {
        let mut took = Took::Nothing;
        for (port, ends) in self.ends.iter_mut().enumerate() {
            for _ in 0..BATCH {
                let Some(message) = ends.from_vm.pop() else {
                    break;
                };
                engine.hwsim(now, port, message);
                took = Took::Batch;
            }
        }
        took
    }

    fn give(&mut self, _: Instant, engine: &mut Wifi) -> Option<Instant> {
        while let Some((port, message)) = engine.next_for_hwsim() {
            if let Some(ends) = self.ends.get_mut(port) {
                // A full ring means an access-point VM that does not run: it misses the frame.
                self.ring_full += u64::from(ends.to_vm.push(message).is_err());
            }
        }
        None
    }

    fn announce_sleep(&mut self) -> bool {
        self.ends.iter().all(|ends| ends.from_vm.announce_sleep())
    }

    fn count(&self, report: &mut Report) {
        report.add("hwsim_ring_full", self.ring_full);
    }
}
