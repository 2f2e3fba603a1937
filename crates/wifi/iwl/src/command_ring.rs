//! The command ring: each entry is taken once, answered once, in ring order (`pcie/tx.c`).

use airlane_dma::{Memory, Window};
use airlane_waist::{Command, Reply};

use crate::commands::{self, Asked, DriverState, HostCommand, Shape};
use crate::notification;
use crate::response::Packet;
use crate::tfd::Tfd;
use crate::wire::{self, CommandHeader};

const HEADER: usize = size_of::<CommandHeader>();
/// The longest command that is read: a scan of 50 channels with the longest template.
const LONGEST: usize = HEADER + 4096;

/// A command whose response has not been written.
#[derive(Clone, Copy, Debug)]
pub struct Outstanding {
    id: u8,
    /// As the driver wrote it, to be echoed; `None` when there is nobody to answer.
    sequence: Option<u16>,
    shape: Shape,
    /// CALIBRATION_COMPLETE follows.
    calibrates: bool,
    /// Queues that are being flushed.
    pub flushes: u32,
}

impl Outstanding {
    const NOBODY: Self = Self {
        id: 0,
        sequence: None,
        shape: Shape::Generic,
        calibrates: false,
        flushes: 0,
    };

    /// What the driver is told when the command ends with `reply`, in this order.
    pub fn respond(&self, reply: &Reply) -> impl Iterator<Item = Packet> {
        let response = self
            .sequence
            .map(|sequence| self.shape.encode(self.id, sequence, reply));
        let refused = matches!(reply, Reply::Refused(_));
        let follow_up = if self.calibrates {
            Some(notification::calibration_complete())
        } else if self.id == commands::SCAN && refused {
            Some(notification::scan_failed())
        } else {
            None
        };
        response.into_iter().chain(follow_up)
    }
}

/// What was fetched from an entry of the ring.
#[derive(Debug)]
pub enum Fetched {
    /// A command for the radio.
    Ask(Outstanding, Command),
    /// A command that the card itself answers.
    Acknowledge(Outstanding, Reply),
    /// The same, because its payload makes no sense.
    Malformed(Outstanding, Reply),
    /// The same, because its id is in no table.
    Unknown(Outstanding, u8),
    /// No command at all: nobody is answered.
    Nothing(Outstanding),
}

/// Reads the command that `tfd` describes.
pub fn take(
    tfd: &Tfd,
    state: &mut DriverState,
    memory: &mut Memory,
    window: &mut Window,
) -> Fetched {
    let mut bytes = vec![0; tfd.len().min(LONGEST)];
    let read = tfd.read(memory, window, &mut bytes);
    let (Ok(_), Some(header)) = (read, wire::read::<CommandHeader>(&bytes)) else {
        return nothing();
    };
    let outstanding = Outstanding {
        id: header.id,
        sequence: Some(header.sequence.get() & 0x7fff),
        ..Outstanding::NOBODY
    };
    match commands::find(header.id) {
        Some(command) => {
            let payload = bytes.get(HEADER..).unwrap_or_default();
            ask(command, outstanding, state, payload)
        }
        None => Fetched::Unknown(outstanding, header.id),
    }
}

/// An entry that carries no command.
pub fn nothing() -> Fetched {
    Fetched::Nothing(Outstanding::NOBODY)
}

fn ask(
    command: &HostCommand,
    mut outstanding: Outstanding,
    state: &mut DriverState,
    payload: &[u8],
) -> Fetched {
    outstanding.shape = command.response;
    match command.ask(state, payload) {
        Some(Asked::Radio(asked)) => {
            if let Command::Flush(mask) = asked {
                outstanding.flushes = mask;
            }
            Fetched::Ask(outstanding, asked)
        }
        Some(Asked::Calibration(asked)) => {
            outstanding.calibrates = true;
            Fetched::Ask(outstanding, asked)
        }
        Some(Asked::Nothing) => Fetched::Acknowledge(outstanding, Reply::Ok),
        None => Fetched::Malformed(outstanding, refusal(command)),
    }
}

/// A scan that cannot be read does not start; everything else is said to be done.
fn refusal(command: &HostCommand) -> Reply {
    if command.id == commands::SCAN {
        Reply::Refused(airlane_waist::Refusal::NoScan)
    } else {
        Reply::Ok
    }
}
