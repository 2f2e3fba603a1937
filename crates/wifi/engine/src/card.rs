//! Shared cards and the lanes at them. A card is a host driver and a NIC with its radio, knows which way frames go between
//! them, and gives out VM-IDs; a lane has one of its card while a VM is attached, and events that wait for it.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use airlane_air::{Air, AirEvent, RadioConfig, RadioId};
use airlane_dot11::MacAddr;
use airlane_host_driver::{Host, HostConfig};
use airlane_lane::{Instant, LaneId, MAX_LANES};
use airlane_nic::{AddressPolicy, Nic, VmCounters};
use airlane_waist::{
    Command, Event, MAX_VMS, NicEvent, NicRequest, PerVm, Request, Tag, VifCommand, VmId,
};

/// Which way frames and their reports go between a lane and the NIC (Virtual WiFi, section 6, "data
/// passthrough"). The NIC keeps VMs apart and checks who they are on both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataPath {
    /// Through the host driver, as everything else.
    Emulated,
    /// Straight to the VM's queue in the NIC and back; the host driver has to do with management alone.
    #[default]
    Passthrough,
}

/// A text that names no data path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no data path `{0}`")]
pub struct DataPathError(String);

impl DataPath {
    /// Every data path, for stories that are told on each.
    pub const ALL: [Self; 2] = [Self::Emulated, Self::Passthrough];
    /// What may be written, for messages.
    pub const FORMS: &str = r#""passthrough", "emulated""#;
}

impl fmt::Display for DataPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Emulated => "emulated",
            Self::Passthrough => "passthrough",
        })
    }
}

impl FromStr for DataPath {
    type Err = DataPathError;

    fn from_str(text: &str) -> Result<Self, DataPathError> {
        let mut all = Self::ALL.into_iter();
        all.find(|path| path.to_string() == text)
            .ok_or_else(|| DataPathError(text.to_owned()))
    }
}

/// A lane that a card does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaneError {
    /// There is no such lane.
    #[error("there is no {0}")]
    NoLane(LaneId),
    /// There is no such card.
    #[error("there is no card {0}")]
    NoCard(usize),
    /// All its VM-IDs are given out.
    #[error("one card serves {MAX_VMS} VMs at once, and card {0} has them")]
    Full(usize),
    /// The engine has given out as many lanes as one may.
    #[error("an engine has at most {MAX_LANES} lanes")]
    TooMany,
}

/// A card: its radio on the air, its NIC and its host driver.
pub struct Card {
    name: String,
    pub(crate) host: Host,
    pub(crate) nic: Nic,
    pub(crate) radio: RadioId,
    pub(crate) data_path: DataPath,
    seats: PerVm<Seat>,
    /// What was counted of VMs whose VM-IDs have become free.
    departed: Vec<(LaneId, VmCounters)>,
}

/// Whose a VM-ID is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Seat {
    /// The next VM that attaches may have it.
    #[default]
    Free,
    /// The VM of this lane has it.
    Taken(LaneId),
    /// The VM of this lane has gone; the VM-ID is free when so many resets are done.
    Leaving(LaneId, u32),
}

impl Seat {
    fn lane(self) -> Option<LaneId> {
        match self {
            Self::Taken(lane) => Some(lane),
            Self::Free | Self::Leaving(..) => None,
        }
    }
}

impl Card {
    /// A card on `air` that no lane uses yet.
    pub(crate) fn new(config: RadioConfig, air: &mut Air) -> Self {
        let name = config.name.clone();
        let radio = air.add_radio(config);
        Self {
            name,
            host: Host::new(HostConfig::default()),
            nic: Nic::new(radio),
            radio,
            data_path: DataPath::default(),
            seats: PerVm::default(),
            departed: Vec::new(),
        }
    }

    /// Its radio's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Settings of its host driver, which forgets what it knew.
    pub fn set_host_config(&mut self, config: HostConfig) {
        self.host = Host::new(config);
    }

    /// Which way its frames go.
    pub fn set_data_path(&mut self, data_path: DataPath) {
        self.data_path = data_path;
    }

    /// The NIC, for reports.
    pub fn nic(&self) -> &Nic {
        &self.nic
    }

    /// The host driver, for reports.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The lane that has this VM-ID.
    pub fn lane(&self, vm: VmId) -> Option<LaneId> {
        self.seats[vm].lane()
    }

    /// Gives a lane the lowest free VM-ID; `None` when all are given out.
    pub(crate) fn admit(&mut self, lane: LaneId) -> Option<VmId> {
        let vm = VmId::all().find(|&vm| self.seats[vm] == Seat::Free)?;
        self.seats[vm] = Seat::Taken(lane);
        Some(vm)
    }

