//! A thread that serves hwsim's front ends.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use airlane_lane::ring::{Receiver, Sender};
use airlane_waist::hwsim::{FromHwsim, ToHwsim};

use super::backend::Backend;
use super::counters::HwsimCounters;
use crate::served::Ended;
use crate::vhost_user::{ServeError, Server};
use crate::wake::EventFd;

/// A server that cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum HwsimError {
    /// The socket cannot be made.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// No eventfd or thread can be had.
    #[error("cannot start the hwsim server: {0}")]
    Start(#[source] std::io::Error),
}

/// A running server. Dropping it ends its connection and its thread, and removes the socket.
pub struct HwsimServer {
    server: Arc<Server<Backend>>,
    stop: EventFd,
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
    let backend = Backend::new(to_radio, from_radio);
    let server = Arc::new(Server::bind(path.as_ref(), backend, wake)?);
    let stop = EventFd::new(libc::EFD_NONBLOCK | libc::EFD_CLOEXEC).map_err(HwsimError::Start)?;
    let stopped = stop.try_clone().map_err(HwsimError::Start)?;
    let served = Arc::clone(&server);
    let thread = std::thread::Builder::new()
        .name("hwsim".into())
        .spawn(move || run(&served, &stopped))
        .map_err(HwsimError::Start)?;
    Ok(HwsimServer {
        server,
        stop,
        thread: Some(thread),
    })
}

fn run(server: &Server<Backend>, stop: &EventFd) {
    loop {
        match server.serve(stop) {
            Ok(Ended::Stopped) => return,
            Ok(Ended::Disconnected) => {}
            Err(error) if error.is_of_one_connection() => {
                tracing::warn!(%error, "vhost-user connection");
            }
            Err(error) => {
                tracing::error!(%error, "hwsim is served no longer");
                return;
            }
        }
    }
}

impl HwsimServer {
    /// What happened so far.
    pub fn counters(&self) -> HwsimCounters {
        self.server.backend().counters
    }
}

impl Drop for HwsimServer {
    fn drop(&mut self) {
        let _ = self.stop.write(1);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
