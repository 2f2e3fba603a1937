//! A bounded single-producer single-consumer ring, and when its producer must wake its consumer ([`WakeUp`]): only when
//! that has said that it sleeps. And [`Lane`], two such rings between a virtual machine's device and the engine that
//! serves it.
//!
//! The consumer drains the ring, calls [`Receiver::announce_sleep`], and may block only when that
//! returns `true`; the producer's next push then calls the [`Wake`] once. So a busy lane costs no
//! wake-ups at all (Crossbow's dynamic polling).

use std::collections::VecDeque;
use std::sync::Arc;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, fence};
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, fence};

/// How the consumer is woken, for example by an eventfd. Called from the producer's thread.
pub trait Wake: Send + Sync {
    /// Wakes the consumer. Must not block.
    fn wake(&self);
}

/// A consumer that polls and never needs waking (tests, benchmarks).
pub struct NoWake;

impl Wake for NoWake {
    fn wake(&self) {}
}

/// When a producer must wake its consumer: flags beside a ring, and the order in which both ends touch them. It starts
/// with a consumer that sleeps.
///
/// The consumer says that it sleeps and then looks into the ring once more; the producer appends and then looks
/// whether the consumer sleeps. Both have a sequentially consistent fence between the two steps, so that at least
/// one of them sees what the other has done: no item waits beside a sleeper. `tests/loom.rs` tries every order of
/// the steps, with loom's atomics in place of the standard library's.
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

struct Shared {
    wake_up: WakeUp,
    wakes: AtomicU64,
    wake: Arc<dyn Wake>,
}

impl Shared {
    fn wake_if(&self, asleep: bool) {
        if asleep {
            self.wakes.fetch_add(1, Ordering::Relaxed);
            self.wake.wake();
        }
    }
}

/// The producer's end.
pub struct Sender<T> {
    ring: rtrb::Producer<T>,
    shared: Arc<Shared>,
}

/// The consumer's end.
pub struct Receiver<T> {
    ring: rtrb::Consumer<T>,
    shared: Arc<Shared>,
}

/// A ring of `capacity` items whose consumer is woken by `wake`.
///
/// ```
/// use airlane_lane::ring::{NoWake, ring};
/// use std::sync::Arc;
///
/// let (mut sender, mut receiver) = ring(2, Arc::new(NoWake));
/// assert!(receiver.announce_sleep(), "nothing waits");
/// assert_eq!(sender.push("one"), Ok(()));
/// assert_eq!(receiver.wakes(), 1);
/// assert_eq!(sender.push("two"), Ok(()));
/// assert_eq!(receiver.wakes(), 1, "it is awake by now");
/// assert_eq!(sender.push("three"), Err("three"));
/// assert_eq!(receiver.pop(), Some("one"));
/// ```
pub fn ring<T>(capacity: usize, wake: Arc<dyn Wake>) -> (Sender<T>, Receiver<T>) {
    let (producer, consumer) = rtrb::RingBuffer::new(capacity);
    let shared = Arc::new(Shared {
        wake_up: WakeUp::default(),
        wakes: AtomicU64::new(0),
        wake,
    });
    let sender = Sender {
        ring: producer,
        shared: Arc::clone(&shared),
    };
    let receiver = Receiver {
        ring: consumer,
        shared,
    };
    (sender, receiver)
}

impl<T> Sender<T> {
    /// Appends `item`; gives it back when the ring is full.
    pub fn push(&mut self, item: T) -> Result<(), T> {
        self.append_one(item)?;
        self.shared.wake_if(self.shared.wake_up.appended());
        Ok(())
    }

    /// Appends `item`, which may wait: wakes the consumer only when it has not said that it looks again by
    /// itself ([`Receiver::will_return`]). Gives the item back when the ring is full.
    pub fn push_quietly(&mut self, item: T) -> Result<(), T> {
        self.append_one(item)?;
        self.shared.wake_if(self.shared.wake_up.appended_quietly());
        Ok(())
    }

    fn append_one(&mut self, item: T) -> Result<(), T> {
        let pushed = self.ring.push(item);
        pushed.map_err(|rtrb::PushError::Full(item)| item)
    }

    /// Appends the oldest of `items`, `most` of them or as many as fit, and wakes the consumer once, when all
    /// of them are there. Says how many.
    pub fn append(&mut self, items: &mut VecDeque<T>, most: usize) -> usize {
        let count = most.min(items.len()).min(self.free());
        for item in items.drain(..count) {
            // It fits: the consumer can only have made more room.
            let _ = self.ring.push(item);
        }
        if count > 0 {
            self.shared.wake_if(self.shared.wake_up.appended());
        }
        count
    }

    /// How many items still fit.
    pub fn free(&self) -> usize {
        self.ring.slots()
    }

    /// True once the consumer's end is gone: nothing pushed will ever be read.
    pub fn is_abandoned(&self) -> bool {
        self.ring.is_abandoned()
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shared.wake.wake();
    }
}

impl<T> Receiver<T> {
    /// The oldest item, if any.
    pub fn pop(&mut self) -> Option<T> {
        self.ring.pop().ok()
    }

