//! When a producer must wake its consumer: flags beside a ring, and the order in which both ends touch them.
//!
//! The consumer says that it sleeps and then looks into the ring once more; the producer appends and then looks
//! whether the consumer sleeps. Both have a sequentially consistent fence between the two steps, so that at least
//! one of them sees what the other has done: no item waits beside a sleeper. `tests/loom.rs` tries every order of
//! the steps, with loom's atomics in place of the standard library's.

#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, Ordering, fence};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// The flags of one ring. It starts with a consumer that sleeps.
#[derive(Debug)]
pub struct WakeUp {
    sleeping: AtomicBool,
    /// The consumer looks into the ring again by itself, however long it sleeps.
    returns: AtomicBool,
}

impl Default for WakeUp {
    fn default() -> Self {
        Self {
            sleeping: AtomicBool::new(true),
            returns: AtomicBool::new(false),
        }
    }
}

impl WakeUp {
    /// The producer has appended something. True: it must wake the consumer, and nobody else does.
    pub fn appended(&self) -> bool {
        fence(Ordering::SeqCst);
        self.ends_sleep()
    }

    /// The producer has appended something that may wait until the consumer looks by itself, if it does.
    pub fn appended_quietly(&self) -> bool {
        fence(Ordering::SeqCst);
        !self.returns.load(Ordering::Relaxed) && self.ends_sleep()
    }

    /// The consumer is about to sleep; `is_empty` looks into the ring. False: something has come, it must not sleep.
    pub fn announce_sleep(&self, is_empty: impl FnOnce() -> bool) -> bool {
        self.sleeping.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if is_empty() {
            return true;
        }
        self.sleeping.store(false, Ordering::SeqCst);
        false
    }

    /// Whether the consumer looks again by itself. Said before [`Self::announce_sleep`], so that of a quiet item
    /// either the producer knows or the consumer sees it.
    pub fn will_return(&self, returns: bool) {
        self.returns.store(returns, Ordering::Relaxed);
    }

    fn ends_sleep(&self) -> bool {
        self.sleeping.load(Ordering::Relaxed) && self.sleeping.swap(false, Ordering::SeqCst)
    }
}
