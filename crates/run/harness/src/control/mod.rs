//! The control socket of a run: through it `airlane show`, `events`, `capture` and `trace` look at what goes on.
//! `docs/control.md` describes what is spoken.
//!
//! The socket lies in the run's private folder, which only its user can enter: who can connect may look.

mod answer;
mod request;
mod server;
mod trace;

pub use answer::{CardRadio, Event, KnownVm, Names, Radio, Show, Vm, by_channel};
pub use request::{Head, Request};
pub use server::Server;
pub use trace::{Telling, TraceLine, TracedFrame};

/// The socket's name in the private folder.
pub const SOCKET: &str = "control.sock";
