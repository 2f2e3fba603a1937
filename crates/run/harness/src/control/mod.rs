//! The control socket of a run: through it `airlane show`, `events`, `capture` and `trace` look at what goes on.
//! `docs/control.md` describes what is spoken.
//!
//! The socket lies in the run's private folder, which only its user can enter: who can connect may look.

mod answer;
mod server;
mod trace;

pub use answer::{CardRadio, Event, KnownVm, Names, Radio, Show, Vm, by_channel};
pub use server::Server;
pub use trace::{Telling, TraceLine, TracedFrame};

use serde::{Deserialize, Serialize};

/// The socket's name in the private folder.
pub const SOCKET: &str = "control.sock";

/// What a client asks: one JSON object on one line.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "command", rename_all = "kebab-case")]
pub enum Request {
    /// Which run this is.
    Hello,
    /// How things stand: one JSON object.
    Show,
    /// What happens: one JSON object per line.
    Events {
        /// Go on with what is to come, until the run ends.
        follow: bool,
    },
    /// What is on the air: pcapng with radiotap headers, until the run ends.
    Capture {
        /// Only frames that carry this VM's address.
        vm: Option<String>,
    },
    /// When each frame passes each stage of its way: a [`TraceLine`] per line, until the run ends.
    Trace {
        /// Only this VM's frames.
        vm: Option<String>,
    },
}

/// The first line of every answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Head {
    /// What was asked for follows.
    Ok {
        /// The scenario that is run.
        run: String,
        /// Its VMs.
        vms: Vec<String>,
    },
    /// Nothing follows.
    Error(String),
}
