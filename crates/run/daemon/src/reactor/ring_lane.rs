//! A lane whose other end is in a thread of its own: requests come over one ring, events go over another.

use airlane_lane::ring::{Receiver, Sender};
use airlane_lane::{
    Coalescing, Engine, EngineEnd, EventCoalescer, EventKind, Instant, LaneId, Micros,
};

use super::source::{Report, Source, Took};

/// Room in an event ring that arrivals may not use: answers must always fit.
const RESERVED_FOR_ANSWERS: usize = 640;
/// Requests taken from one lane before the next has its turn.
pub const BATCH: usize = 64;
/// When a full ring is tried again.
const STUCK: Micros = Micros(1_000);

/// The reactor's end of a lane.
pub struct RingLane<E: Engine> {
    id: LaneId,
    requests: Receiver<E::Request>,
    events: Sender<E::Event>,
    /// What may not go yet, and answers that found the ring full; a lane that hangs delays only itself.
    coalescer: EventCoalescer<E>,
    dropped: u64,
}

impl<E: Engine> RingLane<E> {
    /// At this end of the lane with this number.
    pub fn new(id: LaneId, end: EngineEnd<E::Request, E::Event>, coalescing: Coalescing) -> Self {
        Self {
            id,
            requests: end.requests,
            events: end.events,
            coalescer: EventCoalescer::new(coalescing),
            dropped: 0,
        }
    }

    fn offer(&mut self, now: Instant, event: E::Event) {
        let room = self.events.free().saturating_sub(self.coalescer.waiting());
        if E::kind(&event) == EventKind::Arrival && room <= RESERVED_FOR_ANSWERS {
            self.dropped += 1;
            return;
        }
        self.coalescer.event(now, event);
    }
}

impl<E: Engine> Source<E> for RingLane<E> {
    fn take(&mut self, now: Instant, engine: &mut E) -> Took {
        let mut took = Took::Nothing;
        for _ in 0..BATCH {
            let Some(request) = self.requests.pop() else {
                break;
            };
            self.coalescer.request(&request);
            engine.request(now, self.id, request);
            took = Took::Batch;
        }
        took
    }

    fn give(&mut self, now: Instant, engine: &mut E) -> Option<Instant> {
        while let Some(event) = engine.next_event(self.id) {
            self.offer(now, event);
        }
        let due = self.coalescer.settle(now);
        self.coalescer.release(&mut self.events);
        let again = self.coalescer.is_stuck().then_some(now + STUCK);
        Instant::earlier(due, again)
    }

    fn is_in_flight(&self) -> bool {
        self.coalescer.in_flight() > 0
    }

    fn announce_sleep(&mut self) -> bool {
        // The end of a request under way brings the reactor back; without one only a wake-up does.
        self.requests.will_return(self.is_in_flight());
        self.requests.announce_sleep()
    }

    fn count(&self, report: &mut Report) {
        report.add("radio_wakes_by_lanes", self.requests.wakes());
        let counts = [
            ("received_dropped_lane_full", self.dropped),
            ("holds", self.coalescer.holds()),
            ("deliveries", self.coalescer.deliveries()),
        ];
        report.lanes.push((self.id, counts));
    }
}
