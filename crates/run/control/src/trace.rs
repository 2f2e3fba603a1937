//! How a trace is told over the control socket: one JSON object per line, and back again.

use std::collections::BTreeMap;

use airlane_lane::LaneId;
use airlane_waist::stamp::{FrameId, Point};
use serde::{Deserialize, Serialize};

use airlane_trace::{Chunk, FrameTrace, TraceBuilder};

/// One line of a trace.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceLine {
    /// The first: what ticks are.
    TicksPerUs(f64),
    /// A frame has gone all its way.
    Frame(TracedFrame),
    /// Records that were lost since the last such line: their frames are missing.
    Lost(u64),
    /// Frames so far, of all VMs, whose end is unknown: refused, flushed, or a record was lost.
    Unfinished(u64),
}

/// The way of one frame.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct TracedFrame {
    /// The VM that sends or receives it.
    pub vm: String,
    /// A number that no other frame of this VM has at the same time.
    pub number: u32,
    /// The lane did nothing else between taking it back and writing it into the receive ring.
    pub at_one_go: bool,
    /// When it passed which point of its way, in ticks since the trace began.
    pub points: BTreeMap<String, u64>,
}

impl TracedFrame {
    /// A way, told from `origin` on, of one of these VMs.
    pub fn of(trace: &FrameTrace, origin: u64, vms: &[String]) -> Self {
        let name = vms.get(trace.lane.index());
        // Zero is kept for what did not happen.
        let since = |at: u64| at.saturating_sub(origin).saturating_add(1);
        let passed = |(point, at): (Point, u64)| (point.name().to_owned(), since(at));
        Self {
            vm: name.cloned().unwrap_or_else(|| trace.lane.to_string()),
            number: trace.frame.number(),
            at_one_go: trace.at_one_go,
            points: trace.points().map(passed).collect(),
        }
    }

    /// The way, if the VM is one of these. Points that are not known here are left out.
    pub fn trace(&self, vms: &[String]) -> Option<FrameTrace> {
        let index = vms.iter().position(|name| *name == self.vm)?;
        let lane = LaneId::new(u16::try_from(index).ok()?);
        let mut trace = FrameTrace::new(lane, FrameId::from_number(self.number));
        trace.at_one_go = self.at_one_go;
        for point in Point::ALL {
            trace.set(point, self.points.get(point.name()).copied());
        }
        Some(trace)
    }
}

/// Makes lines of records: of all VMs' frames, or of one's.
pub struct Telling {
    vms: Vec<String>,
    only: Option<String>,
    origin: u64,
    builder: TraceBuilder,
    unfinished: u64,
}

impl Telling {
    /// Of these VMs, from the tick `origin` on.
    pub fn new(vms: Vec<String>, only: Option<String>, origin: u64) -> Self {
        Self {
            vms,
            only,
            origin,
            builder: TraceBuilder::default(),
            unfinished: 0,
        }
    }

    /// What is to be told after these records.
    pub fn lines(&mut self, chunk: &Chunk) -> Vec<TraceLine> {
        for record in chunk.records.iter() {
            self.builder.take(record);
        }
        let Self {
            vms, only, origin, ..
        } = self;
        let ways = self.builder.done();
        let mut lines: Vec<TraceLine> = ways
            .map(|trace| TracedFrame::of(&trace, *origin, vms))
            .filter(|frame| only.as_ref().is_none_or(|only| *only == frame.vm))
            .map(TraceLine::Frame)
            .collect();
        if chunk.lost > 0 {
            lines.push(TraceLine::Lost(chunk.lost));
        }
        let unfinished = self.builder.unfinished();
        if std::mem::replace(&mut self.unfinished, unfinished) != unfinished {
            lines.push(TraceLine::Unfinished(unfinished));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_told_and_understood() {
        let vms = ["it".to_owned(), "user".to_owned()];
        let mut trace = FrameTrace::new(LaneId::new(1), FrameId::sent(7));
        trace.set(Point::Fetch, Some(1_000));
        trace.set(Point::Interrupt, Some(9_000));
        trace.at_one_go = true;
        let line = TraceLine::Frame(TracedFrame::of(&trace, 1_000, &vms));
        let text = serde_json::to_string(&line).unwrap();
        assert_eq!(
            text,
            r#"{"frame":{"vm":"user","number":7,"at_one_go":true,"points":{"fetch":1,"interrupt":8001}}}"#
        );
        let TraceLine::Frame(frame) = serde_json::from_str(&text).unwrap() else {
            panic!("a frame");
        };
        let again = frame.trace(&vms).unwrap();
        assert_eq!((again.lane, again.frame), (trace.lane, trace.frame));
        assert_eq!(again.span(), Some((1, 8_001)));
        assert_eq!(frame.trace(&vms[..1]), None, "a VM that is not there");
    }
}
