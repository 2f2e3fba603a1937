//! What a scenario means once every rule holds: the types that a run is made from. How they are written in TOML is not
//! known here.

mod access_point;
mod check;
mod own;
mod place;
mod places;
mod security;
mod step;
mod subnet;
mod vmm;

pub use access_point::{AccessPoint, ApKind, CaptiveKit, Uplink};
pub use check::{Action, Check, CheckKind, Walk};
pub use own::{Own, OwnFile};
pub use place::Position;
pub use places::{Key, Places};
pub use security::{Eap, EapMethod, Security};
pub use step::{Act, Step, When};
pub use subnet::{Subnet, SubnetError};
pub use vmm::Vmm;

use airlane_dma::Translation;
use airlane_dot11::MacAddr;
use airlane_engine::DataPath;
use airlane_iwl::Model;
use airlane_lane::{Coalescing, Polling, Threads};
use std::net::Ipv4Addr;
use std::time::Duration;

/// The name of the VM that runs the access points; no other VM may have it.
pub const ACCESS_POINT_VM: &str = "access-points";

/// A checked scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file's name without its ending.
    pub name: String,
    /// One line for people.
    pub title: Option<String>,
    /// Time-outs and the kernel.
    pub run: RunSettings,
    /// The medium.
    pub air: Air,
    /// At least one, at most [`MAX_CARDS`].
    pub cards: Vec<Card>,
    /// At least one, at most [`MAX_ACCESS_POINTS`].
    pub access_points: Vec<AccessPoint>,
    /// At least one; on each card at most [`airlane_waist::MAX_VMS`]. Those of the first card come first.
    pub vms: Vec<Vm>,
    /// One entry per check and VM.
    pub checks: Vec<Check>,
    /// Where the keys stand that only a look at the machine can find wrong.
    pub places: Places,
    /// What happens, in the order in which it is written.
    pub steps: Vec<Step>,
}

/// How many access points one scenario may have: radios of one hwsim guest.
pub const MAX_ACCESS_POINTS: usize = 8;

/// How many cards one scenario may have: all their VMs may join one network, which has 100 addresses for them.
pub const MAX_CARDS: usize = 6;
const _: () = assert!(MAX_CARDS * airlane_waist::MAX_VMS <= 100);

/// `[run]`
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// The guests' kernel, such as `6.1`; none: the first that is installed.
    pub kernel: Option<String>,
    /// What VMs run in that do not say it themselves, and the access points.
    pub vmm: Vmm,
    /// From start until the guest's agent speaks.
    pub boot_timeout: Duration,
    /// From then until the VM has its address (or is refused).
    pub join_timeout: Duration,
    /// How long an external VM is waited for.
    pub external_timeout: Duration,
}

/// `[air]`
#[derive(Clone, Debug)]
pub struct Air {
    /// Names the run's randomness.
    pub seed: u64,
    /// ISO 3166-1 alpha-2, for the regulatory rules in guests.
    pub country: String,
    /// Of the log-distance path loss; none: the medium's default.
    pub path_loss_exponent: Option<f64>,
}

/// `[card]`, or one `[[card]]`: a radio, and how its VMs share it.
#[derive(Clone, Debug)]
pub struct Card {
    /// Unique among cards.
    pub name: String,
    /// What its VMs have that name no model.
    pub model: Model,
    /// Its own address, which one VM may have.
    pub mac: MacAddr,
    /// Where it stands.
    pub position: Position,
    /// For how many seconds what a scan has heard answers the next one; 0: never.
    pub scan_cache: f64,
    /// How addresses of its guests become pages.
    pub translation: Translation,
    /// When a VM is interrupted.
    pub interrupts: Coalescing,
    /// When the threads of its lanes and of its radio look again before they sleep.
    pub polling: Polling,
    /// Which way frames go between a lane and the NIC.
    pub data_path: DataPath,
    /// Which thread serves the lanes of its VMs.
    pub threads: Threads,
}

/// `[[vm]]`
#[derive(Clone, Debug)]
pub struct Vm {
    /// Unique among VMs.
    pub name: String,
    /// Its virtual MAC address.
    pub mac: MacAddr,
    /// Index into [`Scenario::cards`].
    pub on: usize,
    /// Which model of card its driver sees.
    pub model: Model,
    /// Its driver may set another address.
    pub change_mac: bool,
    /// Its share of the airtime, relative to the other VMs'.
    pub weight: u16,
    /// Index into [`Scenario::access_points`]: the first of the network that it joins.
    pub joins: usize,
    /// What it believes the passphrase to be.
    pub passphrase: Option<String>,
    /// Who it says it is, in a network that asks.
    pub eap: Option<Eap>,
    /// Its driver leaves no encryption to the card.
    pub swcrypto: bool,
    /// Further lines for the network's block in wpa_supplicant.conf.
    pub supplicant: Vec<String>,
    /// Its memory in MiB, 128 to 16384.
    pub memory: u64,
    /// Its own kernel, instead of the run's.
    pub kernel: Option<String>,
    /// What it runs in, if not in what the run says.
    pub vmm: Option<Vmm>,
    /// What its user brings.
    pub own: Own,
    /// Started by the user, not by us.
    pub external: bool,
    /// Not started with the others, but by a step or a client.
    pub later: bool,
}

