//! The daemon's composition under a virtual clock: what drivers and access points ask goes in, what
//! they are told waits here until they are served, and everything told is logged.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use airlane_daemon::{Tuning, Wifi};
use airlane_dot11::Dbm;
use airlane_host_driver::Host;
use airlane_lane::ring::{NoWake, Receiver, Sender, ring};
use airlane_lane::{Engine, EventCoalescer, Instant, LaneId};
use airlane_nic::Nic;
use airlane_waist::hwsim::{FromHwsim, ToHwsim};
use airlane_waist::{Event, MAX_VMS, Request, VmId};

/// Something that was told: when, to whom, and a digest of what.
pub type Told = (Instant, Whom, u64);

/// A VM by its number, or an access point by its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    Vm(usize),
    AccessPoint(usize),
}

/// Radio, clock, mail.
pub struct World {
    pub radio: Wifi,
    pub now: Instant,
    /// When the radio wants to be called again.
    pub wake: Option<Instant>,
    pub log: Vec<Told>,
    /// A long story keeps no log.
    pub forgetful: bool,
    /// Grows with everything that is asked or told.
    pub activity: u64,
    /// How strongly each VM has heard its last frame.
    pub signals: [Option<Dbm>; MAX_VMS],
    ways: [EventWay; MAX_VMS],
    for_access_points: VecDeque<(usize, ToHwsim)>,
}

/// The way from the radio to a VM's card.
struct EventWay {
    coalescer: EventCoalescer<Wifi>,
    events: Sender<Event>,
    card: Receiver<Event>,
}

impl World {
    pub fn new(radio: Wifi, tuning: Tuning) -> Self {
        let way = |_| {
            let (events, card) = ring(1_024, Arc::new(NoWake));
            EventWay {
                coalescer: EventCoalescer::new(tuning.interrupts),
                events,
                card,
            }
        };
        Self {
            radio,
            now: Instant(0),
            wake: None,
            log: Vec::new(),
            forgetful: false,
            activity: 0,
            signals: [None; MAX_VMS],
            ways: std::array::from_fn(way),
            for_access_points: VecDeque::new(),
        }
    }

    /// A VM asks; what it is told by then.
    pub fn ask(&mut self, vm: VmId, request: Request) -> Vec<Event> {
        self.activity += 1;
        self.ways[vm.index()].coalescer.request(&request);
        self.radio.request(self.now, lane(vm), request);
        self.step();
        self.take_for_vm(vm)
    }

    /// An access point says something.
    pub fn say(&mut self, port: usize, message: FromHwsim) {
        self.activity += 1;
        self.radio.hwsim(self.now, port, message);
        self.step();
    }

    /// Lets everything happen that is due.
    pub fn step(&mut self) {
        self.wake = self.radio.step(self.now);
        while let Some((vm, event)) = self.next_for_vm() {
            let bytes: &[u8] = match &event {
                Event::Received(received) => {
                    assert!(
                        received.at <= self.now,
                        "nothing is heard before it is sent"
                    );
                    self.signals[vm.index()] = Some(received.signal);
                    &received.frame
                }
                _ => &[],
            };
            self.note(Whom::Vm(vm.index()), &event, bytes);
            self.ways[vm.index()].coalescer.event(self.now, event);
        }
        self.let_go();
        while let Some((port, message)) = self.radio.next_for_hwsim() {
            let bytes: &[u8] = match &message {
                ToHwsim::Receive { frame, .. } => frame,
                ToHwsim::Status { .. } => &[],
            };
            self.note(Whom::AccessPoint(port), &message, bytes);
            self.for_access_points.push_back((port, message));
        }
    }

    /// The one card's NIC.
    pub fn nic(&self) -> &Nic {
        self.radio.cards()[0].nic()
    }

    /// The one card's host driver.
    pub fn host(&self) -> &Host {
        self.radio.cards()[0].host()
    }

    fn next_for_vm(&mut self) -> Option<(VmId, Event)> {
        VmId::all().find_map(|vm| Some((vm, self.radio.next_event(lane(vm))?)))
    }

    /// Hands over what need not wait.
    fn let_go(&mut self) {
        for way in &mut self.ways {
            let due = way.coalescer.settle(self.now);
            way.coalescer.release(&mut way.events);
            self.wake = self.wake.into_iter().chain(due).min();
        }
    }

    fn note(&mut self, whom: Whom, what: &impl Debug, bytes: &[u8]) {
        self.activity += 1;
        if self.forgetful {
            return;
        }
        let mut hasher = DefaultHasher::new();
        format!("{what:?}").hash(&mut hasher);
        bytes.hash(&mut hasher);
        self.log.push((self.now, whom, hasher.finish()));
    }

    /// What a VM is to be told.
    pub fn take_for_vm(&mut self, vm: VmId) -> Vec<Event> {
        let card = &mut self.ways[vm.index()].card;
        std::iter::from_fn(|| card.pop()).collect()
    }

    /// What the access points are to be told.
    pub fn take_for_access_points(&mut self) -> Vec<(usize, ToHwsim)> {
        self.for_access_points.drain(..).collect()
    }
}

/// The one card's lanes are numbered as its VMs.
pub fn lane(vm: VmId) -> LaneId {
    LaneId::new(vm.index() as u16)
}
