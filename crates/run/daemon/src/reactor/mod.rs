//! One loop for every engine: takes what has come at its sources, runs the pure [`Engine`] up to the present, hands
//! out what came of it, and sleeps until something is due or somebody wakes it.
//!
//! It knows no source by name: see [`Source`].

mod attachment;
mod busy_poller;
mod engine_time;
mod ring_lane;
mod source;

use std::time::Duration;

use airlane_lane::{Engine, Instant, Next, Polling};
use airlane_transport::EventFd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use smallvec::SmallVec;

use crate::clock::Clock;
use crate::priority::raise_priority;

pub(crate) use attachment::Attachment;
pub use busy_poller::BusyPoller;
use engine_time::EngineTime;
pub use ring_lane::{BATCH, RingLane};
pub use source::{Report, Source, Took};

/// What the engine may move in one call, before the sources have their turn again: some milliseconds' work.
const BUDGET: usize = 4_096;
/// File descriptors that are waited for without an allocation: three for each of a card's VMs.
const FDS: usize = 64;

/// An engine and all that it exchanges with.
pub struct Reactor<E: Engine> {
    engine: E,
    sources: Vec<Box<dyn Source<E>>>,
    /// Fired by those who have something for a source and no file descriptor of their own.
    wake: EventFd,
    clock: Clock,
    time: EngineTime,
    poller: BusyPoller,
    /// When the engine is to be run again.
    next: Next,
    /// When the first of the sources wants to hand out what it holds back.
    held_until: Option<Instant>,
}

impl<E: Engine> Reactor<E> {
    /// Without sources, not running yet. Whoever fires `wake` ends its sleep.
    pub fn new(engine: E, clock: Clock, wake: EventFd, polling: Polling) -> Self {
        Self {
            engine,
            sources: Vec::new(),
            wake,
            clock,
            time: EngineTime::default(),
            poller: BusyPoller::new(clock, polling),
            next: Next::Idle,
            held_until: None,
        }
    }

    /// One more source. Their order is that of their turns.
    pub fn add(&mut self, source: impl Source<E> + 'static) {
        self.sources.push(Box::new(source));
    }

    /// Runs until a source says that it is over; gives the engine and the last counters.
    pub fn run(mut self) -> (E, Report) {
        raise_priority();
        let mut over = false;
        while !over {
            let took = self.turn();
            over = self.sources.iter().any(|source| source.is_over());
            if !over {
                self.rest(took);
            }
        }
        let report = self.report();
        (self.engine, report)
    }

    /// Takes, runs, hands out; says whether to look again before sleeping.
    fn turn(&mut self) -> Took {
        let now = self.time.at(self.clock.now(), self.next.at());
        let due = self.next_due().is_some_and(|due| due <= now);
        let took = self.take(now);
        if took != Took::Nothing || due {
            self.poller.found();
        }
        self.next = self.engine.run(now, BUDGET);
        self.give(now);
        self.tell_those_who_ask();
        took
    }

    fn next_due(&self) -> Option<Instant> {
        Instant::earlier(self.next.at(), self.held_until)
    }

    fn take(&mut self, now: Instant) -> Took {
        let Self {
            sources, engine, ..
        } = self;
        let took = sources.iter_mut().map(|source| source.take(now, engine));
        took.max().unwrap_or_default()
    }

    fn give(&mut self, now: Instant) {
        let Self {
            sources, engine, ..
        } = self;
        let holds = sources.iter_mut().filter_map(|it| it.give(now, engine));
        self.held_until = holds.min();
    }

    fn tell_those_who_ask(&mut self) {
        if !self.sources.iter().any(|source| source.wants_report()) {
            return;
        }
        let report = self.report();
        for source in &mut self.sources {
            if source.wants_report() {
                source.report(&self.engine, &report);
            }
        }
    }

    fn report(&self) -> Report {
        let mut report = Report {
            at: self.time.of(self.clock.now()),
            lag: self.time.lag(),
            ..Report::default()
        };
        let polling = self.poller.counters();
        report.add("radio_sleeps", polling.sleeps);
        report.add("radio_polls_paid", polling.polls_paid);
        report.add("radio_polls_empty", polling.polls_empty);
        report.add("radio_polls_late", polling.polls_late);
        report.add("radio_time_left_out_us", self.time.left_out().0);
        for source in &self.sources {
            source.count(&mut report);
        }
        report
    }

    /// Between two turns: sleeps when nothing has come, else looks at what needs a system call to be seen.
    fn rest(&mut self, took: Took) {
        let busy = took == Took::Batch || self.next == Next::More;
        if !busy && !self.looks_again() && self.may_sleep() {
            let due = self.next_due();
            self.wait(due.map(|due| self.clock.until(self.time.on_the_clock(due))));
        } else if self.has_fds() {
            self.wait(Some(Duration::ZERO));
        }
    }

    fn looks_again(&mut self) -> bool {
        let in_flight = self.sources.iter().any(|source| source.is_in_flight());
        self.poller.again(in_flight)
    }

    fn may_sleep(&mut self) -> bool {
        self.sources
            .iter_mut()
            .all(|source| source.announce_sleep())
    }

    fn has_fds(&self) -> bool {
        let mut any = false;
        for source in &self.sources {
            source.poll_fds(&mut |_, _| any = true);
        }
        any
    }

    /// Waits for the file descriptors of all sources and for whoever wakes the reactor.
    fn wait(&mut self, limit: Option<Duration>) {
        let timeout = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut fds = SmallVec::<[PollFd; FDS]>::new();
        let wake = airlane_transport::borrow(&self.wake);
        fds.push(PollFd::from_borrowed_fd(wake, PollFlags::IN));
        for source in &self.sources {
            source.poll_fds(&mut |fd, flags| fds.push(PollFd::from_borrowed_fd(fd, flags)));
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return,
            Err(error) => {
                tracing::error!(%error, "the engine's thread cannot sleep");
                return;
            }
        }
        let ready = fds.iter().map(|fd| !fd.revents().is_empty());
        let ready: SmallVec<[bool; FDS]> = ready.collect();
        drop(fds);
        let mut ready = ready.into_iter();
        if ready.next() == Some(true) {
            let _ = self.wake.read();
        }
        for source in &mut self.sources {
            source.ready(&mut ready);
        }
    }
}
