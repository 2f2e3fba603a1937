//! What lies between a virtual machine's device and the engine that serves it, whatever network that is: requests and
//! events over single-producer rings ([`ring`]), one each way in a [`Lane`], that wake the other side only when it
//! sleeps; when a VM is interrupted ([`coalescing`]); when a thread looks for work again before it sleeps ([`polling`]);
//! which thread serves a lane ([`Threads`]); the moments that a frame passes ([`stamp`]); whose turn it is among up to
//! 1,024 lanes ([`Dispatcher`], [`LaneQueues`]); how fast one may send ([`TokenBucket`]); how often something is told ([`Seldom`]); and what stands
//! behind lanes ([`Engine`]).
//!
//! Nothing here knows 802.11, PCI or memory. Dependencies point at this crate, never from it.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod coalescing;
mod dispatcher;
mod engine;
mod event_coalescer;
mod lane_queues;
pub mod polling;
pub mod ring;
mod seldom;
pub mod stamp;
mod threads;
mod time;
mod token_bucket;

pub use coalescing::{Coalescer, Coalescing, Verdict};
pub use dispatcher::{Bytes, Cost, Dispatcher, MAX_WEIGHT, WhenEmpty};
pub use engine::{Admission, Engine, EventKind, LaneId, LaneSet, MAX_LANES, Next};
pub use event_coalescer::EventCoalescer;
pub use lane_queues::{LaneQueues, QueueCounters};
pub use polling::{PollCounters, PollGovernor, Polling};
pub use ring::{DeviceEnd, EngineEnd, Lane, LaneMessage, WakeUp};
pub use seldom::Seldom;
pub use threads::{Threads, ThreadsError};
pub use time::{Instant, Micros};
pub use token_bucket::TokenBucket;