    /// Whether a VM-ID becomes free when the card has run.
    pub(crate) fn is_vm_leaving(&self) -> bool {
        let mut seats = self.seats.iter();
        seats.any(|(_, seat)| matches!(seat, Seat::Leaving(..)))
    }

    /// What was counted of VMs whose VM-IDs have become free since the last call.
    pub(crate) fn departed(&mut self) -> impl Iterator<Item = (LaneId, VmCounters)> {
        self.departed.drain(..)
    }

    /// The VM has gone, `resets` of which are not done yet: one more reset takes what it leaves, then its VM-ID is free.
    pub(crate) fn retire(&mut self, now: Instant, vm: VmId, resets: u32) {
        let Seat::Taken(lane) = self.seats[vm] else {
            return;
        };
        self.seats[vm] = Seat::Leaving(lane, resets + 1);
        let reset = Request {
            tag: Tag(0),
            command: Command::Reset,
        };
        self.host.request(now, vm, reset);
    }

    /// Lets host driver and NIC do what is due; says when to come back, and how many requests went from one to the
    /// other. `is_elsewhere` as for [`Self::pass_to_nic`].
    pub(crate) fn step(
        &mut self,
        now: Instant,
        air: &mut Air,
        is_elsewhere: impl Fn(MacAddr) -> bool,
    ) -> (Option<Instant>, usize) {
        let host = self.host.step(now);
        let passed = self.pass_to_nic(now, air, is_elsewhere);
        let nic = self.nic.step(now, air);
        (Instant::earlier(host, nic), passed)
    }

    /// What the host driver asks of the NIC; says how many requests. An address that a VM of another card bears now,
    /// which `is_elsewhere` says, is refused here, for the NIC knows its own vMACs only.
    pub(crate) fn pass_to_nic(
        &mut self,
        now: Instant,
        air: &mut Air,
        is_elsewhere: impl Fn(MacAddr) -> bool,
    ) -> usize {
        let mut passed = 0;
        while let Some(request) = self.host.next_for_nic() {
            match request {
                NicRequest::Vif(vm, tag, VifCommand::Configure(config))
                    if is_elsewhere(config.address) =>
                {
                    self.nic.refuse_address(vm, tag, config.address);
                }
                request => self.nic.request(now, request, air),
            }
            passed += 1;
        }
        passed
    }

    /// What the air says to the card's radio.
    pub(crate) fn air_event(&mut self, now: Instant, event: &AirEvent) {
        self.nic.air_event(now, event);
    }

    /// What NIC and host driver tell the VMs, in the order in which they say it; says how many events the NIC had.
    pub(crate) fn tell_vms(&mut self, now: Instant, mut tell: impl FnMut(LaneId, Event)) -> usize {
        let Self {
            host,
            nic,
            seats,
            data_path,
            departed,
            ..
        } = self;
        let mut left = Vec::new();
        let mut tell = |(vm, event): (VmId, Event)| {
            let done = matches!(event, Event::ResetDone);
            match &mut seats[vm] {
                Seat::Taken(lane) => tell(*lane, event),
                Seat::Leaving(lane, resets) if done => {
                    *resets -= 1;
                    if *resets == 0 {
                        left.push((*lane, vm));
                    }
                }
                // The end of what the VM that has gone had begun.
                Seat::Leaving(..) | Seat::Free => {}
            }
        };
        while let Some(event) = host.next_for_vm() {
            tell(event);
        }
        let mut told = 0;
        while let Some(event) = nic.next_event() {
            told += 1;
            match event {
                NicEvent::Vif(vm, event) if bypasses_host_driver(&event, *data_path, host) => {
                    tell((vm, event));
                }
                event => {
                    host.event(now, event);
                    while let Some(event) = host.next_for_vm() {
                        tell(event);
                    }
                }
            }
        }
        for (lane, vm) in left {
            seats[vm] = Seat::Free;
            departed.push((lane, nic.release(vm)));
        }
        told
    }
}

/// What goes to its VM without the host driver: frames, unless they may be of use to others' scans, and reports of
/// frames.
fn bypasses_host_driver(event: &Event, data_path: DataPath, host: &Host) -> bool {
    let data = match event {
        Event::Transmitted(..) => true,
        Event::Received(_) => !host.listens(),
        _ => false,
    };
    data && data_path == DataPath::Passthrough
}

/// All lanes that the engine has given out, by number, as tenants of cards.
#[derive(Default)]
pub(crate) struct Tenants(Vec<Tenant>);

/// A lane as its card's tenant: it has a place there, and a VM-ID while a VM is attached.
pub(crate) struct Tenant {
    /// The card's number, which is given out.
    pub card: usize,
    /// Its VM-ID on that card, while a VM is attached.
    pub vm: Option<VmId>,
    /// Resets that the lane has asked for and has not been told the end of.
    resets: u32,
    assigned: Option<(MacAddr, AddressPolicy)>,
    /// Its share of the card's airtime.
    weight: u16,
    /// Of the times when the lane had a VM-ID that it has no longer.
    pub counters: VmCounters,
    /// In the order in which the lane is to have them.
    pub events: VecDeque<Event>,
}

