//! The augmented NIC (Virtual WiFi, sections 3.3 and 4.3): one radio that carries a virtual MAC
//! (vMAC) per VM, each with its own address, BSS, channel, stations, keys, rates and statistics.
//!
//! The way out (`tx`): a frame is copied once from the guest's memory, checked to be the VM's own, given
//! its sequence number, encrypted, and handed to the air in turn, by airtime. The way in (`rx`): the
//! receive filter finds the vMAC by address, the vMAC's key opens the frame, the VM-ID goes with
//! it. Between them the channel scheduler decides where the one radio is, and power save whether it is on.
//!
//! [`Nic`] owns these parts. What they all work on, the vMACs and the way out of the card, is lent to one of them at a
//! time; each keeps its own state, and none calls another.
//!
//! Not here: decisions about commands that touch more than one VM (the host driver), the medium
//! (the `air` crate), duplicates and replay and reordering (the guest's driver).
//!
//! Receive block-ack agreements are noted. A-MPDUs are formed by the air, of frames that are handed to it in bursts.

// Guests' frames reach this code: nothing here may panic on them, or cut a number off unseen.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation
    )
)]

mod card;
mod channel;
mod commands;
mod counters;
mod identity;
mod nic;
mod power_save;
mod requests;
mod rx;
mod scan;
#[cfg(test)]
mod tests;
mod tx;
mod view;
mod vmac;

pub use airlane_lane::MAX_WEIGHT;
pub use card::{NicConfig, Phy};
pub use counters::{Counters, DropReason, VmCounters};
pub use identity::AddressPolicy;
pub use nic::Nic;
pub use power_save::AwakeTime;
pub use view::{ContextView, VmacView};
