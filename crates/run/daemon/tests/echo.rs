//! How an engine is added: [`Echo`] knows no Wi-Fi, and nothing in lane or reactor knows it. What is pushed into one of
//! its lanes comes back on the same lane, a millisecond later, from the reactor's thread: the word, as something from
//! the network that a full lane loses, and the report that it was sent, which no lane loses.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use airlane_daemon::clock::Clock;
use airlane_daemon::reactor::{Reactor, Report, RingLane, Source, Took};
use airlane_lane::ring::{NoWake, Receiver, Sender, Wake};
use airlane_lane::{
    Coalescing, Engine, EventKind, Instant, Lane, LaneId, LaneMessage, Micros, Next, Polling,
};
use airlane_transport::{EventFd, EventWake};
use rustix::event::EventfdFlags;

const DELAY: Micros = Micros(1_000);
/// Room in each of a lane's two rings for all that the tests say before they hear.
const ROOMY: usize = 2_048;
/// Fewer places than a ring of events keeps free for reports.
const NARROW: usize = 512;

/// What a lane is told.
#[derive(Debug, PartialEq)]
enum Told {
    /// One of its words has been sent.
    Sent,
    /// A word has come.
    Word(u32),
}

/// Says to each lane what it has said.
#[derive(Default)]
struct Echo {
    waiting: VecDeque<(Instant, LaneId, u32)>,
    due: [VecDeque<Told>; 2],
}

impl Engine for Echo {
    type Request = u32;
    type Event = Told;

    fn request(&mut self, now: Instant, lane: LaneId, word: u32) {
        self.waiting.push_back((now + DELAY, lane, word));
    }

    fn run(&mut self, now: Instant, budget: usize) -> Next {
        for _ in 0..budget {
            match self.waiting.front() {
                Some(&(due, lane, word)) if due <= now => {
                    self.due[lane.index()].extend([Told::Sent, Told::Word(word)]);
                    self.waiting.pop_front();
                }
                later => return later.map(|&(due, ..)| due).into(),
            }
        }
        Next::More
    }

    fn next_event(&mut self, lane: LaneId) -> Option<Told> {
        self.due[lane.index()].pop_front()
    }

    fn is_reported(_: &u32) -> bool {
        true
    }

    fn kind(told: &Told) -> EventKind {
        match told {
            Told::Sent => EventKind::Report,
            Told::Word(_) => EventKind::Arrival,
        }
    }
}

/// Ends the reactor.
struct Stop(Arc<AtomicBool>);

impl Source<Echo> for Stop {
    fn take(&mut self, _: Instant, _: &mut Echo) -> Took {
        Took::Nothing
    }

    fn give(&mut self, _: Instant, _: &mut Echo) -> Option<Instant> {
        None
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// What the machine behind a lane holds.
struct Machine {
    to_engine: Sender<LaneMessage<u32>>,
    from_engine: Receiver<Told>,
}

impl Machine {
    fn say(&mut self, word: u32) {
        assert!(self.to_engine.push(LaneMessage::Request(word)).is_ok());
    }

    /// All that comes within ten seconds, up to `count` events.
    fn hear(&mut self, count: usize) -> Vec<Told> {
        let mut heard = Vec::new();
        for _ in 0..10_000 {
            heard.extend(std::iter::from_fn(|| self.from_engine.pop()));
            if heard.len() >= count {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        heard
    }
}

fn lane(reactor: &mut Reactor<Echo>, number: u16, room: usize, wake: &Arc<dyn Wake>) -> Machine {
    let Lane { mut device, engine } = Lane::new(room, Arc::clone(wake), Arc::new(NoWake));
    let id = LaneId::new(number);
    reactor.add(RingLane::new(id, "machine", engine, Coalescing::Off));
    assert!(device.requests.push(LaneMessage::Attached).is_ok());
    Machine {
        to_engine: device.requests,
        from_engine: device.events,
    }
}

/// A reactor in a thread of its own, two machines before it whose lanes have this room, and its last report.
fn run(room: usize, talk: impl FnOnce(&mut [Machine; 2])) -> Report {
    let nonblocking = EventfdFlags::NONBLOCK.bits();
    let fd = EventFd::new(i32::try_from(nonblocking).unwrap()).unwrap();
    let wake: Arc<dyn Wake> = Arc::new(EventWake(fd.try_clone().unwrap()));
    let mut reactor = Reactor::new(Echo::default(), Clock::start(), fd, Polling::Off);
    let mut machines = [0, 1].map(|number| lane(&mut reactor, number, room, &wake));
    let over = Arc::new(AtomicBool::new(false));
    reactor.add(Stop(Arc::clone(&over)));
    let thread = std::thread::spawn(move || reactor.run().1);
    talk(&mut machines);
    over.store(true, Ordering::SeqCst);
    wake.wake();
    thread.join().unwrap()
}

#[test]
fn an_engine_of_its_own_answers_each_of_its_lanes() {
    let report = run(ROOMY, |machines| {
        let words = |number: usize| (0..500).map(move |word| word * 2 + number as u32);
        for (number, machine) in machines.iter_mut().enumerate() {
            words(number).for_each(|word| machine.say(word));
        }
        for (number, machine) in machines.iter_mut().enumerate() {
            let each = words(number).flat_map(|word| [Told::Sent, Told::Word(word)]);
            assert_eq!(
                machine.hear(1_000),
                each.collect::<Vec<_>>(),
                "lane {number}"
            );
        }
    });
    assert_eq!(report.lanes.len(), 2);
}

#[test]
fn a_reactor_that_sleeps_is_woken_by_a_lane() {
    let report = run(ROOMY, |[first, _]| {
        for word in 0..20 {
            first.say(word);
            assert_eq!(first.hear(2), [Told::Sent, Told::Word(word)]);
        }
    });
    assert!(report.counters["radio_wakes_by_lanes"] > 0, "it has slept");
}

#[test]
fn a_lane_without_room_loses_words_and_no_report() {
    let report = run(NARROW, |[first, _]| {
        for _ in 0..3 {
            (0..400).for_each(|word| first.say(word));
            assert!(first.hear(400).iter().all(|told| *told == Told::Sent));
        }
    });
    let (_, counts) = report.lanes[0];
    assert!(
        counts.contains(&("received_dropped_lane_full", 1_200)),
        "{counts:?}"
    );
}