impl Tenants {
    /// One more lane, at this card; at most [`MAX_LANES`] of all cards together.
    pub fn add(&mut self, card: usize) -> Result<LaneId, LaneError> {
        let number = match u16::try_from(self.0.len()) {
            Ok(number) if usize::from(number) < MAX_LANES => number,
            _ => return Err(LaneError::TooMany),
        };
        self.0.push(Tenant {
            card,
            vm: None,
            resets: 0,
            assigned: None,
            weight: 1,
            counters: VmCounters::default(),
            events: VecDeque::new(),
        });
        Ok(LaneId::new(number))
    }

    pub fn get(&self, lane: LaneId) -> Option<&Tenant> {
        self.0.get(lane.index())
    }

    pub fn get_mut(&mut self, lane: LaneId) -> Option<&mut Tenant> {
        self.0.get_mut(lane.index())
    }

    /// What stands at a lane, and its card among `cards`; `None` for a lane that was not given out.
    pub fn find<'a>(
        &'a mut self,
        lane: LaneId,
        cards: &'a mut [Card],
    ) -> Option<(&'a mut Tenant, &'a mut Card)> {
        let tenant = self.0.get_mut(lane.index())?;
        let card = cards.get_mut(tenant.card)?;
        Some((tenant, card))
    }

    /// The numbers of the lanes to which VMs are attached.
    pub fn attached(&self) -> impl Iterator<Item = usize> {
        let numbered = self.0.iter().enumerate();
        numbered.filter_map(|(number, tenant)| tenant.vm.map(|_| number))
    }

    /// The addresses that the lanes' VMs are assigned.
    pub fn addresses(&self) -> impl Iterator<Item = MacAddr> {
        let assigned = self.0.iter().filter_map(|tenant| tenant.assigned);
        assigned.map(|(address, _)| address)
    }

    /// A card has an event for a lane. Cards name only lanes that were given out.
    pub fn tell(&mut self, lane: LaneId, event: Event) {
        if let Some(tenant) = self.0.get_mut(lane.index()) {
            let done = matches!(event, Event::ResetDone);
            tenant.resets = tenant.resets.saturating_sub(u32::from(done));
            tenant.events.push_back(event);
        }
    }

    /// A VM-ID that a lane had is free: these are its counters.
    pub fn count(&mut self, lane: LaneId, counters: &VmCounters) {
        if let Some(tenant) = self.0.get_mut(lane.index()) {
            tenant.counters.add(counters);
        }
    }
}

impl Tenant {
    /// A VM attaches: gives it the lowest free VM-ID, or the one that it has.
    pub fn attach(&mut self, lane: LaneId, card: &mut Card) -> Result<VmId, LaneError> {
        if let Some(vm) = self.vm {
            return Ok(vm);
        }
        let vm = card.admit(lane).ok_or(LaneError::Full(self.card))?;
        self.vm = Some(vm);
        card.nic.stamps().set_lane(vm, lane);
        if let Some((address, policy)) = self.assigned {
            card.nic.assign(vm, address, policy);
        }
        card.nic.set_weight(vm, self.weight);
        Ok(vm)
    }

    /// The VM has gone. Resets that it waits for are done, as far as its lane is concerned.
    pub fn detach(&mut self, now: Instant, card: &mut Card) {
        let Some(vm) = self.vm.take() else {
            return;
        };
        let resets = std::mem::take(&mut self.resets);
        for _ in 0..resets {
            self.events.push_back(Event::ResetDone);
        }
        card.retire(now, vm, resets);
    }

    /// The lane asks for something. `None` when no VM is attached: nothing is done, and the end of a reset is told
    /// at once, for the lane's device waits for it.
    pub fn asks(&mut self, command: &Command) -> Option<VmId> {
        let reset = matches!(command, Command::Reset);
        if self.vm.is_none() {
            self.events.extend(reset.then_some(Event::ResetDone));
        } else {
            self.resets += u32::from(reset);
        }
        self.vm
    }

    /// Its VM's address, which all cards have reserved.
    pub fn assign(&mut self, card: &mut Card, address: MacAddr, policy: AddressPolicy) {
        self.assigned = Some((address, policy));
        if let Some(vm) = self.vm {
            card.nic.assign(vm, address, policy);
        }
    }

    pub fn set_weight(&mut self, card: &mut Card, weight: u16) {
        self.weight = weight;
        if let Some(vm) = self.vm {
            card.nic.set_weight(vm, weight);
        }
    }
}
