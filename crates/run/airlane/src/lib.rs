//! airlane: many virtual machines share one network card.
//!
//! The program's parts: a scenario says what is run ([`scenario`]); [`setup`] knows what it runs on;
//! each guest is a process of its VMM with an agent inside ([`guest`]); [`run`] brings them and the daemon
//! (`airlane_daemon`) up, makes the checks and writes the report; through [`control`] others look at it;
//! [`cli`] is what people type.

pub mod cli;
pub mod control;
mod cost;
#[allow(
    clippy::disallowed_methods,
    reason = "time-outs of real processes need the real clock"
)]
pub mod doctor;
#[allow(
    clippy::disallowed_methods,
    reason = "time-outs of real processes need the real clock"
)]
pub mod guest;
#[allow(
    clippy::disallowed_methods,
    reason = "time-outs of real processes need the real clock"
)]
pub mod run;
pub mod scenario;
pub mod setup;
