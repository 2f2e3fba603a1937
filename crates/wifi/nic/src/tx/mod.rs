//! The way of a frame from a VM to the air, and of its report back.

pub(crate) mod airtime;
pub(crate) mod frame;
pub(crate) mod prepare;
pub(crate) mod queue;
pub(crate) mod transmitter;
