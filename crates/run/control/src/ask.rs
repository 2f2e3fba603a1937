//! What clients of the control socket want done in the run: it goes to the run's one thread, and what comes of it comes
//! back piece by piece.

use airlane_scenario::ActWords;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Bytes that may wait for a client which reads slowly; a command that has printed more is ended.
const MOST_WAITING: usize = 16 * 1024 * 1024;

/// What is wanted of the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// A command in a guest.
    Exec {
        /// The VM's name.
        vm: String,
        /// For its shell.
        command: String,
        /// What the command reads.
        input: Vec<u8>,
        /// After which the command is ended.
        timeout: Option<Duration>,
    },
    /// Something that can happen in a run.
    Act(ActWords),
}

/// A wish, and the way back.
pub struct Ask {
    /// What is wanted.
    pub wanted: Wanted,
    /// Where its outcome goes.
    pub reply: Reply,
}

/// What comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is being done.
    Began,
    /// It cannot be done, and why; nothing follows.
    Refused(String),
    /// Something has happened, or could not; nothing follows.
    Done {
        /// Whether it has.
        passed: bool,
        /// What was seen.
        detail: String,
    },
    /// A command prints.
    Output(Vec<u8>),
    /// A command prints errors.
    Errors(Vec<u8>),
    /// A command has ended by itself, with this exit code; nothing follows.
    Exit(i32),
    /// A command was ended when its time was over; nothing follows.
    TimedOut,
    /// A command has no end that anybody knows, and why; nothing follows.
    Lost(String),
}

/// The run's end of the way back.
#[derive(Clone, Debug)]
pub struct Reply {
    to: Sender<Told>,
    meter: Arc<Meter>,
}

/// The client's end of the way back. Dropping it says that nobody listens any more.
#[derive(Debug)]
pub struct Answer {
    from: Receiver<Told>,
    meter: Arc<Meter>,
}

#[derive(Debug, Default)]
struct Meter {
    waiting: AtomicUsize,
    gone: AtomicBool,
}

/// A way back.
pub fn way() -> (Reply, Answer) {
    let (to, from) = channel();
    let meter = Arc::<Meter>::default();
    let reply = Reply {
        to,
        meter: Arc::clone(&meter),
    };
    (reply, Answer { from, meter })
}

impl Told {
    fn bytes(&self) -> usize {
        match self {
            Self::Output(bytes) | Self::Errors(bytes) => bytes.len(),
            _ => 0,
        }
    }
}

impl Reply {
    /// Tells something; false when too much waits for the client already.
    #[must_use]
    pub fn tell(&self, told: Told) -> bool {
        let bytes = told.bytes();
        let waiting = self.meter.waiting.fetch_add(bytes, Ordering::AcqRel);
        // A client that has gone is seen by `gone`.
        let _ = self.to.send(told);
        waiting.saturating_add(bytes) <= MOST_WAITING
    }

    /// True when nobody listens any more.
    pub fn gone(&self) -> bool {
        self.meter.gone.load(Ordering::Acquire)
    }
}

impl Answer {
    /// The next piece; an error when none has come for `patience`, or when the run has ended.
    pub fn next(&self, patience: Duration) -> Result<Told, RecvTimeoutError> {
        let told = self.from.recv_timeout(patience)?;
        self.meter.waiting.fetch_sub(told.bytes(), Ordering::AcqRel);
        Ok(told)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.meter.gone.store(true, Ordering::Release);
    }
}

/// Puts what a client wants before the run's thread; false when the run has ended.
pub type Asks = Box<dyn Fn(Ask) -> bool + Send + Sync>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_does_not_read_is_told_no_more_than_a_bound() {
        let (reply, answer) = way();
        let piece = || Told::Output(vec![0; MOST_WAITING / 2]);
        assert!(reply.tell(piece()) && reply.tell(piece()));
        assert!(!reply.tell(Told::Errors(vec![0])));
        answer.next(Duration::ZERO).unwrap();
        assert!(reply.tell(Told::Errors(vec![0])), "it has read");
        assert!(!reply.gone());
        drop(answer);
        assert!(reply.gone());
    }
}
