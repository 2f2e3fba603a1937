//! One virtual machine as a child process: what it boots, how QEMU is called, how its agent is spoken
//! to, and what is known of it. Nothing here knows checks or scenarios' order.

#![allow(
    clippy::disallowed_methods,
    reason = "time-outs of real processes need the real clock"
)]

pub mod agent;
pub mod certificates;
pub mod clock;
pub mod config;
pub mod console;
pub mod line;
pub mod monitor;
pub mod overlay;
pub mod process;
pub mod qemu;
pub mod security;
pub mod setup;
pub mod state;
pub mod uml;
