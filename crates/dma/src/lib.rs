//! Guest memory as a device sees it: what the VMM has mapped ([`Memory`]), read and written with
//! every bound checked, and a frame that stays where the guest wrote it ([`Frame`]).
//!
//! The map follows the VMM live: each map or unmap makes a new immutable view, and whoever still
//! holds the old one (a frame on its way to the radio) keeps those pages mapped until it is done.
//! An address that the VM does not own is a [`Fault`]: counted, never touched.

mod frame;
mod memory;

pub use frame::{Frame, FrameError, MAX_SEGMENTS};
pub use memory::{Backing, Fault, MapError, Memory};
