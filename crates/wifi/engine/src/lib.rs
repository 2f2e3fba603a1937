//! The Wi-Fi engine: host driver, NIC, air, built-in access points and the radios of access-point VMs, wired as one
//! state machine ([`radio::Radio`]).
//!
//! Pure: no threads, no clock, no I/O. The daemon runs it in real time, stories run it in virtual time.

mod access_points;
mod built_in;
pub mod counters;
mod data_path;
mod external_station;
mod hwsim_frame;
pub mod journal;
pub mod radio;
mod status;

pub use access_points::{AccessPoints, ApCounters, MAX_RADIOS, Site};
pub use built_in::{BuiltIn, BuiltIns, Served};
pub use data_path::{DataPath, DataPathError};
pub use external_station::{ExternalStation, hand_to_external, step_external};
pub use radio::Placed;
pub use status::{BuiltInStatus, RadioStatus, VmacStatus};
