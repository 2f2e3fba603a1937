//! `airlane capture`: the frames on the air of a run, for Wireshark and its like.

use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::client::choose;
use airlane_control::Request;

/// Arguments of `airlane capture`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Which run, when several go on: its scenario's name, or lab#2 for the second run of lab
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Only frames that carry this VM's address
    #[arg(long, value_name = "NAME")]
    vm: Option<String>,
    /// Where to: a file, or - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    write: PathBuf,
}

/// The command.
pub fn capture(arguments: &Arguments) -> Result<()> {
    let mut out = open(&arguments.write)?;
    copy(arguments.run.as_deref(), arguments.vm.clone(), &mut out)
}

/// Copies what is captured to `out` until the run, or the reader, has gone.
pub fn copy(run: Option<&str>, vm: Option<String>, out: &mut dyn Write) -> Result<()> {
    let mut packets = choose(run)?.ask(&Request::Capture { vm })?;
    let mut bytes = [0; 65_536];
    loop {
        let count = packets.read(&mut bytes)?;
        let Some(part) = bytes.get(..count).filter(|part| !part.is_empty()) else {
            return Ok(());
        };
        if let Err(error) = out.write_all(part).and_then(|()| out.flush()) {
            return reader_gone(error);
        }
    }
}

/// A reader that has gone is how most captures end.
fn reader_gone(error: std::io::Error) -> Result<()> {
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error).context("cannot write the capture"),
    }
}

fn open(path: &Path) -> Result<Box<dyn Write>> {
    if path != Path::new("-") {
        let file = File::create(path);
        let file = file.with_context(|| format!("cannot create {}", path.display()))?;
        return Ok(Box::new(file));
    }
    if std::io::stdout().is_terminal() {
        bail!(
            "a capture is no text for a terminal\n  remedy: airlane capture -w FILE, or airlane capture | wireshark -k -i -"
        );
    }
    Ok(Box::new(std::io::stdout()))
}
