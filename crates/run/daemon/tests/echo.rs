//! How an engine is added: [`Echo`] knows no Wi-Fi, and nothing in lane or reactor knows it. What is pushed into one of
//! its lanes comes back on the same lane, a millisecond later, from the reactor's thread.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use airlane_daemon::clock::Clock;
use airlane_daemon::reactor::{Reactor, Report, RingLane, Source, Took};
use airlane_lane::ring::{Receiver, Sender, Wake};
use airlane_lane::{
    Coalescing, Engine, EventKind, Instant, Lane, LaneId, LaneMessage, Micros, Next, Polling,
};
use airlane_transport::{EventFd, EventWake};

const DELAY: Micros = Micros(1_000);

/// Says to each lane what it has said.
#[derive(Default)]
struct Echo {
    waiting: VecDeque<(Instant, LaneId, u32)>,
    due: [VecDeque<u32>; 2],
}

impl Engine for Echo {
    type Request = u32;
    type Event = u32;

    fn request(&mut self, now: Instant, lane: LaneId, word: u32) {
        self.waiting.push_back((now + DELAY, lane, word));
    }

    fn run(&mut self, now: Instant, budget: usize) -> Next {
        for _ in 0..budget {
            match self.waiting.front() {
                Some(&(due, lane, word)) if due <= now => {
                    self.due[lane.index()].push_back(word);
                    self.waiting.pop_front();
                }
                later => return later.map(|&(due, ..)| due).into(),
            }
        }
        Next::More
    }

    fn next_event(&mut self, lane: LaneId) -> Option<u32> {
        self.due[lane.index()].pop_front()
    }

    fn is_reported(_: &u32) -> bool {
        true
    }

    fn kind(_: &u32) -> EventKind {
        EventKind::Report
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
    from_engine: Receiver<u32>,
}

impl Machine {
    fn say(&mut self, word: u32) {
        assert!(self.to_engine.push(LaneMessage::Request(word)).is_ok());
    }

    /// All that comes within ten seconds, up to `count`.
    fn hear(&mut self, count: usize) -> Vec<u32> {
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

fn lane(reactor: &mut Reactor<Echo>, number: u16, wake: &Arc<dyn Wake>) -> Machine {
    let Lane { mut device, engine } = Lane::new(
        2_048,
        Arc::clone(wake),
        Arc::new(airlane_lane::ring::NoWake),
    );
    let id = LaneId::new(number);
    reactor.add(RingLane::new(id, "machine", engine, Coalescing::Off));
    assert!(device.requests.push(LaneMessage::Attached).is_ok());
    Machine {
        to_engine: device.requests,
        from_engine: device.events,
    }
}

/// A reactor in a thread of its own, two machines before it, and its last report.
fn run(talk: impl FnOnce(&mut [Machine; 2])) -> Report {
    let fd = EventFd::new(0o4000).unwrap();
    let wake: Arc<dyn Wake> = Arc::new(EventWake(fd.try_clone().unwrap()));
    let mut reactor = Reactor::new(Echo::default(), Clock::start(), fd, Polling::Off);
    let mut machines = [0, 1].map(|number| lane(&mut reactor, number, &wake));
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
    let report = run(|machines| {
        for (number, machine) in machines.iter_mut().enumerate() {
            for word in 0..1_000 {
                machine.say(word * 2 + number as u32);
            }
        }
        for (number, machine) in machines.iter_mut().enumerate() {
            let expected: Vec<u32> = (0..1_000).map(|word| word * 2 + number as u32).collect();
            assert_eq!(machine.hear(1_000), expected, "lane {number}");
        }
    });
    assert_eq!(report.lanes.len(), 2);
}

#[test]
fn a_reactor_that_sleeps_is_woken_by_a_lane() {
    let report = run(|[first, _]| {
        for word in 0..20 {
            first.say(word);
            assert_eq!(first.hear(1), [word]);
        }
    });
    assert!(report.counters["radio_wakes_by_lanes"] > 0, "it has slept");
}
