//! The end of a trace that a thread writes: fixed-size records into a bounded ring. What finds the ring full is lost
//! and counted; the thread never waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use airlane_lane::LaneId;
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
    /// Number of the lane whose frame it is, or [`NO_LANE`].
    lane: u16,
    /// Which moment.
    pub point: Point,
}

/// In place of a lane's number: engines give out fewer lanes.
const NO_LANE: u16 = u16::MAX;

impl Record {
    /// A frame of this lane has come to `point`. `lane` is none for what the radio's thread does for no lane in particular.
    pub fn new(at: u64, point: Point, lane: Option<LaneId>, frame: FrameId) -> Self {
        let number = lane.and_then(|lane| u16::try_from(lane.index()).ok());
        Self {
            at,
            frame,
            lane: number.unwrap_or(NO_LANE),
            point,
        }
    }

    /// Whose frame it is; none for what the radio's thread does for no lane in particular.
    pub fn lane(&self) -> Option<LaneId> {
        (self.lane != NO_LANE).then_some(LaneId::new(self.lane))
    }
}

/// Writes the records of one thread.
pub struct Recorder {
    clock: quanta::Clock,
    ring: rtrb::Producer<Record>,
    lost: Arc<AtomicU64>,
    /// The one lane that a lane's thread serves.
    lane: Option<LaneId>,
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
    pub fn new(clock: quanta::Clock, lane: Option<LaneId>) -> (Self, Track) {
        let (producer, consumer) = rtrb::RingBuffer::new(RING);
        let lost = Arc::new(AtomicU64::new(0));
        let recorder = Self {
            clock,
            ring: producer,
            lost: Arc::clone(&lost),
            lane,
        };
        let track = Track {
            ring: consumer,
            lost,
        };
        (recorder, track)
    }
}

impl Sink<Point, LaneId> for Recorder {
    fn stamp(&mut self, point: Point, lane: Option<LaneId>, frame: FrameId) {
        let record = Record::new(self.clock.raw(), point, lane.or(self.lane), frame);
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
        let (mut recorder, mut track) = Recorder::new(quanta::Clock::new(), Some(LaneId::new(1)));
        for _ in 0..RING + 3 {
            recorder.stamp(Point::Read, None, FrameId::NONE);
        }
        assert_eq!(track.ring.slots(), RING);
        assert_eq!(track.lost.load(Ordering::Relaxed), 3);
        assert_eq!(track.ring.pop().unwrap().lane(), Some(LaneId::new(1)));
    }

    #[test]
    fn a_record_is_small() {
        assert_eq!(size_of::<Record>(), 16, "four to a cache line");
    }
}
