//! One shared card behind its lanes: a host driver and a NIC with its radio, which way frames go between them, and which
//! lane has which VM-ID.

use std::fmt;
use std::str::FromStr;

use airlane_air::{Air, AirEvent, RadioConfig, RadioId};
use airlane_host_driver::{Host, HostConfig};
use airlane_lane::{Instant, LaneId};
use airlane_nic::{Nic, VmCounters};
use airlane_waist::{Command, Event, NicEvent, PerVm, Request, Tag, VmId};

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
    /// other.
    pub(crate) fn step(&mut self, now: Instant, air: &mut Air) -> (Option<Instant>, usize) {
        let host = self.host.step(now);
        let passed = self.pass_to_nic(now, air);
        let nic = self.nic.step(now, air);
        (Instant::earlier(host, nic), passed)
    }

    /// What the host driver asks of the NIC; says how many requests.
    pub(crate) fn pass_to_nic(&mut self, now: Instant, air: &mut Air) -> usize {
        let mut passed = 0;
        while let Some(request) = self.host.next_for_nic() {
            self.nic.request(now, request, air);
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
                NicEvent::Vif(vm, event) if passes_host(&event, *data_path, host) => {
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
fn passes_host(event: &Event, data_path: DataPath, host: &Host) -> bool {
    let data = match event {
        Event::Transmitted(..) => true,
        Event::Received(_) => !host.listens(),
        _ => false,
    };
    data && data_path == DataPath::Passthrough
}
