//! What the radio has for one VM's card, on its way to the lane's ring: events that may wait are held
//! back as the VM's interrupt coalescing says, so that the lane wakes once for many, fills few
//! receive buffers, and raises one interrupt.
//!
//! Pure. Not here: the ring, and the lane's side of it (`card_port.rs`).

use std::collections::VecDeque;

use airlane_lane::{Coalescer, Coalescing, Instant, Verdict, ring::Sender};
use airlane_waist::{Command, Event, Request};

/// Events of one VM, in order.
pub struct Outlet {
    events: VecDeque<Event>,
    /// How many of them may go.
    released: usize,
    coalescer: Coalescer,
    /// Frames that the radio has taken and not reported.
    in_flight: usize,
    due: Option<Instant>,
    holds: u64,
    deliveries: u64,
}

impl Outlet {
    /// Nothing has come yet.
    pub fn new(coalescing: Coalescing) -> Self {
        Self {
            events: VecDeque::new(),
            released: 0,
            coalescer: Coalescer::new(coalescing),
            in_flight: 0,
            due: None,
            holds: 0,
            deliveries: 0,
        }
    }

    /// The VM's card asks for something.
    pub fn request(&mut self, request: &Request) {
        if matches!(request.command, Command::Transmit(_)) {
            self.in_flight += 1;
        }
    }

    /// The radio has something for the VM's card.
    pub fn event(&mut self, now: Instant, event: Event) {
        match &event {
            Event::Transmitted(..) => {
                self.in_flight = self.in_flight.saturating_sub(1);
                self.coalescer.event(now, self.in_flight);
            }
            Event::Received(_) => self.coalescer.event(now, self.in_flight),
            // What was taken before the reset is never reported.
            Event::ResetDone => {
                self.in_flight = 0;
                self.coalescer.urgent();
            }
            Event::Done(..)
            | Event::Scan(_)
            | Event::MissedBeacons(_)
            | Event::ChannelSwitched(_) => self.coalescer.urgent(),
        }
        self.events.push_back(event);
    }

    /// Decides what may go, once all that the radio had by now has been told; and when to ask again.
    pub fn settle(&mut self, now: Instant) -> Option<Instant> {
        self.due = match self.coalescer.verdict(now, self.in_flight) {
            Verdict::Nothing => None,
            Verdict::Hold(until) => {
                self.holds += u64::from(self.due.is_none());
                Some(until)
            }
            Verdict::Deliver => {
                self.deliveries += 1;
                self.released = self.events.len();
                None
            }
        };
        self.due
    }

    /// Puts what may go into the lane's ring, as far as it fits.
    pub fn release(&mut self, ring: &mut Sender<Event>) {
        self.released -= ring.append(&mut self.events, self.released);
    }

    /// Frames that the radio has taken and not reported.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// How many events wait here.
    pub fn waiting(&self) -> usize {
        self.events.len()
    }

    /// True when the ring had no room for what may go.
    pub fn is_stuck(&self) -> bool {
        self.released > 0
    }

    /// Times that something was held back.
    pub fn holds(&self) -> u64 {
        self.holds
    }

    /// Times that something was let go.
    pub fn deliveries(&self) -> u64 {
        self.deliveries
    }
}
