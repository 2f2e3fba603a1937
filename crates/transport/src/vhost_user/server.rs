//! Listens for front ends and serves them one after another: QEMU connects once while it lives, a
//! restarted QEMU connects again. Each connection gets fresh virtqueues; the device stays.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use vhost::vhost_user::{Error as Protocol, Listener};
use vhost_user_backend::{Error as Framework, VhostUserDaemon};
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::eventfd::EventFd;

use super::device::{TIMER, WAKE};
use super::relay::{Relay, RelayError};
use super::{Backend, Device};
use crate::served::Ended;
use crate::socket::{Socket, SocketError};
use crate::wake::{borrow, drain};

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
    Relay(#[from] RelayError),
    /// The framework gave up; in its words, as its own error cannot go to another thread.
    #[error("vhost-user connection: {0}")]
    Framework(String),
}

impl ServeError {
    /// Whether the next front end may fare better.
    pub fn is_of_one_connection(&self) -> bool {
        matches!(self, Self::Relay(_) | Self::Framework(_))
    }
}

/// A listening server and its device.
pub struct Server<B: Backend> {
    socket: Socket,
    device: Arc<Device<B>>,
}

enum Woken {
    Client,
    Radio,
    Stop,
}

impl<B: Backend> Server<B> {
    /// Listens at `path`. A socket that nobody serves any more is replaced; a live one is refused.
    pub fn bind(path: &Path, device: Arc<Device<B>>) -> Result<Self, ServeError> {
        let socket = Socket::bind(path)?;
        Ok(Self { socket, device })
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        self.socket.path()
    }

    /// Its device.
    pub fn device(&self) -> &Arc<Device<B>> {
        &self.device
    }

    /// Serves one front end from accept to its end, or to `stop`, which is not consumed.
    pub fn serve(&self, stop: &EventFd) -> Result<Ended, ServeError> {
        let front = loop {
            self.device.backend().idle();
            match self.wait(stop)? {
                Woken::Stop => return Ok(Ended::Stopped),
                Woken::Radio => {}
                Woken::Client => match self.socket.accept().map_err(ServeError::Accept)? {
                    Some(front) => break front,
                    None => continue,
                },
            }
        };
        self.device.backend().connected();
        let ended = self.connection(&front, stop);
        self.device.set_connection(None);
        let mut backend = self.device.backend();
        if let Err(ServeError::Relay(RelayError::Unsealed)) = ended {
            backend.memory_refused();
        }
        backend.disconnected();
        ended
    }

    fn wait(&self, stop: &EventFd) -> Result<Woken, ServeError> {
        let mut fds = [
            PollFd::new(&self.socket, PollFlags::IN),
            PollFd::from_borrowed_fd(borrow(self.device.wake()), PollFlags::IN),
            PollFd::from_borrowed_fd(borrow(stop), PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(ServeError::Wait(errno.into())),
        }
        let [client, radio, stop] = fds.map(|fd| !fd.revents().is_empty());
        if radio {
            drain(self.device.wake());
        }
        Ok(match (stop, client) {
            (true, _) => Woken::Stop,
            (_, true) => Woken::Client,
            _ => Woken::Radio,
        })
    }

    fn connection(&self, front: &UnixStream, stop: &EventFd) -> Result<Ended, ServeError> {
        let (mut daemon, back) = self.start().map_err(|error| refused(&error))?;
        self.device.set_connection(daemon.shutdown_handle());
        let ended = Relay::new(front, &back).run(stop);
        drop(back);
        match (ended, daemon.wait()) {
            (
                Ok(ended),
                Ok(())
                | Err(Framework::HandleRequest(Protocol::Disconnected | Protocol::PartialMessage)),
            ) => Ok(ended),
            (Ok(_), Err(error)) => Err(refused(&error)),
            (Err(error), _) => Err(error.into()),
        }
    }

    /// Starts the framework's threads, and gives the relay's end of the line to them.
    fn start(&self) -> vhost_user_backend::Result<(VhostUserDaemon<Arc<Device<B>>>, UnixStream)> {
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
        let mut daemon = VhostUserDaemon::new("vhost".into(), Arc::clone(&self.device), memory)?;
        for worker in daemon.get_epoll_handlers() {
            let timer = self.device.timer().map_err(Framework::StartDaemon)?;
            let wake = self.device.wake().as_raw_fd();
            for (fd, event) in [(wake, WAKE), (timer, TIMER)] {
                worker
                    .register_listener(fd, EventSet::IN, event.into())
                    .map_err(Framework::StartDaemon)?;
            }
        }
        let (listener, back) = self.inner_line().map_err(Framework::StartDaemon)?;
        daemon.start(&mut Listener::from(listener))?;
        Ok((daemon, back))
    }

    /// The framework serves what it accepts and nothing else: a listener with one connection waiting, whose file lies
    /// beside the socket for as long as that takes.
    fn inner_line(&self) -> io::Result<(UnixListener, UnixStream)> {
        let path = self.path().with_extension("inner");
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        let back = UnixStream::connect(&path);
        std::fs::remove_file(&path)?;
        Ok((listener, back?))
    }
}

fn refused(error: &Framework) -> ServeError {
    ServeError::Framework(error.to_string())
}
