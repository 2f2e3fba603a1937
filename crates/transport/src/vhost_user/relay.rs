//! Stands between a front end and the `vhost` crate, collects each message until it is whole, so that nobody waits for the
//! rest of one, and puts right what the crate would refuse or trust too much:
//!
//! * User Mode Linux sends `SET_MEM_TABLE` with room for two regions, however many it names; the `vhost` crate wants
//!   exactly as many as are named. The surplus is cut off.
//! * Memory of a stranger must not shrink below us: see [`Peer`].
//!
//! Only set-up goes through here: notifications and interrupts have descriptors of their own. Message layout:
//! docs/interop/vhost-user in QEMU, "Header" and "Memory regions description".

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use arrayvec::ArrayVec;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, send, sendmsg,
};

use super::peer::Peer;

/// Request, flags, length of the payload: 32 bits each.
const HEADER: usize = 12;
/// Longest payload, as the `vhost` crate has it.
const MAX_PAYLOAD: usize = 0x1000;
/// Descriptors of one message at most (`VHOST_USER_MAX_RAM_SLOTS` of other back ends is 8 as well).
const MAX_FDS: usize = 8;
const SET_MEM_TABLE: u32 = 5;
/// Number of regions and padding, then 32 bytes for each region.
const TABLE: usize = 8;
const REGION: usize = 32;

/// Why a relay gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayError {
    /// The system refuses.
    #[error("cannot talk to a vhost-user front end: {0}")]
    Os(#[from] Errno),
    /// The message cannot be one.
    #[error("a vhost-user message has a payload of {0} bytes, at most {MAX_PAYLOAD} are possible")]
    TooLong(usize),
    /// More descriptors than any message has.
    #[error("a vhost-user message has more than {MAX_FDS} file descriptors")]
    Descriptors,
    /// A stranger's memory.
    #[error("guest memory that could vanish is refused")]
    Unsealed,
}

type Fds = ArrayVec<OwnedFd, MAX_FDS>;

/// A message from the front end, as far as it has come.
#[derive(Default)]
struct Message {
    bytes: Vec<u8>,
    fds: Fds,
}

/// What came of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// A whole message, which the inner end can read now.
    Whole,
    /// Part of one, or nothing.
    Part,
    /// The front end is gone.
    Closed,
}

/// The two ends and what is under way between them.
pub struct Relay {
    front: UnixStream,
    back: UnixStream,
    peer: Peer,
    message: Message,
    reply: Vec<u8>,
}

impl Relay {
    /// Between the front end and the `vhost` crate.
    pub fn new(front: UnixStream, back: UnixStream) -> Self {
        Self {
            peer: Peer::of(&front),
            front,
            back,
            message: Message::default(),
            reply: Vec::new(),
        }
    }

