//! How long the radio stays at which home: shares by weight, beacons, those who join, those who
//! have nothing to do.
//!
//! Homes compete while they have work. Time is divided among those that compete in proportion to
//! their weights; what one got too much or too little is remembered as credit, within bounds, so
//! that a slice cut short for a neighbour's beacon is made up for. This decides when to leave and
//! for where; the schedule does the leaving.

use airlane_dot11::Channel;
use airlane_lane::{Instant, MAX_VMS, Micros};
use arrayvec::ArrayVec;

use crate::vmac::beacons::Due;

/// In which every home that competes has its slice: the bound on how long one waits. More homes make it longer,
/// since a short slice is mostly leaving and arriving.
const CYCLE: u64 = 100_000;
const CYCLE_PER_HOME: u64 = 25_000;
/// Shortest slice.
const SHORTEST: Micros = Micros::from_millis(10);
/// A home without work is left this long after its last frame, or after arrival when none came at all: an access
/// point sends what it kept as soon as it knows that its station is awake.
const QUIET: Micros = Micros::from_millis(10);
const NOTHING: Micros = Micros::from_millis(4);
/// Longest stay for the sake of somebody who joins.
const JOINING: Micros = Micros::from_millis(250);
/// From leaving one home to hearing another's beacon: planned for, and at least.
const LEAD: Micros = Micros::from_millis(6);
const TRAVEL: Micros = Micros::from_millis(3);
/// How long the own beacon is waited for, before and after its time.
const HOLD: Micros = Micros::from_millis(15);
const BEACON_WAIT: Micros = Micros::from_millis(8);
/// A visit that looks for beacons of unknown time.
const LOOK: Micros = Micros::from_millis(110);
/// Beacons not heard in a row that end even a stay for somebody who joins.
const PRESSING: u64 = 3;

/// A home channel, as it stands now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home {
    pub(crate) channel: Channel,
    /// Of its vMACs that have work.
    pub(crate) weight: u32,
    /// Something waits to be sent.
    pub(crate) pending: bool,
    /// The last data frame to or from one of its vMACs.
    pub(crate) traffic: Instant,
    /// Until when one of its vMACs is in the middle of joining.
    pub(crate) joining: Option<Instant>,
    /// Associated, and the time of its beacons is not known: it needs its slices whatever it does.
    pub(crate) blind: bool,
    /// Its next beacon.
    pub(crate) beacon: Option<Due>,
    /// The last beacon heard.
    pub(crate) heard_at: Instant,
    /// Until when group frames may follow it.
    pub(crate) group_until: Instant,
}

impl Home {
    pub(crate) fn new(channel: Channel) -> Self {
        Self {
            channel,
            weight: 0,
            pending: false,
            traffic: Instant(0),
            joining: None,
            blind: false,
            beacon: None,
            heard_at: Instant(0),
            group_until: Instant(0),
        }
    }

    fn weight(&self) -> u32 {
        self.weight.max(1)
    }

    /// From where on its next beacon is looked for, the radio being here or elsewhere.
    pub(crate) fn beacon_from(now: Instant, present: bool) -> Instant {
        if present {
            now.saturating_sub(BEACON_WAIT)
        } else {
            now + TRAVEL
        }
    }

    /// When nothing more is to be expected of a visit since `since`; `None` while something waits.
    fn quiet_at(&self, since: Instant) -> Option<Instant> {
        if self.pending {
            return None;
        }
        Some(if self.traffic > since {
            self.traffic + QUIET
        } else {
            since + NOTHING
        })
    }
}

/// Home channels, each once.
pub(crate) type Homes = ArrayVec<Home, MAX_VMS>;

/// What one home has had.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    pub(crate) channel: Channel,
    /// Microseconds that it is owed, or owes.
    credit: i64,
    /// Had work when it was left.
    active: bool,
    /// All time there.
    pub(crate) time: Micros,
    pub(crate) visits: u64,
}

