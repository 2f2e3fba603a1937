//! What reaches the run's one thread from all others.

use airlane_control::ask::Ask;
use airlane_guests::agent::Heard;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Where messages are put.
pub type Sender = mpsc::Sender<Message>;
/// Where they come out.
pub type Receiver = mpsc::Receiver<Message>;

/// What reaches the run's thread from another thread.
pub enum Message {
    /// From a guest's agent.
    Heard {
        /// The guest's number.
        guest: usize,
        /// Which guest in this place.
        generation: u32,
        /// What it said.
        heard: Heard,
    },
    /// From a client of the control socket.
    Asked(Ask),
    /// A request to end.
    Signal(i32),
}

/// The thread that turns signals into messages. Dropping it ends the thread.
pub struct SignalWatch {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl SignalWatch {
    /// Watches for the signals by which a user or a service manager ends a program.
    pub fn start(sender: Sender) -> Result<Self> {
        let mut signals =
            Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot watch for signals")?;
        let handle = signals.handle();
        let thread = std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    if sender.send(Message::Signal(signal)).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            handle,
            thread: Some(thread),
        })
    }
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
