//! What a daemon serves: cards with their VMs, access points, uplinks.

use std::path::PathBuf;

use airlane_air::{AirConfig, Position};
use airlane_dot11::{Dbm, MacAddr};
use airlane_engine::{BuiltIn, Site};
use airlane_iwl::Model;
use airlane_lane::Micros;
use airlane_nic::AddressPolicy;

use crate::tuning::Tuning;
use crate::uplink::Uplink;

/// What a daemon serves.
pub struct DaemonConfig {
    /// The medium.
    pub air: AirConfig,
    /// Where its sockets go: a directory of its own.
    pub run_dir: PathBuf,
    /// The capture file, if one is wanted.
    pub capture: Option<PathBuf>,
    /// The shared cards. VMs are numbered through all of them, in order. The engine's thread, which all cards share,
    /// polls as the first card's tuning says.
    pub cards: Vec<CardConfig>,
    /// One virtio device for each access-point VM.
    pub access_point_vms: Vec<Site>,
    /// Access points without a VM.
    pub built_ins: Vec<BuiltIn>,
    /// What is behind some of those, by index.
    pub uplinks: Vec<(usize, Uplink)>,
}

/// One shared card: a radio, and the VMs each of which sees it as its own.
#[derive(Clone, Debug)]
pub struct CardConfig {
    /// Its radio's name, for reports and captures.
    pub name: String,
    /// Where it stands.
    pub position: Position,
    /// Its transmit power.
    pub tx_power: Dbm,
    /// How old what answers a VM's scan without a look may be; zero: the radio always looks.
    pub scan_cache: Micros,
    /// How its VMs share it.
    pub tuning: Tuning,
    /// Any number, of which at most [`airlane_waist::MAX_VMS`] may be attached at a time.
    pub vms: Vec<VmCard>,
}

/// How a card reaches its VM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// vfio-user: QEMU.
    #[default]
    VfioUser,
    /// PCI over virtio: User Mode Linux.
    PciDev,
}

/// One VM's card.
#[derive(Clone, Debug)]
pub struct VmCard {
    /// How it is attached.
    pub transport: Transport,
    /// Where its VMM attaches; none: a socket in the daemon's folder.
    pub socket: Option<PathBuf>,
    /// The VM's name.
    pub name: String,
    /// Which card.
    pub model: Model,
    /// Its address, as its EEPROM says.
    pub address: MacAddr,
    /// Whether its driver may set another.
    pub address_policy: AddressPolicy,
    /// Its share of the airtime, relative to the others'; 1 is the usual.
    pub weight: u16,
}
