//! The vfio-user wire format, client to server: one message out of a byte stream, and what it asks.
//!
//! Pure: no socket, no device, no allocation. Not here: replies (`reply`) and what a
//! request does (`session`). Fields are in the byte order of the host, as both ends of a
//! Unix socket share it. Sources: QEMU's `docs/interop/vfio-user.rst` (protocol 0.0) and the
//! `linux/vfio.h` structures that it embeds; `WRITE_MULTI` (15) as QEMU's client sends it.

use std::os::fd::OwnedFd;

use arrayvec::ArrayVec;

/// Most file descriptors of one message, announced as `max_msg_fds`.
pub const MAX_FDS: usize = 8;
/// File descriptors of one message, in order.
pub type Fds = ArrayVec<OwnedFd, MAX_FDS>;

/// Length of a message header.
pub const HEADER: usize = 16;
/// The most data bytes of one region access, announced as `max_data_xfer_size`.
pub const MAX_DATA: usize = 1 << 20;
/// The longest message that is accepted: a region write of [`MAX_DATA`] bytes.
pub const MAX_MESSAGE: usize = HEADER + 16 + MAX_DATA;
/// The most writes of one `REGION_WRITE_MULTI`: one message must not be much more work than another. QEMU packs
/// 200 at most (`VFIO_USER_MULTI_MAX`).
pub const MAX_MULTI: u64 = 256;
/// One write within a `REGION_WRITE_MULTI`: offset, region, count, eight data bytes.
pub const MULTI_ENTRY: usize = 24;

/// Type field of the header flags.
const TYPE_MASK: u32 = 0xf;
/// The client wants no reply.
const NO_REPLY: u32 = 1 << 4;

/// Command numbers (vfio-user.rst, "Commands").
pub mod command {
    #![allow(missing_docs)]
    pub const VERSION: u16 = 1;
    pub const DMA_MAP: u16 = 2;
    pub const DMA_UNMAP: u16 = 3;
    pub const GET_INFO: u16 = 4;
    pub const GET_REGION_INFO: u16 = 5;
    pub const GET_IRQ_INFO: u16 = 7;
    pub const SET_IRQS: u16 = 8;
    pub const REGION_READ: u16 = 9;
    pub const REGION_WRITE: u16 = 10;
    pub const RESET: u16 = 13;
    pub const REGION_WRITE_MULTI: u16 = 15;
}

/// A message that breaks the protocol: the stream cannot be trusted any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A length field below the header's own length.
    #[error("message length {0} is shorter than a header")]
    Short(u32),
    /// A length field above [`MAX_MESSAGE`].
    #[error("message length {0} exceeds {MAX_MESSAGE}")]
    Long(u32),
    /// A reply, or an unknown type, where a command is due.
    #[error("message type {0} is not a command")]
    Type(u32),
    /// A body that is shorter than its command's fields.
    #[error("command {command} has {length} bytes of body, at least {least} are needed")]
    Body {
        /// Command number.
        command: u16,
        /// Bytes that came.
        length: usize,
        /// Bytes that the fields need.
        least: usize,
    },
    /// A count that disagrees with the bytes that follow it, or exceeds [`MAX_DATA`].
    #[error("command {command} counts {count} but carries {length} bytes")]
    Count {
        /// Command number.
        command: u16,
        /// The count field.
        count: u64,
        /// Bytes of payload.
        length: usize,
    },
    /// Version data that does not end in a zero byte.
    #[error("version data does not end in a zero byte")]
    VersionData,
    /// A command before the version was agreed on.
    #[error("command {0} came before the version was agreed on")]
    BeforeVersion(u16),
    /// A second version message.
    #[error("a second version message")]
    SecondVersion,
    /// File descriptors with a command that takes none, or more than it takes.
    #[error("command {command} came with {count} file descriptors")]
    Descriptors {
        /// Command number.
        command: u16,
        /// How many came.
        count: usize,
    },
    /// The kernel had to drop descriptors: more than a message may carry.
    #[error("more file descriptors than a message may carry")]
    DescriptorsLost,
}

/// A message header that has been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Chosen by the client, repeated in the reply.
    pub id: u16,
    /// What is asked.
    pub command: u16,
    /// Whole length, header included.
    pub size: usize,
    /// False for a posted message.
    pub wants_reply: bool,
}

