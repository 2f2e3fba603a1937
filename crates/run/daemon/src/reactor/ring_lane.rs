//! A lane whose other end is in a thread of its own: requests come over one ring, events go over another.

use airlane_lane::ring::{Receiver, Sender};
use airlane_lane::{
    Coalescing, Engine, EngineEnd, EventCoalescer, EventKind, Instant, LaneId, LaneMessage, Micros,
};

use super::attachment::Attachment;
use super::source::{Report, Source, Took};

/// Room in an event ring that arrivals may not use: answers must always fit.
const RESERVED_FOR_ANSWERS: usize = 640;
/// Requests taken from one lane before the next has its turn.
pub const BATCH: usize = 64;
/// When a full ring is tried again.
const STUCK: Micros = Micros(1_000);

/// The reactor's end of a lane.
pub struct RingLane<E: Engine> {
    attachment: Attachment,
    requests: Receiver<LaneMessage<E::Request>>,
    events: Sender<E::Event>,
    /// What may not go yet, and answers that found the ring full; a lane that hangs delays only itself.
    coalescer: EventCoalescer<E>,
    dropped: u64,
}

impl<E: Engine> RingLane<E> {
    /// At this end of the lane with this number, to which the VM of this name will attach.
    pub fn new(
        id: LaneId,
        vm: &str,
        end: EngineEnd<LaneMessage<E::Request>, E::Event>,
        coalescing: Coalescing,
    ) -> Self {
        Self {
            attachment: Attachment::new(id, vm),
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

    fn ask(&mut self, now: Instant, engine: &mut E, request: E::Request) {
        // What is not done is never reported, either.
        if self.attachment.is_admitted() {
            self.coalescer.request(&request);
        }
        engine.request(now, self.attachment.lane(), request);
    }
}

impl<E: Engine> Source<E> for RingLane<E> {
    fn take(&mut self, now: Instant, engine: &mut E) -> Took {
        let mut took = Took::Nothing;
        for _ in 0..BATCH {
            if !self.attachment.settle(now, engine) {
                return Took::Batch;
            }
            match self.requests.pop() {
                Some(LaneMessage::Attached) => self.attachment.come(),
                Some(LaneMessage::Request(request)) => self.ask(now, engine, request),
                Some(LaneMessage::Detached) => self.attachment.go(now, engine),
                None => break,
            }
            took = Took::Batch;
        }
        took
    }

    fn give(&mut self, now: Instant, engine: &mut E) -> Option<Instant> {
        while let Some(event) = engine.next_event(self.attachment.lane()) {
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
        report.lanes.push((self.attachment.lane(), counts));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;

    use airlane_lane::ring::NoWake;
    use airlane_lane::{Admission, Lane, Next};

    use super::*;

    const LANE: LaneId = LaneId::new(4);
    const NOW: Instant = Instant(0);

    /// Gives each VM the answer that is next, and writes down what it is told.
    #[derive(Default)]
    struct Doorman {
        answers: VecDeque<Admission>,
        told: Vec<String>,
    }

    impl Engine for Doorman {
        type Request = u32;
        type Event = u32;

        fn admit(&mut self, _: Instant, lane: LaneId) -> Admission {
            let answer = self.answers.pop_front();
            let answer = answer.expect("asked no more often than it must be");
            self.told.push(format!("{answer:?} to {lane}"));
            answer
        }

        fn dismiss(&mut self, _: Instant, lane: LaneId) {
            self.told.push(format!("dismiss {lane}"));
        }

        fn request(&mut self, _: Instant, _: LaneId, request: u32) {
            self.told.push(request.to_string());
        }

        fn run(&mut self, _: Instant, _: usize) -> Next {
            Next::Idle
        }

        fn next_event(&mut self, _: LaneId) -> Option<u32> {
            None
        }

        fn is_reported(_: &u32) -> bool {
            true
        }

        fn kind(_: &u32) -> EventKind {
            EventKind::Report
        }
    }

    /// A lane whose device has told this, and an engine with these answers.
    fn told(
        messages: impl IntoIterator<Item = LaneMessage<u32>>,
        answers: impl IntoIterator<Item = Admission>,
    ) -> (RingLane<Doorman>, Doorman) {
        let Lane { mut device, engine } = Lane::new(256, Arc::new(NoWake), Arc::new(NoWake));
        for message in messages {
            assert!(device.requests.push(message).is_ok());
        }
        let doorman = Doorman {
            answers: answers.into_iter().collect(),
            ..Doorman::default()
        };
        (RingLane::new(LANE, "vm", engine, Coalescing::Off), doorman)
    }

    #[test]
    fn a_request_takes_no_more_room_in_a_ring_for_what_else_a_device_may_say() {
        use airlane_waist::Request;
        assert_eq!(size_of::<LaneMessage<Request>>(), size_of::<Request>());
    }

    #[test]
    fn what_a_vm_asks_for_before_it_is_admitted_waits_and_keeps_its_order() {
        let asked = (1..=3).map(LaneMessage::Request);
        let messages = [LaneMessage::Attached].into_iter().chain(asked);
        let later = [Admission::Later, Admission::Later, Admission::Admitted];
        let (mut lane, mut doorman) = told(messages, later);
        for _ in 0..2 {
            assert_eq!(lane.take(NOW, &mut doorman), Took::Batch, "look again");
        }
        assert_eq!(doorman.told, ["Later to 4"; 2]);
        lane.take(NOW, &mut doorman);
        assert_eq!(doorman.told[2..], ["Admitted to 4", "1", "2", "3"]);
        assert!(lane.is_in_flight());
    }

    #[test]
    fn a_vm_that_goes_is_dismissed_before_the_next_is_admitted() {
        let one = || {
            [
                LaneMessage::Attached,
                LaneMessage::Request(1),
                LaneMessage::Detached,
            ]
        };
        let messages = one().into_iter().chain(one());
        let (mut lane, mut doorman) = told(messages, [Admission::Admitted, Admission::Admitted]);
        lane.take(NOW, &mut doorman);
        let visit = ["Admitted to 4", "1", "dismiss 4"];
        assert_eq!(doorman.told, [visit, visit].concat());
    }

    #[test]
    fn a_vm_that_is_refused_has_nothing_in_flight_and_is_not_dismissed() {
        let messages = [
            LaneMessage::Attached,
            LaneMessage::Request(1),
            LaneMessage::Detached,
        ];
        let refused = Admission::Refused("full".to_owned());
        let (mut lane, mut doorman) = told(messages, [refused]);
        lane.take(NOW, &mut doorman);
        assert!(!lane.is_in_flight());
        assert_eq!(doorman.told.last().unwrap(), "1");
    }
}
