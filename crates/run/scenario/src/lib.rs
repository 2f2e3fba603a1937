//! What is run: air, access points, card, virtual machines, checks. One TOML file, read and checked
//! as a whole before anything starts. Every key is described in `docs/scenario.md`.

// A scenario is a file that anybody may have written.
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

mod address;
mod card;
mod checks;
mod error;
mod fields;
mod kind;
mod network;
mod raw;
mod security;
#[cfg(test)]
mod security_tests;
mod subnet;
#[cfg(test)]
mod tests;
mod validate;
mod vmm;
mod width;

use airlane_dma::Translation;
use airlane_dot11::{Channel, MacAddr, Width};
use airlane_engine::DataPath;
use airlane_iwl::Model;
use airlane_lane::{Coalescing, Polling};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

pub use error::ScenarioError;
pub use kind::{ApKind, Uplink};
pub use security::{Eap, EapMethod, Security};
pub use subnet::Subnet;
pub use vmm::Vmm;

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
    /// At least one; on each card at most [`airlane_lane::MAX_VMS`]. Those of the first card come first.
    pub vms: Vec<Vm>,
    /// One entry per check and VM.
    pub checks: Vec<Check>,
}

/// How many access points one scenario may have: radios of one hwsim guest.
pub const MAX_ACCESS_POINTS: usize = 8;

/// How many cards one scenario may have: all their VMs may join one network, which has 100 addresses for them.
pub const MAX_CARDS: usize = 6;
const _: () = assert!(MAX_CARDS * airlane_lane::MAX_VMS <= 100);

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
}

/// A place, in metres east, north and up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position(pub [f64; 3]);

/// `[[access_point]]`
#[derive(Clone, Debug)]
pub struct AccessPoint {
    /// Unique among access points.
    pub name: String,
    /// 1 to 32 bytes.
    pub ssid: String,
    /// Unique among all stations.
    pub bssid: MacAddr,
    /// Whether hostapd runs it in the access-point VM, or airlane itself.
    pub kind: ApKind,
    /// Seconds after which a built-in one replaces its group key; none: never.
    pub group_rekey: Option<u64>,
    /// The first 20 MHz of it.
    pub channel: Channel,
    /// How wide it is with 802.11n; none: it is not one of 802.11n.
    pub width: Option<Width>,
    /// The modulation and coding scheme of all that it sends to stations; none: its rate control decides.
    pub mcs: Option<u8>,
    /// What it asks of a station.
    pub security: Security,
    /// One for all stations, where [`Security`] has one.
    pub passphrase: Option<String>,
    /// Passwords by identity, of a network that asks for one.
    pub users: BTreeMap<String, String>,
    /// Index of the first access point of its network: of those with its SSID.
    pub network: usize,
    /// The network's gateway, and its subnet.
    pub subnet: Subnet,
    /// Where it stands.
    pub position: Position,
    /// Further lines for hostapd.conf, which win over ours.
    pub hostapd: Vec<String>,
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
    /// Started by the user, not by us.
    pub external: bool,
}

/// One check of one VM.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its name in the report; unique among the checks of one VM.
    pub name: String,
    /// Index into [`Scenario::vms`].
    pub vm: usize,
    /// What is looked at, with its bounds.
    pub kind: CheckKind,
}

/// What a check looks at.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckKind {
    /// In its own BSS, under its own MAC address, with its own key.
    Associated,
    /// The access point refuses it.
    Refused,
    /// `count` echo requests to its gateway, no loss.
    Ping {
        /// How many, 1 to 1000.
        count: u64,
    },
    /// It reaches no other subnet and no VM in one.
    Isolated,
    /// iperf3, TCP and UDP, both ways, at the same time as all others.
    Throughput {
        /// Length of each of the four phases, in seconds.
        seconds: u64,
        /// Offered UDP load, Mb/s.
        udp_mbps: u64,
        /// The least that TCP must reach each way, Mb/s.
        min_mbps: f64,
    },
    /// It keeps its association while all transfer; the sum is compared with one VM alone.
    Steady {
        /// Length of the transfer of all, in seconds.
        seconds: u64,
        /// The least sum, as per cent of what the first VM reaches alone.
        min_percent: f64,
    },
    /// Its keys are replaced in mid-transfer, and the transfer goes on.
    Rekeyed {
        /// Length of the transfer, in seconds.
        seconds: u64,
    },
    /// It and its access point use 802.11n as the scenario says: rates, width, A-MPDUs both ways.
    HighThroughput {
        /// Length of the transfer, in seconds.
        seconds: u64,
    },
    /// The card walks while the VM's echo requests go on; its supplicant moves it to another access point.
    Roamed(Walk),
    /// Its access point dies without a word and comes back; `witness`, elsewhere, does not notice.
    Outage {
        /// Index into [`Scenario::vms`].
        witness: usize,
        /// How long the access point is gone, in seconds.
        seconds: u64,
    },
    /// Power save is on in its driver, and it is still reached after a quiet time.
    PowerSave {
        /// The quiet time, in seconds.
        seconds: u64,
    },
    /// It does `action` again and again, and returns each time; `witness` does not notice.
    LifeCycle {
        /// What the VM does.
        action: Action,
        /// How many times in a row; 1 to 1000.
        times: u64,
        /// Index into [`Scenario::vms`].
        witness: usize,
    },
    /// It is killed in mid-transfer; `witness`' transfer goes on; a new VM takes its place.
    Killed {
        /// Index into [`Scenario::vms`].
        witness: usize,
        /// Length of the transfer, in seconds.
        seconds: u64,
    },
}

