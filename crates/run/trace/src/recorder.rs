//! The end of a trace that a thread writes: fixed-size records into a bounded ring. What finds the ring full is lost
//! and counted; the thread never waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use airlane_waist::VmId;
use airlane_waist::stamp::{FrameId, Point, Sink};

/// Records that one thread's ring holds: more than a thread makes in [`super::thread::EVERY`].
pub const RING: usize = 65_536;

/// One moment of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, in ticks of the time-stamp counter.
    pub at: u64,
    /// Which frame.
    pub frame: FrameId,
    /// Whose; none for what the radio's thread does for nobody in particular.
    pub vm: Option<VmId>,
    /// Which moment.
    pub point: Point,
}

/// Writes the records of one thread.
pub struct Recorder {
    clock: quanta::Clock,
    ring: rtrb::Producer<Record>,
    lost: Arc<AtomicU64>,
    /// The one VM that a lane's thread serves.
    vm: Option<VmId>,
}

/// The collector's end.
pub struct Track {
    /// What has been recorded.
    pub ring: rtrb::Consumer<Record>,
    /// Records that found the ring full.
    pub lost: Arc<AtomicU64>,
}

impl Recorder {
    /// Both ends for a lane's thread, or for the radio's.
    pub fn new(clock: quanta::Clock, vm: Option<VmId>) -> (Self, Track) {
        let (producer, consumer) = rtrb::RingBuffer::new(RING);
        let lost = Arc::new(AtomicU64::new(0));
        let recorder = Self {
            clock,
            ring: producer,
            lost: Arc::clone(&lost),
            vm,
        };
        let track = Track {
            ring: consumer,
            lost,
        };
        (recorder, track)
    }
}

impl Sink<Point, VmId> for Recorder {
    fn stamp(&mut self, point: Point, vm: Option<VmId>, frame: FrameId) {
        let record = Record {
            at: self.clock.raw(),
            frame,
            vm: vm.or(self.vm),
            point,
        };
        if self.ring.push(record).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_loses_records_and_counts_them() {
        let (mut recorder, mut track) = Recorder::new(quanta::Clock::new(), VmId::new(1).ok());
        for _ in 0..RING + 3 {
            recorder.stamp(Point::Read, None, FrameId::NONE);
        }
        assert_eq!(track.ring.slots(), RING);
        assert_eq!(track.lost.load(Ordering::Relaxed), 3);
        assert_eq!(track.ring.pop().unwrap().vm, VmId::new(1).ok());
    }

    #[test]
    fn a_record_is_small() {
        assert_eq!(size_of::<Record>(), 16, "four to a cache line");
    }
}
