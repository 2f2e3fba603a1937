//! What passes between a vfio-user server and the loop that serves it: what to wait for, what was found, what is left.

use std::os::fd::BorrowedFd;

use rustix::event::PollFlags;

/// What a server waits for, for a loop that polls many.
#[derive(Clone, Copy, Debug)]
pub struct Interest<'a> {
    /// The listening socket, or that of the client that is connected.
    pub socket: BorrowedFd<'a>,
    /// To be waited for at the socket: `IN`, or `OUT` while replies wait for room.
    pub flags: PollFlags,
    /// The eventfd by which the hypervisor unmasks INTx, to be waited for with `IN`.
    pub unmask: Option<BorrowedFd<'a>>,
}

/// What a poll has found of an [`Interest`]. To claim too much costs a system call each and does no harm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// Anything at the socket, errors included.
    pub socket: bool,
    /// The unmask eventfd.
    pub unmask: bool,
}

impl Ready {
    /// For who has not asked: a loop that polls without system calls.
    pub const ALL: Self = Self {
        socket: true,
        unmask: true,
    };
}

/// What a turn of a server has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing that could go on without waiting for an [`Interest`].
    Idle,
    /// A message beyond the budget: another turn can go on at once.
    More,
    /// Nothing: the client went away.
    Disconnected,
}
