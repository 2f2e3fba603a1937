//! Frame buffers without allocation: a pool of reference-counted buffers that are used again as
//! soon as nobody holds them. A group frame that reaches sixteen VMs is stored once.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Bytes that one buffer holds: an MPDU of 802.11a/b/g/n fits (IEEE 802.11-2020 table 9-25), and so
/// does what a 4 KiB receive buffer of the 5000 series can take.
pub const CAPACITY: usize = 3_968;

#[derive(Clone)]
struct Storage {
    length: usize,
    bytes: [u8; CAPACITY],
}

/// A frame. Cheap to clone; clones share the bytes.
#[derive(Clone)]
pub struct Buffer(Arc<Storage>);

impl Buffer {
    /// A new buffer, outside any pool, with as much of `bytes` as fits; `None` when it does not.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        let mut buffer = Self::empty();
        buffer.set(bytes).then_some(buffer)
    }

    fn empty() -> Self {
        Self(Arc::new(Storage {
            length: 0,
            bytes: [0; CAPACITY],
        }))
    }

    /// Replaces the content; `false`, and no change, when `bytes` does not fit.
    pub fn set(&mut self, bytes: &[u8]) -> bool {
        let storage = Arc::make_mut(&mut self.0);
        let Some(target) = storage.bytes.get_mut(..bytes.len()) else {
            return false;
        };
        target.copy_from_slice(bytes);
        storage.length = bytes.len();
        true
    }

    /// Sets the length (at most [`CAPACITY`]) and gives the bytes to write. Copies the storage
    /// first when someone else still shares it.
    pub fn resize(&mut self, length: usize) -> &mut [u8] {
        let storage = Arc::make_mut(&mut self.0);
        storage.length = length.min(CAPACITY);
        storage.bytes.get_mut(..storage.length).unwrap_or_default()
    }

    /// The bytes, to write. Copies the storage first when someone else still shares it.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let length = self.0.length;
        self.resize(length)
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.bytes.get(..self.0.length).unwrap_or_default()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len())
    }
}

/// Buffers that come back by themselves: one is free as soon as the pool alone holds it.
pub struct BufferPool {
    buffers: Vec<Buffer>,
    next: usize,
    misses: u64,
}

/// How many buffers are looked at before a new one is made: more than two A-MPDUs hold in a row.
const TRIES: usize = 160;

impl BufferPool {
    /// A pool of `count` buffers, all made now.
    pub fn new(count: usize) -> Self {
        Self {
            buffers: (0..count).map(|_| Buffer::empty()).collect(),
            next: 0,
            misses: 0,
        }
    }

    /// A buffer of `length` bytes (at most [`CAPACITY`]) that `write` has filled; on an error of
    /// `write` the buffer stays in the pool. The bytes are stale when `write` sees them. Makes a
    /// new buffer, and counts it, when the next few are all still in use.
    pub fn fill<E>(
        &mut self,
        length: usize,
        write: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Buffer, E> {
        for _ in 0..TRIES.min(self.buffers.len()) {
            let at = self.next;
            self.next = (at + 1) % self.buffers.len();
            if let Some(slot) = self.buffers.get_mut(at)
                && Arc::get_mut(&mut slot.0).is_some()
            {
                write(slot.resize(length))?;
                return Ok(slot.clone());
            }
        }
        self.misses += 1;
        let mut buffer = Buffer::empty();
        write(buffer.resize(length))?;
        Ok(buffer)
    }

    /// How many buffers had to be made because the pool was in use.
    pub fn misses(&self) -> u64 {
        self.misses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(pool: &mut BufferPool) -> Buffer {
        pool.fill(10, |_| Ok::<(), ()>(())).unwrap()
    }

    #[test]
    fn a_buffer_comes_back_when_nobody_holds_it() {
        let mut pool = BufferPool::new(1);
        let first = take(&mut pool);
        let second = take(&mut pool);
        assert_eq!(pool.misses(), 1);
        drop((first, second));
        take(&mut pool);
        assert_eq!(pool.misses(), 1);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(Buffer::from_slice(&[0; CAPACITY]).is_some());
        assert!(Buffer::from_slice(&[0; CAPACITY + 1]).is_none());
    }

    #[test]
    fn writing_to_a_shared_buffer_leaves_the_other_alone() {
        let first = Buffer::from_slice(b"abc").unwrap();
        let mut second = first.clone();
        second.bytes_mut()[0] = b'x';
        assert_eq!((&first[..], &second[..]), (&b"abc"[..], &b"xbc"[..]));
    }
}
