//! vfio-user: a card's registers, configuration space, DMA and interrupts, served to an unmodified
//! hypervisor over a Unix socket. QEMU from 10.1 on attaches it with
//! `-device '{"driver":"vfio-user-pci","socket":{"type":"unix","path":"…"}}'`; guest memory must be
//! a shared memfd that is sealed against shrinking (`-object memory-backend-memfd,share=on`, sealed by
//! default): a map of any other file is refused.
//!
//! Not here: what the card is ([`PciDevice`] is implemented elsewhere), migration, DMA by message,
//! memory-mapped regions.
//!
//! What QEMU's client does (hw/vfio-user, 10.1 to 11.1): it offers protocol 0.0; it posts BAR writes
//! (`NO_REPLY`), one message each, and packs them into `REGION_WRITE_MULTI` only while more than 1,024 wait
//! for room in the socket, which a server that reads never sees; it sends DMA maps
//! in bursts within one memory transaction and waits for the last reply only; it maps firmware and
//! video memory without a file; it reads the whole configuration space in one access; it gives up
//! on a reply after some seconds. At a BAR access with INTx pending it unmasks the line. One boot
//! of a Linux guest maps and unmaps some 20 ranges; a reboot resets the card and keeps the connection.
//! It emulates the BARs and the MSI capability itself, yet passes each write of configuration space on.

mod connection;
mod inbox;
mod irq;
mod maps;
pub mod protocol;
mod reply;
mod server;
mod session;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use airlane_dma::Memory;
use rustix::event::PollFlags;

pub use protocol::Malformed;
pub use server::VfioUserServer;

/// A PCI card, as its server needs it. Offsets and lengths are within the sizes that the card
/// gives; lengths are not restricted to what a processor can load or store at once.
pub trait PciDevice {
    /// Reads configuration space.
    fn config_read(&mut self, offset: u64, data: &mut [u8]);
    /// Writes configuration space.
    fn config_write(&mut self, offset: u64, data: &[u8]);
    /// Length of configuration space in bytes: 256, or 4096 with PCI Express's extended part.
    fn config_size(&self) -> u64 {
        256
    }
    /// Length of a BAR in bytes; 0: the card has none there.
    fn bar_size(&self, bar: u8) -> u64;
    /// Reads a BAR.
    fn bar_read(&mut self, bar: u8, offset: u64, data: &mut [u8]);
    /// Writes a BAR.
    fn bar_write(&mut self, bar: u8, offset: u64, data: &[u8]);
    /// The VM's memory as the card sees it. The server maps and unmaps it while the VM runs.
    fn memory(&mut self) -> &mut Memory;
    /// The VM or its hypervisor resets the card.
    fn reset(&mut self);
    /// A batch of messages has been read and is about to be handled: for those who measure.
    fn messages_read(&mut self) {}
    /// Exchanges with the radio: called after each batch of messages and each wake-up.
    fn poll(&mut self);
    /// True once for each message-signalled interrupt that is due.
    fn take_msi(&mut self) -> bool;
    /// Whether the card drives its INTx line.
    fn intx_level(&self) -> bool;
    /// Asked before the thread may sleep. True: more has come from the radio, poll again instead.
    /// A card answers with `!receiver.announce_sleep()` of its ring from the radio.
    fn wants_poll_before_sleep(&mut self) -> bool;
    /// What has been counted so far, told before each sleep: for those who report.
    fn counted(&mut self, counters: &Counters) {
        let _ = counters;
    }
    /// How long the thread may sleep at most before the card is polled again; nothing: for as long as
    /// nobody wakes it. Asked when it is about to.
    fn sleep_limit(&mut self) -> Option<Duration> {
        None
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client went away.
    Disconnected,
    /// The `stop` eventfd fired.
    Stopped,
}

/// What a server waits for, for a loop that polls many.
#[derive(Clone, Copy, Debug)]
pub struct Interest<'a> {
    /// The listening socket, or that of the client that is connected.
    pub socket: BorrowedFd<'a>,
    /// To be waited for at the socket: `IN`, or `OUT` while replies wait for room.
    pub flags: PollFlags,
    /// The eventfd by which the hypervisor unmasks INTx, to be waited for with `IN`.
    pub unmask: Option<BorrowedFd<'a>>,
}

/// What a poll has found of an [`Interest`]. To claim too much costs a system call each and does no harm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// Anything at the socket, errors included.
    pub socket: bool,
    /// The unmask eventfd.
    pub unmask: bool,
}

impl Ready {
    /// For who has not asked: a loop that polls without system calls.
    pub const ALL: Self = Self {
        socket: true,
        unmask: true,
    };
}

/// What a turn of a server has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing that could go on without waiting for an [`Interest`].
    Idle,
    /// A message beyond the budget: another turn can go on at once.
    More,
    /// Nothing: the client went away.
    Disconnected,
}

/// What one server has seen, over all its clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Clients accepted.
    pub connections: u64,
    /// Looks for something to do, each a system call, most of them with a sleep.
    pub waits: u64,
    /// Messages handled.
    pub messages: u64,
    /// Receives that brought something: messages per batch tell how well writes are drained.
    pub batches: u64,
    /// Writes of replies, many at a time.
    pub sends: u64,
    /// Region reads.
    pub reads: u64,
    /// Region writes, those within `REGION_WRITE_MULTI` one by one.
    pub writes: u64,
    /// Ranges mapped.
    pub maps: u64,
    /// Ranges mapped without a file: out of the card's reach.
    pub maps_without_file: u64,
    /// Unmap requests done.
    pub unmaps: u64,
    /// Resets.
    pub resets: u64,
    /// Interrupts delivered.
    pub interrupts: u64,
    /// Message-signalled interrupts that found no eventfd.
    pub interrupts_lost: u64,
    /// Requests answered with an error number, or posted ones that were skipped.
    pub refused: u64,
    /// Messages that ended their connection.
    pub malformed: u64,
}

/// A server that cannot listen, or a connection that broke.
#[derive(Debug, thiserror::Error)]
pub enum VfioUserError {
    /// The socket cannot be made.
    #[error(transparent)]
    Socket(#[from] crate::SocketError),
    /// No client can be accepted.
    #[error("cannot accept a vfio-user client: {0}")]
    Accept(#[source] std::io::Error),
    /// Waiting failed.
    #[error("cannot wait for a vfio-user client: {0}")]
    Wait(#[source] std::io::Error),
    /// Receiving failed.
    #[error("cannot receive from a vfio-user client: {0}")]
    Receive(#[source] std::io::Error),
    /// Sending failed.
    #[error("cannot send to a vfio-user client: {0}")]
    Send(#[source] std::io::Error),
    /// The client broke the protocol.
    #[error("vfio-user client broke the protocol behind message {message}: {what}")]
    Malformed {
        /// How.
        what: Malformed,
        /// How many messages had been handled.
        message: u64,
    },
}
