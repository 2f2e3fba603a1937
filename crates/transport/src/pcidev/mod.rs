//! PCI over virtio: a card's configuration space, registers and message-signalled interrupts, served to User Mode Linux
//! as a vhost-user device with two virtqueues. The guest's kernel attaches it with `virtio_uml.device=SOCKET:64`, where 64 is
//! the number that its `CONFIG_UML_PCI_OVER_VIRTIO_DEVICE_ID` says: the device has no official one. Messages: Linux
//! `include/uapi/linux/virtio_pcidev.h`.
//!
//! Queue 0 carries the guest's accesses. Writes are posted; for a read the guest's only processor spins until the answer is
//! there, and gives up after 40,000 turns of a microsecond. Queue 1 carries interrupts to the guest.
//!
//! There is no hypervisor between guest and card that would know what a BAR or an MSI capability is: the card's own
//! configuration space must answer for both, and what an interrupt says is read from there.
//!
//! Not here: INTx and PME. Linux (6.1 to 6.12) gives a virtual card's INTx a number without a controller behind it,
//! which no driver can request; so interrupts are MSI or none.

mod backend;
mod message;
mod msi;

use std::path::Path;

use crate::pci::LaneEnd;
use crate::served::{Counters, Ended};
use crate::vhost_user::Server;
use crate::wake::EventFd;
use backend::Backend;

pub use crate::vhost_user::ServeError as PciDevError;

/// The virtio device number that guests' kernels are built with.
pub const DEVICE_ID: u32 = 64;

/// A listening server of one card.
pub struct PciDevServer<P: LaneEnd + Send + 'static> {
    server: Server<Backend<P>>,
}

impl<P: LaneEnd + Send + 'static> PciDevServer<P> {
    /// Listens at `path` for the VM that is to have `card`. `wake` is the radio's: whenever it fires, and after each batch of
    /// messages, the card is polled.
    pub fn bind(path: impl AsRef<Path>, card: P, wake: EventFd) -> Result<Self, PciDevError> {
        let server = Server::bind(path.as_ref(), Backend::new(card), wake)?;
        Ok(Self { server })
    }

    /// Serves one VM from accept to its end, or to `stop`, which is not consumed. When the call returns, the card's memory is
    /// unmapped, the card is not reset.
    pub fn serve(&self, stop: &EventFd) -> Result<Ended, PciDevError> {
        self.server.serve(stop)
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.server.backend().counters
    }

    /// Lends the card out between two VMs.
    pub fn with_card<T>(&self, work: impl FnOnce(&mut P) -> T) -> T {
        work(&mut self.server.backend().card)
    }
}
