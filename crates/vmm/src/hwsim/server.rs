//! Listens for front ends and serves them one after another: QEMU connects once while it lives, a
//! restarted QEMU connects again. Each connection gets fresh virtqueues; the rings to the medium stay.

use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::{Arc, MutexGuard};
use std::thread::JoinHandle;

use airlane_lane::ring::{Receiver, Sender};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use vhost::vhost_user::Listener;
use vhost_user_backend::VhostUserDaemon;
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::eventfd::EventFd;

use super::backend::Backend;
use super::device::{Device, WAKE};
use super::{FromHwsim, HwsimCounters, ToHwsim};
use crate::socket::{Socket, SocketError};
use crate::wake::{borrow, drain};

/// A server that cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum HwsimError {
    /// The socket cannot be made.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// No eventfd or thread can be had.
    #[error("cannot start the hwsim server: {0}")]
    Start(#[source] std::io::Error),
}

/// What the server's thread and its owner share.
struct Shared {
    device: Arc<Device>,
    stop: EventFd,
}

/// A running server. Dropping it ends its connection and its threads, and removes the socket.
pub struct HwsimServer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Serves hwsim radios at the Unix socket `path`. `wake` is the eventfd that `from_radio`'s producer
/// fires ([`crate::EventWake`]).
pub fn serve_hwsim(
    path: impl AsRef<Path>,
    to_radio: Sender<FromHwsim>,
    from_radio: Receiver<ToHwsim>,
    wake: EventFd,
) -> Result<HwsimServer, HwsimError> {
    let socket = Socket::bind(path.as_ref())?;
    let backend = Backend::new(to_radio, from_radio);
    let shared = Arc::new(Shared {
        device: Arc::new(Device::new(backend, wake)),
        stop: EventFd::new(libc::EFD_NONBLOCK | libc::EFD_CLOEXEC).map_err(HwsimError::Start)?,
    });
    let mine = Arc::clone(&shared);
    let thread = std::thread::Builder::new()
        .name("hwsim".into())
        .spawn(move || mine.run(&socket))
        .map_err(HwsimError::Start)?;
    Ok(HwsimServer {
        shared,
        thread: Some(thread),
    })
}

impl HwsimServer {
    /// What happened so far.
    pub fn counters(&self) -> HwsimCounters {
        self.shared.backend().counters
    }
}

impl Drop for HwsimServer {
    fn drop(&mut self) {
        let _ = self.shared.stop.write(1);
        self.shared.device.end_connection();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn backend(&self) -> MutexGuard<'_, Backend> {
        self.device.backend()
    }

    fn run(&self, socket: &Socket) {
        loop {
            self.backend().idle();
            match self.wait(socket) {
                Ok(Woken::Stop) => return,
                Ok(Woken::Client) => self.serve(socket),
                Ok(Woken::Medium) => {}
                Err(error) => {
                    tracing::error!(%error, "cannot wait for a vhost-user front end");
                    return;
                }
            }
        }
    }

    fn wait(&self, socket: &Socket) -> Result<Woken, Errno> {
        let mut fds = [
            PollFd::new(socket, PollFlags::IN),
            PollFd::from_borrowed_fd(borrow(self.device.wake()), PollFlags::IN),
            PollFd::from_borrowed_fd(borrow(&self.stop), PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let [client, medium, stop] = fds.map(|fd| !fd.revents().is_empty());
        if medium {
            drain(self.device.wake());
        }
        Ok(match (stop, client) {
            (true, _) => Woken::Stop,
            (_, true) => Woken::Client,
            _ => Woken::Medium,
        })
    }

    /// Serves the front end that waits, to its end.
    fn serve(&self, socket: &Socket) {
        self.backend().counters.connections += 1;
        if let Err(error) = self.connection(socket) {
            tracing::warn!(%error, "vhost-user connection");
        }
        self.device.set_connection(None);
        self.backend().disconnected();
    }

    fn connection(&self, socket: &Socket) -> vhost_user_backend::Result<()> {
        let listener = socket.listener().try_clone();
        let listener = listener.map_err(vhost_user_backend::Error::StartDaemon)?;
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
        let device = Arc::clone(&self.device);
        let mut daemon = VhostUserDaemon::new("hwsim-vhost".into(), device, memory)?;
        for worker in daemon.get_epoll_handlers() {
            worker
                .register_listener(self.device.wake().as_raw_fd(), EventSet::IN, WAKE.into())
                .map_err(vhost_user_backend::Error::StartDaemon)?;
        }
        daemon.start(&mut Listener::from(listener))?;
        self.device.set_connection(daemon.shutdown_handle());
        if self.stopping() {
            self.device.end_connection();
        }
        let ended = daemon.wait();
        match ended {
            Err(vhost_user_backend::Error::HandleRequest(
                vhost::vhost_user::Error::Disconnected | vhost::vhost_user::Error::PartialMessage,
            )) => Ok(()),
            other => other,
        }
    }

    fn stopping(&self) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(borrow(&self.stop), PollFlags::IN)];
        let now = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
    }
}

enum Woken {
    Client,
    Medium,
    Stop,
}
