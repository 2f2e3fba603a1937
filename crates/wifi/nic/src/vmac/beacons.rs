//! The beacons of one vMAC's BSS: when the next is due, how many came, how many did not.
//!
//! A beacon counts as missed only if the radio was on its channel for it: absence is no miss. Not
//! here: what the driver above makes of it (mac80211 has a beacon timer of its own).

use airlane_dot11::elements::{BEACON_FIXED, Elements};
use airlane_dot11::time_units;
use airlane_lane::{Instant, Micros};
use airlane_waist::{MissedBeacons, Timing};

/// How late contention may make a beacon.
const GRACE: Micros = Micros::from_millis(40);
/// How long group frames may follow a beacon that announces them.
const AFTER_BEACON: Micros = Micros::from_millis(5);
/// So many beacons not heard in a row make the time of the next ones unknown.
const LOST: u64 = 4;
/// The longest sleep in beacon intervals, whatever was asked for.
const LONGEST_SLEEP: u32 = 64;
/// From so many missed beacons in a row on the driver is told: its own threshold (`dvm/rx.c`,
/// missed_beacon_threshold).
const TOLD_FROM: u32 = 5;

/// What a beacon says of itself (IEEE 802.11-2020 9.3.3.2, 9.4.2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BeaconFacts {
    pub(crate) interval: Micros,
    /// Beacons until the next DTIM, and from DTIM to DTIM.
    pub(crate) dtim: Option<(u8, u8)>,
    /// Group frames follow this beacon.
    pub(crate) group: bool,
    /// The access point keeps frames for the station itself.
    pub(crate) unicast: bool,
}

impl BeaconFacts {
    /// Of a beacon's body (timestamp, interval, capabilities, elements), for the station of this association ID.
    pub(crate) fn parse(body: &[u8], id: u16) -> Option<Self> {
        let interval = body.get(8..10)?.try_into().ok()?;
        let interval = u64::from(u16::from_le_bytes(interval));
        let tim = Elements::new(body.get(BEACON_FIXED..)?).tim();
        Some(Self {
            interval: time_units(interval),
            dtim: tim.map(|tim| (tim.count, tim.period)),
            group: tim.is_some_and(|tim| tim.count == 0 && tim.group),
            unicast: tim.is_some_and(|tim| tim.names(id)),
        })
    }
}

/// A beacon for which the radio may have to be on its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) at: Instant,
    pub(crate) interval: Micros,
    /// Beacons not heard in a row up to now, for whatever reason; one more where group frames follow this one.
    pub(crate) urgency: u64,
}

/// What is known of the beacons of one association.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beacons {
    /// Time from one beacon to the next; zero: unknown.
    interval: Micros,
    /// The first target beacon transmission time (TBTT) of which nothing is known yet.
    next: Option<Instant>,
    heard_at: Instant,
    /// When beacons come is known from one that was heard.
    anchored: bool,
    longest_silence: Micros,
    /// A TBTT with group frames behind it, and beacons from one to the next.
    dtim: Option<(Instant, u64)>,
    group_until: Instant,
    /// The last beacon has said that frames wait for the station.
    unicast: bool,
    counts: MissedBeacons,
}

impl Beacons {
    /// Begins to count for a new association. An access point that is never heard is missed, too.
    pub(crate) fn start(&mut self, now: Instant) {
        *self = Self {
            interval: self.interval,
            heard_at: now,
            ..Self::default()
        };
        self.next = self.known_interval().map(|interval| now + interval);
    }

    /// The driver says how far apart beacons are.
    pub(crate) fn set_timing(&mut self, now: Instant, timing: &Timing) {
        self.interval = time_units(u64::from(timing.beacon_interval));
        if self.next.is_none() {
            self.next = self.known_interval().map(|interval| now + interval);
        }
    }

    pub(crate) fn counts(&self) -> MissedBeacons {
        self.counts
    }

    /// The longest time from one beacon that was heard to the next that was heard.
    pub(crate) fn longest_silence(&self) -> Micros {
        self.longest_silence
    }

    /// Until when group frames may follow the last beacon.
    pub(crate) fn group_until(&self) -> Instant {
        self.group_until
    }

