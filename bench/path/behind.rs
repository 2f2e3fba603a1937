//! What stands behind the lanes: the daemon's own [`Wifi`], which is what the totals are of, or the
//! same parts one by one, so that each stage can be watched.

use airlane_air::{Air, AirConfig, AirMode, Position, RadioConfig, RadioId, Transmission};
use airlane_daemon::AccessPoints;
use airlane_daemon::Wifi;
use airlane_dot11::{AccessCategory, Channel, Dbm, MacAddr};
use airlane_host_driver::Host;
use airlane_lane::{Engine, Instant, LaneId};
use airlane_nic::{Nic, Phy};
use airlane_waist::{Event, Request, VmId};

use crate::probe::{Probe, Stage};

/// Host driver, NIC and a medium, in one of two forms.
pub trait Behind: Send + 'static {
    /// One card, nobody else.
    fn new(mode: AirMode) -> Self;
    /// The medium, to put an access point there.
    fn air(&mut self) -> &mut Air;
    /// A VM asks for something.
    fn request(&mut self, now: Instant, vm: VmId, request: Request, probe: &impl Probe);
    /// An access point sends.
    fn inject(&mut self, now: Instant, from: RadioId, sent: Transmission, probe: &impl Probe);
    /// Runs everything that is due, and says when to come back.
    fn step(&mut self, now: Instant, probe: &impl Probe) -> Option<Instant>;
    /// The next event for this VM; nobody else is told anything meanwhile.
    fn next_for_vm(&mut self, vm: VmId, probe: &impl Probe) -> Option<Event>;
}

fn config(mode: AirMode) -> AirConfig {
    AirConfig {
        mode,
        ..AirConfig::default()
    }
}

/// A radio at the origin.
pub fn radio(name: &str) -> RadioConfig {
    RadioConfig {
        name: name.to_owned(),
        position: Position::default(),
        tx_power: Dbm(20.0),
    }
}

impl Behind for Wifi {
    fn new(mode: AirMode) -> Self {
        Wifi::with_card(config(mode), radio("card"), AccessPoints::new(Vec::new()))
    }

    fn air(&mut self) -> &mut Air {
        self.air_mut()
    }

    fn request(&mut self, now: Instant, vm: VmId, request: Request, _: &impl Probe) {
        Engine::request(self, now, lane(vm), request);
    }

    fn inject(&mut self, now: Instant, from: RadioId, sent: Transmission, _: &impl Probe) {
        self.air_mut().transmit(now, from, sent);
    }

    fn step(&mut self, now: Instant, _: &impl Probe) -> Option<Instant> {
        Wifi::step(self, now)
    }

    fn next_for_vm(&mut self, vm: VmId, _: &impl Probe) -> Option<Event> {
        self.next_event(lane(vm))
    }
}

/// The one card's lanes are numbered as its VMs.
fn lane(vm: VmId) -> LaneId {
    LaneId::new(vm.index() as u16)
}

/// The parts of a [`Wifi`], each call to one of them a stage.
pub struct Parts {
    air: Air,
    host: Host,
    nic: Nic,
    card: RadioId,
}

impl Behind for Parts {
    fn new(mode: AirMode) -> Self {
        let mut air = Air::new(config(mode));
        let card = air.add_radio(radio("card"));
        Self {
            air,
            host: Host::default(),
            nic: Nic::new(card),
            card,
        }
    }

    fn air(&mut self) -> &mut Air {
        &mut self.air
    }

    fn request(&mut self, now: Instant, vm: VmId, request: Request, probe: &impl Probe) {
        probe.stage(Stage::Host, || self.host.request(now, vm, request));
    }

    fn inject(&mut self, now: Instant, from: RadioId, sent: Transmission, probe: &impl Probe) {
        probe.stage(Stage::Air, || self.air.transmit(now, from, sent));
    }

    fn step(&mut self, now: Instant, probe: &impl Probe) -> Option<Instant> {
        loop {
            let (moved, due) = self.turn(now, probe);
            if !moved {
                return due;
            }
        }
    }

    fn next_for_vm(&mut self, vm: VmId, probe: &impl Probe) -> Option<Event> {
        let (to, event) = probe.stage(Stage::Host, || self.host.next_for_vm())?;
        assert_eq!(to, vm, "an event for the VM whose turn it is");
        Some(event)
    }
}

impl Parts {
    /// One turn of [`Wifi::step`]: whether anything has moved, and when to come back.
    fn turn(&mut self, now: Instant, probe: &impl Probe) -> (bool, Option<Instant>) {
        let Self { air, host, nic, .. } = self;
        let mut moved = false;
        let mut due = probe.stage(Stage::Host, || host.step(now));
        while let Some(request) = probe.stage(Stage::Host, || host.next_for_nic()) {
            let mut air = Watched { air, probe };
            probe.stage(Stage::Nic, || nic.request(now, request, &mut air));
            moved = true;
        }
        let next = probe.stage(Stage::Nic, || nic.step(now, &mut Watched { air, probe }));
        due = Instant::earlier(due, next);
        due = Instant::earlier(due, probe.stage(Stage::Air, || air.step(now)));
        moved |= self.hand_out_air_events(now, probe);
        while let Some(event) = probe.stage(Stage::Nic, || self.nic.next_event()) {
            probe.stage(Stage::Host, || self.host.event(now, event));
            moved = true;
        }
        (moved, due)
    }

    fn hand_out_air_events(&mut self, now: Instant, probe: &impl Probe) -> bool {
        let Self { air, nic, card, .. } = self;
        let mut any = false;
        while let Some(event) = probe.stage(Stage::Air, || air.next_event()) {
            any = true;
            if event.radio() == *card {
                probe.stage(Stage::Nic, || nic.air_event(now, &event));
            }
        }
        any
    }
}

/// A medium each call to which is a stage of its own.
struct Watched<'a, P> {
    air: &'a mut Air,
    probe: &'a P,
}

impl<P: Probe> Phy for Watched<'_, P> {
    fn tune(&mut self, now: Instant, radio: RadioId, channel: Option<Channel>) {
        self.air.tune(now, radio, channel);
    }
    fn set_addresses(&mut self, radio: RadioId, addresses: &[MacAddr]) {
        self.air.set_addresses(radio, addresses);
    }
    fn set_promiscuous(&mut self, radio: RadioId, on: bool) {
        self.air.set_promiscuous(radio, on);
    }
    fn transmit(&mut self, now: Instant, radio: RadioId, transmission: Transmission) {
        let Self { air, probe } = self;
        probe.stage(Stage::Air, || air.transmit(now, radio, transmission));
    }
    fn queued(&self, radio: RadioId, category: AccessCategory) -> usize {
        self.air.queued(radio, category)
    }
    fn cancel(&mut self, now: Instant, radio: RadioId, which: &dyn Fn(u64) -> bool) {
        self.air.cancel(now, radio, which);
    }
}
