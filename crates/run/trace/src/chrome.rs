//! A trace as Chrome's trace event JSON, which Perfetto and `chrome://tracing` open: a process for the run, a track for
//! each lane's thread and one for the radio's, an arrow for each frame from track to track, and each frame's whole way
//! as an asynchronous slice. Written as it comes, never held in memory.
//!
//! Format: *Trace Event Format* (Chromium), the JSON object form; times in microseconds.

use std::io::{self, Write};

use airlane_lane::LaneId;
use airlane_waist::stamp::Point;
use serde::Serialize;

use super::collector::Scale;
use super::frame_trace::{FrameTrace, Way};
use super::stage::Stage;

/// The run.
const PROCESS: usize = 1;
/// The radio's thread; the lanes' follow.
const RADIO: usize = 1;
/// All events are of this category.
const CATEGORY: &str = "frame";

/// Writes one trace.
pub struct Chrome<W: Write> {
    out: W,
    scale: Scale,
    /// The tick that is time zero.
    origin: u64,
    names: Vec<String>,
    /// Events so far.
    events: u64,
    /// Frames so far.
    frames: u64,
}

/// One event.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    cat: &'static str,
    ph: &'static str,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    pid: usize,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Args<'a>>,
}

impl Default for Event<'_> {
    fn default() -> Self {
        Self {
            name: CATEGORY,
            cat: CATEGORY,
            ph: "M",
            ts: 0.0,
            dur: None,
            pid: PROCESS,
            tid: 0,
            id: None,
            bp: None,
            args: None,
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Args<'a> {
    Name { name: &'a str },
    Frame { vm: &'a str, frame: u32 },
}

/// What one thread does without a break for one frame.
struct Slice {
    name: &'static str,
    from: Point,
    to: Point,
    /// By the radio's thread; else by the lane's.
    radio: bool,
}

const fn slice(name: &'static str, from: Point, to: Point, radio: bool) -> Slice {
    Slice {
        name,
        from,
        to,
        radio,
    }
}

/// Outer before inner.
const SENDING: [Slice; 7] = [
    slice("decode", Point::Fetch, Point::Queued, false),
    slice("translate", Point::Translate, Point::Translated, false),
    slice("classify", Point::Taken, Point::Classified, true),
    slice("dispatch", Point::Pick, Point::Dispatched, true),
    slice("prepare", Point::Dispatched, Point::OnAir, true),
    slice("encrypt", Point::Encrypt, Point::Encrypted, true),
    slice("complete", Point::Returned, Point::Written, false),
];
const RECEIVING: [Slice; 3] = [
    slice("filter", Point::Heard, Point::Delivered, true),
    slice("decrypt", Point::Decrypt, Point::Decrypted, true),
    slice("complete", Point::Returned, Point::Written, false),
];

/// Where a frame's arrow begins, passes and ends: in the slice of this name.
const SENT_ARROW: [(&str, &str); 3] = [("decode", "s"), ("prepare", "t"), ("complete", "f")];
const RECEIVED_ARROW: [(&str, &str); 2] = [("filter", "s"), ("complete", "f")];

impl<W: Write> Chrome<W> {
    /// Begins a trace of the run of this name and its VMs. `origin` is the tick that is time zero.
    pub fn new(out: W, run: &str, vms: Vec<String>, scale: Scale, origin: u64) -> io::Result<Self> {
        let mut chrome = Self {
            out,
            scale,
            origin,
            names: vms,
            events: 0,
            frames: 0,
        };
        chrome
            .out
            .write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
        chrome.name("process_name", 0, &format!("airlane {run}"))?;
        chrome.name("thread_name", RADIO, "radio")?;
        for (number, vm) in chrome.names.clone().iter().enumerate() {
            chrome.name("thread_name", RADIO + 1 + number, &format!("lane of {vm}"))?;
        }
        Ok(chrome)
    }

    /// Adds one frame's way.
    pub fn add(&mut self, trace: &FrameTrace) -> io::Result<()> {
        self.frames += 1;
        self.on_the_threads(trace)?;
        self.whole_way(trace)
    }

    /// Ends the trace; says how many frames it has. `lost` records are missing in it.
    pub fn finish(mut self, lost: u64) -> io::Result<u64> {
        writeln!(self.out, "\n],\"otherData\":{{\"lost_records\":{lost}}}}}")?;
        self.out.flush()?;
        Ok(self.frames)
    }

    /// What each thread did for it, and the arrow from one to the next.
    fn on_the_threads(&mut self, trace: &FrameTrace) -> io::Result<()> {
        let (slices, arrow): (&[Slice], &[(&str, &'static str)]) = match trace.way() {
            Way::Transmit => (&SENDING, &SENT_ARROW),
            Way::Receive => (&RECEIVING, &RECEIVED_ARROW),
        };
        for slice in slices {
            let (Some(from), Some(to)) = (trace.at(slice.from), trace.at(slice.to)) else {
                continue;
            };
            // Else it would cross what the lane has done meanwhile, and a track's slices must nest.
            if slice.name == "complete" && !trace.at_one_go {
                continue;
            }
            let track = self.track(trace.lane, slice.radio);
            self.slice(trace, slice.name, track, from, to)?;
            let step = arrow.iter().find(|(name, _)| *name == slice.name);
            if let Some(&(_, phase)) = step {
                self.arrow(phase, track, from.midpoint(to))?;
            }
        }
        Ok(())
    }

    fn slice(
        &mut self,
        trace: &FrameTrace,
        name: &str,
        tid: usize,
        from: u64,
        to: u64,
    ) -> io::Result<()> {
        let (from, to) = (self.nanoseconds(from), self.nanoseconds(to));
        let vm = self.vm(trace.lane);
        self.write(&Event {
            name,
            ph: "X",
            ts: micros(from),
            dur: Some(micros(to.saturating_sub(from))),
            tid,
            args: Some(Args::Frame {
                vm: &vm,
                frame: trace.frame.number(),
            }),
            ..Event::default()
        })
    }

    fn arrow(&mut self, ph: &'static str, tid: usize, at: u64) -> io::Result<()> {
        let (ts, id) = (micros(self.nanoseconds(at)), Some(self.frames));
        self.write(&Event {
            name: CATEGORY,
            ph,
            ts,
            tid,
            id,
            bp: (ph == "f").then_some("e"),
            ..Event::default()
        })
    }

    /// The whole way and its stages, one within the other, as asynchronous slices.
    fn whole_way(&mut self, trace: &FrameTrace) -> io::Result<()> {
        let Some((from, to)) = trace.span() else {
            return Ok(());
        };
        let stages = Stage::of(trace.way()).iter();
        let between =
            |stage: &Stage| Some((stage.name, trace.at(stage.from)?, trace.at(stage.to)?));
        let mut spans: Vec<_> = stages.filter_map(between).collect();
        spans.retain(|&(name, from, to)| name != "total" && from <= to);
        spans.push((trace.way().name(), from, to));
        spans.sort_by_key(|&(_, from, to)| (from, std::cmp::Reverse(to)));
        let mut open: Vec<(&str, u64)> = Vec::new();
        for (name, from, to) in spans {
            while let Some((inner, end)) = open.pop_if(|&mut (_, end)| end <= from) {
                self.edge(trace, "e", inner, end)?;
            }
            self.edge(trace, "b", name, from)?;
            open.push((name, to));
        }
        while let Some((inner, end)) = open.pop() {
            self.edge(trace, "e", inner, end)?;
        }
        Ok(())
    }

    fn edge(
        &mut self,
        trace: &FrameTrace,
        ph: &'static str,
        name: &str,
        at: u64,
    ) -> io::Result<()> {
        let vm = self.vm(trace.lane);
        let frame = trace.frame.number();
        let event = Event {
            name,
            ph,
            ts: micros(self.nanoseconds(at)),
            tid: self.track(trace.lane, false),
            id: Some(self.frames),
            args: (ph == "b").then_some(Args::Frame { vm: &vm, frame }),
            ..Event::default()
        };
        self.write(&event)
    }

    fn name(&mut self, what: &str, tid: usize, name: &str) -> io::Result<()> {
        self.write(&Event {
            name: what,
            ph: "M",
            tid,
            args: Some(Args::Name { name }),
            ..Event::default()
        })
    }

    fn write(&mut self, event: &Event<'_>) -> io::Result<()> {
        if self.events > 0 {
            self.out.write_all(b",\n")?;
        }
        self.events += 1;
        Ok(serde_json::to_writer(&mut self.out, event)?)
    }

    fn track(&self, lane: LaneId, radio: bool) -> usize {
        if radio {
            RADIO
        } else {
            RADIO + 1 + lane.index()
        }
    }

    fn vm(&self, lane: LaneId) -> String {
        let name = self.names.get(lane.index());
        name.cloned().unwrap_or_else(|| lane.to_string())
    }

    fn nanoseconds(&self, tick: u64) -> u64 {
        let since = tick.saturating_sub(self.origin);
        (self.scale.micros(since) * 1_000.0).round() as u64
    }
}

fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1_000.0
}
