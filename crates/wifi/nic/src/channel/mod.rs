//! Where the one radio is, when vMACs have networks on several channels.

pub(crate) mod context;
pub(crate) mod demand;
pub(crate) mod scheduler;
