//! A listening Unix socket that is owned as a file: a stale one is replaced, a live one refused,
//! and ours goes away with its owner.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A socket that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Somebody serves it.
    #[error("{} is served by a running process: choose another path or end that process", .0.display())]
    InUse(PathBuf),
    /// There is something else.
    #[error("{} exists and is no socket: it is left alone", .0.display())]
    NotASocket(PathBuf),
    /// The operating system refuses.
    #[error("cannot listen at {}: {cause}", path.display())]
    Bind {
        /// The socket's path.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
}

/// A listening socket and its file.
pub(crate) struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Listens at `path`, without blocking in [`Socket::accept`].
    pub fn bind(path: &Path) -> Result<Self, SocketError> {
        let failed = |cause| SocketError::Bind {
            path: path.to_owned(),
            cause,
        };
        remove_stale(path)?;
        let listener = UnixListener::bind(path).map_err(failed)?;
        let socket = Self {
            listener,
            path: path.to_owned(),
        };
        socket.listener.set_nonblocking(true).map_err(failed)?;
        Ok(socket)
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A client that waits, if there still is one.
    pub fn accept(&self) -> io::Result<Option<UnixStream>> {
        match self.listener.accept() {
            Ok((client, _)) => Ok(Some(client)),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            },
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Removes a socket that nobody listens to.
fn remove_stale(path: &Path) -> Result<(), SocketError> {
    let failed = |cause| SocketError::Bind {
        path: path.to_owned(),
        cause,
    };
    let kind = match std::fs::symlink_metadata(path) {
        Ok(data) => data.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    if !kind.is_socket() {
        return Err(SocketError::NotASocket(path.to_owned()));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(failed)
        }
        Err(error) => Err(failed(error)),
        Ok(_) => Err(SocketError::InUse(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> PathBuf {
        let file = format!("airlane-socket-{}-{name}", std::process::id());
        std::env::temp_dir().join(file)
    }

    #[test]
    fn a_live_socket_is_refused_and_a_stale_one_replaced() {
        let path = place("stale");
        let live = Socket::bind(&path).unwrap();
        assert!(matches!(Socket::bind(&path), Err(SocketError::InUse(_))));
        drop(live);
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "a listener that dies leaves its file");
        let next = Socket::bind(&path).unwrap();
        drop(next);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let path = place("file");
        std::fs::write(&path, b"mine").unwrap();
        let refused = Socket::bind(&path);
        assert!(matches!(refused, Err(SocketError::NotASocket(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
        std::fs::remove_file(&path).unwrap();
    }
}
