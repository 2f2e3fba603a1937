//! The beacons of one vMAC's BSS: when the next is due, how many came, how many did not.
//!
//! A beacon counts as missed only if the radio was on its channel for it: absence is no miss. Not
//! here: what the driver above makes of it (mac80211 has a beacon timer of its own).

use airlane_wlan::{Micros, MissedBeacons, Timing};

/// How late contention may make a beacon.
const GRACE: Micros = Micros::from_millis(40);
/// How long group frames may follow a beacon that announces them.
const AFTER_BEACON: Micros = Micros::from_millis(5);
/// Not heard in a row from which on their time counts as unknown.
const LOST: u64 = 4;
/// Missed in a row from which on the driver is told; its own threshold (`dvm/rx.c`,
/// missed_beacon_threshold).
const TOLD_FROM: u32 = 5;

/// What a beacon says of itself (IEEE 802.11-2020 9.3.3.2, 9.4.2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BeaconFacts {
    pub(crate) interval: Micros,
    /// Beacons until the next DTIM, and from DTIM to DTIM.
    pub(crate) dtim: Option<(u8, u8)>,
    /// Group frames follow.
    pub(crate) group: bool,
}

impl BeaconFacts {
    /// Of a beacon's body: timestamp, interval, capabilities, elements.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let interval = body.get(8..10)?.try_into().ok()?;
        let interval = u64::from(u16::from_le_bytes(interval));
        let map = traffic_map(body.get(12..)?);
        Some(Self {
            interval: Micros::from_time_units(interval),
            dtim: map.map(|[count, period, _]| (count, period)),
            group: map.is_some_and(|[count, _, control]| count == 0 && control & 1 != 0),
        })
    }
}

/// Count, period and bitmap control of the traffic indication map.
fn traffic_map(mut elements: &[u8]) -> Option<[u8; 3]> {
    const TIM: u8 = 5;
    while let [id, length, rest @ ..] = elements {
        let (value, next) = rest.split_at_checked(usize::from(*length))?;
        if let (&TIM, &[count, period, control, ..]) = (id, value) {
            return Some([count, period, control]);
        }
        elements = next;
    }
    None
}

/// A beacon to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) at: Micros,
    pub(crate) interval: Micros,
    /// Not heard in a row up to now, for whatever reason; one more for a beacon that group frames follow.
    pub(crate) urgency: u64,
}

/// The state of one association.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beacons {
    /// Zero: unknown.
    interval: Micros,
    /// The first target beacon transmission time (TBTT) of which nothing is known yet.
    next: Option<Micros>,
    heard_at: Micros,
    /// Their time is known from one that was heard.
    anchored: bool,
    longest_silence: Micros,
    /// A TBTT with group frames behind it, and beacons from one to the next.
    dtim: Option<(Micros, u64)>,
    group_until: Micros,
    counts: MissedBeacons,
}

impl Beacons {
    /// A new association: nothing is counted yet. An access point that is never heard is missed, too.
    pub(crate) fn start(&mut self, now: Micros) {
        *self = Self {
            interval: self.interval,
            heard_at: now,
            ..Self::default()
        };
        self.next = self.known_interval().map(|interval| now + interval);
    }

    /// The driver says how far apart they are.
    pub(crate) fn set_timing(&mut self, now: Micros, timing: &Timing) {
        self.interval = Micros::from_time_units(u64::from(timing.beacon_interval));
        if self.next.is_none() {
            self.next = self.known_interval().map(|interval| now + interval);
        }
    }

    pub(crate) fn counts(&self) -> MissedBeacons {
        self.counts
    }

    /// The longest time from one that was heard to the next that was heard.
    pub(crate) fn longest_silence(&self) -> Micros {
        self.longest_silence
    }

    /// Until when group frames may follow the last one.
    pub(crate) fn group_until(&self) -> Micros {
        self.group_until
    }

    /// When the last one was heard.
    pub(crate) fn heard_at(&self) -> Micros {
        self.heard_at
    }

