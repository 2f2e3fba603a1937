//! What other threads may ask of the engine, as a source of its reactor.

use std::sync::mpsc::{Receiver, SyncSender};

use airlane_air::Position;
use airlane_engine::journal::VmEvent;
use airlane_engine::{Placed, RadioStatus, Wifi};
use airlane_lane::Instant;

use crate::listeners::Listeners;
use crate::reactor::{Report, Source, Took};

/// What other threads may ask.
pub enum ControlRequest {
    /// How things stand.
    Status(SyncSender<RadioStatus>),
    /// Tell what happens, beginning with what has happened lately.
    Listen(SyncSender<VmEvent>),
    /// Put a radio elsewhere.
    Place(Placed, Position),
    /// End the run.
    Stop,
}

/// The reactor's end of the control requests, and those who listen.
pub struct Control {
    requests: Receiver<ControlRequest>,
    listeners: Listeners,
    /// Those who wait for a status.
    asking: Vec<SyncSender<RadioStatus>>,
    stopped: bool,
}

impl Control {
    /// Nobody listens yet.
    pub fn new(requests: Receiver<ControlRequest>) -> Self {
        Self {
            requests,
            listeners: Listeners::default(),
            asking: Vec::new(),
            stopped: false,
        }
    }
}

/// The engine's status with what its reactor counts.
pub fn status(engine: &Wifi, report: &Report) -> RadioStatus {
    let lanes = report.lanes.iter().copied();
    let mut status = RadioStatus::of(engine, report.at, report.lag, lanes);
    let counters = report.counters.iter();
    let counters = counters.map(|(&name, &value)| (name.to_owned(), value));
    status.counters.extend(counters);
    status
}

impl Source<Wifi> for Control {
    /// Control is no work that the reactor would look for again: whoever asks wakes it.
    fn take(&mut self, _: Instant, engine: &mut Wifi) -> Took {
        while let Ok(request) = self.requests.try_recv() {
            match request {
                ControlRequest::Status(reply) => self.asking.push(reply),
                ControlRequest::Listen(listener) => self.listeners.add(listener),
                ControlRequest::Place(what, position) => engine.place(what, position),
                ControlRequest::Stop => self.stopped = true,
            }
        }
        Took::Nothing
    }

    fn give(&mut self, _: Instant, engine: &mut Wifi) -> Option<Instant> {
        while let Some(event) = engine.journal_mut().next_event() {
            self.listeners.tell(event);
        }
        None
    }

    fn wants_report(&self) -> bool {
        !self.asking.is_empty()
    }

    fn report(&mut self, engine: &Wifi, report: &Report) {
        for reply in self.asking.drain(..) {
            // Whoever has stopped waiting for it does without.
            let _ = reply.try_send(status(engine, report));
        }
    }

    fn is_over(&self) -> bool {
        self.stopped
    }
}
