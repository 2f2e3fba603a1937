//! The waist between guest-facing cards and radios: one small typed language.
//!
//! A card turns what its driver writes into [`Request`]s; a radio executes them and answers with
//! [`Event`]s. Neither knows the other. Both are tagged with the VM-ID by whoever carries them.
//! The 802.11 types that they speak of stand in `airlane-dot11`. Guests that bring radios instead of a card
//! speak [`hwsim`].
//!
//! Rules of the language:
//! * every [`Request`] but [`Command::Reset`] is answered by exactly one event that carries its
//!   [`Tag`]: [`Event::Transmitted`] for [`Command::Transmit`], [`Event::Done`] for all others;
//! * [`Command::Reset`] is answered by [`Event::ResetDone`], and nothing that was asked before it
//!   is answered after that.

// Guests' commands reach this code: nothing here may panic on them, or cut a number off unseen.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

mod command;
mod event;
pub mod hwsim;
mod nic;
pub mod stamp;
mod vm_id;

pub use command::*;
pub use event::*;
pub use nic::*;
pub use vm_id::{MAX_VMS, PerVm, VmId, VmIdError};