    /// The front end's socket.
    pub fn front(&self) -> BorrowedFd<'_> {
        self.front.as_fd()
    }

    /// What to wait for there.
    pub fn interest(&self) -> PollFlags {
        match self.has_reply() {
            true => PollFlags::OUT,
            false => PollFlags::IN,
        }
    }

    /// Whether a reply waits for room.
    pub fn has_reply(&self) -> bool {
        !self.reply.is_empty()
    }

    /// Takes what has come of the next message, and passes it on once it is whole.
    pub fn receive(&mut self) -> Result<Passed, RelayError> {
        if !self.message.receive(&self.front)? {
            return Ok(Passed::Closed);
        }
        if !self.message.is_whole()? {
            return Ok(Passed::Part);
        }
        let mut message = std::mem::take(&mut self.message);
        message.put_right(self.peer)?;
        message.send(&self.back)?;
        Ok(Passed::Whole)
    }

    /// Takes the reply to the message that has been handled, if there is one.
    pub fn take_reply(&mut self) -> Result<(), RelayError> {
        match receive_reply(&self.back, &mut self.reply) {
            Ok(_) | Err(Errno::AGAIN) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Passes on what the front end takes of the reply; false when it is gone.
    pub fn pass_reply(&mut self) -> Result<bool, RelayError> {
        if self.reply.is_empty() {
            return Ok(true);
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        open(send(&self.front, &self.reply, flags).inspect(|&sent| {
            self.reply.drain(..sent.min(self.reply.len()));
        }))
    }
}

impl Message {
    /// Bytes that the message has in all, as far as is known.
    fn length(&self) -> Result<usize, RelayError> {
        let Some(size) = word(&self.bytes, 8) else {
            return Ok(HEADER);
        };
        let size = size as usize;
        match size <= MAX_PAYLOAD {
            true => Ok(HEADER + size),
            false => Err(RelayError::TooLong(size)),
        }
    }

    fn is_whole(&self) -> Result<bool, RelayError> {
        Ok(self.bytes.len() >= HEADER && self.bytes.len() >= self.length()?)
    }

    /// Takes what has come of this message, and nothing of the next: so the descriptors are this one's.
    fn receive(&mut self, from: &UnixStream) -> Result<bool, RelayError> {
        let mut room = [0; HEADER + MAX_PAYLOAD];
        let wanted = self.length()?.saturating_sub(self.bytes.len());
        let room = room.get_mut(..wanted).unwrap_or_default();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(from, &mut [IoSliceMut::new(room)], &mut control, flags);
        let cut = received
            .as_ref()
            .is_ok_and(|received| received.flags.contains(ReturnFlags::CTRUNC));
        if cut || !keep(&mut self.fds, &mut control) {
            return Err(RelayError::Descriptors);
        }
        let received = received.map(|received| received.bytes);
        let length = received.unwrap_or_default();
        self.bytes
            .extend_from_slice(room.get(..length).unwrap_or_default());
        open(received)
    }

    /// Sends it as a whole. Nothing else is under way at the inner end, so there is room.
    fn send(&self, to: &UnixStream) -> Result<(), Errno> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let borrowed: ArrayVec<BorrowedFd, MAX_FDS> = self.fds.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !borrowed.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&borrowed));
        }
        let sent = sendmsg(to, &[IoSlice::new(&self.bytes)], &mut control, flags)?;
        match sent == self.bytes.len() {
            true => Ok(()),
            false => Err(Errno::NOBUFS),
        }
    }

    /// Changes what the `vhost` crate must not see as it came.
    fn put_right(&mut self, peer: Peer) -> Result<(), RelayError> {
        match word(&self.bytes, 0) {
            Some(SET_MEM_TABLE) if !self.fds.iter().all(|file| peer.may_share(file)) => {
                return Err(RelayError::Unsealed);
            }
            Some(SET_MEM_TABLE) => self.trim(),
            _ => {}
        }
        Ok(())
    }

    /// Cuts off room for regions that are not named.
    fn trim(&mut self) {
        let Some(regions) = word(&self.bytes, HEADER) else {
            return;
        };
        let size = (regions as usize)
            .saturating_mul(REGION)
            .saturating_add(TABLE);
        let end = size.saturating_add(HEADER);
        if end < self.bytes.len()
            && let Ok(size) = u32::try_from(size)
            && let Some(field) = self.bytes.get_mut(8..HEADER)
        {
            field.copy_from_slice(&size.to_ne_bytes());
            self.bytes.truncate(end);
        }
    }
}

/// Adds the descriptors that came; false when they are too many.
fn keep(fds: &mut Fds, control: &mut RecvAncillaryBuffer<'_>) -> bool {
    let rights = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    rights.flatten().all(|fd| fds.try_push(fd).is_ok())
}

fn receive_reply(from: &UnixStream, reply: &mut Vec<u8>) -> Result<usize, Errno> {
    let mut room = [0; HEADER + MAX_PAYLOAD];
    let (length, _) = recv(from, &mut room[..], RecvFlags::DONTWAIT)?;
    reply.extend_from_slice(room.get(..length).unwrap_or_default());
    Ok(length)
}

/// True when bytes went through, or will another time; false when the end is closed.
fn open(result: Result<usize, Errno>) -> Result<bool, RelayError> {
    match result {
        Ok(length) => Ok(length > 0),
        Err(Errno::AGAIN | Errno::INTR) => Ok(true),
        Err(Errno::PIPE | Errno::CONNRESET) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// A 32-bit word in the byte order of this machine, as the protocol has it.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*word))
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
