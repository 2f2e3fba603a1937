//! airlane: many virtual machines share one network card.
//!
//! The program's parts: a scenario says what is run ([`scenario`]); [`setup`] knows what it runs on;
//! each guest is a QEMU process with an agent inside ([`guest`]); the [`daemon`] serves their cards and
//! the medium; [`run`] brings all up, makes the checks and writes the report; through [`control`] others look at it;
//! [`trace`] says what each stage of a frame's way takes;
//! [`cli`] is what people type.

#[allow(
    clippy::disallowed_methods,
    reason = "load and its measurement go by the real clock"
)]
pub mod bench;
pub mod cli;
pub mod control;
pub mod daemon;
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
pub mod trace;
