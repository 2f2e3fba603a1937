//! Takes what all threads have recorded, and gives it in the order of time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use airlane_lane::LaneId;
use airlane_waist::stamp::Stamps;

use super::recorder::{Record, Recorder, Track};

/// The writing ends of a trace, one for each thread.
pub struct Recorders {
    /// Of the lanes, by their numbers.
    pub lanes: Vec<Stamps>,
    /// Of the cards' radios, by the cards' numbers. One thread writes them all.
    pub radios: Vec<Stamps>,
}

/// What ticks are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Ticks of the time-stamp counter in a microsecond.
    pub ticks_per_us: f64,
}

impl Scale {
    /// So many ticks, in microseconds.
    pub fn micros(self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_us
    }
}

/// The reading end of a trace.
pub struct Collector {
    on: Arc<AtomicBool>,
    clock: quanta::Clock,
    tracks: Vec<Track>,
    /// Taken out of the rings, not given yet: one may still lie in a ring that is older.
    held: Vec<Record>,
    /// When the rings were last emptied, in ticks.
    emptied: u64,
    /// Records lost when the trace was switched on.
    lost_before: u64,
}

impl Collector {
    /// A trace of so many lanes and so many cards' radios, switched off.
    pub fn new(lanes: usize, cards: usize) -> (Self, Recorders) {
        let on = Arc::new(AtomicBool::new(false));
        let clock = quanta::Clock::new();
        let mut tracks = Vec::new();
        let mut stamps = |lane| {
            let (recorder, track) = Recorder::new(clock.clone(), lane);
            tracks.push(track);
            Stamps::new(Arc::clone(&on), Box::new(recorder))
        };
        let numbers = (0..u16::MAX).map(LaneId::new);
        let recorders = Recorders {
            lanes: numbers.take(lanes).map(|lane| stamps(Some(lane))).collect(),
            radios: (0..cards).map(|_| stamps(None)).collect(),
        };
        let collector = Self {
            on,
            clock,
            tracks,
            held: Vec::new(),
            emptied: 0,
            lost_before: 0,
        };
        (collector, recorders)
    }

    /// Records from now on.
    pub fn switch_on(&mut self) {
        self.held.clear();
        for track in &mut self.tracks {
            while track.ring.pop().is_ok() {}
        }
        self.emptied = self.clock.raw();
        self.lost_before = self.lost_ever();
        self.on.store(true, Ordering::Relaxed);
    }

    /// Records no more; what has been recorded can still be collected.
    pub fn switch_off(&mut self) {
        self.on.store(false, Ordering::Relaxed);
    }

    /// What ticks are.
    pub fn scale(&self) -> Scale {
        // As many ticks as any processor makes in a third of a second or more.
        const MANY: u64 = 1_000_000_000;
        let nanoseconds = self.clock.delta_as_nanos(0, MANY).max(1);
        Scale {
            ticks_per_us: MANY as f64 * 1_000.0 / nanoseconds as f64,
        }
    }

    /// The counter that stamps are read from.
    pub fn clock(&self) -> &quanta::Clock {
        &self.clock
    }

    /// Appends to `out`, in order, what was recorded before the last call. What a thread has stamped but not yet
    /// put into its ring comes with the next one.
    pub fn collect(&mut self, out: &mut Vec<Record>) {
        let until = std::mem::replace(&mut self.emptied, self.clock.raw());
        self.take();
        let later = self.held.partition_point(|record| record.at < until);
        out.extend(self.held.drain(..later));
    }

    /// Appends to `out`, in order, all there is.
    pub fn collect_all(&mut self, out: &mut Vec<Record>) {
        self.take();
        out.append(&mut self.held);
    }

    /// Records that found their ring full since the trace was switched on.
    pub fn lost(&self) -> u64 {
        self.lost_ever().saturating_sub(self.lost_before)
    }

    fn lost_ever(&self) -> u64 {
        let tracks = self.tracks.iter();
        tracks.map(|track| track.lost.load(Ordering::Relaxed)).sum()
    }

    fn take(&mut self) {
        for track in &mut self.tracks {
            // No more than there were: a thread that writes as fast as we read holds up nobody.
            for _ in 0..track.ring.slots() {
                self.held.extend(track.ring.pop());
            }
        }
        // Stable: what one thread has stamped within one tick stays in its order.
        self.held.sort_by_key(|record| record.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_waist::stamp::{FrameId, Point};

    #[test]
    fn what_several_threads_record_comes_in_order_of_time() {
        let (mut collector, mut recorders) = Collector::new(2, 1);
        let frame = FrameId::sent(1);
        let [one, two] = &mut recorders.lanes[..] else {
            panic!("two lanes");
        };
        one.own(Point::Fetch, frame);
        collector.switch_on();
        two.own(Point::Fetch, frame);
        recorders.radios[0].mark(Point::Pick);
        one.own(Point::Queued, frame);
        let mut records = Vec::new();
        collector.collect(&mut records);
        assert_eq!(records, [], "held back: an older one may still come");
        collector.collect(&mut records);
        let points: Vec<Point> = records.iter().map(|record| record.point).collect();
        assert_eq!(points, [Point::Fetch, Point::Pick, Point::Queued]);
        assert_eq!(records[2].lane(), Some(LaneId::new(0)));
    }

    #[test]
    fn a_tick_is_shorter_than_a_microsecond() {
        assert!(Collector::new(0, 0).0.scale().ticks_per_us > 1.0);
    }
}
