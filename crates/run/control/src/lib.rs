//! The control socket of a run: through it `airlane show`, `events`, `capture` and `trace` look at what goes on, and
//! `airlane exec` and `cp` reach into its guests.
//! `docs/control.md` describes what is spoken.
//!
//! The socket lies in the run's private folder, which only its user can enter: who can connect may look, and do.

mod answer;
pub mod ask;
mod exec;
mod request;
mod server;
mod stream;
mod trace;

pub use answer::{CardRadio, Event, KnownVm, Names, Radio, Show, Vm, by_channel};
pub use ask::Asks;
pub use request::{DoneLine, ExecLine, Head, LONGEST_COMMAND, LONGEST_INPUT, Request};
pub use server::Server;
pub use trace::{Telling, TraceLine, TracedFrame};

/// The socket's name in the private folder.
pub const SOCKET: &str = "control.sock";
