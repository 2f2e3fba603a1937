//! One front end: its messages, checked and handed on by the [`Relay`], and what they set up. Nothing here waits.

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::PollFlags;
use vhost::vhost_user::{BackendReqHandler, Error};

use super::backend::Backend;
use super::relay::{Passed, Relay, RelayError};
use super::rings::{Change, Rings};

/// Why a connection cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The front end's messages do not get through.
    #[error(transparent)]
    Relay(#[from] RelayError),
    /// A request that the protocol does not have, or that this device refuses. In words, since the `vhost` crate's error
    /// cannot go to another thread.
    #[error("vhost-user connection: {0}")]
    Request(String),
}

/// A connected front end.
pub struct Connection {
    relay: Relay,
    requests: BackendReqHandler<Mutex<Rings>>,
    /// The `vhost` crate wants to share it; there is only this thread, so the lock is always free.
    rings: Arc<Mutex<Rings>>,
}

impl Connection {
    /// With a front end that has said nothing yet.
    pub fn new(front: UnixStream, device: &impl Backend) -> io::Result<Self> {
        let (outer, inner) = UnixStream::pair()?;
        let rings = Arc::new(Mutex::new(Rings::new(device)?));
        Ok(Self {
            relay: Relay::new(front, outer),
            requests: BackendReqHandler::from_stream(inner, Arc::clone(&rings)),
            rings,
        })
    }

    /// What to wait for at the front end's socket.
    pub fn front(&self) -> (BorrowedFd<'_>, PollFlags) {
        (self.relay.front(), self.relay.interest())
    }

    /// What the front end has set up.
    pub fn rings(&self) -> MutexGuard<'_, Rings> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes at most one message, does what it says and tells the device; false when the front end is gone. No message is
    /// taken while a reply waits for room.
    pub fn turn(&mut self, device: &mut impl Backend) -> Result<bool, ConnectionError> {
        if !self.relay.pass_reply()? {
            return Ok(false);
        }
        if self.relay.has_reply() {
            return Ok(true);
        }
        match self.relay.receive()? {
            Passed::Closed => return Ok(false),
            Passed::Part => return Ok(true),
            Passed::Whole => {}
        }
        // The message is whole, so this finds all that it reads.
        let done = self.requests.handle_request();
        done.map_err(|error: Error| ConnectionError::Request(error.to_string()))?;
        let changes = self.rings().take_changes();
        for change in changes {
            match change {
                Change::Memory(memory) => device.memory(memory),
                Change::Negotiated(features) => device.negotiated(features),
                Change::Stopped => device.stopped(),
            }
        }
        self.relay.take_reply()?;
        Ok(self.relay.pass_reply()?)
    }
}
