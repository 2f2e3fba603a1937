//! Everything behind the lanes in one state machine: host driver, NIC, air and the hwsim radios of
//! the access points. No I/O, no clock: the radio thread drives it in real time, stories in virtual.

use std::collections::VecDeque;

use airlane_air::{Air, AirConfig, Position, RadioConfig, RadioId};
use airlane_dot11::{MacAddr, frame::Header};
use airlane_host_driver::{Host, HostConfig};
use airlane_lane::stamp::{FrameId, Point, Stamps};
use airlane_lane::{Instant, VmId};
use airlane_nic::{AddressPolicy, Nic};
use airlane_waist::hwsim::{FromHwsim, ToHwsim};
use airlane_waist::{Command, Event, NicEvent, Request};

use super::access_points::AccessPoints;
use super::built_in::{BuiltIn, BuiltIns};
use super::data_path::DataPath;
use super::external_station::{ExternalStation, hand_to_external, step_external};
use super::journal::Journal;

/// A radio that can be put elsewhere while it is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// The card, and with it all its VMs.
    Card,
    /// One radio of an access-point VM.
    AccessPoint {
        /// The VM.
        port: usize,
        /// hwsim's number of the radio.
        number: usize,
    },
}

/// Host, NIC, air and access points, wired.
pub struct Radio {
    air: Air,
    host: Host,
    nic: Nic,
    card: RadioId,
    access_points: AccessPoints,
    built_ins: BuiltIns,
    external: Vec<Box<dyn ExternalStation>>,
    journal: Journal,
    data_path: DataPath,
    for_vms: VecDeque<(VmId, Event)>,
    /// When the last step was.
    now: Instant,
    to_hwsim: VecDeque<(usize, ToHwsim)>,
}

impl Radio {
    /// One card on one air.
    pub fn new(air: AirConfig, card: RadioConfig, access_points: AccessPoints) -> Self {
        let mut air = Air::new(air);
        let card = air.add_radio(card);
        Self {
            air,
            host: Host::default(),
            nic: Nic::new(card),
            card,
            access_points,
            built_ins: BuiltIns::default(),
            external: Vec::new(),
            journal: Journal::default(),
            data_path: DataPath::default(),
            for_vms: VecDeque::new(),
            now: Instant(0),
            to_hwsim: VecDeque::new(),
        }
    }

    /// Gives a VM its address, which is nobody else's from now on.
    pub fn assign(&mut self, vm: VmId, address: MacAddr, policy: AddressPolicy) {
        self.nic.assign(vm, address, policy);
    }

    /// Sets a VM's share of the airtime; 1 is the usual.
    pub fn set_weight(&mut self, vm: VmId, weight: u16) {
        self.nic.set_weight(vm, weight);
    }

    /// One more built-in access point.
    pub fn add_built_in(&mut self, built_in: BuiltIn) {
        self.built_ins.add(self.now, built_in, &mut self.air);
    }

    /// Somebody else on the medium.
    pub fn add_external(&mut self, mut station: Box<dyn ExternalStation>) {
        station.join(self.now, &mut self.air);
        self.external.push(station);
    }

    /// Settings of the host driver; before any VM asks for anything.
    pub fn set_host_config(&mut self, config: HostConfig) {
        self.host = Host::new(config);
    }

    /// Chooses which way frames go; before any VM asks for anything.
    pub fn set_data_path(&mut self, data_path: DataPath) {
        self.data_path = data_path;
    }

    /// A VM asks for something.
    pub fn request(&mut self, now: Instant, vm: VmId, request: Request) {
        let frame = request.frame();
        self.stamp(Point::Taken, vm, frame);
        self.journal.request(now, vm, &request.command);
        match request.command {
            Command::Transmit(transmit) if self.data_path == DataPath::Passthrough => {
                // What the VM asked for before goes before: a station, a key.
                self.pass_to_nic(now);
                self.stamp(Point::Classified, vm, frame);
                self.nic.transmit(vm, request.tag, transmit);
            }
            _ => {
                self.host.request(now, vm, request);
                self.stamp(Point::Classified, vm, frame);
            }
        }
    }

    /// Its thread's stamps.
    pub fn stamps(&mut self) -> &mut Stamps {
        self.nic.stamps()
    }

    fn stamp(&mut self, point: Point, vm: VmId, frame: Option<FrameId>) {
        if let Some(frame) = frame {
            self.nic.stamps().of(point, vm, frame);
        }
    }

