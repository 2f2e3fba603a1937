//! The augmented host driver (Virtual WiFi, sections 3.2, 3.3 and 4.2). It stands between the VMs'
//! cards and the NIC: it tags nothing and copies nothing, it decides. Per command one of three
//! answers, by the table whose rows are [`Rule`]s: pass on, consolidate, answer locally.
//!
//! Not here: isolation of one VM's state from another's, which the NIC keeps per vMAC; identity of
//! frames, which the NIC checks on its own copy.

// Guests' commands and received frames reach this code: nothing here may panic on them, or cut a number off unseen.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

mod cache;
mod host;
mod policy;
mod power;
mod scanning;
mod scans;
#[cfg(test)]
mod tests;

pub use host::{Host, HostConfig, HostCounters};
pub use policy::{Answer, CommandKind, Rule, Shared, Sorted, sort};
