//! What goes on in a run beside its checks: steps at their times, and what clients of the control socket have asked for.
//! Data only; [`super::acts`] begins it and looks after it.

use super::jobs::{Finished, Job};
use airlane_control::ask::{Ask, Reply};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// All of it.
#[derive(Default)]
pub struct Work {
    /// What clients want, in the order in which they came.
    pub asks: VecDeque<Ask>,
    /// What has begun.
    pub doing: Vec<Doing>,
    /// How each step of the scenario stands.
    pub steps: Vec<StepState>,
    /// When all VMs were up: from then on steps are timed.
    pub up: Option<Instant>,
}

/// Something that has begun.
pub struct Doing {
    /// What it is.
    pub undertaking: Undertaking,
    /// Who waits for its outcome.
    pub whose: Whose,
}

/// Who waits for an outcome.
pub enum Whose {
    /// The step with this number.
    Step(usize),
    /// A client.
    Client(Reply),
}

/// How a step stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum StepState {
    /// It has not begun.
    #[default]
    Waiting,
    /// It began so long after all VMs were up.
    Doing(Duration),
    /// It is over, and not reported yet.
    Done(Duration, Outcome),
    /// It is reported.
    Told,
}

/// Something that has begun and is not over.
#[derive(Debug)]
pub struct Undertaking {
    /// What it waits for.
    pub awaits: Awaits,
    /// When it began.
    pub began: Instant,
    /// When it has failed if it is not over.
    pub deadline: Instant,
}

/// What an undertaking waits for.
#[derive(Debug)]
pub enum Awaits {
    /// Nothing: it was done at once.
    Nothing(String),
    /// The end of a command, whose own outcome it is.
    Command(Job),
    /// The end of an order to an access point, and what has happened then.
    Order(Job, String),
    /// That the access point of this name is up.
    AccessPoint(String),
    /// That the VM with this number is in its network.
    Vm(usize),
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Whether it was done.
    pub passed: bool,
    /// What was seen.
    pub detail: String,
    /// What a command has printed, and its exit code.
    pub command: Option<Finished>,
    /// How long it took.
    pub took: Duration,
}

impl Outcome {
    /// Something could not even begin.
    pub fn refused(detail: String) -> Self {
        Self {
            detail,
            ..Self::default()
        }
    }
}
