//! The Intel 5000/6000 family as a guest sees it: PCI configuration space, registers, rings in guest
//! memory, host commands, EEPROM and a microcode image of our own. An unmodified `iwlwifi`/`iwldvm`
//! drives it; what the driver asks becomes [`airlane_waist::Command`]s, and
//! [`airlane_waist::Event`]s become what the card would write into the guest.
//!
//! Not here: the radio, the medium, any transport, any clock. A [`Device`] is a plain state machine.

// A guest's registers, rings and commands reach this code: nothing here may panic, or cut a number off unseen.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

mod command_ring;
pub mod commands;
mod counters;
mod device;
mod eeprom;
mod interrupt;
mod loader;
pub mod microcode;
mod model;
mod notification;
mod pci;
mod rate;
mod receive;
pub mod registers;
mod response;
mod rx_ring;
mod scheduler;
mod tfd;
mod transmit;
mod wire;

pub use counters::Counters;
pub use device::Device;
pub use model::{Identity, Model, UnknownModel};
