//! What every card shares, whatever it is: the identity of a virtual machine ([`VmId`]) and the
//! single-producer single-consumer rings over which a VM's lane and the radio exchange work,
//! waking the other side only when it sleeps ([`ring`]), when a VM is interrupted ([`coalescing`]), when
//! a thread looks again before it sleeps ([`polling`]), and the moments that a frame passes ([`stamp`]).
//!
//! Nothing here knows 802.11, PCI or memory. Dependencies point at this crate, never from it.

pub mod coalescing;
pub mod polling;
pub mod ring;
pub mod stamp;
mod time;
mod vm_id;

pub use coalescing::{Coalescer, Coalescing, Verdict};
pub use polling::{PollCounters, Poller, Polling};
pub use time::{Instant, Micros};
pub use vm_id::{MAX_VMS, VmId, VmIdError};
