//! The wake-up protocol under every order of its steps that the memory model allows.
//!
//! `make loom`; without the flag there is nothing here.
//! The ring itself cannot run under loom: a counter of what was appended stands in for it.
#![cfg(loom)]

use airlane_lane::WakeUp;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

/// A ring's flags, and how much has been appended to it.
#[derive(Default)]
struct Shared {
    wake_up: WakeUp,
    items: AtomicUsize,
}

/// A consumer that is awake, with an empty ring.
fn awake() -> Arc<Shared> {
    let shared = Arc::new(Shared::default());
    assert!(shared.wake_up.appended(), "it sleeps at first");
    shared
}

/// Appends so many items in another thread; says how often the consumer was to be woken.
fn produce(
    shared: &Arc<Shared>,
    items: usize,
    say: fn(&WakeUp) -> bool,
) -> thread::JoinHandle<usize> {
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        let append = |nth| {
            shared.items.store(nth, Ordering::Release);
            say(&shared.wake_up)
        };
        (1..=items).filter(|&nth| append(nth)).count()
    })
}

/// True when the consumer goes to sleep, having seen fewer than `items`.
fn sleeps(shared: &Shared, seen: usize) -> bool {
    let is_empty = || shared.items.load(Ordering::Acquire) == seen;
    shared.wake_up.announce_sleep(is_empty)
}

#[test]
fn no_item_waits_beside_a_consumer_that_sleeps() {
    loom::model(|| {
        let shared = awake();
        let producer = produce(&shared, 1, WakeUp::appended);
        let sleeps = sleeps(&shared, 0);
        let wakes = producer.join().unwrap();
        assert!(!sleeps || wakes == 1, "the item waits, the consumer sleeps");
    });
}

#[test]
fn a_consumer_that_drains_and_sleeps_again_misses_nothing() {
    loom::model(|| {
        let shared = awake();
        let producer = produce(&shared, 2, WakeUp::appended);
        let seen = shared.items.load(Ordering::Acquire);
        let sleeps = sleeps(&shared, seen);
        let wakes = producer.join().unwrap();
        assert!(wakes <= 1, "one sleep, one wake-up");
        assert!(!sleeps || seen == 2 || wakes == 1);
    });
}

#[test]
fn no_quiet_item_waits_beside_a_consumer_that_no_longer_looks_by_itself() {
    loom::model(|| {
        let shared = awake();
        shared.wake_up.will_return(true);
        let producer = produce(&shared, 1, WakeUp::appended_quietly);
        shared.wake_up.will_return(false);
        let sleeps = sleeps(&shared, 0);
        let wakes = producer.join().unwrap();
        assert!(!sleeps || wakes == 1, "the item waits, the consumer sleeps");
    });
}
