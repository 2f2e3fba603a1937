//! The vfio-user server of one card: one socket, one client at a time. Its owner decides where it runs: in a loop that
//! polls many cards ([`VfioUserServer::turn`]), or in a thread of its own ([`VfioUserServer::serve`], a loop around the
//! same turn).
//!
//! Why not the `vfio_user` crate's server: it trusts the client's version data (it unwraps and
//! subtracts what the client wrote), allocates for each message, reads one message per system
//! call, leaves the body of an unknown command in the stream, and blocks on the client alone,
//! while a card must also hear its radio. Its client serves the tests here.

use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::connection::{Connection, Lost};
use super::error::VfioUserError;
use super::turn::{Interest, Ready, Turn};
use crate::pci::{LaneEnd, PciDevice};
use crate::served::{Counters, Ended};
use crate::socket::Socket;
use crate::wake::{EventFd, borrow, drain};

/// A listening vfio-user server.
pub struct VfioUserServer {
    socket: Socket,
    connection: Option<Connection>,
    counters: Counters,
}

/// Why the thread woke.
struct Woken {
    stop: bool,
    ready: Ready,
}

impl VfioUserServer {
    /// Listens at `path`. A socket that nobody serves any more is replaced; a live one is refused.
    /// The socket file goes when the server is dropped.
    pub fn bind(path: impl AsRef<Path>) -> Result<Self, VfioUserError> {
        Ok(Self {
            socket: Socket::bind(path.as_ref())?,
            connection: None,
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

    /// Whether a client is connected.
    pub fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    /// What to wait for before the next turn; it changes with each turn.
    pub fn interest(&self) -> Interest<'_> {
        let listening = || Interest {
            socket: self.socket.as_fd(),
            flags: PollFlags::IN,
            unmask: None,
        };
        self.connection
            .as_ref()
            .map_or_else(listening, Connection::interest)
    }

    /// Does what can be done without waiting: accepts a client, sends replies that wait, receives once, handles at most
    /// `budget` messages, and sends their replies as far as the socket takes them. Messages beyond the budget are kept.
    /// While replies wait for room, no message is handled, so a client that reads nothing holds up itself only.
    ///
    /// Interrupts that the device raises wait for [`VfioUserServer::interrupt`], so that one signal stands for all that
    /// an owner's round has brought. After an error, as after [`Turn::Disconnected`], the device's memory is unmapped, the
    /// device is not reset, and the next turn accepts the next client.
    pub fn turn(
        &mut self,
        device: &mut dyn PciDevice,
        ready: Ready,
        budget: usize,
    ) -> Result<Turn, VfioUserError> {
        let Some(connection) = &mut self.connection else {
            return self.accept(ready);
        };
        let lost = match connection.turn(device, ready, budget, &mut self.counters) {
            Ok(true) => return Ok(Turn::More),
            Ok(false) => return Ok(Turn::Idle),
            Err(lost) => lost,
        };
        self.disconnect(device);
        match lost {
            Lost::Disconnected => Ok(Turn::Disconnected),
            Lost::Failed(error) => Err(error),
        }
    }

    fn accept(&mut self, ready: Ready) -> Result<Turn, VfioUserError> {
        if ready.socket
            && let Some(client) = self.socket.accept().map_err(VfioUserError::Accept)?
        {
            self.counters.connections += 1;
            self.connection = Some(Connection::new(client));
        }
        Ok(Turn::Idle)
    }

    /// Signals the interrupts that the device has raised since the last call. Never waits.
    pub fn interrupt(&mut self, device: &mut dyn PciDevice) {
        if let Some(connection) = &mut self.connection {
            connection.interrupt(device, &mut self.counters);
        }
    }

    /// Sends the client away, if there is one; the device's memory is unmapped, the device is not reset.
    pub fn disconnect(&mut self, device: &mut dyn PciDevice) {
        if let Some(connection) = self.connection.take() {
            connection.end(device);
        }
    }

    /// Serves one client from accept to disconnect. `wake` is the radio's: whenever it fires, and
    /// after each batch of messages, the device is polled. `stop` ends the call; it is not
    /// consumed. When the call returns, the device's memory is unmapped, the device is not reset.
    pub fn serve(
        &mut self,
        device: &mut dyn LaneEnd,
        wake: &EventFd,
        stop: &EventFd,
    ) -> Result<Ended, VfioUserError> {
        let ended = self.until_ended(device, wake, stop);
        self.disconnect(device);
        ended
    }

    fn until_ended(
        &mut self,
        device: &mut dyn LaneEnd,
        wake: &EventFd,
        stop: &EventFd,
    ) -> Result<Ended, VfioUserError> {
        let mut turn = Turn::Idle;
        loop {
            if self.is_connected() {
                self.counters.waits += 1;
                device.counted(&self.counters);
            }
            let woken = wait(self.interest(), turn, device, wake, stop)?;
            if woken.stop {
                return Ok(Ended::Stopped);
            }
            let was_connected = self.is_connected();
            turn = self.turn(device, woken.ready, usize::MAX)?;
            if turn == Turn::Disconnected {
                return Ok(Ended::Disconnected);
            }
            if self.is_connected() && !was_connected {
                device.attached();
            }
            device.poll();
            self.interrupt(device);
        }
    }
}

/// Waits for the client, the radio, the unmask eventfd or the end. Does not block when a message is left or the device has
/// more to do.
fn wait(
    interest: Interest<'_>,
    turn: Turn,
    device: &mut dyn LaneEnd,
    wake: &EventFd,
    stop: &EventFd,
) -> Result<Woken, VfioUserError> {
    let limit = match turn == Turn::More || device.wants_poll_before_sleep() {
        true => Some(Duration::ZERO),
        false => device.sleep_limit(),
    };
    let timeout = limit.and_then(|limit| Timespec::try_from(limit).ok());
    // Without an unmask eventfd its place watches `stop` a second time: no list is built.
    let stop = borrow(stop);
    let mut fds = [
        PollFd::from_borrowed_fd(interest.socket, interest.flags),
        PollFd::from_borrowed_fd(borrow(wake), PollFlags::IN),
        PollFd::from_borrowed_fd(stop, PollFlags::IN),
        PollFd::from_borrowed_fd(interest.unmask.unwrap_or(stop), PollFlags::IN),
    ];
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(VfioUserError::Wait(errno.into())),
    }
    let [socket, radio, stop, unmask] = fds.map(|fd| !fd.revents().is_empty());
    if radio {
        drain(wake);
    }
    let unmask = unmask && interest.unmask.is_some();
    Ok(Woken {
        stop,
        ready: Ready { socket, unmask },
    })
}
