//! Transports between virtual machines and airlane: vfio-user for cards ([`VfioUserServer`]), PCI over virtio for cards of
//! User Mode Linux ([`PciDevServer`]), vhost-user for any virtio device ([`vhost_user::Server`]), of which `mac80211_hwsim`
//! radios are one ([`serve_hwsim`]), and the eventfds that wake threads.
//!
//! Thin on purpose: nothing here decides anything about Wi-Fi. This is the only crate that may
//! contain unsafe code: few blocks, each with its reason.

// Guests, front ends and hypervisors reach this code: nothing here may panic, or cut a number off unseen.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod hwsim;
mod pci;
pub mod pcidev;
mod seals;
mod served;
mod socket;
mod tap;
mod tsc;
pub mod vfio_user;
pub mod vhost_user;
mod wake;

pub use hwsim::{
    FromHwsim, HwsimCounters, HwsimError, HwsimFrame, HwsimServer, ToHwsim, TxInfo, TxRate,
    serve_hwsim,
};
pub use pci::{LaneEnd, MappableRegion, PciDevice};
pub use pcidev::{PciDevError, PciDevServer};
pub use served::{Counters, Ended};
pub use socket::SocketError;
pub use tap::{Tap, TapError};
pub use tsc::time_stamp_counter;
pub use vfio_user::{Interest, Malformed, Ready, Turn, VfioUserError, VfioUserServer};
pub use wake::{EventFd, EventWake, borrow};
