//! Load as a guest's driver makes it: real descriptors in shared memory, real messages over the card's
//! socket, real threads of the daemon behind it. One generator thread for each VM. What is missing of a VM
//! is its processor, its kernel and its VMM.

mod echoes;
mod far_end;
mod processor;
mod rig;
mod station;
mod window;
mod words;

pub use far_end::ANSWER_AFTER;
pub use rig::{Measurement, Rig, Setting};
pub use station::{Doorbell, Load};
pub use words::{HEADERS, MAC_HEADER, UDP};
