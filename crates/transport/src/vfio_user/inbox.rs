//! What has arrived from the client and is not handled yet: bytes, and the file descriptors that
//! belong to them.
//!
//! One `recvmsg` takes as many messages as wait. The kernel ends it behind the first write that
//! carried descriptors, so these belong to the message that holds the last byte received; they
//! are kept with that byte's place in the stream. Nothing is allocated after [`Inbox::new`].

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use arrayvec::ArrayVec;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};

use super::protocol::{self, Fds, Header, MAX_MESSAGE, Malformed};

/// Room for descriptors of one `recvmsg`; a client that sends more has them cut off and is sent away.
const FDS_PER_RECEIVE: usize = 16;
/// Descriptors that may wait for the rest of their messages.
const WAITING_FDS: usize = 32;

/// The receive buffer.
pub struct Inbox {
    bytes: Vec<u8>,
    /// The unhandled part of `bytes`.
    start: usize,
    end: usize,
    /// Place in the stream of `bytes[start]`.
    position: u64,
    fds: ArrayVec<(u64, OwnedFd), WAITING_FDS>,
}

/// One whole message.
pub struct Incoming<'a> {
    /// Its header.
    pub header: Header,
    /// What follows the header.
    pub body: &'a [u8],
    /// What came along.
    pub fds: Fds,
}

/// What came of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Something came.
    Some,
    /// Nothing waits.
    Nothing,
    /// The client is gone.
    Closed,
}

/// A receive that failed.
#[derive(Debug)]
pub enum ReceiveError {
    /// By the operating system.
    Os(rustix::io::Errno),
    /// By the client's doing.
    Malformed(Malformed),
}

impl Inbox {
    /// An empty one, with room for the longest message.
    pub fn new() -> Self {
        Self {
            bytes: vec![0; MAX_MESSAGE],
            start: 0,
            end: 0,
            position: 0,
            fds: ArrayVec::new(),
        }
    }

    /// Takes what waits in the socket, without blocking. To be called when no whole message is left: then there is room.
    pub fn receive(&mut self, socket: impl AsFd) -> Result<Received, ReceiveError> {
        self.compact();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_PER_RECEIVE))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let room = self.bytes.get_mut(self.end..).unwrap_or_default();
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(socket, &mut [IoSliceMut::new(room)], &mut control, flags);
        let received = match received {
            Ok(received) => received,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {
                return Ok(Received::Nothing);
            }
            Err(rustix::io::Errno::CONNRESET) => return Ok(Received::Closed),
            Err(error) => return Err(ReceiveError::Os(error)),
        };
        if received.bytes == 0 {
            return Ok(Received::Closed);
        }
        self.end += received.bytes;
        self.keep(&mut control)
            .filter(|()| !received.flags.contains(ReturnFlags::CTRUNC))
            .ok_or(ReceiveError::Malformed(Malformed::DescriptorsLost))?;
        Ok(Received::Some)
    }

    /// Whether [`Inbox::next`] has something to say: a whole message, or what is wrong with it.
    pub fn is_ready(&self) -> bool {
        let waiting = self.bytes.get(self.start..self.end).unwrap_or_default();
        !matches!(protocol::split(waiting), Ok(None))
    }

    /// The next whole message, if there is one.
    pub fn next(&mut self) -> Result<Option<Incoming<'_>>, Malformed> {
        let waiting = self.bytes.get(self.start..self.end).unwrap_or_default();
        let Some((header, _)) = protocol::split(waiting)? else {
            return Ok(None);
        };
        let body = self.start + protocol::HEADER..self.start + header.size;
        self.start += header.size;
        self.position += header.size as u64;
        let fds = self.take_fds(header.command)?;
        let body = self.bytes.get(body).unwrap_or_default();
        Ok(Some(Incoming { header, body, fds }))
    }

    fn compact(&mut self) {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
    }

    /// Keeps the descriptors with the last byte received; `None` when there are too many.
    fn keep(&mut self, control: &mut RecvAncillaryBuffer<'_>) -> Option<()> {
        let last = self.position + (self.end - self.start) as u64 - 1;
        let rights = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        });
        for fd in rights.flatten() {
            self.fds.try_push((last, fd)).ok()?;
        }
        Some(())
    }

    /// The descriptors of the message that has just been passed.
    fn take_fds(&mut self, command: u16) -> Result<Fds, Malformed> {
        let mine = |&(place, _): &(u64, OwnedFd)| place < self.position;
        let count = self.fds.iter().take_while(|fd| mine(fd)).count();
        if count > Fds::new().capacity() {
            return Err(Malformed::Descriptors { command, count });
        }
        Ok(self.fds.drain(..count).map(|(_, fd)| fd).collect())
    }
}

#[cfg(test)]
#[path = "inbox_tests.rs"]
mod tests;
