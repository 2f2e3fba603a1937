//! airlane: many virtual machines share one network card. The program: what people type ([`cli`]), whether the machine
//! has what a run needs ([`doctor`]), the user's side of a run's control socket ([`client`], [`guest`]), and a
//! report's last line ([`summary`]) and formats ([`formats`]).

mod cli;
mod client;
#[allow(
    clippy::disallowed_methods,
    reason = "time-outs of real processes need the real clock"
)]
mod doctor;
mod formats;
mod guest;
mod summary;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
