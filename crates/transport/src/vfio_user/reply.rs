//! Replies, gathered into one buffer that is written once per batch and used again.
//!
//! QEMU's client gives each request a receive buffer of the request's own length unless it says
//! more, so no reply here is longer than its request, except the data of a region read.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use vfio_bindings::bindings::vfio::*;

use super::protocol::Header;
use crate::pci::MappableRegion;

/// Replies beyond this many bytes are written before the next message is handled: a client that asks much and reads
/// nothing costs no more memory than this and one reply.
const FULL: usize = 256 << 10;
/// The same for file descriptors, of which a process has few.
const MAX_FILES: usize = 8;

const REPLY: u32 = 1;
const ERROR: u32 = 1 << 5;

/// What the server can do. Capabilities beyond these make QEMU warn; a longer text than the
/// client's own would not fit its receive buffer.
const CAPABILITIES: &[u8] = concat!(
    r#"{"capabilities":{"max_msg_fds":8,"max_data_xfer_size":1048576,"#,
    r#""max_dma_maps":1024,"write_multiple":true}}"#,
    "\0"
)
.as_bytes();

/// Replies on their way.
#[derive(Default)]
pub struct Replies {
    bytes: Vec<u8>,
    /// How many of `bytes` have been written.
    sent: usize,
    /// Where in `bytes` the reply begins that each file goes with.
    files: VecDeque<(usize, OwnedFd)>,
}

/// What `vfio_region_info` says of every region.
#[derive(Clone, Copy)]
pub struct RegionInfo {
    /// Region number.
    pub index: u32,
    /// Length in bytes; 0: there is none.
    pub size: u64,
}

/// `struct vfio_region_info`, and what precedes the areas in a capability of it.
const REGION_INFO: usize = 32;
const SPARSE_HEADER: usize = 16;
const SPARSE_AREA: usize = 16;

impl Replies {
    /// Sends what waits, as much as one write takes, and forgets it. The room is kept.
    pub fn send(&mut self, socket: impl AsFd) -> Result<(), Errno> {
        let (end, file) = match self.files.front() {
            // A descriptor arrives with the first byte that is sent along with it, so its reply begins a write.
            Some((start, _)) if *start > self.sent => (*start, None),
            Some((_, file)) => {
                let next = self.files.get(1).map(|(start, _)| *start);
                (next.unwrap_or(self.bytes.len()), Some(file.as_fd()))
            }
            None => (self.bytes.len(), None),
        };
        let bytes = self.bytes.get(self.sent..end).unwrap_or_default();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let files = file.map(|file| [file]);
        if let Some(files) = &files {
            control.push(SendAncillaryMessage::ScmRights(files));
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags)?;
        if files.is_some() && sent > 0 {
            self.files.pop_front();
        }
        self.sent += sent;
        if self.is_empty() {
            self.bytes.clear();
            self.sent = 0;
        }
        Ok(())
    }

    /// As much waits as may.
    pub fn is_full(&self) -> bool {
        self.len() >= FULL || self.files.len() >= MAX_FILES
    }

