//! The channel schedule: one radio, one channel at a time, several places to be.
//!
//! Places are the home channels of vMACs and the stops of a scan. Before the radio leaves a home,
//! what is on the air drains, then the access points are told of the absence, then it moves. How
//! homes share the time is decided in `homes`; a scan goes away for one stop at a time and comes
//! home between.
//!
//! This is the decision alone: the NIC carries out each [`Act`] and says what it wishes.

use std::collections::VecDeque;

use airlane_dot11::Channel;
use airlane_lane::{Instant, Micros};

use crate::channel::context::{Accounts, Homes, find, same};

/// Least time at home between two stops of a scan.
const HOME: Micros = Micros::from_millis(60);
/// Longest wait for frames on the air to end.
const DRAIN: Micros = Micros::from_millis(10);
/// Longest wait for the access points to acknowledge the absence.
const ANNOUNCE: Micros = Micros::from_millis(20);
/// Time for what an access point had handed to its transmitter before it learned of the absence.
const LINGER: Micros = Micros::from_millis(2);
/// Longest stops away from a home. A beacon interval is 102.4 ms, so a passive stop hears one.
const AWAY_ACTIVE: Micros = Micros::from_millis(30);
const AWAY_PASSIVE: Micros = Micros::from_millis(120);

/// One stop of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Tells the stops of different sweeps apart.
    pub(crate) sweep: u64,
    pub(crate) index: usize,
    pub(crate) channel: Channel,
    pub(crate) active: bool,
    pub(crate) dwell: Micros,
    /// Zero: no bound of the driver's own.
    pub(crate) max_away: Micros,
}

impl Stop {
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
        self.dwell.min(cap)
    }
}

/// Where the radio ought to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wishes {
    pub(crate) homes: Homes,
    /// Where to stay when there is no home.
    pub(crate) idle: Option<Channel>,
    pub(crate) scan: Option<Stop>,
}

/// What the NIC is to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Take back what has not begun to be sent.
    Recall,
    /// Tell the access points on the present channel that their stations sleep.
    AnnounceAbsence,
    /// Move to this channel; tell the access points there that their stations are awake.
    Tune(Channel),
    /// The scan's stop begins.
    Started(Stop),
    /// The scan's stop is over.
    Left(Stop),
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Do(Act),
    /// Nothing until then, or until a wish changes.
    Wait(Option<Instant>),
}

#[derive(Clone, Copy, Debug)]
enum Target {
    Home(Channel),
    Scan(Stop),
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
        /// Someone was told.
        told: bool,
    },
    Lingering {
        target: Target,
        until: Instant,
    },
    Scanning {
        stop: Stop,
        since: Instant,
        until: Instant,
    },
}

/// The schedule of one radio.
pub(crate) struct Schedule {
    here: Option<Channel>,
    /// Since when the radio is on this primary channel.
    here_since: Instant,
    /// The home that was left last.
    last_home: Option<Channel>,
    accounts: Accounts,
    phase: Phase,
    acts: VecDeque<Act>,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            here: None,
            here_since: Instant(0),
            last_home: None,
            accounts: Accounts::default(),
            phase: Phase::Settled {
                free_at: Instant(0),
            },
            acts: VecDeque::new(),
        }
    }
}

impl Schedule {
    /// The channel that the radio is tuned to.
    pub(crate) fn here(&self) -> Option<Channel> {
        self.here
    }

    /// Since when it has been on the primary channel of `channel`, if it is there.
    pub(crate) fn present_since(&self, channel: Channel) -> Option<Instant> {
        same(self.here, channel).then_some(self.here_since)
    }

