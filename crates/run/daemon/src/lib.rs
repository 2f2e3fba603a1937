//! The daemon: one thread for the engine, one for each access-point VM's virtqueues, one for each uplink, one for the
//! capture file; and one for each VM's lane, unless the engine's thread polls the VMs' sockets itself. Owns the sockets
//! to which VMMs attach.

mod access_point_vms;
mod capture;
mod card_port;
pub mod clock;
mod config;
mod control;
mod daemon;
mod handle;
mod listeners;
mod names;
mod pci_face;
mod polled_card;
mod priority;
pub mod reactor;
mod threads;
#[cfg(test)]
mod traced;
mod tuning;
pub mod uplink;

pub use airlane_engine::{
    AccessPoints, BuiltIn, BuiltInStatus, BuiltIns, CardStatus, DataPath, Delivered,
    ExternalStation, Placed, RadioStatus, Served, Site, VmacStatus, Wifi, journal,
};
pub use config::{CardConfig, DaemonConfig, Transport, VmCard};
pub use daemon::Daemon;
pub use handle::{DaemonStatus, Handle};
pub use pci_face::{BAR_SIZE, CONFIG_SIZE};
pub use priority::raise_priority;
pub use tuning::Tuning;
