//! Stamps: the moments that a frame passes on its way, told to whoever traces. Which moments there are, and how a
//! frame's owner is named, is for each network to say: `P` and `O` are its types.
//!
//! The pure parts name the moment and the frame; the clock is the sink's, which belongs to the shell. With tracing
//! off, a stamp costs one load and one branch. Each thread has [`Stamps`] of its own: nothing is shared but the switch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A frame under way, among those of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameId(u32);

impl FrameId {
    /// No frame in particular.
    pub const NONE: Self = Self(u32::MAX);
    /// Set in the numbers of received frames.
    const RECEIVED: u32 = 1 << 31;

    /// A frame that its owner sends, by the tag that its report will bear.
    pub const fn sent(tag: u16) -> Self {
        Self(tag as u32)
    }

    /// A received frame, by where its bytes lie: no other lies there until it is delivered.
    pub fn received(bytes: &[u8]) -> Self {
        // The address without its lowest four bits, cut off above: frames are told apart, not found by it.
        #[expect(clippy::cast_possible_truncation)]
        let place = (bytes.as_ptr().addr() >> 4) as u32;
        Self(Self::RECEIVED | place & !(Self::RECEIVED | 1))
    }

    /// The frame of this number.
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// True for a frame that its owner receives.
    pub fn is_received(self) -> bool {
        self.0 & Self::RECEIVED != 0 && self != Self::NONE
    }

    /// As a number.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// Where stamps go. Called on the data path: it must neither wait nor allocate.
pub trait Sink<P, O>: Send {
    /// The frame has come to `point` now. `owner` is `None` where the sink knows whose it is, or nobody does yet.
    fn stamp(&mut self, point: P, owner: Option<O>, frame: FrameId);
}

/// One thread's stamps, of moments `P` of the frames of owners `O`. By default they go nowhere.
pub struct Stamps<P, O>(Option<Tracer<P, O>>);

struct Tracer<P, O> {
    on: Arc<AtomicBool>,
    sink: Box<dyn Sink<P, O>>,
}

impl<P, O> Default for Stamps<P, O> {
    fn default() -> Self {
        Self(None)
    }
}

impl<P, O> Stamps<P, O> {
    /// Stamps for `sink`, which gets them while `on` is true.
    pub fn new(on: Arc<AtomicBool>, sink: Box<dyn Sink<P, O>>) -> Self {
        Self(Some(Tracer { on, sink }))
    }

    /// True while somebody traces: worth finding out which frame it is.
    #[inline]
    pub fn on(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|tracer| tracer.on.load(Ordering::Relaxed))
    }

    /// The thread has come to `point`.
    #[inline]
    pub fn mark(&mut self, point: P) {
        self.stamp(point, None, FrameId::NONE);
    }

    /// A frame of the owner whom the sink knows has come to `point`.
    #[inline]
    pub fn own(&mut self, point: P, frame: FrameId) {
        self.stamp(point, None, frame);
    }

    /// A frame of this owner has come to `point`.
    #[inline]
    pub fn of(&mut self, point: P, owner: O, frame: FrameId) {
        self.stamp(point, Some(owner), frame);
    }

    #[inline]
    fn stamp(&mut self, point: P, owner: Option<O>, frame: FrameId) {
        if let Some(Tracer { on, sink }) = &mut self.0
            && on.load(Ordering::Relaxed)
        {
            sink.stamp(point, owner, frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Debug, PartialEq)]
    enum Point {
        Asked,
        Served,
    }

    type Seen = Arc<Mutex<Vec<(Point, Option<u8>, FrameId)>>>;

    struct List(Seen);

    impl Sink<Point, u8> for List {
        fn stamp(&mut self, point: Point, owner: Option<u8>, frame: FrameId) {
            self.0.lock().unwrap().push((point, owner, frame));
        }
    }

    #[test]
    fn nothing_is_stamped_while_it_is_off_or_goes_nowhere() {
        let (on, seen) = (Arc::new(AtomicBool::new(false)), Seen::default());
        let mut stamps = Stamps::new(Arc::clone(&on), Box::new(List(Arc::clone(&seen))));
        stamps.mark(Point::Asked);
        on.store(true, Ordering::Relaxed);
        let id = FrameId::sent(7);
        stamps.own(Point::Asked, id);
        stamps.of(Point::Served, 3, id);
        let expected = [(Point::Asked, None, id), (Point::Served, Some(3), id)];
        assert_eq!(*seen.lock().unwrap(), expected);
        let mut nowhere = Stamps::<Point, u8>::default();
        nowhere.mark(Point::Asked);
        assert!(!nowhere.on());
    }

    #[test]
    fn sent_and_received_frames_are_told_apart() {
        assert!(!FrameId::sent(u16::MAX).is_received() && !FrameId::NONE.is_received());
        let frames = [[0_u8; 64], [0; 64]];
        let [one, other] = frames.each_ref().map(|frame| FrameId::received(frame));
        assert!(one.is_received() && one != other && one == FrameId::received(&frames[0]));
    }
}
