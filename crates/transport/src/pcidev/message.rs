//! The messages of PCI over virtio (`struct virtio_pcidev_msg`): fields in the byte order of this machine, data as PCI has it.

/// Length of a message without its data.
pub const HEADER: usize = 16;
/// Most data of one message. A guest's driver loads and stores up to 8 bytes, or copies within a BAR.
pub const MAX_DATA: usize = 4096;
/// Longest message to the guest: an interrupt with 32 bits.
pub const INTERRUPT: usize = HEADER + 4;

const CFG_READ: u8 = 1;
const CFG_WRITE: u8 = 2;
const MMIO_READ: u8 = 3;
const MMIO_WRITE: u8 = 4;
const MMIO_MEMSET: u8 = 5;
const MSI: u8 = 7;

/// Which of a card's spaces is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Configuration space.
    Config,
    /// The BAR with this number.
    Bar(u8),
}

/// What a guest's driver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access<'a> {
    /// Reads this many bytes.
    Read(usize),
    /// Writes these.
    Write(&'a [u8]),
    /// Writes one byte so many times.
    Fill(u8, usize),
}

/// A message from the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// The space that is accessed.
    pub space: Space,
    /// Bytes from the beginning of that space.
    pub offset: u64,
    /// Read or write, and how much.
    pub access: Access<'a>,
}

/// Why bytes are no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Shorter than a header.
    #[error("a message of {0} bytes is shorter than its header")]
    Short(usize),
    /// Not a number of an access.
    #[error("unknown operation {0}")]
    Operation(u8),
    /// Nothing, or more than [`MAX_DATA`].
    #[error("an access of {0} bytes")]
    Size(u32),
    /// Fewer bytes than are to be written.
    #[error("{there} bytes of data where {wanted} are to be written")]
    Data {
        /// As the header says.
        wanted: usize,
        /// As have come.
        there: usize,
    },
}

impl<'a> Command<'a> {
    /// Reads a message; data beyond its size is ignored, as drivers send room for 8 bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, MessageError> {
        let short = MessageError::Short(bytes.len());
        let (header, data) = bytes.split_first_chunk::<HEADER>().ok_or(short)?;
        let [operation, bar, _, _, s0, s1, s2, s3, offset @ ..] = *header;
        let size = u32::from_ne_bytes([s0, s1, s2, s3]);
        let length = size as usize;
        let space = match operation {
            CFG_READ | CFG_WRITE => Space::Config,
            MMIO_READ | MMIO_WRITE | MMIO_MEMSET => Space::Bar(bar),
            _ => return Err(MessageError::Operation(operation)),
        };
        if !(1..=MAX_DATA).contains(&length) {
            return Err(MessageError::Size(size));
        }
        let take = |wanted| {
            let there = data.len();
            let lacking = MessageError::Data { wanted, there };
            data.get(..wanted).ok_or(lacking)
        };
        let access = match operation {
            CFG_READ | MMIO_READ => Access::Read(length),
            MMIO_MEMSET => Access::Fill(take(1)?.first().copied().unwrap_or(0), length),
            _ => Access::Write(take(length)?),
        };
        Ok(Self {
            space,
            offset: u64::from_ne_bytes(offset),
            access,
        })
    }

    /// How many bytes it reaches.
    pub fn length(&self) -> usize {
        match self.access {
            Access::Read(length) | Access::Fill(_, length) => length,
            Access::Write(data) => data.len(),
        }
    }
}

/// The message that is a 16-bit write of `data` to `address`: how MSI without extended data looks on the bus (PCI Local Bus
/// 3.0 6.8.1).
pub fn interrupt(address: u64, data: u16) -> [u8; INTERRUPT] {
    let mut message = [0; INTERRUPT];
    let fields = [
        (0, &[MSI][..]),
        (4, &4u32.to_ne_bytes()),
        (8, &address.to_ne_bytes()),
        (HEADER, &u32::from(data).to_le_bytes()),
    ];
    for (at, bytes) in fields {
        if let Some(field) = message.get_mut(at..at + bytes.len()) {
            field.copy_from_slice(bytes);
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(operation: u8, bar: u8, size: u32, offset: u64, data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![operation, bar, 0, 0];
        bytes.extend(size.to_ne_bytes());
        bytes.extend(offset.to_ne_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn every_access_is_understood() {
        let bytes = message(CFG_READ, 0, 2, 0x34, &[]);
        let command = Command::parse(&bytes).unwrap();
        assert_eq!((command.space, command.offset), (Space::Config, 0x34));
        assert_eq!(command.access, Access::Read(2));
        let bytes = message(CFG_WRITE, 0, 2, 4, &[6, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            Command::parse(&bytes).unwrap().access,
            Access::Write(&[6, 1])
        );
        let bytes = message(MMIO_WRITE, 2, 4, 0x20, &[1, 2, 3, 4]);
        let command = Command::parse(&bytes).unwrap();
        assert_eq!((command.space, command.length()), (Space::Bar(2), 4));
        let bytes = message(MMIO_MEMSET, 0, 64, 0x20, &[7]);
        assert_eq!(Command::parse(&bytes).unwrap().access, Access::Fill(7, 64));
    }

    #[test]
    fn each_malformed_message_is_refused_for_its_reason() {
        let error = |bytes: &[u8]| Command::parse(bytes).unwrap_err();
        assert_eq!(error(&[1; 15]), MessageError::Short(15));
        let unknown = message(MSI, 0, 4, 0, &[0; 4]);
        assert_eq!(error(&unknown), MessageError::Operation(MSI));
        assert_eq!(
            error(&message(CFG_READ, 0, 0, 0, &[])),
            MessageError::Size(0)
        );
        let huge = message(MMIO_READ, 0, 4097, 0, &[]);
        assert_eq!(error(&huge), MessageError::Size(4097));
        let lacking = message(MMIO_WRITE, 0, 4, 0, &[1, 2]);
        let (wanted, there) = (4, 2);
        assert_eq!(error(&lacking), MessageError::Data { wanted, there });
        let (wanted, there) = (1, 0);
        let empty = message(MMIO_MEMSET, 0, 4, 0, &[]);
        assert_eq!(error(&empty), MessageError::Data { wanted, there });
    }

    #[test]
    fn an_interrupt_carries_its_data_as_32_bits() {
        let message = interrupt(0xa_0000, 0x0123);
        assert_eq!(message[..8], [7, 0, 0, 0, 4, 0, 0, 0]);
        assert_eq!(message[8..16], 0xa_0000u64.to_ne_bytes());
        assert_eq!(message[16..], [0x23, 1, 0, 0]);
    }
}
