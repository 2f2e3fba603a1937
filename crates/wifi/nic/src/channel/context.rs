//! Channel contexts: each channel on which vMACs have their networks, what those vMACs need of it, and how long the
//! radio stays there. Weights, beacons, vMACs that join and vMACs that have nothing to do decide that.
//!
//! Contexts compete while they have work. Time is divided among those that compete in proportion to
//! their weights; what one got too much or too little is remembered as credit, within bounds, so
//! that a slice cut short for a neighbour's beacon is made up for. This decides when to leave and
//! for where; the scheduler does the leaving.

use airlane_dot11::Channel;
use airlane_lane::{Instant, Micros};
use airlane_waist::MAX_VMS;
use arrayvec::ArrayVec;

use crate::vmac::beacons::Due;

/// Microseconds in which every context that competes has its slice: the bound on how long a context waits. Many
/// contexts make the cycle longer, since a short slice is mostly leaving and arriving.
const CYCLE: u64 = 100_000;
/// Microseconds of the cycle for each context that competes, where that is more.
const CYCLE_PER_CONTEXT: u64 = 25_000;
/// Shortest slice of a context that has work.
const SHORTEST: Micros = Micros::from_millis(10);
/// A context without work is left this long after its last frame: an access point sends what it kept as soon as it
/// knows that its station is awake.
const QUIET: Micros = Micros::from_millis(10);
/// Stay at a context at which no frame came at all.
const NOTHING: Micros = Micros::from_millis(4);
/// Longest stay for the sake of a vMAC that joins.
const JOINING: Micros = Micros::from_millis(250);
/// From leaving one context to hearing another's beacon, as planned for.
const LEAD: Micros = Micros::from_millis(6);
/// The same at the least.
const TRAVEL: Micros = Micros::from_millis(3);
/// A slice that would end so soon before the beacon of its own context lasts until that beacon.
const HOLD: Micros = Micros::from_millis(15);
/// How long after its time that beacon is waited for.
const BEACON_WAIT: Micros = Micros::from_millis(8);
/// Stay that looks for beacons of unknown time: longer than the usual interval of 102.4 ms.
const SEARCH: Micros = Micros::from_millis(110);
/// Beacons not heard in a row that end even a stay for a vMAC that joins.
const PRESSING: u64 = 3;

/// A channel context, as it stands now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChannelContext {
    pub(crate) channel: Channel,
    /// Sum of the weights of its vMACs that have work.
    pub(crate) weight: u32,
    /// A frame of one of its vMACs waits to be sent.
    pub(crate) pending: bool,
    /// When the last data frame went to or came from one of its vMACs.
    pub(crate) traffic: Instant,
    /// Until when one of its vMACs is in the middle of joining.
    pub(crate) joining: Option<Instant>,
    /// One of its vMACs is associated and does not know when its beacons come: the context needs its slices whatever its
    /// vMACs do.
    pub(crate) blind: bool,
    /// The beacon for which the radio is to be there next.
    pub(crate) beacon: Option<Due>,
    /// When one of its vMACs last heard its beacon.
    pub(crate) heard_at: Instant,
    /// Until when group frames may follow that beacon.
    pub(crate) group_until: Instant,
}

impl ChannelContext {
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

    /// From when on a context's next beacon is looked for. `present`: the radio is on its channel.
    pub(crate) fn beacon_from(now: Instant, present: bool) -> Instant {
        if present {
            now.saturating_sub(BEACON_WAIT)
        } else {
            now + TRAVEL
        }
    }

    /// When nothing more is to be expected of a stay that began at `since`; `None` while a frame waits to be sent.
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

/// The channel contexts of a card: for each primary channel one, as many as vMACs at most.
pub(crate) type Contexts = ArrayVec<ChannelContext, MAX_VMS>;

/// What one channel has had as a context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    pub(crate) channel: Channel,
    /// Microseconds that the context is owed; below zero: that it owes the others.
    credit: i64,
    /// Its vMACs had work when the radio left it.
    active: bool,
    /// Time that the radio has spent there, up to its last leaving.
    pub(crate) time: Micros,
    /// How often the radio has come there.
    pub(crate) arrivals: u64,
}

