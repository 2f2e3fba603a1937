//! Guest memory as a device sees it: what the VMM has mapped ([`Memory`]), read and written with
//! every bound checked, and a frame that stays where the guest wrote it ([`Frame`]).
//!
//! The map follows the VMM live: each map or unmap makes a new immutable view, and whoever still
//! holds the old one (a frame on its way to an engine) keeps those pages mapped until it is done.
//! An address that the VM does not own is a [`Fault`]: counted, told to the VM's log, never touched.
//!
//! How an address becomes a page is a choice of three ([`Translation`]).

// Guests' addresses reach this code: nothing here may panic on them, or cut a number off unseen.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

mod fault;
mod frame;
mod mapping;
mod memory;
mod merged;
mod translation;
mod view;

pub use fault::Fault;
pub use frame::{Frame, FrameError, MAX_SEGMENTS};
pub use mapping::{Backing, MapError};
pub use memory::Memory;
pub use merged::Sizes;
pub use translation::{Translation, UnknownTranslation};
pub use view::Window;
