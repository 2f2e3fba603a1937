//! The yardstick: one card on its NIC and its medium in one thread, without what sharing needs. No rings
//! between threads, no host driver, no second VM. Benchmarks compare with it; nothing else uses it.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use airlane_air::{Air, AirConfig, RadioConfig, RadioId};
use airlane_dma::Memory;
use airlane_engine::{Neighbour, hand_to_neighbours, step_neighbours};
use airlane_iwl::{Device, Identity};
use airlane_lane::{Instant, VmId};
use airlane_nic::{AddressPolicy, Nic};
use airlane_transport::{Ended, EventFd, LaneEnd, PciDevice, VfioUserServer};

use super::card_port::{BAR_SIZE, CONFIG_SIZE};
use super::clock::Clock;
use super::{libc_nonblock, raise_priority, spawn};

/// A served card that shares nothing. Dropping it stops it.
pub struct UnsharedCard {
    socket: PathBuf,
    stop: EventFd,
    thread: Option<JoinHandle<()>>,
}

impl UnsharedCard {
    /// Opens the socket at `socket` and serves one VMM after the other in a thread named `native`.
    pub fn start(
        socket: &Path,
        identity: Identity,
        air: AirConfig,
        card: RadioConfig,
        neighbours: Vec<Box<dyn Neighbour>>,
    ) -> anyhow::Result<Self> {
        let mut server = VfioUserServer::bind(socket)?;
        let stop = EventFd::new(libc_nonblock())?;
        let stopped = stop.try_clone()?;
        let wake = EventFd::new(libc_nonblock())?;
        let mut port = Port::new(identity, air, card, neighbours);
        let thread = spawn("native".to_owned(), move || {
            raise_priority();
            while !matches!(server.serve(&mut port, &wake, &stopped), Ok(Ended::Stopped)) {
                port.device.reset();
            }
        })?;
        Ok(Self {
            socket: socket.to_owned(),
            stop,
            thread: Some(thread),
        })
    }

    /// Where the VMM attaches the card.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for UnsharedCard {
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
    neighbours: Vec<Box<dyn Neighbour>>,
    clock: Clock,
    due: Option<Instant>,
}

impl Port {
    fn new(
        identity: Identity,
        air: AirConfig,
        card: RadioConfig,
        mut neighbours: Vec<Box<dyn Neighbour>>,
    ) -> Self {
        let mut air = Air::new(air);
        let card = air.add_radio(card);
        let mut nic = Nic::new(card);
        if let Some(vm) = VmId::all().next() {
            nic.assign(vm, identity.address, AddressPolicy::default());
        }
        for neighbour in &mut neighbours {
            neighbour.join(Instant(0), &mut air);
        }
        Self {
            device: Device::new(identity),
            nic,
            air,
            card,
            neighbours,
            clock: Clock::start(),
            due: None,
        }
    }

    /// One exchange between all parts; true when anything has moved.
    fn turn(&mut self, now: Instant) -> bool {
        let mut moved = self.ask(now);
        let mut due = self.nic.step(now, &mut self.air);
        due = Instant::earlier(
            due,
            step_neighbours(&mut self.neighbours, now, &mut self.air),
        );
        self.due = Instant::earlier(due, self.air.step(now));
        while let Some(event) = self.air.next_event() {
            moved = true;
            if event.radio() == self.card {
                self.nic.air_event(now, event, &mut self.air);
            } else {
                hand_to_neighbours(&mut self.neighbours, now, &event);
            }
        }
        while let Some((_, event)) = self.nic.next_event() {
            self.device.event(event);
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
            self.nic.request(now, vm, request, &mut self.air);
            asked = true;
        }
        asked
    }
}

impl PciDevice for Port {
    fn config_read(&mut self, offset: u64, data: &mut [u8]) {
        self.device.config_read(offset, data);
    }

    fn config_write(&mut self, offset: u64, data: &[u8]) {
        self.device.config_write(offset, data);
    }

    fn config_size(&self) -> u64 {
        CONFIG_SIZE
    }

    fn bar_size(&self, bar: u8) -> u64 {
        if bar == 0 { BAR_SIZE } else { 0 }
    }

    fn bar_read(&mut self, _bar: u8, offset: u64, data: &mut [u8]) {
        self.device.bar_read(offset, data);
    }

    fn bar_write(&mut self, _bar: u8, offset: u64, data: &[u8]) {
        self.device.bar_write(offset, data);
    }

    fn memory(&mut self) -> &mut Memory {
        self.device.memory()
    }

    fn reset(&mut self) {
        self.device.reset();
    }

    fn take_interrupt(&mut self) -> Option<u16> {
        self.device.take_msi().then_some(0)
    }

    fn intx_level(&self) -> bool {
        self.device.intx_level()
    }
}

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