    /// What each home has had.
    pub(crate) fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// True when frames for the present channel may go to the air.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Settled { .. } | Phase::Scanning { .. })
    }

    /// True when nothing is under way: the radio stays until a wish changes, or its slice is over.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.phase, Phase::Settled { .. }) && self.acts.is_empty()
    }

    /// The scan's stop at which the radio is now.
    pub(crate) fn scanning(&self) -> Option<Stop> {
        match self.phase {
            Phase::Scanning { stop, .. } => Some(stop),
            _ => None,
        }
    }

    /// Decides. `in_air`: frames whose end is not known yet. Call again after each [`Step::Do`].
    pub(crate) fn step(&mut self, now: Instant, wishes: &Wishes, in_air: usize) -> Step {
        if let Some(act) = self.acts.pop_front() {
            return Step::Do(act);
        }
        let wait = match self.phase {
            Phase::Settled { free_at } => self.settled(now, wishes, free_at),
            Phase::Draining { target, until } => self.draining(now, in_air, target, until),
            Phase::Announcing {
                target,
                until,
                told,
            } => self.announcing(now, wishes, in_air, (target, until, told)),
            Phase::Lingering { until, .. } if now < until => Some(until),
            Phase::Lingering { target, .. } => self.depart(now, wishes, target),
            Phase::Scanning { stop, since, until } => {
                self.scanning_step(now, wishes, stop, since, until)
            }
        };
        match self.acts.pop_front() {
            Some(act) => Step::Do(act),
            None => Step::Wait(wait),
        }
    }

    fn settled(&mut self, now: Instant, wishes: &Wishes, free_at: Instant) -> Option<Instant> {
        let Some(home) = find(&wishes.homes, self.here) else {
            return self.settled_nowhere(now, wishes);
        };
        if Some(home.channel) != self.here {
            self.tune(now, wishes, home.channel);
            return None;
        }
        let since = self.here_since;
        let leave = self.accounts.plan(now, &wishes.homes, home, since);
        match (leave, wishes.scan) {
            (_, Some(stop)) if find(&wishes.homes, Some(stop.channel)).is_none() => {
                self.at_or_after(now, free_at, Target::Scan(stop))
            }
            // A stop at a home takes nothing from the slices of other homes.
            (leave, Some(stop))
                if same(self.here, stop.channel) && leave.is_none_or(|leave| now < leave.at) =>
            {
                self.begin(now, stop, stop.dwell);
                None
            }
            (leave, _) => {
                let leave = leave?;
                self.at_or_after(now, leave.at.max(free_at), Target::Home(leave.to))
            }
        }
    }

    /// Not at any home: a scan begins at once, else there is none or it is elsewhere.
    fn settled_nowhere(&mut self, now: Instant, wishes: &Wishes) -> Option<Instant> {
        let Some(stop) = wishes.scan else {
            self.go_home(now, wishes, now);
            return None;
        };
        if !same(self.here, stop.channel) {
            self.tune(now, wishes, stop.channel);
        }
        self.begin(now, stop, stop.dwell);
        None
    }

    fn at_or_after(&mut self, now: Instant, due: Instant, target: Target) -> Option<Instant> {
        if now < due {
            return Some(due);
        }
        self.leave(now, target)
    }

    fn leave(&mut self, now: Instant, target: Target) -> Option<Instant> {
        self.last_home = self.here;
        self.acts.push_back(Act::Recall);
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
        self.acts.push_back(Act::AnnounceAbsence);
        None
    }

    fn announcing(
        &mut self,
        now: Instant,
        wishes: &Wishes,
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
            return self.depart(now, wishes, target);
        }
        let until = now + LINGER;
        self.phase = Phase::Lingering { target, until };
        Some(until)
    }

    fn depart(&mut self, now: Instant, wishes: &Wishes, target: Target) -> Option<Instant> {
        match target {
            Target::Scan(stop) if wishes.scan == Some(stop) => {
                self.tune(now, wishes, stop.channel);
                self.begin(now, stop, stop.away());
            }
            // The scan was called off meanwhile: stay, and say so.
            Target::Scan(_) => self.arrive(now, wishes, self.here, now),
            Target::Home(home) => self.arrive(now, wishes, Some(home), now),
        }
        None
    }

    fn scanning_step(
        &mut self,
        now: Instant,
        wishes: &Wishes,
        stop: Stop,
        since: Instant,
        until: Instant,
    ) -> Option<Instant> {
        if now < until && wishes.scan == Some(stop) {
            return Some(until);
        }
        self.acts.push_back(Act::Left(stop));
        self.phase = Phase::Settled { free_at: now };
        if find(&wishes.homes, self.here).is_none() && !wishes.homes.is_empty() {
            let away = now.saturating_since(since);
            self.go_home(now, wishes, now + away.max(HOME));
        }
        None
    }

    /// To the next home in turn, or to the idle channel.
    fn go_home(&mut self, now: Instant, wishes: &Wishes, free_at: Instant) {
        let next = self.next_home(&wishes.homes);
        let first = wishes.homes.first().map(|home| home.channel);
        let target = next.or(first).or(wishes.idle);
        if target != self.here {
            self.arrive(now, wishes, target, free_at);
        }
    }

    fn arrive(
        &mut self,
        now: Instant,
        wishes: &Wishes,
        channel: Option<Channel>,
        free_at: Instant,
    ) {
        self.phase = Phase::Settled { free_at };
        if let Some(channel) = channel {
            self.tune(now, wishes, channel);
        }
    }

    fn begin(&mut self, now: Instant, stop: Stop, dwell: Micros) {
        self.phase = Phase::Scanning {
            stop,
            since: now,
            until: now + dwell,
        };
        self.acts.push_back(Act::Started(stop));
    }

    fn tune(&mut self, now: Instant, wishes: &Wishes, channel: Channel) {
        if !same(self.here, channel) {
            if let Some(here) = self.here {
                let since = self.here_since;
                self.accounts.leave(now, &wishes.homes, here, since);
            }
            if find(&wishes.homes, Some(channel)).is_some() {
                self.accounts.arrive(channel);
            }
            self.here_since = now;
        }
        self.here = Some(channel);
        self.acts.push_back(Act::Tune(channel));
    }

    /// The home after the one where the radio is or was; `None` when there is no other.
    fn next_home(&self, homes: &Homes) -> Option<Channel> {
        let here = find(homes, self.here).map(|home| home.channel);
        let last = here.or(self.last_home).map(Channel::primary);
        let at = homes
            .iter()
            .position(|home| Some(home.channel.primary()) == last);
        let next = at.map_or(0, |at| at + 1) % homes.len().max(1);
        let next = homes.get(next)?.channel;
        (!same(self.here, next)).then_some(next)
    }
}
