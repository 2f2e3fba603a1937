//! What a client asks, and how every answer begins: both ends of the socket speak it.

use serde::{Deserialize, Serialize};

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
    /// When each frame passes each stage of its way: a [`TraceLine`](super::TraceLine) per line, until the run ends.
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
