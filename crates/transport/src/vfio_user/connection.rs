//! One client of a vfio-user server: its socket, what has been received and not handled, what has been answered and not
//! sent. Nothing here waits: what the socket does not take, or does not have, is for another turn.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::event::PollFlags;
use rustix::io::Errno;

use super::error::VfioUserError;
use super::inbox::{Inbox, ReceiveError, Received};
use super::protocol::Malformed;
use super::reply::Replies;
use super::session::{Context, Session};
use super::turn::{Interest, Ready};
use crate::pci::PciDevice;
use crate::served::Counters;

/// Why a connection is over.
pub enum Lost {
    /// The client went away.
    Disconnected,
    /// It broke the protocol, or the system failed.
    Failed(VfioUserError),
}

impl From<VfioUserError> for Lost {
    fn from(error: VfioUserError) -> Self {
        Self::Failed(error)
    }
}

/// A connected client.
pub struct Connection {
    client: UnixStream,
    session: Session,
    inbox: Inbox,
    replies: Replies,
}

impl Connection {
    /// With a client that has said nothing yet.
    pub fn new(client: UnixStream) -> Self {
        Self {
            client,
            session: Session::default(),
            inbox: Inbox::new(),
            replies: Replies::default(),
        }
    }

    /// What to wait for. While replies wait for room, no further request is taken.
    pub fn interest(&self) -> Interest<'_> {
        let flags = match self.replies.is_empty() {
            true => PollFlags::IN,
            false => PollFlags::OUT,
        };
        Interest {
            socket: self.client.as_fd(),
            flags,
            unmask: self.unmask_event(),
        }
    }

    fn unmask_event(&self) -> Option<BorrowedFd<'_>> {
        self.session.interrupts.unmask_event().map(AsFd::as_fd)
    }

    /// Sends what waits, receives once unless requests are left from before, and handles requests of at most `budget`
    /// messages. True when the budget ended it and a whole message is left.
    pub fn turn(
        &mut self,
        device: &mut dyn PciDevice,
        ready: Ready,
        budget: usize,
        counters: &mut Counters,
    ) -> Result<bool, Lost> {
        if ready.unmask {
            self.session.interrupts.take_unmask();
        }
        let may_answer = self.replies.is_empty() || ready.socket && self.flush(counters)?;
        if !may_answer {
            return Ok(false);
        }
        let has_messages =
            self.inbox.is_ready() || ready.socket && self.receive(device, counters)?;
        if !has_messages {
            return Ok(false);
        }
        self.messages(device, budget, counters)?;
        Ok(self.flush(counters)? && self.inbox.is_ready())
    }

    /// Takes what the client has sent; false when that is nothing.
    fn receive(
        &mut self,
        device: &mut dyn PciDevice,
        counters: &mut Counters,
    ) -> Result<bool, Lost> {
        let received = self.inbox.receive(&self.client);
        let received = received.map_err(|error| match error {
            ReceiveError::Os(errno) => VfioUserError::Receive(errno.into()),
            ReceiveError::Malformed(what) => malformed(counters, what),
        })?;
        match received {
            Received::Closed => return Err(Lost::Disconnected),
            Received::Nothing => return Ok(false),
            Received::Some => counters.batches += 1,
        }
        device.messages_read();
        Ok(true)
    }

    /// Handles messages until the budget is spent, none is whole, or the socket takes no more replies.
    fn messages(
        &mut self,
        device: &mut dyn PciDevice,
        budget: usize,
        counters: &mut Counters,
    ) -> Result<(), Lost> {
        for _ in 0..budget {
            if self.replies.is_full() && !self.flush(counters)? {
                break;
            }
            if !self.one_message(device, counters)? {
                break;
            }
        }
        Ok(())
    }

    fn one_message(
        &mut self,
        device: &mut dyn PciDevice,
        counters: &mut Counters,
    ) -> Result<bool, VfioUserError> {
        let incoming = match self.inbox.next() {
            Ok(Some(incoming)) => incoming,
            Ok(None) => return Ok(false),
            Err(what) => return Err(malformed(counters, what)),
        };
        let mut context = Context {
            device,
            replies: &mut self.replies,
            counters,
        };
        self.session
            .handle(&incoming.header, incoming.body, incoming.fds, &mut context)
            .map_err(|what| malformed(counters, what))?;
        Ok(true)
    }

    /// Writes as much of the replies as the socket takes; true when that is all.
    fn flush(&mut self, counters: &mut Counters) -> Result<bool, Lost> {
        while !self.replies.is_empty() {
            counters.sends += 1;
            match self.replies.send(&self.client) {
                Ok(()) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(Lost::Disconnected),
                Err(errno) => return Err(VfioUserError::Send(errno.into()).into()),
            }
        }
        Ok(true)
    }

    /// Signals the interrupts that the device has raised.
    pub fn interrupt(&mut self, device: &mut dyn PciDevice, counters: &mut Counters) {
        let interrupts = &mut self.session.interrupts;
        for _ in 0..device.msix_vectors().max(1) {
            let Some(vector) = device.take_interrupt() else {
                break;
            };
            match interrupts.fire(vector) {
                true => counters.interrupts += 1,
                false => counters.interrupts_lost += 1,
            }
        }
        if interrupts.drive_intx(device.intx_level()) {
            counters.interrupts += 1;
        }
    }

    /// The device keeps none of the client's memory.
    pub fn end(mut self, device: &mut dyn PciDevice) {
        self.session.end(device);
    }
}

fn malformed(counters: &mut Counters, what: Malformed) -> VfioUserError {
    counters.malformed += 1;
    VfioUserError::Malformed {
        what,
        message: counters.messages,
    }
}
