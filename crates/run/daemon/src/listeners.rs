//! Who wants to know what happens, and what has happened lately.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, TrySendError};

use airlane_engine::journal::VmEvent;

/// Events that a new listener is told at once.
const REMEMBERED: usize = 1_024;

/// All listeners.
#[derive(Default)]
pub struct Listeners {
    listeners: Vec<SyncSender<VmEvent>>,
    past: VecDeque<VmEvent>,
}

impl Listeners {
    /// A new one: it is told what is remembered, then what comes.
    pub fn add(&mut self, listener: SyncSender<VmEvent>) {
        for &event in &self.past {
            let _ = listener.try_send(event);
        }
        self.listeners.push(listener);
    }

    /// Tells all. One that is too slow misses it; one that has gone is forgotten.
    pub fn tell(&mut self, event: VmEvent) {
        if self.past.len() >= REMEMBERED {
            self.past.pop_front();
        }
        self.past.push_back(event);
        self.listeners
            .retain(|to| !matches!(to.try_send(event), Err(TrySendError::Disconnected(_))));
    }
}