/// The accounts of all homes that there ever were: as many as there are channels at most.
#[derive(Default)]
pub(crate) struct Accounts(Vec<Account>);

/// When to leave a home, and for which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leave {
    pub(crate) at: Instant,
    pub(crate) to: Channel,
}

impl Accounts {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Account> {
        self.0.iter()
    }

    fn of(&self, channel: Channel) -> Option<&Account> {
        self.0
            .iter()
            .find(|known| same(Some(known.channel), channel))
    }

    fn of_mut(&mut self, channel: Channel) -> Option<&mut Account> {
        let known = |account: &Account| same(Some(account.channel), channel);
        let at = self.0.iter().position(known).unwrap_or_else(|| {
            self.0.push(Account {
                channel: channel.primary(),
                credit: 0,
                active: false,
                time: Micros(0),
                visits: 0,
            });
            self.0.len().saturating_sub(1)
        });
        self.0.get_mut(at)
    }

    /// The radio arrives.
    pub(crate) fn arrive(&mut self, channel: Channel) {
        if let Some(account) = self.of_mut(channel) {
            account.visits += 1;
        }
    }

    /// The radio leaves for another channel after a visit since `since`.
    pub(crate) fn leave(&mut self, now: Instant, homes: &Homes, channel: Channel, since: Instant) {
        let Some(home) = find(homes, Some(channel)) else {
            return;
        };
        let stay = now.saturating_since(since);
        let active = home.quiet_at(since).is_none_or(|at| at > now);
        let total = self.weights(now, homes, home);
        for other in homes {
            let here = same(Some(other.channel), channel);
            let wants = here || self.competes(now, other);
            let Some(account) = self.of_mut(other.channel) else {
                continue;
            };
            let share = portion(stay, other.weight(), total);
            let spent = if here { stay } else { Micros(0) };
            let credit = account.credit + signed(share) - signed(spent);
            let bound = signed(Micros(CYCLE));
            account.credit = if wants {
                credit.clamp(-bound, bound)
            } else {
                0
            };
        }
        if let Some(account) = self.of_mut(channel) {
            account.active = active;
            account.time += stay;
        }
    }

    /// True when a home to which the radio is not tuned wants a slice.
    fn competes(&self, now: Instant, home: &Home) -> bool {
        let active = || self.of(home.channel).is_some_and(|account| account.active);
        home.pending || home.blind || home.joining.is_some_and(|until| now < until) || active()
    }

    /// Weights of `here` and of those that compete with it.
    fn weights(&self, now: Instant, homes: &Homes, here: &Home) -> u64 {
        let rivals = others(homes, here).filter(|home| self.competes(now, home));
        rivals.map(|home| u64::from(home.weight())).sum::<u64>() + u64::from(here.weight())
    }

    /// The part of the time that a home has while all of `homes` that compete now do, in thousandths.
    pub(crate) fn share(&self, now: Instant, homes: &Homes, home: &Home) -> u64 {
        let total = self.weights(now, homes, home).max(1);
        u64::from(home.weight()) * 1_000 / total
    }

    /// When to leave `here`, where the radio has been since `since`; `None` while nobody else needs it.
    pub(crate) fn plan(
        &self,
        now: Instant,
        homes: &Homes,
        here: &Home,
        since: Instant,
    ) -> Option<Leave> {
        let joining = here.joining.filter(|_| now < since + JOINING);
        let slice = self.slice_end(now, homes, here, since, joining);
        let beacon = others(homes, here)
            .filter_map(|home| beacon_call(here, home, since, joining.is_some()))
            .min_by_key(|leave| leave.at);
        [slice, beacon]
            .into_iter()
            .flatten()
            .min_by_key(|leave| leave.at)
    }

