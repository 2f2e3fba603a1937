//! vfio-user: a card's registers, configuration space, DMA and interrupts, served to an unmodified
//! hypervisor over a Unix socket. QEMU from 10.1 on attaches it with
//! `-device '{"driver":"vfio-user-pci","socket":{"type":"unix","path":"…"}}'`; guest memory must be
//! a shared memfd that is sealed against shrinking (`-object memory-backend-memfd,share=on`, sealed by
//! default): a map of any other file is refused.
//!
//! Not here: what the card is ([`crate::PciDevice`] is implemented elsewhere), migration, DMA by message.
//!
//! What QEMU's client does (hw/vfio-user, 10.1 to 11.1): it offers protocol 0.0; it posts BAR writes
//! (`NO_REPLY`), one message each, and packs them into `REGION_WRITE_MULTI` only while more than 1,024 wait
//! for room in the socket, which a server that reads never sees; it sends DMA maps
//! in bursts within one memory transaction and waits for the last reply only; it maps firmware and
//! video memory without a file; it reads the whole configuration space in one access; it gives up
//! on a reply after some seconds. At a BAR access with INTx pending it unmasks the line. One boot
//! of a Linux guest maps and unmaps some 20 ranges; a reboot resets the card and keeps the connection.
//! It emulates the BARs and the MSI and MSI-X capabilities itself, yet passes each write of configuration space on. It
//! sets the eventfds of several vectors with as many per message as `max_msg_fds` says, or takes as many away without any.
//! Once one region may be mapped it posts no more writes to any: each waits 30 to 44 microseconds for its reply.

mod connection;
mod error;
mod inbox;
mod irq;
mod maps;
pub mod protocol;
mod reply;
mod server;
mod session;
mod turn;

pub use error::VfioUserError;
pub use protocol::Malformed;
pub use server::VfioUserServer;
pub use turn::{Interest, Ready, Turn};
