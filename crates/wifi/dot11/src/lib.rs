//! What IEEE 802.11 defines and more than one crate speaks of: addresses, channels, rates, access categories,
//! MAC frames in place and their elements, how long frames last, and CCMP.
//!
//! Not here: what a driver asks of a card (`airlane-waist`), who gets the medium and what arrives (`airlane-air`).

// Guests' frames and received ones reach this code: nothing here may panic on them, or cut a number off unseen.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

mod aggregation;
pub mod airtime;
mod buffer;
pub mod ccmp;
mod channel;
pub mod elements;
pub mod frame;
mod mac_addr;
mod rate;
mod units;

pub use aggregation::PeerHt;
pub use buffer::{Buffer, BufferPool, CAPACITY};
pub use channel::{AccessCategory, Band, Channel, ChannelError, EdcaParameters, PerAc, Width};
pub use mac_addr::{MacAddr, MacAddrError};
pub use rate::{DsssRate, OfdmRate, Rate, RateTable};
pub use units::{Dbm, time_units};
