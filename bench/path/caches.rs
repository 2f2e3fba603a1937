//! Caches that hold something else.

use std::hint::black_box;

/// Bytes: more than the second-level caches of any processor, and a good part of the last level.
const SIZE: usize = 32 << 20;
/// Of a cache line, in words of eight bytes.
const LINE: usize = 8;

/// Memory that is as large as caches are.
pub struct Caches(Vec<u64>);

impl Caches {
    /// Memory that is really there.
    pub fn new() -> Self {
        Self(vec![1; SIZE / size_of::<u64>()])
    }

    /// Fills the caches with it.
    pub fn chill(&mut self) {
        for line in self.0.chunks_exact_mut(LINE) {
            line[0] = line[0].wrapping_add(1);
        }
        black_box(&mut self.0);
    }
}
