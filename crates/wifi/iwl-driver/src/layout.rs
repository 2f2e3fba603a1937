//! Where the fake driver keeps its rings and buffers, and how they look.

pub const QUEUES: usize = 20;
pub const COMMAND_QUEUE: u8 = 4;
pub const RECEIVE_BUFFERS: u64 = 256;
pub const BUFFER_SIZE: u64 = 0x1000;

const RINGS: u64 = 0x0010_0000;
pub const DESCRIPTORS: u64 = 0x001b_0000;
pub const STATUS: u64 = 0x001b_1000;
pub const ICT: u64 = 0x001b_2000;
pub const KEEP_WARM: u64 = 0x001b_3000;
pub const BYTE_COUNTS: u64 = 0x001b_4000;
pub const SECTION: u64 = 0x001c_0000;
const RECEIVE: u64 = 0x0020_0000;
const COMMANDS: u64 = 0x0030_0000;
const FRAMES: u64 = 0x0040_0000;
/// Bytes of guest memory that the driver uses.
pub const MEMORY: u64 = FRAMES + QUEUES as u64 * 256 * BUFFER_SIZE;

/// The TFD ring of a queue.
pub fn ring(queue: u8) -> u64 {
    RINGS + u64::from(queue) * 0x8000
}

/// Receive buffer `index`.
pub fn receive_buffer(index: u64) -> u64 {
    RECEIVE + index * BUFFER_SIZE
}

/// Where the command, or frame, of a ring entry lies.
pub fn entry_buffer(queue: u8, index: u8) -> u64 {
    let index = u64::from(index);
    if queue == COMMAND_QUEUE {
        COMMANDS + index * BUFFER_SIZE
    } else {
        FRAMES + (u64::from(queue) * 256 + index) * BUFFER_SIZE
    }
}

/// A descriptor that names these buffers: address, length.
pub fn descriptor(buffers: &[(u64, usize)]) -> [u8; 128] {
    let mut bytes = [0; 128];
    bytes[3] = buffers.len() as u8;
    for (index, &(address, length)) in buffers.iter().enumerate() {
        let at = 4 + 6 * index;
        bytes[at..at + 4].copy_from_slice(&(address as u32).to_le_bytes());
        let high = ((address >> 32) & 0xf) as u16 | (length as u16) << 4;
        bytes[at + 4..at + 6].copy_from_slice(&high.to_le_bytes());
    }
    bytes
}

pub fn u16_of(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub fn u32_of(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_of(bytes, at)) | u32::from(u16_of(bytes, at + 2)) << 16
}
