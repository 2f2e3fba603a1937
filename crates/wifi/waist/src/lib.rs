//! The waist between guest-facing cards and radios: one small typed language.
//!
//! A card turns what its driver writes into [`Request`]s; a radio executes them and answers with
//! [`Event`]s. Neither knows the other. Both are tagged with the VM-ID by whoever carries them.
//! Around the two stand the 802.11 types that they speak of: addresses, channels, rates, frames.
//!
//! Rules of the language:
//! * every [`Request`] but [`Command::Reset`] is answered by exactly one event that carries its
//!   [`Tag`]: [`Event::Transmitted`] for [`Command::Transmit`], [`Event::Done`] for all others;
//! * [`Command::Reset`] is answered by [`Event::ResetDone`], and nothing that was asked before it
//!   is answered after that.

mod aggregation;
mod buffer;
mod channel;
mod command;
mod event;
pub mod frame;
mod mac_addr;
mod rate;
mod units;

pub use aggregation::{AggregationLimits, PeerHt};
pub use buffer::{Buffer, BufferPool, CAPACITY};
pub use channel::{Band, Channel, ChannelError, Width};
pub use command::*;
pub use event::*;
pub use mac_addr::{MacAddr, MacAddrError};
pub use rate::{DsssRate, OfdmRate, Rate};
pub use units::{Dbm, Micros};