    /// A group frame has come; more follow, or not.
    pub(crate) fn group_frame(&mut self, at: Instant, more: bool) {
        if at < self.group_until {
            self.group_until = if more { at + AFTER_BEACON } else { at };
        }
    }

    /// True when the last beacon has said that frames wait for the station.
    pub(crate) fn promises_frames(&self) -> bool {
        self.unicast
    }

    /// The frames that the last beacon promised are being fetched.
    pub(crate) fn fetch(&mut self) {
        self.unicast = false;
    }

    /// When the last beacon was heard.
    pub(crate) fn heard_at(&self) -> Instant {
        self.heard_at
    }

    /// Takes in a beacon of the BSS.
    pub(crate) fn heard(&mut self, at: Instant, facts: &BeaconFacts) {
        if self.interval == Micros(0) {
            self.interval = facts.interval;
        }
        let (tbtt, late) = self.tbtt_of(at);
        self.anchored = true;
        if facts.group {
            self.group_until = at + AFTER_BEACON;
        }
        self.unicast = facts.unicast;
        self.longest_silence = self.longest_silence.max(at.saturating_since(self.heard_at));
        self.heard_at = at;
        self.next = self.known_interval().map(|interval| tbtt + interval);
        let interval = self.interval.0;
        let first = |(count, period)| (tbtt + Micros(interval * u64::from(count)), period);
        let dtim = facts.dtim.map(|(count, period)| (count, u64::from(period)));
        self.dtim = dtim.filter(|&(_, period)| period > 0).map(first);
        let counts = &mut self.counts;
        counts.received = counts.received.wrapping_add(1);
        counts.consecutive = 0;
        if late {
            counts.total = counts.total.saturating_sub(1);
        } else {
            counts.expected = counts.expected.wrapping_add(1);
        }
    }

    /// The TBTT of a beacon heard at `at`, and whether it was given up already. Contention makes
    /// beacons late, never early: the earliest ones tell the time, late ones move it a little.
    fn tbtt_of(&self, at: Instant) -> (Instant, bool) {
        let (Some(next), Some(interval)) = (self.next, self.known_interval()) else {
            return (at, false);
        };
        if !self.anchored || self.unheard(at) >= LOST {
            return (at, false);
        }
        let half = Micros(interval.0 / 2);
        let late = at + half < next;
        let nearest = if late {
            next.saturating_sub(interval)
        } else {
            next + Micros((at + half).saturating_since(next).0 / interval.0 * interval.0)
        };
        let drift = Micros(at.saturating_since(nearest).0 / 8);
        ((nearest + drift).min(at), late)
    }

    fn known_interval(&self) -> Option<Micros> {
        Some(self.interval).filter(|&interval| interval > Micros(0))
    }

    /// The first TBTT at `from` or later of which nothing is known.
    fn awaited(&self, from: Instant) -> Option<Instant> {
        let (next, interval) = (self.next?, self.known_interval()?);
        let passed = from.saturating_since(next).0.div_ceil(interval.0);
        Some(next + Micros(passed.saturating_mul(interval.0)))
    }

    /// Beacon intervals since the last beacon was heard, or since the association.
    fn unheard(&self, now: Instant) -> u64 {
        let interval = self.known_interval().unwrap_or(Micros(1));
        now.saturating_since(self.heard_at).0 / interval.0
    }

    /// The first beacon at `from` or later; `None` while it is not known when beacons come.
    pub(crate) fn due(&self, now: Instant, from: Instant) -> Option<Due> {
        let unheard = self.unheard(now);
        if !self.anchored || unheard >= LOST {
            return None;
        }
        let (at, interval) = (self.awaited(from)?, self.known_interval()?);
        Some(Due {
            at,
            interval,
            urgency: unheard + u64::from(self.is_dtim(at)),
        })
    }

    /// True while beacons come, at known times.
    pub(crate) fn are_regular(&self) -> bool {
        self.anchored && u64::from(self.counts.consecutive) < LOST
    }

