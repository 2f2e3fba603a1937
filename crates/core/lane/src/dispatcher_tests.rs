use super::*;
use proptest::prelude::*;

fn lane(number: usize) -> LaneId {
    LaneId::new(number as u16)
}

/// Lanes that all wait.
fn all_waiting(lanes: usize, when_empty: WhenEmpty) -> Dispatcher<Micros> {
    let mut turns = Dispatcher::new(lanes, Micros(1_000), Micros(100_000), when_empty);
    for number in 0..lanes {
        turns.set_waiting(lane(number), true);
    }
    turns
}

/// The airtime accounts of a card with 16 VMs, written as plainly as possible.
struct Plain {
    credit: [i64; 16],
    weight: [u16; 16],
    turn: usize,
}

impl Plain {
    fn pick(&mut self, wants: u16) -> Option<usize> {
        if wants == 0 {
            return None;
        }
        if wants.is_power_of_two() {
            return Some(wants.trailing_zeros() as usize);
        }
        loop {
            let at = self.turn;
            let wanted = wants & (1 << at) != 0;
            if wanted && self.credit[at] > 0 {
                return Some(at);
            }
            if wanted {
                self.credit[at] += 1_000 * i64::from(self.weight[at]);
            } else {
                self.credit[at] = self.credit[at].min(0);
            }
            self.turn = (at + 1) % 16;
        }
    }

    fn add(&mut self, at: usize, amount: i64) {
        self.credit[at] = (self.credit[at] + amount).clamp(-100_000, 1_000_000);
    }
}

proptest! {
    #[test]
    fn sixteen_lanes_take_turns_as_the_plain_form_says(
        steps in prop::collection::vec((any::<u16>(), 0..16usize, 0..20_000u64, 0..5u8, 1..=1_000u16), 1..300),
    ) {
        let mut plain = Plain { credit: [0; 16], weight: [1; 16], turn: 0 };
        let mut turns = Dispatcher::new(16, Micros(1_000), Micros(100_000), WhenEmpty::Lose);
        for (wants, at, cost, what, weight) in steps {
            for number in 0..16 {
                turns.set_waiting(lane(number), wants & (1 << number) != 0);
            }
            let picked = plain.pick(wants);
            prop_assert_eq!(turns.pick().map(LaneId::index), picked);
            if let Some(picked) = picked {
                plain.add(picked, -(cost as i64));
                turns.charge(lane(picked), Micros(cost));
            }
            match what {
                0 => { plain.weight[at] = weight; turns.set_weight(lane(at), weight); }
                1 => { plain.add(at, cost as i64); turns.refund(lane(at), Micros(cost)); }
                2 => { plain.credit[at] = 0; turns.forget(lane(at)); }
                _ => {}
            }
        }
        let credit: Vec<i64> = turns.accounts.iter().map(|account| account.credit).collect();
        prop_assert_eq!(credit, plain.credit);
    }

    #[test]
    fn shares_follow_the_weights_and_nobody_starves(
        weights in prop::collection::vec(1..=8u16, 2..40),
        costs in prop::collection::vec(100..1_500u64, 40),
    ) {
        let mut turns = all_waiting(weights.len(), WhenEmpty::Lose);
        for (number, weight) in weights.iter().enumerate() {
            turns.set_weight(lane(number), *weight);
        }
        let mut used = vec![0u64; weights.len()];
        let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        // Twenty rounds.
        while used.iter().sum::<u64>() < 20_000 * total {
            let lane = turns.pick().unwrap();
            turns.charge(lane, Micros(costs[lane.index()]));
            used[lane.index()] += costs[lane.index()];
        }
        for (number, weight) in weights.iter().enumerate() {
            let fair = 20_000 * u64::from(*weight);
            // A round and the largest frame.
            let bound = 1_000 * u64::from(*weight) + 1_500;
            prop_assert!(used[number].abs_diff(fair) <= 2 * bound, "{} of {fair}", used[number]);
        }
    }
}

#[test]
fn a_thousand_lanes_have_their_turns_in_order() {
    let mut turns = all_waiting(MAX_LANES, WhenEmpty::Lose);
    for round in 0..3 {
        for number in 0..MAX_LANES {
            let picked = turns.pick().unwrap();
            assert_eq!(picked.index(), number, "round {round}");
            turns.charge(picked, Micros(1_000));
        }
    }
}

#[test]
fn a_weight_that_changes_holds_at_once() {
    let mut turns = all_waiting(2, WhenEmpty::Lose);
    let used = |turns: &mut Dispatcher<Micros>| {
        let mut used = [0u64; 2];
        for _ in 0..1_000 {
            let lane = turns.pick().unwrap();
            turns.charge(lane, Micros(500));
            used[lane.index()] += 1;
        }
        used
    };
    let even = used(&mut turns);
    assert!(even[0].abs_diff(even[1]) <= 4, "{even:?}");
    turns.set_weight(lane(1), 4);
    let uneven = used(&mut turns);
    assert!(uneven[1].abs_diff(4 * uneven[0]) <= 40, "{uneven:?}");
}

/// The credit of a lane that has used 100 of 1,000 µs and then waits for nothing while others have their turns.
fn credit_after_a_pause(when_empty: WhenEmpty) -> i64 {
    let mut turns = all_waiting(3, when_empty);
    assert_eq!(turns.pick(), Some(lane(0)));
    turns.charge(lane(0), Micros(100));
    turns.set_waiting(lane(0), false);
    for _ in 0..10 {
        let picked = turns.pick().unwrap();
        turns.charge(picked, Micros(1_000));
    }
    turns.accounts[0].credit
}

#[test]
fn a_lane_that_empties_loses_its_credit_or_keeps_it_as_told() {
    assert_eq!(credit_after_a_pause(WhenEmpty::Lose), 0);
    assert_eq!(credit_after_a_pause(WhenEmpty::Keep), 900);
}

#[test]
fn a_lane_that_empties_does_not_lose_its_debt() {
    let mut turns = all_waiting(3, WhenEmpty::Lose);
    turns.charge(lane(0), Micros(70_000));
    turns.set_waiting(lane(0), false);
    for _ in 0..10 {
        let picked = turns.pick().unwrap();
        turns.charge(picked, Micros(1_000));
    }
    assert_eq!(turns.accounts[0].credit, -70_000);
}

#[test]
fn one_that_waits_alone_is_never_held_back() {
    let mut turns = all_waiting(1, WhenEmpty::Lose);
    turns.charge(lane(0), Micros(90_000));
    assert_eq!(turns.pick(), Some(lane(0)));
    turns.set_waiting(lane(0), false);
    assert_eq!(turns.pick(), None);
}

#[test]
fn a_lane_beyond_the_last_one_never_waits() {
    let mut turns = all_waiting(2, WhenEmpty::Lose);
    turns.set_waiting(lane(2), true);
    assert!((0..10).all(|_| {
        let picked = turns.pick().unwrap();
        turns.charge(picked, Micros(1_000));
        picked.index() < 2
    }));
}
