//! Checks as checked: what each looks at, its bounds, and the words for it.

use super::place::Position;

/// One check of one VM.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its name in the report; unique among the checks of one VM.
    pub name: String,
    /// Index into [`crate::Scenario::vms`].
    pub vm: usize,
    /// What is looked at, with its bounds.
    pub kind: CheckKind,
    /// The step that it comes after.
    pub after: Option<String>,
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
    /// Its card acknowledges what its access point's end sends to it, whether anybody in it listens or not.
    Downlink {
        /// How long, in seconds.
        seconds: u64,
        /// Offered load, Mb/s.
        udp_mbps: u64,
        /// The least part of the data frames that it must acknowledge, as per cent.
        min_percent: f64,
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
        /// Index into [`crate::Scenario::vms`].
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
        /// Index into [`crate::Scenario::vms`].
        witness: usize,
    },
    /// It is killed in mid-transfer; `witness`' transfer goes on; a new VM takes its place.
    Killed {
        /// Index into [`crate::Scenario::vms`].
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
    /// Index into [`crate::Scenario::vms`]: a VM that must not notice.
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
    pub(crate) const fn needs_of_hostapd(&self) -> Option<&'static str> {
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
            | Self::Downlink { .. }
            | Self::Isolated
            | Self::LifeCycle { .. }
            | Self::Roamed(_) => None,
        }
    }

    /// What can be seen of it from outside of the VM: by its card and its access point.
    pub(crate) const fn is_seen_from_outside(&self) -> bool {
        matches!(
            self,
            Self::Associated | Self::Refused | Self::Ping { .. } | Self::Downlink { .. }
        )
    }

    /// The word for it in a scenario.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Associated => "associated",
            Self::Refused => "refused",
            Self::Ping { .. } => "ping",
            Self::Downlink { .. } => "downlink",
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
