//! What is wrong with a message of hwsim.

use airlane_dot11::ChannelError;

/// The shortest frame that hwsim accepts: three addresses.
pub(super) const SHORTEST_RECEIVED: usize = 24;
/// The longest (`IEEE80211_MAX_DATA_LEN`).
pub(super) const LONGEST_RECEIVED: usize = 2304;

/// A message that cannot be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// A message length beyond its buffer.
    #[error("message length {length} does not fit its buffer of {buffer} bytes")]
    Length {
        /// What the message says.
        length: usize,
        /// What there is.
        buffer: usize,
    },
    /// A message shorter than its headers.
    #[error("{0} bytes are no netlink message")]
    Short(usize),
    /// Bytes behind the last attribute that are none.
    #[error("{0} bytes behind the last attribute")]
    Trailing(usize),
    /// An attribute length beyond the message, or below its own header.
    #[error("attribute {number} gives its length as {length}, {left} bytes are left")]
    AttributeLength {
        /// Attribute number.
        number: u16,
        /// Its length field.
        length: u16,
        /// Bytes left in the message.
        left: usize,
    },
    /// An attribute whose value has the wrong size for its type.
    #[error("attribute {number} holds {length} bytes")]
    Value {
        /// Attribute number.
        number: u16,
        /// Length of its value.
        length: usize,
    },
    /// An attribute that the command needs.
    #[error("attribute {0} is missing")]
    Missing(u16),
    /// A command that no guest sends to the medium.
    #[error("command {0} is none that a medium serves")]
    Command(u8),
    /// A frequency that is no channel.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A frame that hwsim would not accept.
    #[error("hwsim takes frames of {SHORTEST_RECEIVED} to {LONGEST_RECEIVED} bytes, not {0}")]
    FrameLength(usize),
    /// The buffer is too small.
    #[error("the message does not fit its buffer")]
    Room,
}

impl CodecError {
    /// True for what no working driver sends; false for what is well formed and not served.
    pub fn breaks_protocol(self) -> bool {
        match self {
            Self::Length { .. }
            | Self::Short(_)
            | Self::Trailing(_)
            | Self::AttributeLength { .. }
            | Self::Value { .. }
            | Self::Missing(_) => true,
            Self::Command(_) | Self::Channel(_) | Self::FrameLength(_) | Self::Room => false,
        }
    }
}
