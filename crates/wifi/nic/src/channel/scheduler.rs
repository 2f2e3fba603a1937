//! The channel scheduler: one radio, one channel at a time, several places to be.
//!
//! Places are the channel contexts of vMACs and the dwells of a scan. Before the radio leaves a context,
//! what is on the air drains, then the access points are told of the absence, then it moves. How
//! contexts share the time is decided in `context`; a scan goes away for one dwell at a time and comes
//! back between.
//!
//! This is the decision alone: the NIC applies each [`Action`] and says what is demanded.

use std::collections::VecDeque;

use airlane_dot11::Channel;
use airlane_lane::{Instant, Micros};

use crate::channel::context::{Accounts, Contexts, find};

/// Least time in a context between two dwells of a scan.
const BETWEEN_DWELLS: Micros = Micros::from_millis(60);
/// Longest wait for frames on the air to end.
const DRAIN: Micros = Micros::from_millis(10);
/// Longest wait for the access points to acknowledge the absence.
const ANNOUNCE: Micros = Micros::from_millis(20);
/// Time for what an access point had handed to its transmitter before it learned of the absence.
const LINGER: Micros = Micros::from_millis(2);
/// Longest dwells away from a context. A beacon interval is 102.4 ms, so a passive dwell hears one.
const AWAY_ACTIVE: Micros = Micros::from_millis(30);
const AWAY_PASSIVE: Micros = Micros::from_millis(120);

/// The radio on one channel for a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dwell {
    /// Number of its scan slot: tells dwells apart.
    pub(crate) slot: u64,
    pub(crate) channel: Channel,
    /// Short, since the answers to probe requests come soon.
    pub(crate) active: bool,
    pub(crate) time: Micros,
    /// Longest time away from a context; zero: no bound of the driver's own.
    pub(crate) max_away: Micros,
}

impl Dwell {
    /// How long it lasts away from a context.
    fn away(&self) -> Micros {
        let cap = if self.active {
            AWAY_ACTIVE
        } else {
            AWAY_PASSIVE
        };
        let cap = match self.max_away {
            Micros(0) => cap,
            bound => cap.min(bound),
        };
        self.time.min(cap)
    }
}

/// Where the radio ought to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demand {
    pub(crate) contexts: Contexts,
    /// Where to stay when there is no context.
    pub(crate) idle: Option<Channel>,
    pub(crate) scan: Option<Dwell>,
}

/// What the NIC is to do next, on the way of the radio to where it ought to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Take back what has not begun to be sent.
    Recall,
    /// Tell the access points on the present channel that their stations sleep.
    AnnounceAbsence,
    /// Move to this channel; tell the access points there that their stations are awake.
    Tune(Channel),
    BeginDwell(Dwell),
    EndDwell(Dwell),
}

/// The outcome of one decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Apply(Action),
    /// Nothing is to be done until this time, or until the demand changes; `None`: until it changes.
    IdleUntil(Option<Instant>),
}

#[derive(Clone, Copy, Debug)]
enum Target {
    Context(Channel),
    Scan(Dwell),
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Settled {
        free_at: Instant,
    },
    Draining {
        target: Target,
        until: Instant,
    },
    Announcing {
        target: Target,
        until: Instant,
        /// An access point was told that its station sleeps, and may still be sending what it had begun.
        told: bool,
    },
    Lingering {
        target: Target,
        until: Instant,
    },
    Scanning {
        dwell: Dwell,
        since: Instant,
        until: Instant,
    },
}

/// Where one radio is, where it goes next, and what each context has had of it.
pub(crate) struct ChannelScheduler {
    here: Option<Channel>,
    /// Since when the radio is on this primary channel.
    here_since: Instant,
    /// The channel that the radio left last.
    last_context: Option<Channel>,
    accounts: Accounts,
    phase: Phase,
    actions: VecDeque<Action>,
}

impl Default for ChannelScheduler {
    fn default() -> Self {
        Self {
            here: None,
            here_since: Instant(0),
            last_context: None,
            accounts: Accounts::default(),
            phase: Phase::Settled {
                free_at: Instant(0),
            },
            actions: VecDeque::new(),
        }
    }
}

