//! A frame in place: a short scatter list over guest memory that keeps the pages alive, so that it
//! can travel to an engine without a copy. The NIC reads it once, as a card's DMA engine would.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::fault::{Attempt, Fault};
use crate::memory::Memory;
use crate::translation::Translation;
use crate::view::{Span, View, Window};

/// Pieces of one frame: a descriptor carries 20 buffers, a split around padding adds one.
pub const MAX_SEGMENTS: usize = 21;

/// Pieces that need no allocation: a header, and a payload that crosses a page or two.
const FEW: usize = 4;

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

/// Where a piece lies, as far as it is known when the frame is made.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// At this offset of the range with this number.
    Place(u16, u64),
    /// At this guest address, to be looked up.
    Guest(u64),
    /// At this merged address, for the device to walk to.
    Merged(u64),
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    target: Target,
    length: u32,
}

/// A frame of a guest, where the guest wrote it.
#[derive(Clone)]
pub struct Frame {
    view: Arc<View>,
    segments: SmallVec<[Segment; FEW]>,
    length: u32,
}

impl Frame {
    /// The pieces `(address, length)` of `memory`, each checked to be the VM's; under merged addresses, to lie in its
    /// chunk, and the rest is checked by [`Self::read`]. Empty pieces are left out.
    pub fn new(
        memory: &mut Memory,
        pieces: impl IntoIterator<Item = (u64, usize)>,
    ) -> Result<Self, FrameError> {
        Self::new_via(memory, &mut Window::new("frame"), pieces)
    }

    /// The same for a user that comes again.
    pub fn new_via(
        memory: &mut Memory,
        window: &mut Window,
        pieces: impl IntoIterator<Item = (u64, usize)>,
    ) -> Result<Self, FrameError> {
        let mut frame = Self {
            view: Arc::clone(memory.view()),
            segments: SmallVec::new(),
            length: 0,
        };
        for (address, length) in pieces.into_iter().filter(|&(_, length)| length > 0) {
            let segment = Segment::new(memory, window, address, length);
            let fault = || memory.fault(Attempt::Read, window, address, length);
            let segment = segment.ok_or_else(fault)?;
            let total = frame.length.checked_add(segment.length);
            frame.length =
                total.ok_or_else(|| memory.fault(Attempt::Read, window, address, length))?;
            if frame.segments.len() == MAX_SEGMENTS {
                return Err(FrameError::Segments);
            }
            frame.segments.push(segment);
        }
        Ok(frame)
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.length as usize
    }

    /// True for a frame of no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Reads the frame's first bytes into `out`, as many as both have; says how many. A page that the VM does not own
    /// is a fault of that VM.
    pub fn read(&self, out: &mut [u8]) -> Result<usize, Fault> {
        let mut done = 0;
        for segment in &self.segments {
            let Some(rest) = out.get_mut(done..).filter(|rest| !rest.is_empty()) else {
                break;
            };
            let take = rest.len().min(segment.length as usize);
            let rest = rest.get_mut(..take).unwrap_or_default();
            segment.read(&self.view, rest)?;
            done += take;
        }
        Ok(done)
    }
}

impl Segment {
    /// `None` for what is not the VM's.
    fn new(memory: &Memory, window: &mut Window, address: u64, length: usize) -> Option<Self> {
        let view = memory.view();
        let looked_up = |window: &mut Window| {
            let mapped = memory.contains_via(window, address, length);
            mapped.then_some(Target::Guest(address))
        };
        let target = match view.translation() {
            Translation::Flat => match view.place(window, address, length) {
                Some((slot, offset)) => Some(Target::Place(slot, offset)),
                None => looked_up(window),
            },
            Translation::Software => looked_up(window),
            Translation::Merged => view.merge(address).map(Target::Merged),
        };
        let length = u32::try_from(length).ok()?;
        target.map(|target| Self { target, length })
    }

    fn read(&self, view: &View, out: &mut [u8]) -> Result<(), Fault> {
        let length = out.len();
        let done = match self.target {
            Target::Place(slot, offset) => view.at(slot, offset, length).map(|bytes| {
                bytes.copy_to(out);
            }),
            Target::Guest(address) => gather(out, address, |at, left| view.look_up(at, left)),
            Target::Merged(address) => gather(out, address, |at, left| view.walk(at, left)),
        };
        done.ok_or_else(|| {
            let address = match self.target {
                Target::Place(_, address) | Target::Guest(address) => address,
                Target::Merged(address) => view.guest_address(address),
            };
            view.faults.note(Attempt::Read, "frame", address, length)
        })
    }
}

/// Fills `out` from `address` on, piece by piece as `find` has them.
fn gather<'a>(
    mut out: &mut [u8],
    mut address: u64,
    find: impl Fn(u64, usize) -> Option<Span<'a>>,
) -> Option<()> {
    while !out.is_empty() {
        let span = find(address, out.len())?;
        let (now, later) = out.split_at_mut_checked(span.length)?;
        span.bytes()?.copy_to(now);
        address = address.checked_add(span.length as u64)?;
        out = later;
    }
    Some(())
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
