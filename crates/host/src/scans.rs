//! Whose scan runs and whose waits. One sweep at a time; first come, first served, and a VM has at
//! most one, so nobody waits for more than one sweep of each other VM.
//!
//! Waiting scans are kept whole, so that several can later be merged into one sweep.

use std::collections::VecDeque;

use airlane_lane::VmId;
use airlane_wlan::{Micros, ScanRequest};

/// The sweep that the NIC runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    pub(crate) vm: VmId,
    pub(crate) since: Micros,
    /// The NIC has been told to end it.
    pub(crate) ending: bool,
}

/// The sweep that runs and those that wait.
#[derive(Default)]
pub(crate) struct Scans {
    pub(crate) running: Option<Running>,
    waiting: VecDeque<(VmId, Box<ScanRequest>)>,
}

impl Scans {
    pub(crate) fn runs(&self, vm: VmId) -> bool {
        self.running.is_some_and(|running| running.vm == vm)
    }

    pub(crate) fn waits(&self, vm: VmId) -> bool {
        self.waiting.iter().any(|&(owner, _)| owner == vm)
    }

    pub(crate) fn anyone_waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(crate) fn push(&mut self, vm: VmId, request: Box<ScanRequest>) {
        self.waiting.push_back((vm, request));
    }

    /// Takes a waiting scan out; `false` when there is none.
    pub(crate) fn withdraw(&mut self, vm: VmId) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|&(owner, _)| owner != vm);
        self.waiting.len() < before
    }

    /// The running sweep is over.
    pub(crate) fn end(&mut self, vm: VmId) {
        self.running = self.running.filter(|running| running.vm != vm);
    }

    /// The next scan, if the radio is free for it; it counts as running from now on.
    pub(crate) fn start_next(&mut self, now: Micros) -> Option<(VmId, Box<ScanRequest>)> {
        if self.running.is_some() {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.running = Some(Running {
            vm: next.0,
            since: now,
            ending: false,
        });
        Some(next)
    }
}
