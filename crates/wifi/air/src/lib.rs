//! The medium: propagation, errors, channel access, airtime, capture.
//!
//! [`Air`] is a discrete-event state machine without a clock: the caller says what time it is,
//! [`Air::step`] runs everything due and says when to come back, [`Air::next_event`] hands out what
//! happened. Same seed and same calls, same events.
//!
//! What is modelled: DCF and EDCA with slots, AIFS, EIFS, contention windows, frozen back-offs,
//! post-back-off and internal collisions; carrier sense by signal at each radio, so that nodes can
//! be hidden, and noticed as late as a receiver notices; reservation by RTS, CTS and data (NAV);
//! capture or collision of overlapping frames; bit errors by signal-to-noise ratio; ACKs, time-outs,
//! retries along a ladder of rates; A-MPDUs with BlockAcks and bit errors of their own for each
//! frame; the frame durations of clauses 15 to 19. Saturated, it follows Bianchi's model
//! (`tests/saturation.rs`). A 40 MHz frame takes both its channels, and goes out in 20 MHz when the secondary one is busy.
//!
//! What is not: transmit opportunities of several PPDUs, BlockAckReq, NAV reset after an unanswered
//! RTS, interference between channels that do not share 20 MHz, fading, propagation delay. Counters
//! run down as EDCA's do; those of DCF proper (10.3.4.3) skip the slot after a busy medium.

// Guests' frames reach this code: nothing here may panic on them, or cut a number off unseen.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

mod aggregate;
mod air;
mod block_ack;
pub mod capture;
mod channel;
mod config;
mod contend;
pub mod error_model;
mod exchange;
mod frames;
mod horizon;
mod medium;
mod ppdu;
mod queue;
mod radio;
mod receive;
mod settle;
mod signal;
mod tap;
mod transmission;

pub use air::Air;
pub use config::{AirConfig, AirMode, PathLoss, Position, RadioConfig, RealAir};
pub use signal::noise_floor_dbm;
pub use tap::{Captured, Subframe, Tap};
pub use transmission::{
    Aggregation, AirCounters, AirEvent, ChannelAirtime, Ended, Heard, Outcome, Protection, RadioId,
    Transmission,
};
