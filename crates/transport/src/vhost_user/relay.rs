//! Stands between a front end and the vhost-user framework, passes each message on as a whole, and puts right what the
//! framework would refuse or trust too much:
//!
//! * User Mode Linux sends `SET_MEM_TABLE` with room for two regions, however many it names; the `vhost` crate wants
//!   exactly as many as are named. The surplus is cut off.
//! * Memory of a stranger must not shrink below us: see [`Peer`].
//! * An interrupt must never wait for a guest that takes none: its descriptor is made non-blocking.
//!
//! Only set-up goes through here. Notifications and interrupts have descriptors of their own, so a running VM's relay
//! sleeps. Message layout: docs/interop/vhost-user in QEMU, "Header" and "Memory regions description".

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use arrayvec::ArrayVec;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, send, sendmsg,
};
use vmm_sys_util::eventfd::EventFd;

use super::peer::Peer;
use crate::served::Ended;
use crate::wake::borrow;

/// Request, flags, length of the payload: 32 bits each.
const HEADER: usize = 12;
/// Longest payload, as the `vhost` crate has it.
const MAX_PAYLOAD: usize = 0x1000;
/// Descriptors of one message at most (`VHOST_USER_MAX_RAM_SLOTS` of other back ends is 8 as well).
const MAX_FDS: usize = 8;
const SET_MEM_TABLE: u32 = 5;
const SET_VRING_CALL: u32 = 13;
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
    /// Bytes that have been passed on.
    sent: usize,
}

/// The two ends and what is under way between them.
pub struct Relay<'a> {
    front: &'a UnixStream,
    back: &'a UnixStream,
    peer: Peer,
    message: Message,
    reply: Vec<u8>,
}

impl<'a> Relay<'a> {
    /// Between the front end and our framework.
    pub fn new(front: &'a UnixStream, back: &'a UnixStream) -> Self {
        Self {
            front,
            back,
            peer: Peer::of(front),
            message: Message::default(),
            reply: Vec::new(),
        }
    }

    /// Passes messages and replies on until an end closes or `stop` fires, which it does not consume.
    pub fn run(&mut self, stop: &EventFd) -> Result<Ended, RelayError> {
        loop {
            let whole = self.message.is_whole()?;
            let replying = !self.reply.is_empty();
            let mut fds = [
                PollFd::new(self.front, interest(!whole, replying)),
                PollFd::new(self.back, interest(!replying, whole)),
                PollFd::from_borrowed_fd(borrow(stop), PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let [front, back, stopped] = fds.map(|fd| fd.revents());
            if !stopped.is_empty() {
                return Ok(Ended::Stopped);
            }
            let gone = (front | back).intersects(PollFlags::HUP | PollFlags::ERR);
            if gone || !self.step(!front.is_empty(), !back.is_empty())? {
                return Ok(Ended::Disconnected);
            }
        }
    }

    /// Does what can be done without waiting; false when an end has closed.
    fn step(&mut self, front: bool, back: bool) -> Result<bool, RelayError> {
        if back {
            let open = match self.reply.is_empty() {
                true => open(receive_reply(self.back, &mut self.reply))?,
                false => true,
            };
            if !open || !self.pass_message()? {
                return Ok(false);
            }
        }
        if front {
            let open = self.pass_reply()?;
            return match self.message.is_whole()? {
                true => Ok(open),
                false => Ok(open && self.receive_message()?),
            };
        }
        Ok(true)
    }

    fn receive_message(&mut self) -> Result<bool, RelayError> {
        let open = self.message.receive(self.front)?;
        if self.message.is_whole()? {
            self.message.put_right(self.peer)?;
        }
        Ok(open)
    }

    fn pass_message(&mut self) -> Result<bool, RelayError> {
        if !self.message.is_whole()? {
            return Ok(true);
        }
        let sent = open(self.message.send(self.back))?;
        if self.message.sent == self.message.bytes.len() {
            self.message = Message::default();
        }
        Ok(sent)
    }

    fn pass_reply(&mut self) -> Result<bool, RelayError> {
        if self.reply.is_empty() {
            return Ok(true);
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        open(send(self.front, &self.reply, flags).inspect(|&sent| {
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

    fn send(&mut self, to: &UnixStream) -> Result<usize, Errno> {
        let rest = self.bytes.get(self.sent..).unwrap_or_default();
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let borrowed: ArrayVec<BorrowedFd, MAX_FDS> = self.fds.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !borrowed.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&borrowed));
        }
        let sent = sendmsg(to, &[IoSlice::new(rest)], &mut control, flags)?;
        drop(borrowed);
        self.sent += sent;
        self.fds.clear();
        Ok(sent)
    }

    /// Changes what the framework must not see as it came.
    fn put_right(&mut self, peer: Peer) -> Result<(), RelayError> {
        match word(&self.bytes, 0) {
            Some(SET_MEM_TABLE) if !self.fds.iter().all(|file| peer.may_share(file)) => {
                return Err(RelayError::Unsealed);
            }
            Some(SET_MEM_TABLE) => self.trim(),
            Some(SET_VRING_CALL) => self.fds.iter().try_for_each(never_waiting)?,
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

/// What to wait for at an end.
fn interest(read: bool, write: bool) -> PollFlags {
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::IN, read);
    flags.set(PollFlags::OUT, write);
    flags
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

fn never_waiting(file: &OwnedFd) -> Result<(), Errno> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    rustix::fs::fcntl_setfl(file, flags | OFlags::NONBLOCK)
}

/// A 32-bit word in the byte order of this machine, as the protocol has it.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*word))
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
