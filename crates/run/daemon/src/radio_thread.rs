//! The radio's thread: takes what the lanes and access-point VMs have put into their rings, runs
//! the pure [`Radio`] up to the present, hands out what came of it, and sleeps until something is
//! due or somebody wakes it.

use std::sync::mpsc::{Receiver as Control, SyncSender};

use airlane_air::Position;
use airlane_engine::RadioStatus;
use airlane_engine::journal::Notice;
use airlane_engine::radio::{Placed, Radio};
use airlane_lane::ring::{Receiver, Sender};
use airlane_lane::{Instant, Micros, VmId};
use airlane_transport::{EventFd, FromHwsim, ToHwsim};
use airlane_waist::{Event, Request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::clock::Clock;
use super::listeners::Listeners;
use super::looker::Looker;
use super::names;
use super::outlet::Outlet;
use super::priority::raise_priority;
use super::tuning::Tuning;
use super::uplink::UplinkEnds;

/// What other threads may ask of the radio.
pub enum Ask {
    /// How things stand.
    Status(SyncSender<RadioStatus>),
    /// Tell what happens, beginning with what has happened lately.
    Listen(SyncSender<Notice>),
    /// Put a radio elsewhere.
    Place(Placed, Position),
    /// End the run.
    Stop,
}

/// The radio's ends of one VM's rings.
pub struct LaneEnds {
    /// Whose.
    pub vm: VmId,
    /// What the card asks.
    pub requests: Receiver<Request>,
    /// What the card is told.
    pub events: Sender<Event>,
}

/// The radio's ends of one access-point VM's rings.
pub struct HwsimEnds {
    /// What its radios send.
    pub from_vm: Receiver<FromHwsim>,
    /// What its radios hear.
    pub to_vm: Sender<ToHwsim>,
}

/// The radio's ends of all rings.
pub struct Ends {
    /// One for each VM.
    pub lanes: Vec<LaneEnds>,
    /// One for each access-point VM.
    pub hwsim: Vec<HwsimEnds>,
    /// One for each uplink of a built-in access point.
    pub uplinks: Vec<UplinkEnds>,
}

/// Room in an event ring that received frames may not use: answers must always fit.
const RESERVED_FOR_ANSWERS: usize = 640;

/// Requests taken from one lane before the next has its turn.
const BATCH: usize = 64;

/// The radio and everything that it exchanges with.
pub struct RadioThread {
    radio: Radio,
    clock: Clock,
    lanes: Vec<Lane>,
    hwsim: Vec<HwsimEnds>,
    uplinks: Vec<UplinkEnds>,
    asks: Control<Ask>,
    wake: EventFd,
    lag: Micros,
    hwsim_ring_full: u64,
    listeners: Listeners,
    due: Option<Instant>,
    /// When the first of the events that lanes wait for must go.
    held_until: Option<Instant>,
    looker: Looker,
    stopped: bool,
}

struct Lane {
    ends: LaneEnds,
    /// What may not go yet, and answers that found the ring full; a lane that hangs delays only itself.
    outlet: Outlet,
    dropped: u64,
}

impl RadioThread {
    /// Not running yet.
    pub fn new(
        radio: Radio,
        clock: Clock,
        ends: Ends,
        asks: Control<Ask>,
        wake: EventFd,
        tuning: Tuning,
    ) -> Self {
        let lane = |ends| Lane {
            ends,
            outlet: Outlet::new(tuning.interrupts),
            dropped: 0,
        };
        Self {
            radio,
            clock,
            lanes: ends.lanes.into_iter().map(lane).collect(),
            hwsim: ends.hwsim,
            uplinks: ends.uplinks,
            asks,
            wake,
            lag: Micros(0),
            hwsim_ring_full: 0,
            listeners: Listeners::default(),
            due: None,
            held_until: None,
            looker: Looker::new(clock, tuning.polling),
            stopped: false,
        }
    }

    /// Runs until [`Ask::Stop`]; gives the last status.
    pub fn run(mut self) -> RadioStatus {
        raise_priority();
        while !self.stopped {
            let now = self.clock.now();
            self.note_lag(now);
            let ripe = self.next_due().is_some_and(|due| due <= now);
            let took = self.take(now);
            if took || ripe {
                self.looker.found();
            }
            self.due = self.radio.step(now);
            self.hand_out(now);
            self.answer_asks();
            if !took && !self.stopped {
                self.rest();
            }
        }
        self.status()
    }

    /// Nothing has come: looks again soon, or sleeps.
    fn rest(&mut self) {
        let in_flight = self.lanes.iter().any(|lane| lane.outlet.in_flight() > 0);
        if !self.looker.again(in_flight) && self.may_sleep() {
            self.sleep();
        }
    }

    fn next_due(&self) -> Option<Instant> {
        self.due.into_iter().chain(self.held_until).min()
    }

    fn note_lag(&mut self, now: Instant) {
        if let Some(due) = self.due {
            self.lag = self.lag.max(now.saturating_since(due));
        }
    }

    fn take(&mut self, now: Instant) -> bool {
        let mut took = false;
        for lane in &mut self.lanes {
            for _ in 0..BATCH {
                let Some(request) = lane.ends.requests.pop() else {
                    break;
                };
                lane.outlet.request(&request);
                self.radio.request(now, lane.ends.vm, request);
                took = true;
            }
        }
        for (port, ends) in self.hwsim.iter_mut().enumerate() {
            for _ in 0..BATCH {
                let Some(message) = ends.from_vm.pop() else {
                    break;
                };
                self.radio.hwsim(now, port, message);
                took = true;
            }
        }
        for ends in &mut self.uplinks {
            for _ in 0..BATCH {
                let Some(frame) = ends.from.pop() else {
                    break;
                };
                let built_ins = self.radio.built_ins_mut();
                built_ins.from_uplink(ends.built_in, &frame);
                took = true;
            }
        }
        took
    }

    fn hand_out(&mut self, now: Instant) {
        while let Some((vm, event)) = self.radio.next_for_vm() {
            if let Some(lane) = self.lanes.get_mut(vm.index()) {
                lane.give(now, event);
            }
        }
        let holds = self.lanes.iter_mut().filter_map(|lane| lane.let_go(now));
        self.held_until = holds.min();
        while let Some((port, message)) = self.radio.next_for_hwsim() {
            if let Some(ends) = self.hwsim.get_mut(port) {
                // A full ring means an access-point VM that does not run: it misses the frame.
                self.hwsim_ring_full += u64::from(ends.to_vm.push(message).is_err());
            }
        }
        while let Some((index, frame)) = self.radio.built_ins_mut().next_for_uplink() {
            if let Some(ends) = self.uplinks.iter_mut().find(|ends| ends.built_in == index) {
                ends.ring_full += u64::from(ends.to.push(frame).is_err());
            }
        }
        while let Some(notice) = self.radio.journal_mut().next_notice() {
            self.listeners.tell(notice);
        }
    }

    fn answer_asks(&mut self) {
        while let Ok(ask) = self.asks.try_recv() {
            match ask {
                Ask::Status(reply) => {
                    let _ = reply.try_send(self.status());
                }
                Ask::Listen(listener) => self.listeners.add(listener),
                Ask::Place(what, position) => self.radio.place(what, position),
                Ask::Stop => self.stopped = true,
            }
        }
    }

    fn may_sleep(&self) -> bool {
        // The end of a frame under way brings the radio back; without one only a wake-up does.
        let lanes = self.lanes.iter().all(|lane| {
            let requests = &lane.ends.requests;
            requests.will_return(lane.outlet.in_flight() > 0);
            requests.announce_sleep()
        });
        let uplinks = self.uplinks.iter().all(|ends| ends.from.announce_sleep());
        let hwsim = self.hwsim.iter();
        lanes
            && uplinks
            && hwsim
                .map(|ends| &ends.from_vm)
                .all(Receiver::announce_sleep)
    }

    fn sleep(&mut self) {
        let stuck = self.lanes.iter().any(|lane| lane.outlet.is_stuck());
        let timeout = match self.next_due() {
            _ if stuck => Some(std::time::Duration::from_millis(1)),
            Some(due) => Some(self.clock.until(due)),
            None => None,
        };
        let timeout = timeout.and_then(|span| Timespec::try_from(span).ok());
        let mut fds = [PollFd::from_borrowed_fd(
            airlane_transport::borrow(&self.wake),
            PollFlags::IN,
        )];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => {
                let _ = self.wake.read();
            }
            Err(error) => tracing::error!(%error, "the radio cannot sleep"),
        }
    }

    fn status(&self) -> RadioStatus {
        let lanes = self
            .lanes
            .iter()
            .map(|lane| (lane.ends.vm, lane.counters()));
        let mut status = RadioStatus::of(&self.radio, self.clock.now(), self.lag, lanes);
        let wakes = self.lanes.iter().map(|lane| lane.ends.requests.wakes());
        let polling = names::polling(&self.looker.counters()).into_iter();
        let polling = polling.chain([("wakes_by_lanes", wakes.sum())]);
        let polling = polling.map(|(name, value)| (format!("radio_{name}"), value));
        status.counters.extend(polling);
        let full = ("hwsim_ring_full".to_owned(), self.hwsim_ring_full);
        status.counters.extend([full]);
        let uplinks_full = self.uplinks.iter().map(|ends| ends.ring_full).sum();
        let full = ("uplink_ring_full".to_owned(), uplinks_full);
        status.counters.extend([full]);
        status
    }
}

impl Lane {
    fn counters(&self) -> [(&'static str, u64); 3] {
        [
            ("received_dropped_lane_full", self.dropped),
            ("holds", self.outlet.holds()),
            ("deliveries", self.outlet.deliveries()),
        ]
    }

    fn give(&mut self, now: Instant, event: Event) {
        let room = self
            .ends
            .events
            .free()
            .saturating_sub(self.outlet.waiting());
        let optional = matches!(event, Event::Received(_));
        if optional && room <= RESERVED_FOR_ANSWERS {
            self.dropped += 1;
            return;
        }
        self.outlet.event(now, event);
    }

    /// Hands over what may go; says when to come back for the rest.
    fn let_go(&mut self, now: Instant) -> Option<Instant> {
        let due = self.outlet.settle(now);
        self.outlet.release(&mut self.ends.events);
        due
    }
}
