//! The Wi-Fi engine: host drivers, NICs, air, built-in access points and the radios of access-point VMs, wired as one
//! state machine ([`Wifi`]).
//!
//! Pure: no threads, no clock, no I/O. The daemon runs it in real time, stories run it in virtual time.

// Guests' commands and frames reach this code: nothing here may panic on them, or cut a number off unseen.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

mod access_points;
#[cfg(test)]
mod attach_tests;
mod built_in;
mod card;
pub mod counters;
mod deliveries;
mod external_station;
mod hwsim_frame;
pub mod journal;
mod other_cards;
mod status;
mod wifi;

pub use access_points::{AccessPoints, ApCounters, MAX_RADIOS, Site};
pub use built_in::{BuiltIn, BuiltIns, Served};
pub use card::{Card, DataPath, DataPathError, LaneError};
pub use deliveries::{Delivered, Deliveries};
pub use external_station::{ExternalStation, hand_to_external, step_external};
pub use status::{BuiltInStatus, CardStatus, RadioStatus, VmacStatus};
pub use wifi::{Placed, Wifi};
