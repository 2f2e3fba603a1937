//! A frame in place: a short scatter list over guest memory that keeps the pages alive, so that it
//! can travel to the radio without a copy. The NIC reads it once, as a card's DMA engine would.

use std::sync::Arc;

use arrayvec::ArrayVec;
use vm_memory::{Bytes, GuestAddress};

use crate::memory::{Fault, Memory, View};

/// Pieces of one frame: a descriptor carries 20 buffers, a split around padding adds one.
pub const MAX_SEGMENTS: usize = 21;

/// A frame that cannot be described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A piece lies outside the VM's memory.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// More pieces than a descriptor can name.
    #[error("a frame has more than {MAX_SEGMENTS} pieces")]
    Segments,
}

/// A frame of a guest, where the guest wrote it.
#[derive(Clone)]
pub struct Frame {
    view: Arc<View>,
    segments: ArrayVec<(u64, u32), MAX_SEGMENTS>,
    length: usize,
}

impl Frame {
    /// The pieces `(address, length)` of `memory`, each checked to be mapped. Empty pieces are left out.
    pub fn new(
        memory: &mut Memory,
        pieces: impl IntoIterator<Item = (u64, usize)>,
    ) -> Result<Self, FrameError> {
        let mut frame = Self {
            view: Arc::clone(memory.view()),
            segments: ArrayVec::new(),
            length: 0,
        };
        for (address, length) in pieces.into_iter().filter(|&(_, length)| length > 0) {
            let short = u32::try_from(length).map_err(|_| memory.fault(address, length))?;
            if !memory.contains(address, length) {
                return Err(memory.fault(address, length).into());
            }
            frame
                .segments
                .try_push((address, short))
                .map_err(|_| FrameError::Segments)?;
            frame.length += length;
        }
        Ok(frame)
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// True for a frame of no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Reads the frame's first bytes into `out`, as many as both have; says how many.
    pub fn read(&self, out: &mut [u8]) -> Result<usize, Fault> {
        let mut done = 0;
        for &(address, length) in &self.segments {
            let Some(rest) = out.get_mut(done..).filter(|rest| !rest.is_empty()) else {
                break;
            };
            let take = rest.len().min(length as usize);
            let fault = Fault {
                address,
                length: take,
            };
            let target = rest.get_mut(..take).ok_or(fault)?;
            self.view
                .read_slice(target, GuestAddress(address))
                .map_err(|_| fault)?;
            done += take;
        }
        Ok(done)
    }
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Frame({} bytes in {:x?})", self.length, self.segments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_read_in_order_and_the_frame_outlives_the_map() {
        let mut memory = Memory::anonymous(0x1000).unwrap();
        memory.write(0x10, b"head").unwrap();
        memory.write(0x80, b"..tail").unwrap();
        let frame = Frame::new(&mut memory, [(0x10, 4), (0x20, 0), (0x82, 4)]).unwrap();
        memory.unmap_all();
        let mut out = [0; 16];
        assert_eq!(frame.read(&mut out), Ok(8));
        assert_eq!(&out[..8], b"headtail");
        let mut short = [0; 6];
        assert_eq!(frame.read(&mut short), Ok(6));
        assert_eq!(&short, b"headta");
    }

    #[test]
    fn a_piece_outside_the_memory_is_refused() {
        let mut memory = Memory::anonymous(0x1000).unwrap();
        assert!(matches!(
            Frame::new(&mut memory, [(0, 16), (0xff8, 16)]),
            Err(FrameError::Fault(_))
        ));
        assert_eq!(memory.faults(), 1);
    }
}
