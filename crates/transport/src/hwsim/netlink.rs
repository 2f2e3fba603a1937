//! The little of netlink that hwsim's virtqueues carry: one generic-netlink message of attributes.
//!
//! Own code rather than a netlink crate: those build a list of owned attributes for each message and
//! are made for sockets; here frames are read and written in place, and the rules of the guest's
//! strict validation (no unknown attribute, no padding attribute, exact lengths) are ours to keep.
//! Fields are in the guest's byte order, which on every machine that QEMU runs natively for is the
//! host's. Sources: `include/uapi/linux/netlink.h`, `genetlink.h`, `lib/nlattr.c`.

use super::error::CodecError;

/// `nlmsghdr` and `genlmsghdr`.
pub const HEADERS: usize = 20;
/// Attribute header.
const ATTRIBUTE: usize = 4;
/// Bits of the type field that are flags: nested, network byte order.
const TYPE_MASK: u16 = 0x3fff;

/// The length that a message gives itself, from its first four bytes.
pub fn message_length(bytes: &[u8]) -> Option<usize> {
    bytes
        .first_chunk()
        .map(|length| u32::from_ne_bytes(*length) as usize)
}

/// Command and attributes of the message at the start of `bytes`; what follows it is ignored.
pub fn message(bytes: &[u8]) -> Result<(u8, Attributes<'_>), CodecError> {
    let length = message_length(bytes).unwrap_or(0);
    let message = bytes.get(..length).ok_or(CodecError::Length {
        length,
        buffer: bytes.len(),
    })?;
    let (Some(&command), Some(rest)) = (message.get(16), message.get(HEADERS..)) else {
        return Err(CodecError::Short(length));
    };
    Ok((command, Attributes(rest)))
}

/// The attributes of a message, in order.
#[derive(Clone)]
pub struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<(u16, &'a [u8]), CodecError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let next = attribute(self.0);
        let rest = next.as_ref().ok().and_then(|(_, value)| {
            let aligned = (ATTRIBUTE + value.len()).next_multiple_of(4);
            self.0.get(aligned..)
        });
        self.0 = rest.unwrap_or_default();
        Some(next)
    }
}

fn attribute(bytes: &[u8]) -> Result<(u16, &[u8]), CodecError> {
    let left = bytes.len();
    let (Some(&length), Some(&kind)) = (
        bytes.first_chunk::<2>(),
        bytes.get(2..).and_then(|rest| rest.first_chunk::<2>()),
    ) else {
        return Err(CodecError::Trailing(left));
    };
    let length = u16::from_ne_bytes(length);
    let number = u16::from_ne_bytes(kind) & TYPE_MASK;
    match bytes.get(ATTRIBUTE..usize::from(length)) {
        Some(value) => Ok((number, value)),
        None => Err(CodecError::AttributeLength {
            number,
            length,
            left,
        }),
    }
}

/// Builds a message in a buffer.
pub struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// Begins a message of generic-netlink `command`.
    pub fn new(out: &'a mut [u8], command: u8) -> Result<Self, CodecError> {
        let mut headers = [0; HEADERS];
        headers[16] = command;
        headers[17] = 1;
        let mut writer = Self { out, at: 0 };
        writer.bytes(&headers)?;
        Ok(writer)
    }

    /// Appends an attribute and its padding.
    pub fn put(&mut self, number: u16, value: &[u8]) -> Result<(), CodecError> {
        let length = u16::try_from(ATTRIBUTE + value.len()).map_err(|_| CodecError::Room)?;
        self.bytes(&length.to_ne_bytes())?;
        self.bytes(&number.to_ne_bytes())?;
        self.bytes(value)?;
        let padding = self.at.next_multiple_of(4) - self.at;
        self.bytes([0; 3].get(..padding).unwrap_or_default())
    }

    /// Fills in the length, and gives it.
    pub fn finish(self) -> Result<usize, CodecError> {
        let length = u32::try_from(self.at).map_err(|_| CodecError::Room)?;
        let field = self.out.first_chunk_mut().ok_or(CodecError::Room)?;
        *field = length.to_ne_bytes();
        Ok(self.at)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), CodecError> {
        let end = self.at + bytes.len();
        let room = self.out.get_mut(self.at..end).ok_or(CodecError::Room)?;
        room.copy_from_slice(bytes);
        self.at = end;
        Ok(())
    }
}
