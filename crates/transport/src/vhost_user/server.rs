//! Listens for front ends and serves them one after another: QEMU connects once while it lives, a
//! restarted QEMU connects again. Each connection gets fresh virtqueues; the device stays.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::backend::{Backend, Event};
use super::connection::{Connection, ConnectionError};
use super::relay::RelayError;
use crate::served::Ended;
use crate::socket::{Socket, SocketError};
use crate::wake::{EventFd, borrow, drain};

/// A front end that cannot be served, or one that was sent away.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The socket cannot be made.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// Waiting failed.
    #[error("cannot wait for a vhost-user front end: {0}")]
    Wait(#[source] io::Error),
    /// No front end can be accepted.
    #[error("cannot accept a vhost-user front end: {0}")]
    Accept(#[source] io::Error),
    /// The front end broke the protocol, or its messages do not get through.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// What notifies a virtqueue does not.
    #[error("cannot read a vhost-user notification: {0}")]
    Notification(#[source] io::Error),
}

impl ServeError {
    /// Whether the next front end may fare better.
    pub fn is_of_one_connection(&self) -> bool {
        matches!(self, Self::Connection(_) | Self::Notification(_))
    }
}

/// A listening server and its device. The device's lock is taken for each turn; others may look at it in between.
pub struct Server<B: Backend> {
    socket: Socket,
    backend: Mutex<B>,
    /// What the radio fires.
    wake: EventFd,
}

/// Why the thread woke.
struct Woken {
    stop: bool,
    radio: bool,
    /// The listening socket or the front end's, with what there is.
    socket: PollFlags,
    /// Nothing has come: the device has been left alone for as long as it may.
    rested: bool,
}

impl<B: Backend> Server<B> {
    /// Listens at `path`. A socket that nobody serves any more is replaced; a live one is refused.
    pub fn bind(path: &Path, backend: B, wake: EventFd) -> Result<Self, ServeError> {
        Ok(Self {
            socket: Socket::bind(path)?,
            backend: Mutex::new(backend),
            wake,
        })
    }

    /// Its device. A thread that died while it held the lock does not take the others with it.
    pub fn backend(&self) -> MutexGuard<'_, B> {
        self.backend.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves one front end from accept to its end, or to `stop`, which is not consumed.
    pub fn serve(&self, stop: &EventFd) -> Result<Ended, ServeError> {
        let Some(front) = self.accept(stop)? else {
            return Ok(Ended::Stopped);
        };
        self.backend().connected();
        let ended = self.until_ended(front, stop);
        let mut backend = self.backend();
        if let Err(ServeError::Connection(ConnectionError::Relay(RelayError::Unsealed))) = ended {
            backend.memory_refused();
        }
        backend.disconnected();
        ended
    }

    fn accept(&self, stop: &EventFd) -> Result<Option<UnixStream>, ServeError> {
        loop {
            self.backend().idle();
            let listening = PollFd::new(&self.socket, PollFlags::IN);
            let woken = self.wait(&mut vec![listening], None, stop)?;
            if woken.stop {
                return Ok(None);
            }
            if !woken.socket.is_empty()
                && let Some(front) = self.socket.accept().map_err(ServeError::Accept)?
            {
                return Ok(Some(front));
            }
        }
    }

    fn until_ended(&self, front: UnixStream, stop: &EventFd) -> Result<Ended, ServeError> {
        let connection = Connection::new(front, &*self.backend());
        let mut connection = connection.map_err(ServeError::Accept)?;
        let mut kicked = Vec::new();
        loop {
            let woken = self.wait_for_work(&connection, &mut kicked, stop)?;
            if woken.stop {
                return Ok(Ended::Stopped);
            }
            let mut guard = self.backend();
            let backend = &mut *guard;
            if woken.socket.intersects(PollFlags::HUP | PollFlags::ERR)
                || !woken.socket.is_empty() && !connection.turn(backend)?
            {
                return Ok(Ended::Disconnected);
            }
            work(backend, &connection, woken.radio || woken.rested, &kicked)?;
            if backend.is_broken() {
                return Ok(Ended::Disconnected);
            }
        }
    }

    /// Waits for the front end, a notification, the radio, or the end; `kicked` says which queues have been notified.
    fn wait_for_work(
        &self,
        connection: &Connection,
        kicked: &mut Vec<bool>,
        stop: &EventFd,
    ) -> Result<Woken, ServeError> {
        let limit = self.backend().sleep_limit();
        let timeout = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let rings = connection.rings();
        let (front, flags) = connection.front();
        let mut fds = vec![PollFd::from_borrowed_fd(front, flags)];
        let kicks = rings.vrings.iter().filter_map(|vring| vring.kick());
        fds.extend(kicks.map(|kick| PollFd::from_borrowed_fd(kick, PollFlags::IN)));
        let woken = self.wait(&mut fds, timeout, stop)?;
        let mut found = fds.iter().skip(1).map(|fd| !fd.revents().is_empty());
        let mut is_kicked = |running: bool| running && found.next().unwrap_or(false);
        kicked.clear();
        kicked.extend(
            rings
                .vrings
                .iter()
                .map(|vring| is_kicked(vring.kick().is_some())),
        );
        Ok(woken)
    }

    /// Waits for the first of `fds`, a socket, and those behind it, the radio and the end.
    fn wait<'a>(
        &'a self,
        fds: &mut Vec<PollFd<'a>>,
        timeout: Option<Timespec>,
        stop: &'a EventFd,
    ) -> Result<Woken, ServeError> {
        let own = [borrow(&self.wake), borrow(stop)];
        fds.extend(own.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let ready = match poll(fds, timeout.as_ref()) {
            Ok(ready) => ready,
            Err(Errno::INTR) => 1,
            Err(errno) => return Err(ServeError::Wait(errno.into())),
        };
        let mut last = || fds.pop().is_some_and(|fd| !fd.revents().is_empty());
        let (stop, radio) = (last(), last());
        if radio {
            drain(&self.wake);
        }
        let socket = fds.first().map_or(PollFlags::empty(), |fd| fd.revents());
        Ok(Woken {
            stop,
            radio,
            socket,
            rested: ready == 0,
        })
    }
}

/// Has the device do what there is to do.
fn work<B: Backend>(
    backend: &mut B,
    connection: &Connection,
    woken: bool,
    kicked: &[bool],
) -> Result<(), ServeError> {
    let mut rings = connection.rings();
    if woken {
        backend.event(Event::Woken, &mut rings.vrings);
    }
    for queue in 0..rings.vrings.len() {
        let kicked = kicked.get(queue).copied().unwrap_or(false);
        let notified = match rings.vrings.get_mut(queue) {
            Some(vring) => vring.take_notification(kicked),
            None => Ok(false),
        };
        if notified.map_err(|errno| ServeError::Notification(errno.into()))? {
            backend.event(Event::Notified(queue), &mut rings.vrings);
        }
    }
    Ok(())
}
