//! A virtqueue (virtio 1.2, 2.7 "Split Virtqueues") with the descriptors by which guest and device tell each other of it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use virtio_queue::{DescriptorChain, Error, Queue, QueueT};
use vm_memory::GuestMemoryMmap;

/// A guest's memory, or what the front end has shown of it.
pub type Guest = GuestMemoryMmap<()>;

/// Entries of a queue at most.
pub const MAX_ENTRIES: u16 = 1024;

/// A virtqueue. It is started by the first descriptor for notifications and stopped by `GET_VRING_BASE`.
pub struct Vring {
    pub(super) queue: Queue,
    enabled: bool,
    kick: Option<OwnedFd>,
    call: Option<OwnedFd>,
    /// It has been started or enabled, and may hold what no notification tells.
    due: bool,
}

impl Vring {
    /// A queue that the guest has not set up.
    pub(super) fn new() -> Result<Self, Error> {
        Ok(Self {
            queue: Queue::new(MAX_ENTRIES)?,
            enabled: false,
            kick: None,
            call: None,
            due: false,
        })
    }

    /// Whether the device may use it.
    pub fn is_running(&self) -> bool {
        self.enabled && self.queue.ready()
    }

    /// The next chain of buffers that the guest offers. An index that runs away yields none.
    pub fn pop<'a>(&mut self, memory: &'a Guest) -> Option<DescriptorChain<&'a Guest>> {
        self.queue.pop_descriptor_chain(memory)
    }

    /// Gives the chain that begins with `head` back, with `length` bytes written. A guest whose used ring lies nowhere
    /// does not get it.
    pub fn give_back(&mut self, memory: &Guest, head: u16, length: u32) {
        let _ = self.queue.add_used(memory, head, length);
    }

    /// Asks the guest not to notify, as the device is looking anyway.
    pub fn silence(&mut self, memory: &Guest) {
        let _ = self.queue.disable_notification(memory);
    }

    /// Asks the guest to notify again; true when it has offered more meanwhile.
    pub fn listen(&mut self, memory: &Guest) -> bool {
        matches!(self.queue.enable_notification(memory), Ok(true))
    }

    /// Interrupts the guest for used buffers, unless it asked not to be.
    pub fn notify(&mut self, memory: &Guest) {
        let unwanted = matches!(self.queue.needs_notification(memory), Ok(false));
        if let Some(call) = self.call.as_ref().filter(|_| !unwanted) {
            // A full counter, or a full pipe, is an interrupt that the guest has not taken yet.
            let _ = rustix::io::write(call, &1u64.to_ne_bytes());
        }
    }

    /// What the guest notifies, while the device may use the queue.
    pub(super) fn kick(&self) -> Option<BorrowedFd<'_>> {
        self.kick
            .as_ref()
            .filter(|_| self.is_running())
            .map(AsFd::as_fd)
    }

    /// Whether the guest has said something: consumes a notification that `kicked` claims. An error when the descriptor
    /// is none that notifications come by.
    pub(super) fn take_notification(&mut self, kicked: bool) -> Result<bool, Errno> {
        let due = std::mem::take(&mut self.due) && self.is_running();
        let Some(kick) = self.kick.as_ref().filter(|_| kicked) else {
            return Ok(due);
        };
        match rustix::io::read(kick, &mut [0; 8]) {
            Ok(0) => Err(Errno::PIPE),
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR) => Ok(due),
            Err(errno) => Err(errno),
        }
    }

    pub(super) fn set_enabled(&mut self, enabled: bool) {
        self.due |= enabled && !self.enabled;
        self.enabled = enabled;
    }

    pub(super) fn set_kick(&mut self, kick: Option<OwnedFd>) {
        self.kick = kick;
        self.start();
    }

    pub(super) fn set_call(&mut self, call: Option<OwnedFd>) {
        self.call = call;
        self.start();
    }

    fn start(&mut self) {
        if self.kick.is_some() && !self.queue.ready() {
            self.queue.set_ready(true);
            self.due = true;
        }
    }

    /// Stops it; the index of the next chain that the device would have taken.
    pub(super) fn stop(&mut self) -> u16 {
        self.queue.set_ready(false);
        (self.kick, self.call, self.due) = (None, None, false);
        self.queue.next_avail()
    }
}
