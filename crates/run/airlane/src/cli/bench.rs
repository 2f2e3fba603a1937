//! `airlane bench`: runs `airlane-bench`, a program of its own, as git runs commands that are programs. So the
//! product has no load generator, no second path and no plots in it.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

const PROGRAM: &str = "airlane-bench";

/// Arguments of `airlane bench`.
#[derive(clap::Args)]
pub struct Arguments {
    /// What to measure, and how; `--help` tells
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

/// Becomes the other program; comes back only with an error.
pub fn bench(arguments: &Arguments) -> anyhow::Result<()> {
    let program = beside_this_program().unwrap_or_else(|| PROGRAM.into());
    let error = Command::new(&program).args(&arguments.arguments).exec();
    if error.kind() == ErrorKind::NotFound {
        anyhow::bail!(
            "{PROGRAM} is neither beside this program nor in PATH\n  remedy: cargo build --release -p {PROGRAM}"
        );
    }
    Err(anyhow::Error::new(error).context(format!("cannot run {}", program.display())))
}

/// The one that was built together with this program goes before any in PATH.
fn beside_this_program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    Some(own.with_file_name(PROGRAM)).filter(|path| path.is_file())
}
