//! A trace session: while frames' traces come in, figures are made of them, and a file, if one is wanted.

use std::io::{IsTerminal, Write};

use airlane_lane::LaneId;
use anyhow::{Context, Result};
use serde::Serialize;

use super::breakdown::{Breakdown, Summary};
use super::chrome::Chrome;
use super::collector::Scale;
use super::frame_trace::FrameTrace;
use super::table::table;

/// One session of tracing a run, from the first frame's trace to the figures.
pub struct TraceSession<W: Write> {
    run: String,
    vms: Vec<String>,
    scale: Scale,
    breakdown: Breakdown,
    chrome: Option<Chrome<W>>,
    /// Records that threads could not write because their ring was full.
    pub lost: u64,
    /// Frames of which no last point was recorded.
    pub unfinished: u64,
}

/// What a trace has found.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// The scenario that was run.
    pub run: String,
    /// Ticks of the time-stamp counter in a microsecond.
    pub ticks_per_us: f64,
    /// Frames that went all their way.
    pub frames: u64,
    /// Frames that did not, as far as is known: refused, flushed, or a record was lost.
    pub unfinished: u64,
    /// Records that are missing.
    pub lost_records: u64,
    /// The transmit way of each VM and of all, then the receive way.
    pub ways: Vec<Summary>,
}

impl<W: Write> TraceSession<W> {
    /// Of a run and its VMs, by the numbers of their lanes. `file`: where Chrome trace events go; `origin` is their time zero, in ticks.
    pub fn new(
        run: &str,
        vms: &[String],
        scale: Scale,
        file: Option<W>,
        origin: u64,
    ) -> Result<Self> {
        let chrome = file.map(|out| Chrome::new(out, run, vms.to_vec(), scale, origin));
        Ok(Self {
            run: run.to_owned(),
            vms: vms.to_vec(),
            scale,
            breakdown: Breakdown::default(),
            chrome: chrome.transpose().context("cannot write the trace")?,
            lost: 0,
            unfinished: 0,
        })
    }

    /// Takes the trace of one more frame.
    pub fn add(&mut self, trace: &FrameTrace) -> Result<()> {
        self.breakdown.add(trace);
        match &mut self.chrome {
            Some(chrome) => chrome.add(trace).context("cannot write the trace"),
            None => Ok(()),
        }
    }

    /// Frames so far that went all their way.
    pub fn frames(&self) -> u64 {
        self.breakdown.frames()
    }

    /// Ends the file; what was found.
    pub fn finish(self) -> Result<Figures> {
        if let Some(chrome) = self.chrome {
            chrome.finish(self.lost).context("cannot write the trace")?;
        }
        let name = |lane: LaneId| {
            let name = self.vms.get(lane.index());
            name.cloned().unwrap_or_else(|| lane.to_string())
        };
        Ok(Figures {
            ticks_per_us: self.scale.ticks_per_us,
            frames: self.breakdown.frames(),
            unfinished: self.unfinished,
            lost_records: self.lost,
            ways: self.breakdown.summaries(self.scale, name),
            run: self.run,
        })
    }
}

impl Figures {
    /// For people; with colour where `out` is a terminal.
    pub fn text(&self, out: &impl IsTerminal) -> String {
        let tables = match self.ways.is_empty() {
            true => "no frame went all its way\n".to_owned(),
            false => table(&self.ways, out.is_terminal()),
        };
        format!(
            "{tables}\n{:.1} ticks are a microsecond. Not in the tables: {} frames that did not go all their way; \
             lost records: {}.\n",
            self.ticks_per_us, self.unfinished, self.lost_records
        )
    }
}