/// What the client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// The first message.
    Version {
        /// Major number; only 0 exists.
        major: u16,
        /// Minor number that the client would like.
        minor: u16,
    },
    /// Memory becomes visible to the device.
    DmaMap(DmaMap),
    /// Memory disappears.
    DmaUnmap(DmaUnmap),
    /// `vfio_device_info`.
    GetInfo,
    /// `vfio_region_info`.
    GetRegionInfo {
        /// Room that the client has for the answer.
        argsz: u32,
        /// Region number.
        index: u32,
    },
    /// `vfio_irq_info`.
    GetIrqInfo {
        /// Interrupt type.
        index: u32,
    },
    /// `vfio_irq_set`.
    SetIrqs(SetIrqs<'a>),
    /// Read a region.
    Read {
        /// Region number.
        region: u32,
        /// Offset within it.
        offset: u64,
        /// Bytes, at most [`MAX_DATA`].
        count: usize,
    },
    /// Write a region.
    Write(Write<'a>),
    /// Several posted writes in one message.
    WriteMulti(MultiWrites<'a>),
    /// Reset the device.
    Reset,
    /// A command that this server does not do; its body has been skipped.
    Unsupported(u16),
}

/// `DMA_MAP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaMap {
    /// Bit 0 readable, bit 1 writable.
    pub flags: u32,
    /// Offset within the file that came along.
    pub offset: u64,
    /// Guest address.
    pub address: u64,
    /// Length in bytes.
    pub size: u64,
}

/// `DMA_UNMAP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaUnmap {
    /// As the client gave it, for the echo.
    pub argsz: u32,
    /// Bit 0 dirty bitmap, bit 1 everything.
    pub flags: u32,
    /// Guest address.
    pub address: u64,
    /// Length in bytes.
    pub size: u64,
}

/// `SET_IRQS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetIrqs<'a> {
    /// Data type and action bits.
    pub flags: u32,
    /// Interrupt type.
    pub index: u32,
    /// First vector.
    pub start: u32,
    /// How many vectors.
    pub count: u32,
    /// One byte per vector for the boolean data type.
    pub data: &'a [u8],
}

/// One region write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write<'a> {
    /// Region number.
    pub region: u32,
    /// Offset within it.
    pub offset: u64,
    /// What to write.
    pub data: &'a [u8],
}

/// The writes of one `REGION_WRITE_MULTI`, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiWrites<'a>(&'a [u8]);

impl<'a> MultiWrites<'a> {
    /// In the order in which the guest made them.
    pub fn iter(self) -> impl Iterator<Item = Write<'a>> {
        self.0.chunks_exact(MULTI_ENTRY).filter_map(|entry| {
            let count = u32_at(entry, 12)? as usize;
            Some(Write {
                offset: u64_at(entry, 0)?,
                region: u32_at(entry, 8)?,
                data: entry.get(16..)?.get(..count)?,
            })
        })
    }
}

/// The first message of `bytes` as header and body, or `None` while it is still incomplete.
pub fn split(bytes: &[u8]) -> Result<Option<(Header, &[u8])>, Malformed> {
    let Some(header) = bytes.get(..HEADER) else {
        return Ok(None);
    };
    let (Some(id), Some(command), Some(size), Some(flags)) = (
        u16_at(header, 0),
        u16_at(header, 2),
        u32_at(header, 4),
        u32_at(header, 8),
    ) else {
        return Ok(None);
    };
    let length = size as usize;
    if length < HEADER {
        return Err(Malformed::Short(size));
    }
    if length > MAX_MESSAGE {
        return Err(Malformed::Long(size));
    }
    if flags & TYPE_MASK != 0 {
        return Err(Malformed::Type(flags & TYPE_MASK));
    }
    let header = Header {
        id,
        command,
        size: length,
        wants_reply: flags & NO_REPLY == 0,
    };
    Ok(bytes.get(HEADER..length).map(|body| (header, body)))
}

