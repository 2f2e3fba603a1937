//! What the driver lays down for the card: layouts of little-endian fields at any address, read without a way to panic.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Unaligned};

/// The layout at the beginning of `bytes`; `None` when they are too short for it. A type that may stand at any address
/// has no padding.
pub fn read<T: FromBytes + Unaligned>(bytes: &[u8]) -> Option<T> {
    T::read_from_prefix(bytes).ok().map(|(layout, _)| layout)
}

/// `struct iwl_cmd_header`.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
pub struct CommandHeader {
    pub id: u8,
    group: u8,
    /// Index in bits 7:0, queue in 12:8.
    pub sequence: U16,
}

/// `struct iwl_tx_cmd`, before a frame or a probe request's template.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
pub struct TxCommand {
    /// Bytes of the frame, without its padding.
    pub length: U16,
    next_length: U16,
    pub flags: U32,
    scratch: U32,
    pub rate: U32,
    pub station: u8,
    /// Cipher in bits 2:0.
    pub security: u8,
    initial_rate_index: u8,
    reserved_1: u8,
    pub key: [u8; 16],
    next_flags: U16,
    reserved_2: U16,
    lifetime: U32,
    scratch_address: [u8; 5],
    rts_retry_limit: u8,
    pub data_retry_limit: u8,
    pub tid: u8,
    timeout: U16,
    txop: U16,
}

/// The 16-bit field at `at`.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array_at(bytes, at).map(u16::from_le_bytes)
}

/// The 32-bit field at `at`.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(u32::from_le_bytes)
}

/// The `N` bytes at `at`.
pub fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Writes `field` at `at` where it fits; out of range it writes nothing.
pub fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    let range = at..at.saturating_add(field.len());
    if let Some(target) = bytes.get_mut(range) {
        target.copy_from_slice(field);
    }
}
