//! The augmented NIC (Virtual WiFi, sections 3.3 and 4.3): one radio that carries a virtual MAC
//! (vMAC) per VM, each with its own address, BSS, channel, stations, keys, rates and statistics.
//!
//! The way out: a frame is copied once from the guest's memory, checked to be the VM's own, given
//! its sequence number, encrypted, and handed to the air in turn, by airtime. The way in: the
//! receive filter finds the vMAC by address, the vMAC's key opens the frame, the VM-ID goes with
//! it. Between them the channel schedule decides where the one radio is, and power save whether it is on.
//!
//! Not here: decisions about commands that touch more than one VM (the host driver), the medium
//! (the `air` crate), duplicates and replay and reordering (the guest's driver).
//!
//! Receive block-ack agreements are noted. A-MPDUs are formed by the air, of frames that are handed to it in bursts.

mod account;
mod agreements;
mod beacons;
mod counters;
mod doze;
mod dwrr;
mod execute;
mod flights;
mod homes;
mod identity;
mod keys;
mod nic;
mod perform;
mod phy;
mod prepare;
mod receive;
mod scan;
mod schedule;
#[cfg(test)]
mod tests;
mod transmit;
mod vmac;

pub use counters::{Counters, DropReason, VmCounters};
pub use doze::AwakeTime;
pub use dwrr::MAX_WEIGHT;
pub use identity::AddressPolicy;
pub use nic::{HomeView, Nic, NicConfig, VmacView};
pub use phy::Phy;
