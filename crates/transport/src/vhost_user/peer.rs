//! Whether a file may be mapped as guest memory.
//!
//! A file must be sealed against shrinking (see [`cannot_shrink`]), as QEMU's memfd is. User Mode Linux keeps its memory in an
//! unlinked file of its own, which cannot be sealed: that is taken from a process that this one has started itself, and from
//! nobody else. The child's kernel has the only other descriptor and never changes the file's length; a guest that takes over
//! its own kernel could, which is why such a guest is only as far apart as a process of ours.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use crate::seals::cannot_shrink;

/// Who is at the other end of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A process that this one has started.
    Child,
    /// Any other process.
    Foreign,
}

impl Peer {
    /// Who has connected to `socket`.
    pub fn of(socket: &UnixStream) -> Self {
        let credentials = rustix::net::sockopt::socket_peercred(socket);
        let process = credentials.map(|peer| peer.pid.as_raw_nonzero().get());
        match process.ok().and_then(|id| u32::try_from(id).ok()) {
            Some(id) if is_child(id) => Self::Child,
            _ => Self::Foreign,
        }
    }

    /// Whether a file of this peer may be mapped.
    pub fn may_share(self, file: impl AsFd) -> bool {
        self == Self::Child || cannot_shrink(file)
    }
}

fn is_child(id: u32) -> bool {
    parent(id) == Some(std::process::id())
}

/// The fourth field of `/proc/PID/stat` (`man 5 proc`); the second, in brackets, may hold anything.
fn parent(id: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, SealFlags};

    #[test]
    fn children_are_told_from_all_others() {
        let mut child = std::process::Command::new("sleep")
            .arg("10")
            .spawn()
            .unwrap();
        assert!(is_child(child.id()));
        assert!(!is_child(1) && !is_child(std::process::id()));
        child.kill().unwrap();
        child.wait().unwrap();
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(Peer::of(&one), Peer::Foreign);
    }

    #[test]
    fn a_stranger_must_seal_its_memory() {
        let file = rustix::fs::memfd_create("guest", MemfdFlags::ALLOW_SEALING).unwrap();
        assert!(Peer::Child.may_share(&file) && !Peer::Foreign.may_share(&file));
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
        assert!(Peer::Foreign.may_share(&file));
    }
}