/// The accounts of all contexts that there ever were: as many as there are channels at most.
#[derive(Default)]
pub(crate) struct Accounts(Vec<Account>);

/// When to leave a context, and for which.
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
            .find(|known| known.channel.shares_primary(channel))
    }

    /// Changes the account of a channel, which it gets with its first change.
    fn change(&mut self, channel: Channel, change: impl FnOnce(&mut Account)) {
        let mut known = self.0.iter_mut();
        if let Some(account) = known.find(|known| known.channel.shares_primary(channel)) {
            return change(account);
        }
        let mut account = Account {
            channel: channel.primary(),
            credit: 0,
            active: false,
            time: Micros(0),
            arrivals: 0,
        };
        change(&mut account);
        self.0.push(account);
    }

    /// The radio arrives on the channel of a context.
    pub(crate) fn arrive(&mut self, channel: Channel) {
        self.change(channel, |account| account.arrivals += 1);
    }

    /// The radio stays on a channel that is a context now. It counts as arrived if it was there before it was one.
    pub(crate) fn stay(&mut self, channel: Channel) {
        if self.of(channel).is_none() {
            self.arrive(channel);
        }
    }

    /// The radio leaves `channel`, where it has been since `since`, for another one.
    pub(crate) fn leave(
        &mut self,
        now: Instant,
        contexts: &Contexts,
        channel: Channel,
        since: Instant,
    ) {
        let Some(context) = find(contexts, Some(channel)) else {
            return;
        };
        let stay = now.saturating_since(since);
        let active = context.quiet_at(since).is_none_or(|at| at > now);
        let total = self.weights(now, contexts, context);
        for other in contexts {
            let here = other.channel.shares_primary(channel);
            let wants = here || self.competes(now, other);
            let share = portion(stay, other.weight(), total);
            let spent = if here { stay } else { Micros(0) };
            let bound = signed(Micros(CYCLE));
            self.change(other.channel, |account| {
                let credit = account.credit + signed(share) - signed(spent);
                account.credit = if wants {
                    credit.clamp(-bound, bound)
                } else {
                    0
                };
            });
        }
        self.change(channel, |account| {
            account.active = active;
            account.time += stay;
        });
    }

    /// True when a context to which the radio is not tuned wants a slice.
    fn competes(&self, now: Instant, context: &ChannelContext) -> bool {
        let active = || {
            self.of(context.channel)
                .is_some_and(|account| account.active)
        };
        context.pending
            || context.blind
            || context.joining.is_some_and(|until| now < until)
            || active()
    }

    /// Weights of `here` and of those that compete with it.
    fn weights(&self, now: Instant, contexts: &Contexts, here: &ChannelContext) -> u64 {
        let rivals = others(contexts, here).filter(|context| self.competes(now, context));
        rivals
            .map(|context| u64::from(context.weight()))
            .sum::<u64>()
            + u64::from(here.weight())
    }

    /// The part of the time that a context has while all of `contexts` that compete now do, in thousandths.
    pub(crate) fn share(&self, now: Instant, contexts: &Contexts, context: &ChannelContext) -> u64 {
        let total = self.weights(now, contexts, context).max(1);
        u64::from(context.weight()) * 1_000 / total
    }

    /// When to leave `here`, where the radio has been since `since`; `None` while no other context needs the radio.
    pub(crate) fn plan(
        &self,
        now: Instant,
        contexts: &Contexts,
        here: &ChannelContext,
        since: Instant,
    ) -> Option<Leave> {
        let joining = here.joining.filter(|_| now < since + JOINING);
        let slice = self.slice_end(now, contexts, here, since, joining);
        let beacon = others(contexts, here)
            .filter_map(|context| beacon_call(here, context, since, joining.is_some()))
            .min_by_key(|leave| leave.at);
        [slice, beacon]
            .into_iter()
            .flatten()
            .min_by_key(|leave| leave.at)
    }

    /// When the slice of `here` ends; `None` while no other context competes.
    fn slice_end(
        &self,
        now: Instant,
        contexts: &Contexts,
        here: &ChannelContext,
        since: Instant,
        joining: Option<Instant>,
    ) -> Option<Leave> {
        let at = contexts
            .iter()
            .position(|context| context.channel == here.channel)?;
        let (before, after) = contexts.split_at_checked(at)?;
        let in_turn = after.iter().skip(1).chain(before);
        let next = in_turn
            .filter(|context| self.competes(now, context))
            .max_by_key(|context| self.calls(now, context))?;
        let mut end = since + self.slice(now, contexts, here);
        if self.calls(now, next) {
            end = end.min(since + SHORTEST);
        }
        if let Some(quiet) = here.quiet_at(since) {
            end = end.min(quiet);
        }
        if here.blind && here.heard_at < since {
            end = end.max(since + SEARCH);
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

    /// True when a context does not wait for the slices of others to end: one of its vMACs joins and has something to
    /// send, and the context owes nothing.
    fn calls(&self, now: Instant, context: &ChannelContext) -> bool {
        let owes = self
            .of(context.channel)
            .is_some_and(|account| account.credit < 0);
        context.pending && !owes && context.joining.is_some_and(|until| now < until)
    }

    fn slice(&self, now: Instant, contexts: &Contexts, here: &ChannelContext) -> Micros {
        let rivals = others(contexts, here).filter(|context| self.competes(now, context));
        let cycle = CYCLE.max(CYCLE_PER_CONTEXT * (rivals.count() as u64 + 1));
        let share = portion(
            Micros(cycle),
            here.weight(),
            self.weights(now, contexts, here),
        );
        let credit = self.of(here.channel).map_or(0, |account| account.credit);
        let slice = signed(share).saturating_add(credit);
        Micros(u64::try_from(slice).unwrap_or(0)).clamp(SHORTEST, Micros(2 * cycle))
    }
}

/// `end`, or later when the own beacon is about to come, or group frames after it.
fn with_beacon(here: &ChannelContext, end: Instant) -> Instant {
    let end = end.max(here.group_until);
    match here.beacon {
        Some(due) if due.at < end + HOLD && end < due.at + BEACON_WAIT => due.at + BEACON_WAIT,
        _ => end,
    }
}

/// When to leave `here` for the next beacon of `context`.
fn beacon_call(
    here: &ChannelContext,
    context: &ChannelContext,
    since: Instant,
    joining: bool,
) -> Option<Leave> {
    let due = context.beacon?;
    let looking = here.blind && here.heard_at < since;
    if (joining || looking) && due.urgency < PRESSING {
        return None;
    }
    let leave = |at: Instant| Leave {
        at: at.saturating_sub(LEAD).max(since),
        to: context.channel,
    };
    let first = leave(due.at);
    let reached = first.at + TRAVEL <= due.at;
    if reached && !own_comes_first(here, first.at, due) {
        return Some(first);
    }
    Some(leave(due.at + due.interval))
}

/// True when leaving `here` at `at` would miss a beacon of its own that matters as much as the `other` one.
fn own_comes_first(here: &ChannelContext, at: Instant, other: Due) -> bool {
    here.beacon.is_some_and(|own| {
        let missed = own.at + BEACON_WAIT > at && own.at < other.at + LEAD;
        missed && own.urgency >= other.urgency
    })
}

/// The context on the channel where the radio is.
pub(crate) fn find(contexts: &Contexts, here: Option<Channel>) -> Option<&ChannelContext> {
    let here = here?;
    contexts
        .iter()
        .find(|context| context.channel.shares_primary(here))
}

fn others<'a>(
    contexts: &'a Contexts,
    here: &ChannelContext,
) -> impl Iterator<Item = &'a ChannelContext> {
    let here = here.channel;
    contexts
        .iter()
        .filter(move |context| !here.shares_primary(context.channel))
}

fn portion(time: Micros, weight: u32, total: u64) -> Micros {
    Micros(time.0.saturating_mul(u64::from(weight)) / total.max(1))
}

fn signed(time: Micros) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX / 4)
}
