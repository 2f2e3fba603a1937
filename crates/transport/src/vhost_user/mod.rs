//! What all vhost-user devices here have in common: front ends served one after another at a Unix socket, in one thread
//! that also does the device's work; guest memory; and checked access to the buffers of a virtqueue.
//!
//! Messages come from the `vhost` crate and virtqueues from `virtio-queue`; the loop is ours. `vhost-user-backend`, which
//! has one, starts two threads for each front end, puts a lock around each virtqueue for them, and leaves a descriptor
//! behind for each front end that has gone.
//!
//! Seen with QEMU 11.1.3 and Linux 6.12: a guest with one hwsim radio scans eleven channels and restarts, and each frame
//! gets its status.
//!
//! Not here: what a device does with its queues ([`Backend`]), live migration, in-flight records.

mod backend;
mod chain;
mod connection;
mod peer;
mod relay;
mod rings;
mod server;
mod vring;

pub use backend::{Backend, Event};
pub use chain::{copy_in, copy_out};
pub use connection::ConnectionError;
pub use relay::RelayError;
pub use server::{ServeError, Server};
pub use vring::{Guest, Vring};