    /// How many items wait.
    pub fn len(&self) -> usize {
        self.ring.slots()
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// True once the producer's end is gone and the ring will fill no more.
    pub fn is_abandoned(&self) -> bool {
        self.ring.is_abandoned()
    }

    /// Says that the consumer is about to sleep. `false`: an item has come meanwhile, do not sleep.
    pub fn announce_sleep(&self) -> bool {
        self.shared.wake_up.announce_sleep(|| self.ring.is_empty())
    }

    /// Whether the consumer looks again by itself, however long it sleeps. Said before
    /// [`Self::announce_sleep`], so that of a quiet item either the producer knows or the consumer sees it.
    pub fn will_return(&self, returns: bool) {
        self.shared.wake_up.will_return(returns);
    }

    /// How many times the producer had to wake this consumer.
    pub fn wakes(&self) -> u64 {
        self.shared.wakes.load(Ordering::Relaxed)
    }
}

/// Requests one way and events the other, each over a ring that wakes its reader only when that sleeps.
///
/// It is made whole and then divided between two threads.
///
/// ```
/// use airlane_lane::Lane;
/// use airlane_lane::ring::NoWake;
/// use std::sync::Arc;
///
/// let lane: Lane<u32, String> = Lane::new(64, Arc::new(NoWake), Arc::new(NoWake));
/// let (mut device, mut engine) = (lane.device, lane.engine);
/// device.requests.push(7).expect("there is room for 64");
/// while let Some(number) = engine.requests.pop() {
///     engine.events.push(format!("{number} it is")).expect("there is room");
/// }
/// assert_eq!(device.events.pop().as_deref(), Some("7 it is"));
/// assert!(engine.requests.announce_sleep(), "nothing waits: the engine may sleep");
/// ```
pub struct Lane<Q, E> {
    /// The end of the device, or of whatever else asks.
    pub device: DeviceEnd<Q, E>,
    /// The end of the engine.
    pub engine: EngineEnd<Q, E>,
}

/// What a device tells the engine behind its lane, in the order in which it happens.
#[derive(Debug)]
pub enum LaneMessage<Q> {
    /// A virtual machine has attached: the requests that follow are its.
    Attached,
    /// The virtual machine asks for something.
    Request(Q),
    /// The virtual machine has gone: no request of it follows.
    Detached,
}

/// The end of a lane that asks.
pub struct DeviceEnd<Q, E> {
    /// To the engine.
    pub requests: Sender<Q>,
    /// From the engine.
    pub events: Receiver<E>,
}

/// The end of a lane that serves.
pub struct EngineEnd<Q, E> {
    /// From the device.
    pub requests: Receiver<Q>,
    /// To the device.
    pub events: Sender<E>,
}

impl<Q, E> Lane<Q, E> {
    /// A lane for `capacity` items each way. `wake_engine` is called when a request comes while the engine sleeps,
    /// `wake_device` when an event does while the device sleeps; each from the other's thread.
    pub fn new(capacity: usize, wake_engine: Arc<dyn Wake>, wake_device: Arc<dyn Wake>) -> Self {
        let (to_engine, from_device) = ring(capacity, wake_engine);
        let (to_device, from_engine) = ring(capacity, wake_device);
        Self {
            device: DeviceEnd {
                requests: to_engine,
                events: from_engine,
            },
            engine: EngineEnd {
                requests: from_device,
                events: to_device,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_out_in_order_and_a_full_ring_gives_the_item_back() {
        let (mut tx, mut rx) = ring(2, Arc::new(NoWake));
        assert_eq!(tx.push(1), Ok(()));
        assert_eq!(tx.push(2), Ok(()));
        assert_eq!(tx.push(3), Err(3));
        assert_eq!((rx.pop(), rx.pop(), rx.pop()), (Some(1), Some(2), None));
    }

    #[test]
    fn only_a_sleeping_consumer_is_woken() {
        let (mut tx, mut rx) = ring(8, Arc::new(NoWake));
        assert!(rx.announce_sleep());
        for item in 0..4 {
            assert_eq!(tx.push(item), Ok(()));
        }
        assert_eq!(rx.wakes(), 1);
        assert!(!rx.announce_sleep(), "items wait: no sleep");
        while rx.pop().is_some() {}
        assert!(rx.announce_sleep());
        assert_eq!(tx.push(9), Ok(()));
        assert_eq!(rx.wakes(), 2);
    }

    #[test]
    fn a_quiet_item_waits_until_the_consumer_looks() {
        let (mut tx, mut rx) = ring(2, Arc::new(NoWake));
        rx.will_return(true);
        assert!(rx.announce_sleep());
        assert_eq!(tx.push_quietly(1), Ok(()));
        assert_eq!((rx.wakes(), rx.pop()), (0, Some(1)));
        assert_eq!(tx.push(2), Ok(()));
        assert_eq!(rx.wakes(), 1, "it is still known to sleep");
    }

    #[test]
    fn a_quiet_item_wakes_a_consumer_that_does_not_look_by_itself() {
        let (mut tx, rx) = ring(2, Arc::new(NoWake));
        rx.will_return(false);
        assert!(rx.announce_sleep());
        assert_eq!(tx.push_quietly(1), Ok(()));
        assert_eq!(rx.wakes(), 1);
    }

    #[test]
    fn what_fits_is_appended_for_one_wake_up() {
        let (mut tx, mut rx) = ring(3, Arc::new(NoWake));
        assert!(rx.announce_sleep());
        let mut items: VecDeque<u8> = (0..6).collect();
        assert_eq!((tx.append(&mut items, 2), tx.append(&mut items, 4)), (2, 1));
        assert_eq!(rx.wakes(), 1);
        let all = [rx.pop(), rx.pop(), rx.pop(), rx.pop()];
        assert_eq!(all, [Some(0), Some(1), Some(2), None]);
        assert_eq!(items, [3, 4, 5]);
    }

    #[test]
    fn a_dropped_end_is_seen_by_the_other() {
        let (tx, rx) = ring::<u8>(1, Arc::new(NoWake));
        drop(tx);
        assert!(rx.is_abandoned());
    }
}
