//! The vfio-user server of one card: one socket, one client at a time, one thread.
//!
//! Why not the `vfio_user` crate's server: it trusts the client's version data (it unwraps and
//! subtracts what the client wrote), allocates for each message, reads one message per system
//! call, leaves the body of an unknown command in the stream, and blocks on the client alone,
//! while a lane's one thread must also wake for the radio. Its client serves the tests here.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use vmm_sys_util::eventfd::EventFd;

use super::inbox::{Inbox, ReceiveError, Received};
use super::protocol::Malformed;
use super::reply::Replies;
use super::session::{Context, Session};
use super::{Counters, Ended, PciDevice, VfioUserError};
use crate::socket::Socket;
use crate::wake::{borrow, drain};

/// Replies beyond this many bytes are written before the batch ends: a client that asks much and reads
/// nothing costs no more memory than this and one reply.
const FLUSH_AT: usize = 256 << 10;

/// A listening vfio-user server.
pub struct VfioUserServer {
    socket: Socket,
    inbox: Inbox,
    replies: Replies,
    counters: Counters,
}

/// Why the thread woke.
struct Woken {
    client: bool,
    stop: bool,
    unmask: bool,
}

/// How one connection is going.
enum Step {
    On,
    Ended(Ended),
}

impl VfioUserServer {
    /// Listens at `path`. A socket that nobody serves any more is replaced; a live one is refused.
    /// The socket file goes when the server is dropped.
    pub fn bind(path: impl AsRef<Path>) -> Result<Self, VfioUserError> {
        Ok(Self {
            socket: Socket::bind(path.as_ref())?,
            inbox: Inbox::new(),
            replies: Replies::default(),
            counters: Counters::default(),
        })
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        self.socket.path()
    }

    /// What happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Serves one client from accept to disconnect. `wake` is the radio's: whenever it fires, and
    /// after each batch of messages, the device is polled. `stop` ends the call; it is not
    /// consumed. When the call returns, the device's memory is unmapped, the device is not reset.
    pub fn serve(
        &mut self,
        device: &mut dyn PciDevice,
        wake: &EventFd,
        stop: &EventFd,
    ) -> Result<Ended, VfioUserError> {
        let Some(client) = self.accept(device, wake, stop)? else {
            return Ok(Ended::Stopped);
        };
        self.counters.connections += 1;
        self.inbox.clear();
        self.replies.clear();
        let mut session = Session::default();
        let ended = loop {
            match self.step(&client, &mut session, device, wake, stop) {
                Ok(Step::On) => {}
                Ok(Step::Ended(ended)) => break Ok(ended),
                Err(error) => break Err(error),
            }
        };
        session.end(device);
        ended
    }

    fn accept(
        &mut self,
        device: &mut dyn PciDevice,
        wake: &EventFd,
        stop: &EventFd,
    ) -> Result<Option<UnixStream>, VfioUserError> {
        loop {
            let woken = wait(self.socket.as_fd(), None, device, wake, stop)?;
            if woken.stop {
                return Ok(None);
            }
            device.poll();
            if woken.client
                && let Some(client) = self.socket.accept().map_err(VfioUserError::Accept)?
            {
                return Ok(Some(client));
            }
        }
    }

    /// Sleeps until there is something to do, and does all of it.
    fn step(
        &mut self,
        client: &UnixStream,
        session: &mut Session,
        device: &mut dyn PciDevice,
        wake: &EventFd,
        stop: &EventFd,
    ) -> Result<Step, VfioUserError> {
        let unmask = session.interrupts.unmask_event().map(|event| event.as_fd());
        self.counters.waits += 1;
        device.counted(&self.counters);
        let woken = wait(client.as_fd(), unmask, device, wake, stop)?;
        if woken.stop {
            return Ok(Step::Ended(Ended::Stopped));
        }
        if woken.unmask {
            session.interrupts.unmask_fired();
        }
        let step = match woken.client {
            true => self.batch(client, session, device, stop)?,
            false => Step::On,
        };
        device.poll();
        self.interrupt(session, device);
        Ok(step)
    }