    /// How many bytes wait.
    fn len(&self) -> usize {
        self.bytes.len().saturating_sub(self.sent)
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A reply of `header` and the 32-bit `words`.
    pub fn words(&mut self, to: &Header, words: &[u32]) {
        self.header(to, words.len() * 4, REPLY, 0);
        for word in words {
            self.bytes.extend_from_slice(&word.to_ne_bytes());
        }
    }

    /// A refusal with an error number.
    pub fn error(&mut self, to: &Header, errno: i32) {
        self.header(to, 0, REPLY | ERROR, errno.unsigned_abs());
    }

    /// The server's version, 0.0, and its capabilities.
    pub fn version(&mut self, to: &Header) {
        self.header(to, 4 + CAPABILITIES.len(), REPLY, 0);
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(CAPABILITIES);
    }

    /// `vfio_region_info` without capabilities.
    pub fn region_info(&mut self, to: &Header, info: RegionInfo) {
        let flags = match info.size {
            0 => 0,
            _ => VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE,
        };
        self.header(to, REGION_INFO, REPLY, 0);
        self.region(REGION_INFO, flags, info, 0, 0);
    }

    /// `vfio_region_info` with the areas that may be mapped, and their file. A client whose `argsz` has no room for the
    /// areas learns from the reply how much it takes, and asks again; QEMU wants to see where they would be all the same.
    pub fn mappable_region(
        &mut self,
        to: &Header,
        argsz: u32,
        info: RegionInfo,
        region: &MappableRegion<'_>,
        file: OwnedFd,
    ) {
        let whole = REGION_INFO + SPARSE_HEADER + region.areas.len() * SPARSE_AREA;
        let fits = whole <= argsz as usize;
        let flags = VFIO_REGION_INFO_FLAG_READ
            | VFIO_REGION_INFO_FLAG_WRITE
            | VFIO_REGION_INFO_FLAG_MMAP
            | VFIO_REGION_INFO_FLAG_CAPS;
        self.files.push_back((self.bytes.len(), file));
        self.header(to, if fits { whole } else { REGION_INFO }, REPLY, 0);
        self.region(whole, flags, info, REGION_INFO, region.offset);
        if fits {
            self.sparse_areas(region);
        }
    }

    /// The structure itself: `argsz` bytes have room for all, capabilities begin at `capabilities` (0: none).
    fn region(
        &mut self,
        argsz: usize,
        flags: u32,
        info: RegionInfo,
        capabilities: usize,
        offset: u64,
    ) {
        for word in [length(argsz), flags, info.index, length(capabilities)] {
            self.bytes.extend_from_slice(&word.to_ne_bytes());
        }
        for long in [info.size, offset] {
            self.bytes.extend_from_slice(&long.to_ne_bytes());
        }
    }

    /// `vfio_region_info_cap_sparse_mmap`, the last capability.
    fn sparse_areas(&mut self, region: &MappableRegion<'_>) {
        // 16 bits number and 16 bits version, where the next one is, how many areas, padding.
        let number = u16::try_from(VFIO_REGION_INFO_CAP_SPARSE_MMAP).unwrap_or_default();
        for half in [number, 1] {
            self.bytes.extend_from_slice(&half.to_ne_bytes());
        }
        for word in [0, length(region.areas.len()), 0] {
            self.bytes.extend_from_slice(&word.to_ne_bytes());
        }
        for area in region.areas {
            for long in [area.start, area.end.saturating_sub(area.start)] {
                self.bytes.extend_from_slice(&long.to_ne_bytes());
            }
        }
    }

    /// The echo of a `DMA_UNMAP`.
    pub fn unmapped(&mut self, to: &Header, unmap: &super::protocol::DmaUnmap) {
        self.header(to, 24, REPLY, 0);
        self.bytes.extend_from_slice(&unmap.argsz.to_ne_bytes());
        self.bytes.extend_from_slice(&unmap.flags.to_ne_bytes());
        self.bytes.extend_from_slice(&unmap.address.to_ne_bytes());
        self.bytes.extend_from_slice(&unmap.size.to_ne_bytes());
    }

    /// The reply to a region access of `count` bytes; `data` of them follow, zeroed, to be filled.
    pub fn access(
        &mut self,
        to: &Header,
        region: u32,
        offset: u64,
        count: usize,
        data: usize,
    ) -> &mut [u8] {
        self.header(to, 16 + data, REPLY, 0);
        self.bytes.extend_from_slice(&offset.to_ne_bytes());
        self.bytes.extend_from_slice(&region.to_ne_bytes());
        self.bytes.extend_from_slice(&length(count).to_ne_bytes());
        let start = self.bytes.len();
        self.bytes.resize(start + data, 0);
        self.bytes.get_mut(start..).unwrap_or_default()
    }

    fn header(&mut self, to: &Header, body: usize, flags: u32, errno: u32) {
        let size = super::protocol::HEADER + body;
        self.bytes.extend_from_slice(&to.id.to_ne_bytes());
        self.bytes.extend_from_slice(&to.command.to_ne_bytes());
        self.bytes.extend_from_slice(&length(size).to_ne_bytes());
        self.bytes.extend_from_slice(&flags.to_ne_bytes());
        self.bytes.extend_from_slice(&errno.to_ne_bytes());
    }
}

/// A length as the protocol has it. None here is near the end of 32 bits, since no message is longer than
/// [`super::protocol::MAX_MESSAGE`].
fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
