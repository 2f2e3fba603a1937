//! What a client asks, and how every answer begins: both ends of the socket speak it.

use airlane_scenario::ActWords;
use serde::{Deserialize, Serialize};

/// What a client asks: one JSON object on one line.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
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
    /// A command in a VM that the run has started: an [`ExecLine`] per line, until the command ends. It is ended when the
    /// client goes.
    Exec {
        /// The VM, or `access-points`.
        vm: String,
        /// The program and its arguments.
        argv: Vec<String>,
        /// What the command reads from standard input, in base64.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        stdin: String,
        /// Seconds after which the command is ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<f64>,
    },
    /// Something that can happen in a run, in the words of a `[[step]]`: a [`DoneLine`] when it has happened.
    Do {
        /// What.
        act: ActWords,
    },
}

/// Longest command, bytes with the blanks between its words: a guest's shell gets it in one piece.
pub const LONGEST_COMMAND: usize = 16 * 1024;

/// Most bytes that a command can be given to read: a guest's serial port takes no more at once.
pub const LONGEST_INPUT: usize = 24 * 1024;

/// One line about a command in a guest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExecLine {
    /// It prints: base64.
    Stdout(String),
    /// It prints errors: base64.
    Stderr(String),
    /// It has ended with this exit code. The last line.
    Exit(i32),
    /// Its time was over; it was ended. The last line.
    TimedOut(bool),
    /// How it ends is not known, and why. The last line.
    Lost(String),
}

/// What came of something that was to happen.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct DoneLine {
    /// Whether it has happened.
    pub done: bool,
    /// What was seen.
    pub detail: String,
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
