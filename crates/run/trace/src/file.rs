//! A trace of a whole run in a file. It has a thread of its own: a slow disk costs records, counted, and no frame.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};

use super::builder::TraceBuilder;
use super::session::{Figures, TraceSession};
use super::thread::Traces;

/// The file, while it is written.
pub struct TraceFile {
    thread: JoinHandle<Result<Figures>>,
}

/// Creates a file for a trace.
pub fn create(path: &Path) -> Result<BufWriter<File>> {
    let file = File::create(path);
    let file = file.with_context(|| format!("cannot create the trace file {}", path.display()))?;
    Ok(BufWriter::new(file))
}

impl TraceFile {
    /// Creates `path` and writes what is traced of this run and its VMs.
    pub fn start(path: &Path, run: &str, vms: &[String], traces: Traces) -> Result<Self> {
        let file = create(path)?;
        let session = TraceSession::new(run, vms, traces.scale, Some(file), traces.origin)?;
        let thread = std::thread::Builder::new()
            .name("trace-file".to_owned())
            .spawn(move || write(&traces, session))?;
        Ok(Self { thread })
    }

    /// Waits until everything is on disk. The daemon must have ended.
    pub fn finish(self) -> Result<Figures> {
        self.thread
            .join()
            .map_err(|_| anyhow::anyhow!("the trace's writer has stopped unexpectedly"))?
    }
}

fn write(traces: &Traces, mut session: TraceSession<BufWriter<File>>) -> Result<Figures> {
    let mut builder = TraceBuilder::default();
    loop {
        match traces.next(Duration::from_secs(1)) {
            Ok(chunk) => {
                chunk.records.iter().for_each(|record| builder.take(record));
                session.lost += chunk.lost;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        for trace in builder.done() {
            session.add(&trace)?;
        }
    }
    session.unfinished = builder.unfinished();
    session.finish()
}
