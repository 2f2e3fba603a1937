//! The yardstick: one card on its NIC and its medium in one thread, without what sharing needs. No rings
//! between threads, no host driver, no second VM. Benchmarks compare with it; nothing else uses it.

use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use airlane_air::{Air, AirConfig, RadioConfig, RadioId};
use airlane_engine::{ExternalStation, hand_to_external, step_external};
use airlane_host_driver::{Shared, Sorted, sort};
use airlane_iwl::{Device, Identity};
use airlane_lane::Instant;
use airlane_nic::{AddressPolicy, Nic};
use airlane_transport::{Ended, EventFd, LaneEnd, VfioUserServer};
use airlane_waist::{Command, Event, NicEvent, NicRequest, Refusal, Reply, Request, VmId};

use airlane_daemon::clock::Clock;
use airlane_daemon::raise_priority;

/// A served card that shares nothing. Dropping it stops it.
pub struct Baseline {
    stop: EventFd,
    thread: Option<JoinHandle<()>>,
}

impl Baseline {
    /// Opens the socket at `socket` and serves one VMM after the other in a thread named `native`.
    pub fn start(
        socket: &Path,
        identity: Identity,
        air: AirConfig,
        card: RadioConfig,
        external: Vec<Box<dyn ExternalStation>>,
    ) -> anyhow::Result<Self> {
        let mut server = VfioUserServer::bind(socket)?;
        let stop = eventfd()?;
        let stopped = stop.try_clone()?;
        let wake = eventfd()?;
        let mut port = Port::new(identity, air, card, external);
        let thread = std::thread::Builder::new().name("native".to_owned());
        let thread = thread.spawn(move || {
            raise_priority();
            while !matches!(server.serve(&mut port, &wake, &stopped), Ok(Ended::Stopped)) {
                port.device.reset();
            }
        })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

fn eventfd() -> anyhow::Result<EventFd> {
    let nonblocking = i32::try_from(rustix::event::EventfdFlags::NONBLOCK.bits())?;
    Ok(EventFd::new(nonblocking)?)
}

impl Drop for Baseline {
    fn drop(&mut self) {
        let _ = self.stop.write(1);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Card, NIC and medium, one after the other.
struct Port {
    device: Device,
    nic: Nic,
    air: Air,
    card: RadioId,
    external: Vec<Box<dyn ExternalStation>>,
    clock: Clock,
    due: Option<Instant>,
}

impl Port {
    fn new(
        identity: Identity,
        air: AirConfig,
        card: RadioConfig,
        mut external: Vec<Box<dyn ExternalStation>>,
    ) -> Self {
        let mut air = Air::new(air);
        let card = air.add_radio(card);
        let mut nic = Nic::new(card);
        if let Some(vm) = VmId::all().next() {
            nic.assign(vm, identity.address, AddressPolicy::default());
        }
        for station in &mut external {
            station.join(Instant(0), &mut air);
        }
        Self {
            device: Device::new(identity),
            nic,
            air,
            card,
            external,
            clock: Clock::start(),
            due: None,
        }
    }

    /// One exchange between all parts; true when anything has moved.
    fn turn(&mut self, now: Instant) -> bool {
        let mut moved = self.ask(now);
        let mut due = self.nic.step(now, &mut self.air);
        due = Instant::earlier(due, step_external(&mut self.external, now, &mut self.air));
        self.due = Instant::earlier(due, self.air.step(now));
        while let Some(event) = self.air.next_event() {
            moved = true;
            if event.radio() == self.card {
                self.nic.air_event(now, &event);
            } else {
                hand_to_external(&mut self.external, now, &event);
            }
        }
        while let Some(event) = self.nic.next_event() {
            if let NicEvent::Vif(_, event) = event {
                self.device.event(event);
            }
            moved = true;
        }
        moved
    }

    fn ask(&mut self, now: Instant) -> bool {
        let mut asked = false;
        let Some(vm) = VmId::all().next() else {
            return asked;
        };
        while let Some(request) = self.device.next_request() {
            self.pass(now, vm, request);
            asked = true;
        }
        asked
    }

    /// What the card asks for goes to the NIC; what the NIC does not know is answered here.
    fn pass(&mut self, now: Instant, vm: VmId, Request { tag, command }: Request) {
        let command = match command {
            Command::Transmit(transmit) => return self.nic.transmit(vm, tag, transmit),
            command => sort(command),
        };
        let reply = match command {
            Sorted::PassOn(command) => {
                let request = NicRequest::Vif(vm, tag, command);
                return self.nic.request(now, request, &mut self.air);
            }
            Sorted::Consolidate(Shared::PowerSave(schedule)) => {
                let request = NicRequest::PowerSave(schedule);
                self.nic.request(now, request, &mut self.air);
                Reply::Ok
            }
            Sorted::Consolidate(Shared::Scan(_)) => Reply::Refused(Refusal::Busy),
            Sorted::Consolidate(Shared::AbortScan) => Reply::Refused(Refusal::NoScan),
            Sorted::AnswerLocally => Reply::Ok,
        };
        self.device.event(Event::Done(tag, reply));
    }
}

airlane_daemon::pci_device!(Port, device, messages_read: |_| {});

impl LaneEnd for Port {
    fn poll(&mut self) {
        let now = self.clock.now();
        while self.turn(now) {}
    }

    fn wants_poll_before_sleep(&mut self) -> bool {
        false
    }

    fn sleep_limit(&mut self) -> Option<Duration> {
        self.due.map(|due| self.clock.until(due))
    }
}
