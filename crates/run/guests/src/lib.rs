//! Guests as child processes: what a machine boots, how QEMU and User Mode Linux are called, how a guest's agent is spoken
//! to, and what is known of a guest. When guests are started and what they are asked is the harness's business.

// What agents, consoles and monitors say comes from guests.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]
#![cfg_attr(not(test), warn(clippy::panic, clippy::indexing_slicing))]
#![allow(
    clippy::disallowed_methods,
    reason = "time-outs of real processes need the real clock"
)]

pub mod agent;
pub mod boots;
pub mod certificates;
pub mod clock;
pub mod config;
pub mod console;
pub mod external;
pub mod joining;
pub mod known_faults;
pub mod line;
pub mod monitor;
pub mod orders;
pub mod overlay;
pub mod process;
pub mod qemu;
pub mod security;
pub mod setup;
pub mod ssid;
pub mod state;
pub mod uml;
