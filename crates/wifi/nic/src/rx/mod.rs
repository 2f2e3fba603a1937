//! The way of a frame from the air to its VM.

pub(crate) mod filter;
pub(crate) mod keys;
