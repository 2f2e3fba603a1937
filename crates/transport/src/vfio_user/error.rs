//! Why a vfio-user server cannot go on.

use super::protocol::Malformed;

/// A server that cannot listen, or a connection that broke.
#[derive(Debug, thiserror::Error)]
pub enum VfioUserError {
    /// The socket cannot be made.
    #[error(transparent)]
    Socket(#[from] crate::SocketError),
    /// No client can be accepted.
    #[error("cannot accept a vfio-user client: {0}")]
    Accept(#[source] std::io::Error),
    /// Waiting failed.
    #[error("cannot wait for a vfio-user client: {0}")]
    Wait(#[source] std::io::Error),
    /// Receiving failed.
    #[error("cannot receive from a vfio-user client: {0}")]
    Receive(#[source] std::io::Error),
    /// Sending failed.
    #[error("cannot send to a vfio-user client: {0}")]
    Send(#[source] std::io::Error),
    /// The client broke the protocol.
    #[error("vfio-user client broke the protocol behind message {message}: {what}")]
    Malformed {
        /// The rule that it broke.
        what: Malformed,
        /// How many messages had been handled.
        message: u64,
    },
}