impl Scenario {
    /// The name of the card that `vm` is on; none where there is but one, which needs no name.
    pub fn card_name(&self, vm: &Vm) -> Option<&str> {
        let several = self.cards.len() > 1;
        let card = self.cards.get(vm.on).filter(|_| several);
        card.map(|card| card.name.as_str())
    }

    /// The first access point of the network that `vm` joins.
    pub fn network_of(&self, vm: &Vm) -> Option<&AccessPoint> {
        self.access_points.get(vm.joins)
    }

    /// The access point of `vm`'s network with this BSSID, else the network's first.
    pub fn access_point_of(&self, vm: &Vm, bssid: Option<&str>) -> Option<&AccessPoint> {
        let mut points = self.access_points_of(vm.joins);
        let seen = points.find(|ap| bssid == Some(ap.bssid.to_string().as_str()));
        seen.or_else(|| self.network_of(vm))
    }

    /// All access points of a network, by the index of its first.
    pub fn access_points_of(&self, network: usize) -> impl Iterator<Item = &AccessPoint> {
        let points = self.access_points.iter();
        points.filter(move |ap| ap.network == network)
    }

    /// The addresses that are kept for the VMs of the network that begins with number `network`.
    pub fn leases(&self, network: usize) -> Vec<(MacAddr, Ipv4Addr)> {
        let Some(ap) = self.access_points.get(network) else {
            return Vec::new();
        };
        let [a, b, c, _] = ap.subnet.address.octets();
        let members = self.vms.iter().filter(|vm| vm.joins == network);
        let leases = members.zip(100..=199);
        let lease = |(vm, last): (&Vm, u8)| (vm.mac, Ipv4Addr::new(a, b, c, last));
        leases.map(lease).collect()
    }

    /// The access points that run in the access-point VM.
    pub fn hostapds(&self) -> impl Iterator<Item = &AccessPoint> {
        let points = self.access_points.iter();
        points.filter(|ap| ap.kind == ApKind::Hostapd)
    }

    /// True when the scenario has this VM sleep.
    pub fn suspends(&self, vm: usize) -> bool {
        let sleeps = |kind: &CheckKind| {
            matches!(
                kind,
                CheckKind::LifeCycle {
                    action: Action::Suspend,
                    ..
                }
            )
        };
        self.checks
            .iter()
            .any(|check| check.vm == vm && sleeps(&check.kind))
    }

    /// True when the scenario wants this VM to be refused.
    pub fn expects_refusal(&self, vm: usize) -> bool {
        let refused = |check: &Check| check.vm == vm && check.kind == CheckKind::Refused;
        self.checks.iter().any(refused)
    }

    /// What VM `index` runs in. The user's own VMs are QEMU's.
    pub fn vmm_of(&self, index: usize) -> Vmm {
        match self.vms.get(index) {
            Some(vm) if vm.external => Vmm::Qemu,
            Some(vm) => vm.vmm.unwrap_or(self.run.vmm),
            None => self.run.vmm,
        }
    }

    /// The first check that a VM's VMM cannot serve, as a sentence: there is no monitor that would put User Mode Linux to
    /// sleep, start it anew or pull out its card.
    pub fn beyond_vmm(&self) -> Option<String> {
        let beyond = self.checks.iter().find_map(|check| match check.kind {
            CheckKind::LifeCycle {
                action: action @ (Action::Suspend | Action::Reboot | Action::HotPlug),
                ..
            } if self.vmm_of(check.vm) == Vmm::Uml => Some((check, action)),
            _ => None,
        });
        let (check, action) = beyond?;
        let vm = self.vms.get(check.vm).map_or("?", |vm| vm.name.as_str());
        let place = self.places.at(&Key::Check(check.name.clone()));
        Some(format!(
            "{place}the VM `{vm}` cannot do `{}` in User Mode Linux\n  remedy: write vmm = \"qemu\" in that VM, or run without --vmm",
            action.word()
        ))
    }
}
