//! airlane: many virtual machines share one network card.
//!
//! The program's parts: a scenario says what is run ([`scenario`]); [`setup`] knows what it runs on;
//! each guest is a QEMU process with an agent inside ([`guest`]); the daemon serves their cards and the
//! medium; [`run`] brings all up, does the checks and writes the report.

pub mod guest;
pub mod scenario;
pub mod setup;
