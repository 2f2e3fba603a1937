//! `airlane trace`: what each stage of a frame's way takes.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::client::{Run, choose};
use airlane_control::{Request, TraceLine};
use airlane_trace::{Figures, Scale, TraceSession, create};

/// How long frames are watched when nothing else is asked for.
const USUAL: Duration = Duration::from_secs(10);
/// How long nothing may come before the clock is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Shown below the options.
pub const EXAMPLES: &str = "\
Examples:
  airlane trace                         Ten seconds of all VMs' frames: what each stage takes
  airlane trace --vm it --frames 1000   One VM's next thousand frames
  airlane trace --seconds 2 -w t.json   And each single frame, for https://ui.perfetto.dev
  airlane trace --json | jq '.ways[0]'  For a program

docs/trace.md says what the stages are, and which of them only sharing adds.";

/// Arguments of `airlane trace`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Which run, when several go on: its scenario's name, or lab#2 for the second run of lab
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Only frames of this VM
    #[arg(long, value_name = "NAME")]
    vm: Option<String>,
    /// Until so many frames have gone all their way, or Ctrl-C
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,
    /// So long, or until Ctrl-C [default: 10]
    #[arg(long, value_name = "S", value_parser = span)]
    seconds: Option<Duration>,
    /// The figures as one JSON object
    #[arg(long)]
    json: bool,
    /// Write every single frame's way as Chrome trace events, for Perfetto
    #[arg(short, long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// More than any run lasts; far from where clocks end.
const LONGEST: Duration = Duration::from_secs(1 << 30);

fn span(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "not a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(span) if !span.is_zero() && span <= LONGEST => Ok(span),
        _ => Err("not a time to watch for".to_owned()),
    }
}

/// The command.
pub fn trace(arguments: &Arguments) -> Result<()> {
    let run = choose(arguments.run.as_deref())?;
    let file = arguments.write.as_deref().map(create).transpose()?;
    let figures = watch(arguments, &run, file)?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &figures)?;
        return Ok(writeln!(out)?);
    }
    let text = figures.text(&out);
    Ok(out.write_all(text.as_bytes())?)
}

/// Takes in what the run tells, until that is enough.
fn watch(arguments: &Arguments, run: &Run, file: Option<BufWriter<File>>) -> Result<Figures> {
    let vm = arguments.vm.clone();
    let mut lines = Lines::new(run.ask(&Request::Trace { vm })?)?;
    let end = Until::new(arguments)?;
    let first = loop {
        match lines.next()? {
            Next::Line(TraceLine::TicksPerUs(ticks)) => break ticks,
            Next::Line(_) | Next::Nothing => {}
            Next::End => anyhow::bail!("the run has ended"),
        }
    };
    let scale = Scale {
        ticks_per_us: first,
    };
    let mut session = TraceSession::new(&run.name, &run.vms, scale, file, 0)?;
    while !end.has_come(session.frames()) {
        match lines.next()? {
            Next::Line(line) => take(&mut session, run, line)?,
            Next::Nothing => {}
            Next::End => break,
        }
    }
    session.finish()
}

fn take(session: &mut TraceSession<BufWriter<File>>, run: &Run, line: TraceLine) -> Result<()> {
    match line {
        TraceLine::Frame(frame) => {
            let trace = frame.trace(&run.vms);
            trace.map_or(Ok(()), |trace| session.add(&trace))?;
        }
        TraceLine::Lost(records) => session.lost = session.lost.saturating_add(records),
        TraceLine::Unfinished(frames) => session.unfinished = frames,
        TraceLine::TicksPerUs(_) => {}
    }
    Ok(())
}

/// When it is enough.
struct Until {
    stop: Arc<AtomicBool>,
    frames: u64,
    end: Option<Instant>,
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a person wants to look goes by the real clock"
)]
impl Until {
    fn new(arguments: &Arguments) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&stop))?;
        let span = match arguments.frames {
            Some(_) => None,
            None => Some(arguments.seconds.unwrap_or(USUAL)),
        };
        Ok(Self {
            stop,
            frames: arguments.frames.unwrap_or(u64::MAX),
            end: span.and_then(|span| Instant::now().checked_add(span)),
        })
    }

    fn has_come(&self, frames: u64) -> bool {
        let over = self.end.is_some_and(|end| Instant::now() >= end);
        over || frames >= self.frames || self.stop.load(Ordering::Relaxed)
    }
}

/// What the run tells, line by line.
struct Lines {
    reader: BufReader<UnixStream>,
    line: Vec<u8>,
}

enum Next {
    Line(TraceLine),
    /// No line has come for a while.
    Nothing,
    End,
}

impl Lines {
    fn new(reader: BufReader<UnixStream>) -> Result<Self> {
        reader.get_ref().set_read_timeout(Some(LOOK))?;
        let line = Vec::new();
        Ok(Self { reader, line })
    }

    fn next(&mut self) -> Result<Next> {
        match self.reader.read_until(b'\n', &mut self.line) {
            Ok(0) => return Ok(Next::End),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Next::Nothing),
            Err(error) => return Err(error).context("the run does not answer any more"),
        }
        let line = std::mem::take(&mut self.line);
        let line = serde_json::from_slice(&line).context("the answer is not understood")?;
        Ok(Next::Line(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_time_to_watch_for_is_one() {
        assert_eq!(span("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "nan", "inf", "1e300", "soon"] {
            assert!(span(text).is_err(), "{text}");
        }
    }
}