/// How the card walks in a check [`CheckKind::Roamed`].
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// Where it ends; it begins where the card stands.
    pub to: Position,
    /// How long it takes, in seconds.
    pub seconds: u64,
    /// The longest time without an answer, in seconds.
    pub max_gap: f64,
    /// Index into [`Scenario::vms`]: a VM that must not notice.
    pub witness: Option<usize>,
}

/// What a machine does in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Its driver is unloaded and loaded.
    Reload,
    /// Its interface goes down in mid-transfer, and up.
    Ifdown,
    /// It is suspended to memory and woken.
    Suspend,
    /// Its machine is reset, and boots its kernel again.
    Reboot,
    /// Its card is pulled out and plugged in while it runs.
    HotPlug,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Reload,
        Self::Ifdown,
        Self::Suspend,
        Self::Reboot,
        Self::HotPlug,
    ];

    /// The word for it in a scenario.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Reload => "reload",
            Self::Ifdown => "ifdown",
            Self::Suspend => "suspend",
            Self::Reboot => "reboot",
            Self::HotPlug => "hot-plug",
        }
    }
}

impl CheckKind {
    /// What it needs that only the access-point VM has.
    const fn needs_of_hostapd(&self) -> Option<&'static str> {
        match self {
            Self::Throughput { .. }
            | Self::Steady { .. }
            | Self::Rekeyed { .. }
            | Self::HighThroughput { .. }
            | Self::Killed { .. } => Some("iperf3 server"),
            Self::Outage { .. } => Some("process to kill"),
            Self::PowerSave { .. } => Some("shell to ask from"),
            Self::Associated
            | Self::Refused
            | Self::Ping { .. }
            | Self::Isolated
            | Self::LifeCycle { .. }
            | Self::Roamed(_) => None,
        }
    }

    /// The word for it in a scenario.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Associated => "associated",
            Self::Refused => "refused",
            Self::Ping { .. } => "ping",
            Self::Isolated => "isolated",
            Self::Throughput { .. } => "throughput",
            Self::Steady { .. } => "steady",
            Self::Rekeyed { .. } => "rekeyed",
            Self::HighThroughput { .. } => "high-throughput",
            Self::Roamed(_) => "roamed",
            Self::Outage { .. } => "outage",
            Self::PowerSave { .. } => "power-save",
            Self::LifeCycle { .. } => "life-cycle",
            Self::Killed { .. } => "killed",
        }
    }
}

impl CheckKind {
    /// The VM that must not notice what happens.
    pub const fn witness(&self) -> Option<usize> {
        match self {
            Self::Killed { witness, .. }
            | Self::Outage { witness, .. }
            | Self::LifeCycle { witness, .. } => Some(*witness),
            Self::Roamed(walk) => walk.witness,
            _ => None,
        }
    }
}

impl Scenario {
    /// Reads and checks the scenario in `path`.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path).map_err(|reason| ScenarioError::Unreadable {
            file: path.to_owned(),
            reason,
        })?;
        Self::parse(path, &text)
    }

    /// Checks `text`; `path` names it in errors, and names the scenario.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ScenarioError> {
        let source = error::Source { path, text };
        let raw = toml::from_str(text).map_err(|error| source.syntax_error(&error))?;
        validate::scenario(source, raw)
    }

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
}
