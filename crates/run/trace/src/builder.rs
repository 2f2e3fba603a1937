//! Builds the traces of frames from single records. Bounded: frames that never reach their last point are
//! forgotten, and counted.

use std::collections::BTreeMap;

use airlane_lane::LaneId;
use airlane_waist::stamp::{FrameId, Point};

use super::frame_trace::FrameTrace;
use super::recorder::Record;

/// Frames under way at a time that are kept apart, of all VMs: more than sixteen cards' queues hold.
const UNDER_WAY: usize = 32_768;

/// What one lane's thread is at.
#[derive(Default)]
struct LaneThread {
    read: Option<u64>,
    fetching: Option<FrameId>,
    /// Since when it has done nothing but take frames from the radio.
    taking: Option<u64>,
    doorbells: BTreeMap<FrameId, (Option<u64>, u64)>,
    /// Ready for the driver, not written yet.
    answered: Vec<FrameId>,
    /// Written, not interrupted for yet.
    written: Vec<FrameId>,
}

/// What the radio's thread is at.
#[derive(Default)]
struct Radio {
    pick: Option<u64>,
    dispatching: Option<(LaneId, FrameId)>,
    heard: Option<u64>,
    decrypt: Option<u64>,
    decrypted: Option<u64>,
}

/// Frames that have begun and not ended, and what each thread is doing.
#[derive(Default)]
pub struct TraceBuilder {
    lanes: BTreeMap<LaneId, LaneThread>,
    radio: Radio,
    traces: BTreeMap<(LaneId, FrameId), FrameTrace>,
    done: Vec<FrameTrace>,
    unfinished: u64,
}

impl TraceBuilder {
    /// Takes the next record, in order of time. Ways that it ends are told by [`Self::done`].
    pub fn take(&mut self, record: &Record) {
        match record.lane() {
            None => self.radio_mark(record),
            Some(lane) if record.frame == FrameId::NONE => self.lane_mark(lane, record),
            Some(lane) => self.frame(lane, record),
        }
    }

    /// The ways that have ended since the last call.
    pub fn done(&mut self) -> impl Iterator<Item = FrameTrace> {
        self.done.drain(..)
    }

    /// Frames whose way has an unknown end: refused, flushed, or a record was lost.
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// What the radio's thread does for the frame at hand.
    fn radio_mark(&mut self, record: &Record) {
        let at = Some(record.at);
        match record.point {
            Point::Pick => self.radio.pick = at,
            Point::Heard => {
                self.radio = Radio {
                    heard: at,
                    ..Radio::default()
                }
            }
            Point::Decrypt => (self.radio.decrypt, self.radio.decrypted) = (at, None),
            Point::Decrypted => self.radio.decrypted = at,
            point => {
                if let Some(frame) = self.radio.dispatching {
                    self.pass(frame, point, record.at);
                }
            }
        }
    }

    /// What a lane's thread does for the frame at hand, or for all frames so far.
    fn lane_mark(&mut self, lane: LaneId, record: &Record) {
        let thread = self.lanes.entry(lane).or_default();
        match record.point {
            Point::Read => (thread.read, thread.taking) = (Some(record.at), None),
            Point::Written => self.written(lane, record.at),
            Point::Interrupt => self.interrupted(lane, record.at),
            point => {
                if let Some(frame) = thread.fetching {
                    self.pass((lane, frame), point, record.at);
                }
            }
        }
    }

    fn frame(&mut self, lane: LaneId, record: &Record) {
        let Record { at, frame, .. } = *record;
        let thread = self.lanes.entry(lane).or_default();
        match record.point {
            Point::Doorbell => {
                thread.doorbells.insert(frame, (thread.read, at));
            }
            Point::Fetch => self.fetch(lane, frame, at),
            Point::Dispatched => self.dispatched(lane, frame, at),
            Point::Delivered => self.delivered(lane, frame, at),
            Point::Returned => {
                thread.taking = thread.taking.or(Some(at));
                self.pass((lane, frame), Point::Returned, at);
            }
            Point::Answered => {
                bounded_push(&mut thread.answered, frame);
                self.pass((lane, frame), Point::Answered, at);
            }
            point => self.pass((lane, frame), point, at),
        }
    }

    fn fetch(&mut self, lane: LaneId, frame: FrameId, at: u64) {
        let thread = self.lanes.entry(lane).or_default();
        thread.fetching = Some(frame);
        // Without its doorbell the trace began in the middle of its way.
        let Some((read, doorbell)) = thread.doorbells.remove(&frame) else {
            return;
        };
        let mut trace = FrameTrace::new(lane, frame);
        trace.set(Point::Read, read);
        trace.set(Point::Doorbell, Some(doorbell));
        trace.set(Point::Fetch, Some(at));
        self.begin(trace);
    }