impl ChannelScheduler {
    /// The channel that the radio is tuned to.
    pub(crate) fn here(&self) -> Option<Channel> {
        self.here
    }

    fn is_at(&self, channel: Channel) -> bool {
        self.here.is_some_and(|here| here.shares_primary(channel))
    }

    /// Since when the radio has been on the primary channel of `channel`; `None` while it is elsewhere.
    pub(crate) fn present_since(&self, channel: Channel) -> Option<Instant> {
        self.is_at(channel).then_some(self.here_since)
    }

    /// What each channel that was ever a context has had.
    pub(crate) fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// True when frames for the present channel may go to the air.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Settled { .. } | Phase::Scanning { .. })
    }

    /// True when no move is under way: the radio stays until a demand changes, or its slice is over.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.phase, Phase::Settled { .. }) && self.actions.is_empty()
    }

    /// The scan's dwell at which the radio is now.
    pub(crate) fn scanning(&self) -> Option<Dwell> {
        match self.phase {
            Phase::Scanning { dwell, .. } => Some(dwell),
            _ => None,
        }
    }

    /// Decides what the NIC does next. `in_air`: frames whose end is not known yet. Call again after each
    /// [`Step::Apply`].
    pub(crate) fn step(&mut self, now: Instant, demand: &Demand, in_air: usize) -> Step {
        if let Some(action) = self.actions.pop_front() {
            return Step::Apply(action);
        }
        let wait = match self.phase {
            Phase::Settled { free_at } => self.settled(now, demand, free_at),
            Phase::Draining { target, until } => self.draining(now, in_air, target, until),
            Phase::Announcing {
                target,
                until,
                told,
            } => self.announcing(now, demand, in_air, (target, until, told)),
            Phase::Lingering { until, .. } if now < until => Some(until),
            Phase::Lingering { target, .. } => self.depart(now, demand, target),
            Phase::Scanning {
                dwell,
                since,
                until,
            } => self.scanning_step(now, demand, dwell, since, until),
        };
        match self.actions.pop_front() {
            Some(action) => Step::Apply(action),
            None => Step::IdleUntil(wait),
        }
    }

    fn settled(&mut self, now: Instant, demand: &Demand, free_at: Instant) -> Option<Instant> {
        let Some(context) = find(&demand.contexts, self.here) else {
            return self.settled_nowhere(now, demand);
        };
        if Some(context.channel) != self.here {
            self.tune(now, demand, context.channel);
            return None;
        }
        self.accounts.stay(context.channel);
        let since = self.here_since;
        let leave = self.accounts.plan(now, &demand.contexts, context, since);
        match (leave, demand.scan) {
            (_, Some(dwell)) if find(&demand.contexts, Some(dwell.channel)).is_none() => {
                self.at_or_after(now, free_at, Target::Scan(dwell))
            }
            // A dwell at a context takes nothing from the slices of other contexts.
            (leave, Some(dwell))
                if self.is_at(dwell.channel) && leave.is_none_or(|leave| now < leave.at) =>
            {
                self.begin(now, dwell, dwell.time);
                None
            }
            (leave, _) => {
                let leave = leave?;
                self.at_or_after(now, leave.at.max(free_at), Target::Context(leave.to))
            }
        }
    }

    /// The radio is at no context: a scan begins at once; without one the radio goes to a context, or to the idle
    /// channel.
    fn settled_nowhere(&mut self, now: Instant, demand: &Demand) -> Option<Instant> {
        let Some(dwell) = demand.scan else {
            self.return_to_context(now, demand, now);
            return None;
        };
        if !self.is_at(dwell.channel) {
            self.tune(now, demand, dwell.channel);
        }
        self.begin(now, dwell, dwell.time);
        None
    }

    fn at_or_after(&mut self, now: Instant, due: Instant, target: Target) -> Option<Instant> {
        if now < due {
            return Some(due);
        }
        self.leave(now, target)
    }

    fn leave(&mut self, now: Instant, target: Target) -> Option<Instant> {
        self.last_context = self.here;
        self.actions.push_back(Action::Recall);
        let until = now + DRAIN;
        self.phase = Phase::Draining { target, until };
        None
    }

    fn draining(
        &mut self,
        now: Instant,
        in_air: usize,
        target: Target,
        until: Instant,
    ) -> Option<Instant> {
        if in_air > 0 && now < until {
            return Some(until);
        }
        let until = now + ANNOUNCE;
        self.phase = Phase::Announcing {
            target,
            until,
            told: false,
        };
        self.actions.push_back(Action::AnnounceAbsence);
        None
    }

    fn announcing(
        &mut self,
        now: Instant,
        demand: &Demand,
        in_air: usize,
        (target, until, told): (Target, Instant, bool),
    ) -> Option<Instant> {
        if in_air > 0 && now < until {
            self.phase = Phase::Announcing {
                target,
                until,
                told: true,
            };
            return Some(until);
        }
        if !told {
            return self.depart(now, demand, target);
        }
        let until = now + LINGER;
        self.phase = Phase::Lingering { target, until };
        Some(until)
    }

    fn depart(&mut self, now: Instant, demand: &Demand, target: Target) -> Option<Instant> {
        match target {
            Target::Scan(dwell) if demand.scan == Some(dwell) => {
                self.tune(now, demand, dwell.channel);
                self.begin(now, dwell, dwell.away());
            }
            // The scan was called off meanwhile: stay, and say so.
            Target::Scan(_) => self.arrive(now, demand, self.here, now),
            Target::Context(context) => self.arrive(now, demand, Some(context), now),
        }
        None
    }

    fn scanning_step(
        &mut self,
        now: Instant,
        demand: &Demand,
        dwell: Dwell,
        since: Instant,
        until: Instant,
    ) -> Option<Instant> {
        if now < until && demand.scan == Some(dwell) {
            return Some(until);
        }
        self.actions.push_back(Action::EndDwell(dwell));
        self.phase = Phase::Settled { free_at: now };
        if find(&demand.contexts, self.here).is_none() && !demand.contexts.is_empty() {
            let away = now.saturating_since(since);
            self.return_to_context(now, demand, now + away.max(BETWEEN_DWELLS));
        }
        None
    }

    /// Moves the radio to the next context in turn; without any, to the idle channel.
    fn return_to_context(&mut self, now: Instant, demand: &Demand, free_at: Instant) {
        let next = self.next_context(&demand.contexts);
        let first = demand.contexts.first().map(|context| context.channel);
        let target = next.or(first).or(demand.idle);
        if target != self.here {
            self.arrive(now, demand, target, free_at);
        }
    }

    fn arrive(
        &mut self,
        now: Instant,
        demand: &Demand,
        channel: Option<Channel>,
        free_at: Instant,
    ) {
        self.phase = Phase::Settled { free_at };
        if let Some(channel) = channel {
            self.tune(now, demand, channel);
        }
    }

    fn begin(&mut self, now: Instant, dwell: Dwell, time: Micros) {
        self.phase = Phase::Scanning {
            dwell,
            since: now,
            until: now + time,
        };
        self.actions.push_back(Action::BeginDwell(dwell));
    }

    fn tune(&mut self, now: Instant, demand: &Demand, channel: Channel) {
        if !self.is_at(channel) {
            if let Some(here) = self.here {
                let since = self.here_since;
                self.accounts.leave(now, &demand.contexts, here, since);
            }
            if find(&demand.contexts, Some(channel)).is_some() {
                self.accounts.arrive(channel);
            }
            self.here_since = now;
        }
        self.here = Some(channel);
        self.actions.push_back(Action::Tune(channel));
    }

    /// The context after the one where the radio is or was; `None` when there is no other.
    fn next_context(&self, contexts: &Contexts) -> Option<Channel> {
        let here = find(contexts, self.here).map(|context| context.channel);
        let last = here.or(self.last_context).map(Channel::primary);
        let at = contexts
            .iter()
            .position(|context| Some(context.channel.primary()) == last);
        let next = at.map_or(0, |at| at + 1) % contexts.len().max(1);
        let next = contexts.get(next)?.channel;
        (!self.is_at(next)).then_some(next)
    }
}
