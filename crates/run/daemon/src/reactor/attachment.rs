//! Whether a virtual machine is attached to a lane, as far as the lane's engine knows: the engine is asked to admit it,
//! again if it says so, before anything that the virtual machine asks for.

use airlane_lane::{Admission, Engine, Instant, LaneId, Micros, Seldom};

/// The log tells of one lane's refusals at most this often, however often its virtual machine comes and goes.
const REFUSALS_LOGGED_EVERY: Micros = Micros::from_millis(1_000);

/// One lane's virtual machine and its place in the engine.
pub struct Attachment {
    lane: LaneId,
    /// The virtual machine's name, for the log.
    vm: String,
    state: State,
    refusals: Seldom,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// No virtual machine is there.
    Absent,
    /// It is there; the engine has not admitted it yet.
    Waiting,
    Admitted,
    Refused,
}

impl Attachment {
    /// No virtual machine is there yet; the one to come has this name.
    pub fn new(lane: LaneId, vm: &str) -> Self {
        Self {
            lane,
            vm: vm.to_owned(),
            state: State::Absent,
            refusals: Seldom::default(),
        }
    }

    /// The lane.
    pub fn lane(&self) -> LaneId {
        self.lane
    }

    /// A virtual machine has come.
    pub fn come(&mut self) {
        self.state = State::Waiting;
    }

    /// It has gone.
    pub fn go<E: Engine>(&mut self, now: Instant, engine: &mut E) {
        if self.state == State::Admitted {
            engine.dismiss(now, self.lane);
        }
        self.state = State::Absent;
    }

    /// Has the engine decide about a virtual machine that waits. False: it cannot yet, and no request may go to it before
    /// it has run.
    pub fn settle<E: Engine>(&mut self, now: Instant, engine: &mut E) -> bool {
        if self.state != State::Waiting {
            return true;
        }
        self.state = match engine.admit(now, self.lane) {
            Admission::Admitted => State::Admitted,
            Admission::Later => return false,
            Admission::Refused(reason) => {
                let vm = &self.vm;
                if let Some(times) = self.refusals.happened(now, REFUSALS_LOGGED_EVERY) {
                    tracing::error!(vm, reason, times, "the VM cannot use its card");
                }
                State::Refused
            }
        };
        true
    }

    /// Whether the engine does what the virtual machine asks for.
    pub fn is_admitted(&self) -> bool {
        self.state == State::Admitted
    }
}