    /// The end of the slice, if somebody waits for it.
    fn slice_end(
        &self,
        now: Instant,
        homes: &Homes,
        here: &Home,
        since: Instant,
        joining: Option<Instant>,
    ) -> Option<Leave> {
        let at = homes.iter().position(|home| home.channel == here.channel)?;
        let (before, after) = homes.split_at_checked(at)?;
        let in_turn = after.iter().skip(1).chain(before);
        let next = in_turn
            .filter(|home| self.competes(now, home))
            .max_by_key(|home| self.calls(now, home))?;
        let mut end = since + self.slice(now, homes, here);
        if self.calls(now, next) {
            end = end.min(since + SHORTEST);
        }
        if let Some(quiet) = here.quiet_at(since) {
            end = end.min(quiet);
        }
        if here.blind && here.heard_at < since {
            end = end.max(since + LOOK);
        }
        if let Some(until) = joining {
            end = end.max(until.min(since + JOINING));
        }
        let leave = |at| Leave {
            at,
            to: next.channel,
        };
        Some(leave(with_beacon(here, end)))
    }

    /// One who joins and has something to send does not wait for the slice of others to end, while his home
    /// owes nothing.
    fn calls(&self, now: Instant, home: &Home) -> bool {
        let owes = self
            .of(home.channel)
            .is_some_and(|account| account.credit < 0);
        home.pending && !owes && home.joining.is_some_and(|until| now < until)
    }

    fn slice(&self, now: Instant, homes: &Homes, here: &Home) -> Micros {
        let rivals = others(homes, here).filter(|home| self.competes(now, home));
        let cycle = CYCLE.max(CYCLE_PER_HOME * (rivals.count() as u64 + 1));
        let share = portion(Micros(cycle), here.weight(), self.weights(now, homes, here));
        let credit = self.of(here.channel).map_or(0, |account| account.credit);
        let slice = signed(share).saturating_add(credit);
        Micros(u64::try_from(slice).unwrap_or(0)).clamp(SHORTEST, Micros(2 * cycle))
    }
}

/// `end`, or later when the own beacon is about to come, or group frames after it.
fn with_beacon(here: &Home, end: Instant) -> Instant {
    let end = end.max(here.group_until);
    match here.beacon {
        Some(due) if due.at < end + HOLD && end < due.at + BEACON_WAIT => due.at + BEACON_WAIT,
        _ => end,
    }
}

/// When to leave `here` for the next beacon of `home`.
fn beacon_call(here: &Home, home: &Home, since: Instant, joining: bool) -> Option<Leave> {
    let due = home.beacon?;
    let looking = here.blind && here.heard_at < since;
    if (joining || looking) && due.urgency < PRESSING {
        return None;
    }
    let leave = |at: Instant| Leave {
        at: at.saturating_sub(LEAD).max(since),
        to: home.channel,
    };
    let first = leave(due.at);
    let reached = first.at + TRAVEL <= due.at;
    if reached && !own_comes_first(here, first.at, due) {
        return Some(first);
    }
    Some(leave(due.at + due.interval))
}

/// True when leaving at `at` would miss an own beacon that matters as much as the other one.
fn own_comes_first(here: &Home, at: Instant, other: Due) -> bool {
    here.beacon.is_some_and(|own| {
        let missed = own.at + BEACON_WAIT > at && own.at < other.at + LEAD;
        missed && own.urgency >= other.urgency
    })
}

pub(crate) fn find(homes: &Homes, here: Option<Channel>) -> Option<&Home> {
    homes.iter().find(|home| same(here, home.channel))
}

/// True when two channels share their primary 20 MHz.
pub(crate) fn same(here: Option<Channel>, channel: Channel) -> bool {
    here.map(Channel::primary) == Some(channel.primary())
}

fn others<'a>(homes: &'a Homes, here: &Home) -> impl Iterator<Item = &'a Home> {
    let here = here.channel;
    homes
        .iter()
        .filter(move |home| !same(Some(here), home.channel))
}

fn portion(time: Micros, weight: u32, total: u64) -> Micros {
    Micros(time.0.saturating_mul(u64::from(weight)) / total.max(1))
}

fn signed(time: Micros) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX / 4)
}