/// What the message `header` with `body` asks.
pub fn parse<'a>(header: &Header, body: &'a [u8]) -> Result<Request<'a>, Malformed> {
    let command = header.command;
    let short = |least| Malformed::Body {
        command,
        length: body.len(),
        least,
    };
    match command {
        command::VERSION => version(body).ok_or(short(4))?,
        command::DMA_MAP => dma_map(body).ok_or(short(32)),
        command::DMA_UNMAP => dma_unmap(body).ok_or(short(24)),
        command::GET_INFO => body.get(..16).map(|_| Request::GetInfo).ok_or(short(16)),
        command::GET_REGION_INFO => region_info(body).ok_or(short(32)),
        command::GET_IRQ_INFO => irq_info(body).ok_or(short(16)),
        command::SET_IRQS => set_irqs(body).ok_or(short(20)),
        command::REGION_READ => read(body).ok_or(short(16))?,
        command::REGION_WRITE => write(body).ok_or(short(16))?,
        command::REGION_WRITE_MULTI => write_multi(body).ok_or(short(8))?,
        command::RESET => Ok(Request::Reset),
        other => Ok(Request::Unsupported(other)),
    }
}

fn version(body: &[u8]) -> Option<Result<Request<'_>, Malformed>> {
    let (major, minor) = (u16_at(body, 0)?, u16_at(body, 2)?);
    let data = body.get(4..)?;
    if data.last().is_some_and(|&last| last != 0) {
        return Some(Err(Malformed::VersionData));
    }
    Some(Ok(Request::Version { major, minor }))
}

fn dma_map(body: &[u8]) -> Option<Request<'_>> {
    Some(Request::DmaMap(DmaMap {
        flags: u32_at(body, 4)?,
        offset: u64_at(body, 8)?,
        address: u64_at(body, 16)?,
        size: u64_at(body, 24)?,
    }))
}

fn dma_unmap(body: &[u8]) -> Option<Request<'_>> {
    Some(Request::DmaUnmap(DmaUnmap {
        argsz: u32_at(body, 0)?,
        flags: u32_at(body, 4)?,
        address: u64_at(body, 8)?,
        size: u64_at(body, 16)?,
    }))
}

fn region_info(body: &[u8]) -> Option<Request<'_>> {
    body.get(..32)?;
    Some(Request::GetRegionInfo {
        argsz: u32_at(body, 0)?,
        index: u32_at(body, 8)?,
    })
}

fn irq_info(body: &[u8]) -> Option<Request<'_>> {
    body.get(..16)?;
    Some(Request::GetIrqInfo {
        index: u32_at(body, 8)?,
    })
}

fn set_irqs(body: &[u8]) -> Option<Request<'_>> {
    Some(Request::SetIrqs(SetIrqs {
        flags: u32_at(body, 4)?,
        index: u32_at(body, 8)?,
        start: u32_at(body, 12)?,
        count: u32_at(body, 16)?,
        data: body.get(20..)?,
    }))
}

fn read(body: &[u8]) -> Option<Result<Request<'_>, Malformed>> {
    let (offset, region, count) = (u64_at(body, 0)?, u32_at(body, 8)?, u32_at(body, 12)?);
    let count = match usize::try_from(count) {
        Ok(count) if count <= MAX_DATA => count,
        _ => return Some(Err(wrong_count(command::REGION_READ, count.into(), 0))),
    };
    Some(Ok(Request::Read {
        region,
        offset,
        count,
    }))
}

fn write(body: &[u8]) -> Option<Result<Request<'_>, Malformed>> {
    let (offset, region, count) = (u64_at(body, 0)?, u32_at(body, 8)?, u32_at(body, 12)?);
    let data = body.get(16..)?;
    if data.len() != count as usize {
        let error = wrong_count(command::REGION_WRITE, count.into(), data.len());
        return Some(Err(error));
    }
    Some(Ok(Request::Write(Write {
        region,
        offset,
        data,
    })))
}

fn write_multi(body: &[u8]) -> Option<Result<Request<'_>, Malformed>> {
    let count = u64_at(body, 0)?;
    let entries = body.get(8..)?;
    let fits = usize::try_from(count)
        .ok()
        .filter(|_| count <= MAX_MULTI)
        .and_then(|count| count.checked_mul(MULTI_ENTRY))
        .is_some_and(|length| length == entries.len());
    let short = |entry: &[u8]| u32_at(entry, 12).is_some_and(|count| count <= 8);
    if !fits || !entries.chunks_exact(MULTI_ENTRY).all(short) {
        let error = wrong_count(command::REGION_WRITE_MULTI, count, entries.len());
        return Some(Err(error));
    }
    Some(Ok(Request::WriteMulti(MultiWrites(entries))))
}

fn wrong_count(command: u16, count: u64, length: usize) -> Malformed {
    Malformed::Count {
        command,
        count,
        length,
    }
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array_at(bytes, at).map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array_at(bytes, at).map(u64::from_ne_bytes)
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
