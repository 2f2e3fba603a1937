//! Traces: what each stage of a frame's way takes, per VM.
//!
//! The pure parts stamp the moments ([`airlane_waist::stamp`]); each thread's [`Recorder`] adds the time-stamp counter
//! and puts a record into a ring of its own; the [`Collector`] takes all rings out, in order; a [`TraceBuilder`] makes
//! a [`FrameTrace`] of single records; a [`Breakdown`] says what the stages take, [`Chrome`] draws them.
//!
//! Switched off, nothing of this runs: a stamp is one load and one branch, and the collector's thread sleeps.

mod breakdown;
mod builder;
mod chrome;
mod collector;
mod file;
mod frame_trace;
mod recorder;
mod samples;
mod session;
mod stage;
mod table;
mod thread;

pub use breakdown::{Breakdown, Row, Summary};
pub use builder::TraceBuilder;
pub use chrome::Chrome;
pub use collector::{Collector, Recorders, Scale};
pub use file::{TraceFile, create};
pub use frame_trace::{FrameTrace, Way};
pub use recorder::{Record, Recorder};
pub use session::{Figures, TraceSession};
pub use stage::{RECEIVE, Stage, TRANSMIT};
pub use table::{escaped, table};
pub use thread::{Chunk, Tap, Tracer, Traces};