    /// The first beacon at `from` or later that a station must hear which sleeps through fewer than `longest` of them: a
    /// DTIM, or the one whose turn it is. After a beacon that has not come, the next.
    pub(crate) fn needed(&self, from: Instant, longest: u32) -> Option<Instant> {
        let (first, interval) = (self.awaited(from)?, self.known_interval()?);
        if self.counts.consecutive > 0 {
            return Some(first);
        }
        let longest = u64::from(longest.min(LONGEST_SLEEP));
        let to_turn = Micros(interval.0 * longest).saturating_sub(Micros(interval.0 / 2));
        let turn = self.heard_at + to_turn;
        let mut coming = (0..longest).map(|n| first + Micros(interval.0.saturating_mul(n)));
        coming
            .find(|&at| at >= turn || self.is_dtim(at))
            .or(Some(first))
    }

    /// True when group frames follow the beacon of this TBTT.
    fn is_dtim(&self, at: Instant) -> bool {
        let (Some((first, period)), Some(interval)) = (self.dtim, self.known_interval()) else {
            return true;
        };
        if at + Micros(interval.0 / 2) < first {
            return false;
        }
        let beacons = (at.saturating_since(first).0 + interval.0 / 2) / interval.0;
        period <= 1 || beacons.is_multiple_of(period)
    }

    /// When the beacon that is awaited counts as missed; the radio is on its channel since `here`.
    pub(crate) fn deadline(&self, here: Option<Instant>) -> Option<Instant> {
        Some(self.awaited(here?)? + GRACE)
    }