    /// The NIC has picked the frame; for the second time, if it was taken out of the air.
    fn dispatched(&mut self, lane: LaneId, frame: FrameId, at: u64) {
        self.radio.dispatching = Some((lane, frame));
        let pick = self.radio.pick.take();
        if let Some(trace) = self.traces.get_mut(&(lane, frame)) {
            let first_try = [
                Point::Encrypt,
                Point::Encrypted,
                Point::OnAir,
                Point::Landed,
            ];
            for point in first_try {
                trace.set(point, None);
            }
            trace.set(Point::Pick, pick);
            trace.set(Point::Dispatched, Some(at));
        }
    }

    fn delivered(&mut self, lane: LaneId, frame: FrameId, at: u64) {
        let mut trace = FrameTrace::new(lane, frame);
        trace.set(Point::Heard, self.radio.heard);
        trace.set(Point::Decrypt, self.radio.decrypt.take());
        trace.set(Point::Decrypted, self.radio.decrypted.take());
        trace.set(Point::Delivered, Some(at));
        self.begin(trace);
    }

    fn begin(&mut self, trace: FrameTrace) {
        let key = (trace.lane, trace.frame);
        if self.traces.len() >= UNDER_WAY {
            self.unfinished += self.traces.len() as u64;
            self.traces.clear();
        }
        self.unfinished += u64::from(self.traces.insert(key, trace).is_some());
    }

    fn pass(&mut self, frame: (LaneId, FrameId), point: Point, at: u64) {
        if let Some(trace) = self.traces.get_mut(&frame) {
            trace.set(point, Some(at));
        }
    }

    /// All that was answered is in the guest's memory.
    fn written(&mut self, lane: LaneId, at: u64) {
        let thread = self.lanes.entry(lane).or_default();
        for frame in thread.answered.drain(..) {
            if let Some(trace) = self.traces.get_mut(&(lane, frame)) {
                let returned = trace.at(Point::Returned);
                trace.at_one_go = thread.taking.is_some() && returned >= thread.taking;
                trace.set(Point::Written, Some(at));
                bounded_push(&mut thread.written, frame);
            }
        }
        thread.taking = None;
    }

    /// The guest is told of all that was written: their ways end.
    fn interrupted(&mut self, lane: LaneId, at: u64) {
        let thread = self.lanes.entry(lane).or_default();
        for frame in thread.written.drain(..) {
            if let Some(mut trace) = self.traces.remove(&(lane, frame)) {
                trace.set(Point::Interrupt, Some(at));
                self.done.push(trace);
            }
        }
    }
}

/// A guest that never takes what it is given costs no more memory than this.
fn bounded_push(list: &mut Vec<FrameId>, frame: FrameId) {
    const MOST: usize = 4_096;
    if list.len() >= MOST {
        list.clear();
    }
    list.push(frame);
}

#[cfg(test)]
mod tests {
    use super::super::frame_trace::Way;
    use super::*;

    /// Not of the first card: one card serves 16 VMs.
    const LANE: LaneId = LaneId::new(18);

    /// Records at ticks 1, 2, 3 …: of the lane, of the radio for the frame, of the radio for nobody.
    fn run(
        builder: &mut TraceBuilder,
        points: &[(Point, Option<LaneId>, FrameId)],
    ) -> Vec<FrameTrace> {
        for (at, &(point, lane, frame)) in (1..).zip(points) {
            let record = Record::new(at, point, lane, frame);
            builder.take(&record);
        }
        builder.done().collect()
    }

    const SENT: FrameId = FrameId::sent(0x0207);

    fn own(point: Point) -> (Point, Option<LaneId>, FrameId) {
        (point, Some(LANE), SENT)
    }

    fn lane(point: Point) -> (Point, Option<LaneId>, FrameId) {
        (point, Some(LANE), FrameId::NONE)
    }

    fn radio(point: Point) -> (Point, Option<LaneId>, FrameId) {
        (point, None, FrameId::NONE)
    }

    fn to_the_air() -> Vec<(Point, Option<LaneId>, FrameId)> {
        vec![
            lane(Point::Read),
            own(Point::Doorbell),
            own(Point::Fetch),
            lane(Point::Translate),
            lane(Point::Translated),
            own(Point::Queued),
            own(Point::Taken),
            own(Point::Classified),
            radio(Point::Pick),
            own(Point::Dispatched),
            radio(Point::Encrypt),
            radio(Point::Encrypted),
            own(Point::OnAir),
            own(Point::Landed),
            own(Point::Reported),
        ]
    }

    fn back() -> [(Point, Option<LaneId>, FrameId); 5] {
        [
            own(Point::Handed),
            own(Point::Returned),
            own(Point::Answered),
            lane(Point::Written),
            lane(Point::Interrupt),
        ]
    }

