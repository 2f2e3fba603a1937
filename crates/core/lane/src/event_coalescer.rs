//! What an engine has for one lane, on its way to the virtual machine: events that may wait are held back as the
//! lane's interrupt coalescing says, so that its thread wakes once for many, fills few receive buffers, and raises
//! one interrupt.
//!
//! Pure. Not here: when to hold back ([`Coalescer`]), and the ring or card that events go to.

use std::collections::VecDeque;

use crate::ring::Sender;
use crate::{Coalescer, Coalescing, Engine, EventKind, Instant, Verdict};

/// Events of one lane, in order.
pub struct EventCoalescer<E: Engine> {
    events: VecDeque<E::Event>,
    /// How many of them may go.
    released: usize,
    coalescer: Coalescer,
    /// Requests that the engine has taken and not reported.
    in_flight: usize,
    due: Option<Instant>,
    holds: u64,
    deliveries: u64,
}

impl<E: Engine> EventCoalescer<E> {
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

    /// The virtual machine asks for something.
    pub fn request(&mut self, request: &E::Request) {
        self.in_flight += usize::from(E::is_reported(request));
    }

    /// The engine has something for the virtual machine.
    pub fn event(&mut self, now: Instant, event: E::Event) {
        match E::kind(&event) {
            EventKind::Report => {
                self.in_flight = self.in_flight.saturating_sub(1);
                self.coalescer.event(now, self.in_flight);
            }
            EventKind::Arrival => self.coalescer.event(now, self.in_flight),
            EventKind::Reset => {
                self.in_flight = 0;
                self.coalescer.urgent();
            }
            EventKind::Urgent => self.coalescer.urgent(),
        }
        self.events.push_back(event);
    }

    /// Decides what may go, once all that the engine had by now has been told; and when to ask again.
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
    pub fn release(&mut self, ring: &mut Sender<E::Event>) {
        self.released -= ring.append(&mut self.events, self.released);
    }

    /// The next event that may go, for a lane without a ring.
    pub fn next_released(&mut self) -> Option<E::Event> {
        self.released = self.released.checked_sub(1)?;
        self.events.pop_front()
    }

    /// Requests that the engine has taken and not reported.
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