    /// Counts a beacon that has not come; gives what to tell the driver, if anything. Called late it counts one beacon,
    /// not many: those that follow may still be on their way.
    pub(crate) fn pass(&mut self, now: Instant, here: Option<Instant>) -> Option<MissedBeacons> {
        if self.deadline(here)? > now {
            return None;
        }
        self.next = self.awaited(now.saturating_sub(GRACE) + Micros(1));
        let counts = &mut self.counts;
        counts.expected = counts.expected.wrapping_add(1);
        counts.total = counts.total.wrapping_add(1);
        counts.consecutive = counts.consecutive.wrapping_add(1);
        (counts.consecutive >= TOLD_FROM).then_some(*counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Micros = time_units(100);
    /// When the first beacon is due.
    const FIRST: Instant = Instant(INTERVAL.0);
    const HERE: Option<Instant> = Some(Instant(0));

    fn beacons() -> Beacons {
        let mut beacons = Beacons::default();
        beacons.set_timing(
            Instant(0),
            &Timing {
                beacon_interval: 100,
                ..Timing::default()
            },
        );
        beacons.start(Instant(0));
        beacons
    }

    fn facts(count: u8, period: u8) -> BeaconFacts {
        BeaconFacts {
            interval: INTERVAL,
            dtim: Some((count, period)),
            group: false,
            unicast: false,
        }
    }

    #[test]
    fn the_driver_is_told_from_the_fifth_in_a_row_on() {
        let mut beacons = beacons();
        let mut told = Vec::new();
        for _ in 0..7 {
            let deadline = beacons.deadline(HERE).unwrap();
            assert_eq!(beacons.pass(deadline.saturating_sub(Micros(1)), HERE), None);
            told.extend(beacons.pass(deadline, HERE));
        }
        let told: Vec<u32> = told.iter().map(|told| told.consecutive).collect();
        assert_eq!(told, [5, 6, 7]);
        beacons.heard(Instant(INTERVAL.0 * 8), &facts(0, 1));
        let counts = beacons.counts();
        assert_eq!((counts.consecutive, counts.total), (0, 7));
        assert_eq!((counts.expected, counts.received), (8, 1));
    }

    #[test]
    fn absence_is_no_miss() {
        let mut beacons = beacons();
        let late = Instant(INTERVAL.0 * 20);
        assert_eq!(beacons.deadline(None), None);
        assert_eq!(beacons.pass(late, None), None);
        assert_eq!(
            beacons.deadline(Some(late)),
            Some(late + GRACE),
            "the first one after coming back"
        );
        assert_eq!(beacons.counts().expected, 0);
    }

    #[test]
    fn called_late_it_counts_one() {
        let mut beacons = beacons();
        beacons.pass(Instant(INTERVAL.0 * 50), HERE);
        assert_eq!(beacons.counts().total, 1);
        assert!(beacons.deadline(HERE).unwrap() > Instant(INTERVAL.0 * 50));
    }

    #[test]
    fn the_time_of_beacons_is_that_of_the_early_ones() {
        let mut beacons = beacons();
        for (number, late) in [3_000, 0, 800, 1_600].into_iter().enumerate() {
            let at = Instant(7_000 + INTERVAL.0 * (number as u64 + 1) + late);
            beacons.heard(at, &facts(0, 1));
        }
        let due = beacons.due(Instant(0), Instant(0)).unwrap().at;
        let tbtt = Instant(7_000 + INTERVAL.0 * 5);
        assert!(due >= tbtt && due < tbtt + Micros(400), "{due}");
    }

    #[test]
    fn one_that_comes_after_it_was_given_up_is_no_miss() {
        let mut beacons = beacons();
        beacons.heard(FIRST, &facts(0, 1));
        let at = beacons.deadline(HERE).unwrap();
        beacons.pass(at, HERE);
        assert_eq!(beacons.counts().total, 1);
        beacons.heard(at + Micros(500), &facts(0, 1));
        let counts = beacons.counts();
        assert_eq!((counts.total, counts.expected, counts.received), (0, 2, 2));
    }

    #[test]
    fn beacons_with_group_frames_behind_them_matter_more() {
        let mut beacons = beacons();
        beacons.heard(FIRST, &facts(1, 3));
        let urgency = |number: u64| {
            let from = Instant(INTERVAL.0 * number);
            beacons.due(FIRST, from).unwrap().urgency
        };
        assert_eq!([2, 3, 4, 5].map(urgency), [1, 0, 0, 1]);
    }

    #[test]
    fn a_sleeper_needs_every_dtim_and_its_turn() {
        let mut beacons = beacons();
        beacons.heard(FIRST, &facts(2, 5));
        let needed = |longest| beacons.needed(FIRST, longest).unwrap().0 / INTERVAL.0;
        assert_eq!(
            [1, 2, 3, 9].map(needed),
            [2, 3, 3, 3],
            "the DTIM is the third"
        );
        beacons.heard(Instant(INTERVAL.0 * 3), &facts(0, 5));
        let needed = |longest| beacons.needed(FIRST, longest).unwrap().0 / INTERVAL.0;
        assert_eq!([1, 2, 4, 9, u32::MAX].map(needed), [4, 5, 7, 8, 8]);
    }

    #[test]
    fn after_one_that_has_not_come_the_next_is_needed() {
        let mut beacons = beacons();
        beacons.heard(FIRST, &facts(0, 5));
        beacons.pass(beacons.deadline(HERE).unwrap(), HERE);
        let needed = beacons.needed(FIRST, 5).unwrap();
        assert_eq!(needed, Instant(INTERVAL.0 * 3));
    }

    #[test]
    fn the_last_group_frame_ends_the_wait_for_them() {
        let mut beacons = beacons();
        let announced = BeaconFacts {
            group: true,
            ..facts(0, 1)
        };
        beacons.heard(FIRST, &announced);
        let at = FIRST + Micros(4_000);
        beacons.group_frame(at, true);
        assert_eq!(beacons.group_until(), at + AFTER_BEACON);
        beacons.group_frame(at + Micros(100), false);
        assert_eq!(beacons.group_until(), at + Micros(100));
    }

    #[test]
    fn facts_are_read_from_the_body() {
        let mut body = vec![0; 8];
        body.extend([100, 0, 0, 0, 0, 1, b'x', 5, 4, 1, 3, 0, 0b100]);
        assert_eq!(BeaconFacts::parse(&body, 1), Some(facts(1, 3)));
        let for_us = BeaconFacts {
            unicast: true,
            ..facts(1, 3)
        };
        assert_eq!(BeaconFacts::parse(&body, 2), Some(for_us));
        for length in 0..body.len() {
            let facts = BeaconFacts::parse(&body[..length], 2);
            assert!(facts.is_none_or(|facts| facts.dtim.is_none()));
        }
    }
}
