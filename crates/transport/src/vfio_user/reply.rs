//! Replies, gathered into one buffer that is written once per batch and used again.
//!
//! QEMU's client gives each request a receive buffer of the request's own length unless it says
//! more, so no reply here is longer than its request, except the data of a region read.

use super::protocol::Header;

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
}

impl Replies {
    /// The bytes to write.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(self.sent..).unwrap_or_default()
    }

    /// So many of [`Replies::bytes`] have been written. The room is kept.
    pub fn sent(&mut self, count: usize) {
        self.sent += count;
        if self.is_empty() {
            self.bytes.clear();
            self.sent = 0;
        }
    }

    /// How many bytes wait.
    pub fn len(&self) -> usize {
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

    /// `vfio_region_info` of `argsz` 32, without capabilities.
    pub fn region_info(&mut self, to: &Header, flags: u32, index: u32, size: u64) {
        self.header(to, 32, REPLY, 0);
        for word in [32, flags, index, 0] {
            self.bytes.extend_from_slice(&word.to_ne_bytes());
        }
        self.bytes.extend_from_slice(&size.to_ne_bytes());
        self.bytes.extend_from_slice(&0u64.to_ne_bytes());
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
        self.bytes.extend_from_slice(&(count as u32).to_ne_bytes());
        let start = self.bytes.len();
        self.bytes.resize(start + data, 0);
        self.bytes.get_mut(start..).unwrap_or_default()
    }

    fn header(&mut self, to: &Header, body: usize, flags: u32, errno: u32) {
        let size = super::protocol::HEADER + body;
        self.bytes.extend_from_slice(&to.id.to_ne_bytes());
        self.bytes.extend_from_slice(&to.command.to_ne_bytes());
        self.bytes.extend_from_slice(&(size as u32).to_ne_bytes());
        self.bytes.extend_from_slice(&flags.to_ne_bytes());
        self.bytes.extend_from_slice(&errno.to_ne_bytes());
    }
}
