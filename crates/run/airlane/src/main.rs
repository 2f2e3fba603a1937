//! airlane: many virtual machines share one network card.

use std::process::ExitCode;

fn main() -> ExitCode {
    airlane::cli::main()
}
