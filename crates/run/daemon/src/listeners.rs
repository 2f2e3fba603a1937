//! Who wants to know what happens, and what has happened lately.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, TrySendError};

use airlane_engine::journal::Notice;

/// Notices that a new listener is told at once.
const REMEMBERED: usize = 1_024;

/// All listeners.
#[derive(Default)]
pub struct Listeners {
    listeners: Vec<SyncSender<Notice>>,
    past: VecDeque<Notice>,
}

impl Listeners {
    /// A new one: it is told what is remembered, then what comes.
    pub fn add(&mut self, listener: SyncSender<Notice>) {
        for &notice in &self.past {
            let _ = listener.try_send(notice);
        }
        self.listeners.push(listener);
    }

    /// Tells all. One that is too slow misses it; one that has gone is forgotten.
    pub fn tell(&mut self, notice: Notice) {
        if self.past.len() >= REMEMBERED {
            self.past.pop_front();
        }
        self.past.push_back(notice);
        self.listeners
            .retain(|to| !matches!(to.try_send(notice), Err(TrySendError::Disconnected(_))));
    }
}
