//! Little-endian fields in byte slices, without a way to panic.

/// The byte at `at`.
pub fn u8_at(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
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