    #[test]
    fn a_sent_frame_passes_all_points_in_order() {
        let mut points = to_the_air();
        points.extend(back());
        let done = run(&mut TraceBuilder::default(), &points);
        let [trace] = &done[..] else {
            panic!("one frame, not {done:?}");
        };
        assert_eq!((trace.way(), trace.lane), (Way::Transmit, LANE));
        let times: Vec<u64> = trace.points().map(|(_, at)| at).collect();
        assert_eq!(times, (1..=20).collect::<Vec<u64>>());
        assert!(trace.at_one_go);
    }

    #[test]
    fn a_received_frame_passes_all_points_in_order() {
        let bytes = [0; 32];
        let frame = FrameId::received(&bytes);
        let mut points = vec![
            radio(Point::Heard),
            radio(Point::Decrypt),
            radio(Point::Decrypted),
            (Point::Delivered, Some(LANE), frame),
        ];
        points.extend(back().map(|(point, lane, id)| match id {
            FrameId::NONE => (point, lane, id),
            _ => (point, lane, frame),
        }));
        let done = run(&mut TraceBuilder::default(), &points);
        assert_eq!(done.len(), 1);
        assert_eq!(done[0].way(), Way::Receive);
        let times: Vec<u64> = done[0].points().map(|(_, at)| at).collect();
        assert_eq!(times, (1..=9).collect::<Vec<u64>>());
    }

    #[test]
    fn a_second_try_replaces_the_first() {
        let mut points = to_the_air();
        points.truncate(14);
        points.extend([
            radio(Point::Pick),
            own(Point::Dispatched),
            own(Point::OnAir),
        ]);
        points.extend([own(Point::Landed), own(Point::Reported)]);
        points.extend(back());
        let done = run(&mut TraceBuilder::default(), &points);
        let times: Vec<u64> = done[0].points().map(|(_, at)| at).collect();
        assert!(times.is_sorted(), "{times:?}");
        assert_eq!(done[0].at(Point::Encrypt), None);
        assert_eq!(done[0].at(Point::Dispatched), Some(16));
    }

    #[test]
    fn a_trace_that_begins_in_the_middle_of_a_way_leaves_it_out() {
        let mut points = to_the_air();
        points.drain(..2);
        points.extend(back());
        let mut builder = TraceBuilder::default();
        assert_eq!(run(&mut builder, &points), []);
        assert_eq!(builder.unfinished(), 0);
    }

    #[test]
    fn a_way_without_an_end_is_counted_when_its_tag_is_used_again() {
        let mut points = to_the_air();
        points.truncate(8);
        let mut builder = TraceBuilder::default();
        for _ in 0..3 {
            assert_eq!(run(&mut builder, &points), []);
        }
        assert_eq!(builder.unfinished(), 2);
    }

    #[test]
    fn one_interrupt_ends_the_ways_of_all_that_was_written() {
        let mut points = Vec::new();
        for tag in 0..3 {
            let frame = FrameId::sent(tag);
            let start = [
                Point::Doorbell,
                Point::Fetch,
                Point::Returned,
                Point::Answered,
            ];
            points.extend(start.map(|point| (point, Some(LANE), frame)));
        }
        points.extend([lane(Point::Written), lane(Point::Interrupt)]);
        let done = run(&mut TraceBuilder::default(), &points);
        assert_eq!(done.len(), 3);
        let at_one_go: Vec<bool> = done.iter().map(|trace| trace.at_one_go).collect();
        assert_eq!(at_one_go, [true; 3]);
    }

    #[test]
    fn frames_of_two_lanes_with_the_same_number_are_kept_apart() {
        const OTHER: LaneId = LaneId::new(2);
        let mut points = to_the_air();
        points.extend(back());
        let others = points.clone().into_iter();
        let other = |(point, lane, frame): (Point, Option<LaneId>, FrameId)| {
            (point, lane.map(|_| OTHER), frame)
        };
        // The radio's thread does one after the other, the lanes' threads everything at the same time.
        let turns = points.iter().copied().zip(others.map(other));
        let both: Vec<_> = turns.flat_map(|(one, two)| [one, two]).collect();
        let (radio, lanes): (Vec<_>, Vec<_>) =
            both.into_iter().partition(|(_, lane, _)| lane.is_none());
        assert_eq!(radio.len(), 6);
        let done = run(&mut TraceBuilder::default(), &lanes);
        let whose: Vec<LaneId> = done.iter().map(|trace| trace.lane).collect();
        assert_eq!(whose, [LANE, OTHER]);
        for trace in done {
            assert_eq!(trace.points().count(), 17, "{trace:?}");
        }
    }
}
