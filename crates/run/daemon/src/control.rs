//! What other threads may ask of the engine, as a source of its reactor.

use std::sync::mpsc::{Receiver, SyncSender};

use airlane_air::Position;
use airlane_ap::gateway::Probe;
use airlane_dot11::MacAddr;
use airlane_engine::journal::{AddressRefusal, Kind, VmEvent};
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
    /// Have the gateway of a built-in access point send a series of frames to a station.
    Probe(usize, Probe),
    /// End the run.
    Stop,
}

/// The reactor's end of the control requests, and those who listen.
pub struct Control {
    requests: Receiver<ControlRequest>,
    listeners: Listeners,
    /// Those who wait for a status.
    asking: Vec<SyncSender<RadioStatus>>,
    /// The VMs' names by the number of their lane, for the log.
    vms: Vec<String>,
    stopped: bool,
}

impl Control {
    /// Nobody listens yet.
    pub fn new(requests: Receiver<ControlRequest>, vms: Vec<String>) -> Self {
        Self {
            requests,
            listeners: Listeners::default(),
            asking: Vec::new(),
            vms,
            stopped: false,
        }
    }

    /// Writes into the log what no guest tells its user. The engine tells of it once a second at most.
    fn log(&self, event: &VmEvent) {
        if let Kind::AddressRefused {
            address,
            why,
            times,
        } = event.kind
        {
            let vm = self.vms.get(event.lane.index()).map_or("?", String::as_str);
            let line = refused_address(address, why);
            tracing::error!(vm, times, "{line}");
        }
    }
}

fn refused_address(address: MacAddr, why: AddressRefusal) -> String {
    let remedy = match why {
        AddressRefusal::Fixed => "; write change_mac = true in its [[vm]] if it may have others",
        AddressRefusal::Taken | AddressRefusal::Group => "",
    };
    format!(
        "the VM may not have the address {address}, and sends nothing under it, no probe request either: {why}{remedy}"
    )
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
    fn take(&mut self, now: Instant, engine: &mut Wifi) -> Took {
        while let Ok(request) = self.requests.try_recv() {
            match request {
                ControlRequest::Status(reply) => self.asking.push(reply),
                ControlRequest::Listen(listener) => self.listeners.add(listener),
                ControlRequest::Place(what, position) => engine.place(what, position),
                ControlRequest::Probe(built_in, probe) => {
                    engine.built_ins_mut().probe(now, built_in, probe);
                }
                ControlRequest::Stop => self.stopped = true,
            }
        }
        Took::Nothing
    }

    fn give(&mut self, _: Instant, engine: &mut Wifi) -> Option<Instant> {
        while let Some(event) = engine.journal_mut().next_event() {
            self.log(&event);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_names_the_key_where_the_key_would_help() {
        let line = |why| refused_address(MacAddr([2, 0, 0, 0, 0, 7]), why);
        let fixed = line(AddressRefusal::Fixed);
        assert!(fixed.contains("write change_mac = true"), "{fixed}");
        assert!(fixed.contains("02:00:00:00:00:07"), "{fixed}");
        for why in [AddressRefusal::Taken, AddressRefusal::Group] {
            let line = line(why);
            assert!(!line.contains("change_mac"), "{line}");
        }
    }
}