    /// One has come.
    pub(crate) fn heard(&mut self, at: Micros, facts: &BeaconFacts) {
        if self.interval == Micros(0) {
            self.interval = facts.interval;
        }
        let (tbtt, late) = self.tbtt_of(at);
        self.anchored = true;
        if facts.group {
            self.group_until = at + AFTER_BEACON;
        }
        self.longest_silence = self.longest_silence.max(at.since(self.heard_at));
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
    fn tbtt_of(&self, at: Micros) -> (Micros, bool) {
        let (Some(next), Some(interval)) = (self.next, self.known_interval()) else {
            return (at, false);
        };
        if !self.anchored || self.unheard(at) >= LOST {
            return (at, false);
        }
        let half = Micros(interval.0 / 2);
        let late = at + half < next;
        let nearest = if late {
            next - interval
        } else {
            next + Micros((at + half).since(next).0 / interval.0 * interval.0)
        };
        let drift = Micros(at.since(nearest).0 / 8);
        ((nearest + drift).min(at), late)
    }

    fn known_interval(&self) -> Option<Micros> {
        Some(self.interval).filter(|&interval| interval > Micros(0))
    }

    /// The first TBTT at `from` or later of which nothing is known.
    fn awaited(&self, from: Micros) -> Option<Micros> {
        let (next, interval) = (self.next?, self.known_interval()?);
        let passed = from.since(next).0.div_ceil(interval.0);
        Some(next + Micros(passed.saturating_mul(interval.0)))
    }

    /// Intervals since the last one was heard, or since the association.
    fn unheard(&self, now: Micros) -> u64 {
        let interval = self.known_interval().unwrap_or(Micros(1));
        now.since(self.heard_at).0 / interval.0
    }

    /// The beacon at `from` or later; `None` while it is not known when they come.
    pub(crate) fn due(&self, now: Micros, from: Micros) -> Option<Due> {
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

    /// True when group frames follow the beacon of this TBTT.
    fn is_dtim(&self, at: Micros) -> bool {
        let (Some((first, period)), Some(interval)) = (self.dtim, self.known_interval()) else {
            return true;
        };
        let beacons = (at.since(first).0 + interval.0 / 2) / interval.0;
        period <= 1 || beacons.is_multiple_of(period)
    }

    /// When the one that is awaited counts as missed; the radio is on its channel since `here`.
    pub(crate) fn deadline(&self, here: Option<Micros>) -> Option<Micros> {
        Some(self.awaited(here?)? + GRACE)
    }

    /// Counts one that has not come; what to tell the driver, if anything. Called late it counts one, not many:
    /// those that follow may still be on their way to us.
    pub(crate) fn pass(&mut self, now: Micros, here: Option<Micros>) -> Option<MissedBeacons> {
        if self.deadline(here)? > now {
            return None;
        }
        self.next = self.awaited((now - GRACE) + Micros(1));
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

    const INTERVAL: Micros = Micros::from_time_units(100);
    const HERE: Option<Micros> = Some(Micros(0));

    fn beacons() -> Beacons {
        let mut beacons = Beacons::default();
        beacons.set_timing(
            Micros(0),
            &Timing {
                beacon_interval: 100,
                ..Timing::default()
            },
        );
        beacons.start(Micros(0));
        beacons
    }

    fn facts(count: u8, period: u8) -> BeaconFacts {
        BeaconFacts {
            interval: INTERVAL,
            dtim: Some((count, period)),
            group: false,
        }
    }

    #[test]
    fn the_driver_is_told_from_the_fifth_in_a_row_on() {
        let mut beacons = beacons();
        let mut told = Vec::new();
        for _ in 0..7 {
            let deadline = beacons.deadline(HERE).unwrap();
            assert_eq!(beacons.pass(deadline - Micros(1), HERE), None);
            told.extend(beacons.pass(deadline, HERE));
        }
        let told: Vec<u32> = told.iter().map(|told| told.consecutive).collect();
        assert_eq!(told, [5, 6, 7]);
        beacons.heard(Micros(INTERVAL.0 * 8), &facts(0, 1));
        let counts = beacons.counts();
        assert_eq!((counts.consecutive, counts.total), (0, 7));
        assert_eq!((counts.expected, counts.received), (8, 1));
    }

    #[test]
    fn absence_is_no_miss() {
        let mut beacons = beacons();
        let late = Micros(INTERVAL.0 * 20);
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
        beacons.pass(Micros(INTERVAL.0 * 50), HERE);
        assert_eq!(beacons.counts().total, 1);
        assert!(beacons.deadline(HERE).unwrap() > Micros(INTERVAL.0 * 50));
    }

    #[test]
    fn the_time_of_beacons_is_that_of_the_early_ones() {
        let mut beacons = beacons();
        for (number, late) in [3_000, 0, 800, 1_600].into_iter().enumerate() {
            let at = Micros(7_000 + INTERVAL.0 * (number as u64 + 1) + late);
            beacons.heard(at, &facts(0, 1));
        }
        let due = beacons.due(Micros(0), Micros(0)).unwrap().at;
        let tbtt = Micros(7_000 + INTERVAL.0 * 5);
        assert!(due >= tbtt && due < tbtt + Micros(400), "{due}");
    }

    #[test]
    fn one_that_comes_after_it_was_given_up_is_no_miss() {
        let mut beacons = beacons();
        beacons.heard(INTERVAL, &facts(0, 1));
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
        beacons.heard(INTERVAL, &facts(1, 3));
        let urgency = |number: u64| {
            let from = Micros(INTERVAL.0 * number);
            beacons.due(INTERVAL, from).unwrap().urgency
        };
        assert_eq!([2, 3, 4, 5].map(urgency), [1, 0, 0, 1]);
    }

    #[test]
    fn facts_are_read_from_the_body() {
        let mut body = vec![0; 8];
        body.extend([100, 0, 0, 0, 0, 1, b'x', 5, 4, 1, 3, 0, 0]);
        assert_eq!(BeaconFacts::parse(&body), Some(facts(1, 3)));
        for length in 0..body.len() {
            let facts = BeaconFacts::parse(&body[..length]);
            assert!(facts.is_none_or(|facts| facts.dtim.is_none()));
        }
    }
}
