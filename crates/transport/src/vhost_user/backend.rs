//! What a vhost-user device is to its server.

use std::sync::Arc;
use std::time::Duration;

use super::vring::{Guest, Vring};

/// Why a device is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The guest has notified this queue, or has just started it.
    Notified(usize),
    /// The radio has something for the device, or it has been left alone for long enough.
    Woken,
}

/// A vhost-user device.
pub trait Backend: Send + 'static {
    /// How many virtqueues it has, always the same number.
    fn queues(&self) -> usize;
    /// Feature bits of its own, besides those of virtqueues (virtio 1.2, bits 0 to 23 and from 50 on).
    fn features(&self) -> u64 {
        0
    }
    /// Its configuration space in the byte order of virtio; empty: it has none.
    fn config(&self) -> &[u8] {
        &[]
    }
    /// The front end has agreed to these feature bits.
    fn negotiated(&mut self, features: u64) {
        let _ = features;
    }
    /// The guest's memory is there, or has changed.
    fn memory(&mut self, memory: Arc<Guest>);
    /// Something is to be done with the queues, all of them, in order.
    fn event(&mut self, event: Event, queues: &mut [Vring]);
    /// For how long the device may be left alone from now on; nothing: until the next event.
    fn sleep_limit(&mut self) -> Option<Duration> {
        None
    }
    /// The front end has shown memory that could vanish; nothing of it was touched, and its connection ends.
    fn memory_refused(&mut self);
    /// The guest's driver has stopped a queue.
    fn stopped(&mut self);
    /// A front end has come.
    fn connected(&mut self);
    /// The front end is gone, and the guest's memory with it.
    fn disconnected(&mut self);
    /// No front end is there, and the radio has something for one.
    fn idle(&mut self);
    /// True once the guest has broken the protocol: its connection is to be closed.
    fn is_broken(&self) -> bool;
}