    /// Receives once, handles every whole message, writes every reply.
    fn batch(
        &mut self,
        client: &UnixStream,
        session: &mut Session,
        device: &mut dyn PciDevice,
        stop: &EventFd,
    ) -> Result<Step, VfioUserError> {
        let received = self.inbox.receive(client).map_err(|error| match error {
            ReceiveError::Os(errno) => VfioUserError::Receive(errno.into()),
            ReceiveError::Malformed(what) => malformed(&mut self.counters, what),
        })?;
        match received {
            Received::Closed => return Ok(Step::Ended(Ended::Disconnected)),
            Received::Nothing => return Ok(Step::On),
            Received::Some => self.counters.batches += 1,
        }
        device.messages_read();
        while self.one_message(session, device)? {
            if self.replies.len() >= FLUSH_AT
                && let Step::Ended(ended) = self.flush(client, stop)?
            {
                return Ok(Step::Ended(ended));
            }
        }
        self.flush(client, stop)
    }

    fn one_message(
        &mut self,
        session: &mut Session,
        device: &mut dyn PciDevice,
    ) -> Result<bool, VfioUserError> {
        let counters = &mut self.counters;
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
        session
            .handle(&incoming.header, incoming.body, incoming.fds, &mut context)
            .map_err(|what| malformed(&mut self.counters, what))?;
        Ok(true)
    }

    /// Writes the replies. A client that does not read them stops its own lane, nothing else.
    fn flush(&mut self, client: &UnixStream, stop: &EventFd) -> Result<Step, VfioUserError> {
        let mut rest = self.replies.bytes();
        while !rest.is_empty() {
            self.counters.sends += 1;
            match send(client, rest, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    if !writable(client, stop)? {
                        return Ok(Step::Ended(Ended::Stopped));
                    }
                }
                Err(Errno::PIPE | Errno::CONNRESET) => {
                    return Ok(Step::Ended(Ended::Disconnected));
                }
                Err(errno) => return Err(VfioUserError::Send(errno.into())),
            }
        }
        self.replies.clear();
        Ok(Step::On)
    }

    fn interrupt(&mut self, session: &mut Session, device: &mut dyn PciDevice) {
        if device.take_msi() {
            match session.interrupts.fire_msi() {
                true => self.counters.interrupts += 1,
                false => self.counters.interrupts_lost += 1,
            }
        }
        if session.interrupts.drive_intx(device.intx_level()) {
            self.counters.interrupts += 1;
        }
    }
}

fn malformed(counters: &mut Counters, what: Malformed) -> VfioUserError {
    counters.malformed += 1;
    VfioUserError::Malformed {
        what,
        message: counters.messages,
    }
}

/// Waits for the client, the radio, the unmask eventfd or the end. Does not block when the device has more to do.
fn wait(
    client: BorrowedFd<'_>,
    unmask: Option<BorrowedFd<'_>>,
    device: &mut dyn PciDevice,
    wake: &EventFd,
    stop: &EventFd,
) -> Result<Woken, VfioUserError> {
    let limit = match device.wants_poll_before_sleep() {
        true => Some(Duration::ZERO),
        false => device.sleep_limit(),
    };
    let timeout = limit.and_then(|limit| Timespec::try_from(limit).ok());
    // Without an unmask eventfd its place watches `stop` a second time: no list is built.
    let stop = borrow(stop);
    let mut fds = [
        PollFd::from_borrowed_fd(client, PollFlags::IN),
        PollFd::from_borrowed_fd(borrow(wake), PollFlags::IN),
        PollFd::from_borrowed_fd(stop, PollFlags::IN),
        PollFd::from_borrowed_fd(unmask.unwrap_or(stop), PollFlags::IN),
    ];
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(VfioUserError::Wait(errno.into())),
    }
    let [client, radio, stop, unmasked] = fds.map(|fd| !fd.revents().is_empty());
    if radio {
        drain(wake);
    }
    Ok(Woken {
        client,
        stop,
        unmask: unmasked && unmask.is_some(),
    })
}

/// Waits until the client takes more; false when the server is to stop.
fn writable(client: &UnixStream, stop: &EventFd) -> Result<bool, VfioUserError> {
    let mut fds = [
        PollFd::new(client, PollFlags::OUT),
        PollFd::from_borrowed_fd(borrow(stop), PollFlags::IN),
    ];
    match poll(&mut fds, None) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(VfioUserError::Wait(errno.into())),
    }
    let [_, stop] = fds;
    Ok(stop.revents().is_empty())
}
