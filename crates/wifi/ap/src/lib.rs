//! The built-in access point: one BSS, open or WPA2-PSK, as a plain state machine, so that a VM on the
//! air needs no access-point VM.
//!
//! What is here: beacons, probe, open-system authentication, association, the four-way handshake and
//! group rekeying, CCMP, frames kept for stations that sleep (traffic map, PS-Poll), bridging between
//! stations and to an uplink, a simple rate control; and [`gateway`], which gives addresses and
//! answers for the access point's own.
//!
//! What is not: 802.11n, U-APSD, fragments, management frame protection, SAE, 802.1X, TKIP,
//! pre-authentication, fast transition. hostapd stays the reference for all of these.
//!
//! No I/O, no clock, no threads: time is an argument, randomness comes from the configuration's seed.

// Stations' frames reach this code: nothing here may panic on them, or cut a number off unseen.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

mod access_point;
mod authenticator;
mod config;
mod counters;
pub mod crypto;
pub mod eapol;
mod elements;
pub mod gateway;
mod joining;
mod keying;
mod keys;
mod management;
mod membership;
mod msdu;
mod power_save;
mod progress;
mod rate_control;
mod receiving;
mod sending;
mod station;
#[cfg(feature = "testing")]
pub mod testing;

pub use access_point::{AccessPoint, Event, Order, Outgoing, Sent};
pub use config::{Config, Security};
pub use counters::{Counters, Drop};
pub use management::{BEACON_INTERVAL, DTIM_PERIOD, Reason};
pub use msdu::{ETHERNET_HEADER, Ethernet};
pub use station::MAX_STATIONS;