    /// An access-point VM (`port`) says something.
    pub fn hwsim(&mut self, now: Instant, port: usize, message: FromHwsim) {
        let Self { air, nic, .. } = self;
        let agreed = |header: &Header| nic.receive_agreement(header);
        let status = self.access_points.message(now, port, message, air, agreed);
        self.to_hwsim.extend(status.map(|status| (port, status)));
    }

    /// Runs everything that is due, and says when to come back.
    pub fn step(&mut self, now: Instant) -> Option<Instant> {
        self.now = now;
        loop {
            let mut wake = self.host.step(now);
            let mut moved = self.pass_to_nic(now);
            wake = Instant::earlier(wake, self.nic.step(now, &mut self.air));
            wake = Instant::earlier(wake, self.built_ins.step(now, &mut self.air));
            let due = step_external(&mut self.external, now, &mut self.air);
            wake = Instant::earlier(wake, due);
            wake = Instant::earlier(wake, self.air.step(now));
            moved |= self.hand_out_air_events(now);
            moved |= self.pass_to_vms(now);
            if !moved {
                return wake;
            }
        }
    }

    /// What the host driver asks of the NIC.
    fn pass_to_nic(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(request) = self.host.next_for_nic() {
            self.nic.request(now, request, &mut self.air);
            any = true;
        }
        any
    }

    /// What the NIC and the host driver tell the VMs: in the order in which they say it.
    fn pass_to_vms(&mut self, now: Instant) -> bool {
        self.for_vms.extend(self.host.events());
        let mut any = false;
        while let Some(event) = self.nic.next_event() {
            any = true;
            match event {
                NicEvent::Vif(vm, event) if self.passes_host(&event) => {
                    self.for_vms.push_back((vm, event));
                }
                event => {
                    self.host.event(now, event);
                    self.for_vms.extend(self.host.events());
                }
            }
        }
        any
    }

    /// What goes to its VM without the host driver: frames, unless they may be of use to others' scans,
    /// and reports of frames.
    fn passes_host(&self, event: &Event) -> bool {
        let data = match event {
            Event::Transmitted(..) => true,
            Event::Received(_) => !self.host.listens(),
            _ => false,
        };
        data && self.data_path == DataPath::Passthrough
    }

    fn hand_out_air_events(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(event) = self.air.next_event() {
            any = true;
            if event.radio() == self.card {
                self.nic.air_event(now, event, &mut self.air);
            } else if !self.built_ins.air_event(now, &event)
                && !hand_to_external(&mut self.external, now, &event)
            {
                self.access_points
                    .hold_for_sleeper(now, &event, &mut self.air);
                self.to_hwsim.extend(self.access_points.air_event(event));
            }
        }
        any
    }

    /// Puts a radio elsewhere: signals follow from the next frame on.
    pub fn place(&mut self, what: Placed, position: Position) {
        match what {
            Placed::Card => self.air.move_radio(self.card, position),
            Placed::AccessPoint { port, number } => {
                self.access_points
                    .place(port, number, position, &mut self.air);
            }
        }
    }

    /// The next event for a VM.
    pub fn next_for_vm(&mut self) -> Option<(VmId, Event)> {
        let (vm, event) = self.for_vms.pop_front()?;
        self.journal.event(self.now, vm, &event);
        self.stamp(Point::Handed, vm, event.frame());
        Some((vm, event))
    }

    /// The next message for an access-point VM.
    pub fn next_for_hwsim(&mut self) -> Option<(usize, ToHwsim)> {
        self.to_hwsim.pop_front()
    }

    /// The medium, for the tap and reports.
    pub fn air(&self) -> &Air {
        &self.air
    }

    /// The medium, to set the tap.
    pub fn air_mut(&mut self) -> &mut Air {
        &mut self.air
    }

    /// The NIC, for reports.
    pub fn nic(&self) -> &Nic {
        &self.nic
    }

    /// The host driver, for reports.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// What happens to each VM.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// What happens to each VM, to take its notices.
    pub fn journal_mut(&mut self) -> &mut Journal {
        &mut self.journal
    }

    /// The built-in access points, for reports.
    pub fn built_ins(&self) -> &BuiltIns {
        &self.built_ins
    }

    /// The built-in access points, for their uplinks.
    pub fn built_ins_mut(&mut self) -> &mut BuiltIns {
        &mut self.built_ins
    }

    /// The access points, for reports.
    pub fn access_points(&self) -> &AccessPoints {
        &self.access_points
    }
}
