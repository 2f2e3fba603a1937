//! What all vhost-user devices here have in common: front ends served one after another at a Unix socket, the
//! framework's threads, guest memory, and checked access to the buffers of a virtqueue.
//!
//! Not here: what a device does with its queues ([`Backend`]).

mod chain;
mod device;
mod peer;
mod relay;
mod server;

use std::time::Duration;

use vhost_user_backend::{VringMutex, VringState};
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

pub use chain::{copy_in, copy_out, notify};
pub use device::Device;
pub use server::{ServeError, Server};

/// A guest's memory, or what the front end has shown of it.
pub type Guest = GuestMemoryMmap<()>;
/// Guest memory as the framework replaces it.
pub type Atomic = GuestMemoryAtomic<Guest>;
/// A virtqueue.
pub type Vring = VringMutex<Atomic>;
/// A virtqueue, locked.
pub type State = VringState<Atomic>;

/// Every device here has two virtqueues.
pub const QUEUES: usize = 2;

/// Why a device's thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The guest has notified this queue.
    Notified(usize),
    /// The radio has something for the device, or it has been left alone for long enough.
    Woken,
}

/// What a vhost-user device does.
pub trait Backend: Send + 'static {
    /// The guest's memory is there, or has changed.
    fn memory(&mut self, memory: Atomic);
    /// Something is to be done with the queues.
    fn event(&mut self, event: Event, queues: [&Vring; QUEUES]);
    /// For how long the device may be left alone after an event; nothing: until the next one.
    fn sleep_limit(&mut self) -> Option<Duration> {
        None
    }
    /// The front end has shown memory that could vanish; nothing of it was touched, and its connection ends.
    fn memory_refused(&mut self);
    /// The guest's driver has stopped its queues.
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
