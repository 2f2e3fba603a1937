//! How the air is shared, and how much of it one VM gets.

use airlane_lane::Micros;

use crate::drive::Drive;
use crate::story::Story;
use crate::vm::FULL;

/// 6 Mb/s on antenna A.
const OFDM_6: u32 = 0x400d;
/// UDP payload of one frame.
const UDP_BITS: f64 = 1_472.0 * 8.0;

/// Airtime, waiting for the medium included, that each VM spends within a second of equal load.
fn airtimes(story: &mut Story) -> Vec<f64> {
    for number in 0..story.vms.len() {
        story.load(number, u32::MAX, 60, FULL);
    }
    story.advance(Micros::from_millis(200));
    let before: Vec<_> = (0..story.vms.len()).map(|n| story.counters(n)).collect();
    story.advance(Micros::from_millis(1_000));
    let cost = |counters: &airlane_nic::VmCounters| counters.airtime + counters.contention;
    let spent = |(n, before): (usize, &airlane_nic::VmCounters)| {
        cost(&story.counters(n)).saturating_sub(cost(before)).0 as f64
    };
    before.iter().enumerate().map(spent).collect()
}

#[test]
fn equal_load_gets_equal_airtime() {
    let mut story = Story::new(51, &[36, 36], 2);
    story.join(&[(0, 0), (1, 1)]);
    story.aps.iter_mut().for_each(|ap| ap.echoes = false);
    let spent = airtimes(&mut story);
    let ratio = spent[0] / spent[1];
    assert!((0.95..1.05).contains(&ratio), "{spent:?}");
}

#[test]
fn a_slow_vm_gets_no_more_airtime_than_a_fast_one() {
    let mut story = Story::new(52, &[36], 2);
    story.vms[0].rates = [OFDM_6; 16];
    story.join(&[(0, 0), (1, 0)]);
    story.aps[0].echoes = false;
    let spent = airtimes(&mut story);
    let ratio = spent[0] / spent[1];
    assert!((0.95..1.05).contains(&ratio), "{spent:?}");
}

/// `AIFS + CWmin/2 slots + data + SIFS + ACK` at 54 Mb/s with QoS and CCMP: 406.5 µs.
#[test]
fn one_vm_saturates_54_mbps_as_the_formula_says() {
    let expected = UDP_BITS / 406.5;
    let mut story = Story::new(53, &[36], 1);
    story.join(&[(0, 0)]);
    story.aps[0].echoes = false;
    story.load(0, u32::MAX, 60, FULL);
    story.advance(Micros::from_millis(100));
    let before = story.aps[0].seen.notes.len();
    story.advance(Micros::from_millis(2_000));
    let frames = story.aps[0].seen.notes.len() - before;
    let goodput = frames as f64 * UDP_BITS / 2_000_000.0;
    let error = (goodput / expected - 1.0).abs();
    assert!(error < 0.01, "{goodput:.3} Mb/s, expected {expected:.3}");
}

#[test]
fn sixteen_vms_join_at_once_and_nobody_asks_twice() {
    for seed in 70..75 {
        let mut story = Story::new(seed, &[36, 36, 36, 36], 16);
        let pairs: Vec<_> = (0..16).map(|number| (number, number % 4)).collect();
        story.join(&pairs);
        let failed: u64 = (0..16).map(|number| story.counters(number).failed).sum();
        let retries: u64 = (0..16).map(|number| story.counters(number).retries).sum();
        let (asked, air) = (story.asked, story.world().radio.air().counters().clone());
        println!("{seed}: {asked} requests, {retries} retries, {failed} given up; air {air:?}");
        assert_eq!(asked, 32, "nobody asks twice");
    }
}

#[test]
fn sixteen_vms_on_one_card_all_associate_and_transfer() {
    let mut story = Story::new(54, &[36, 36, 36, 36], 16);
    let pairs: Vec<_> = (0..16).map(|number| (number, number % 4)).collect();
    story.join(&pairs);
    for number in 0..16 {
        story.load(number, 40, 10, 1_000);
    }
    story.run_dry(Micros::from_millis(5_000));
    for number in 0..16 {
        let expected = crate::joining::notes(number as u8, 40);
        assert_eq!(story.vms[number].echoes, expected, "VM {number}");
    }
}

/// A story with contention, collisions and back-off, told in a hurry.
fn told(seed: u64) -> Vec<crate::world::Told> {
    let mut story = Story::new(seed, &[36, 36], 3);
    story.join(&[(0, 0), (1, 1), (2, 1)]);
    for number in 0..3 {
        story.load(number, 100, 20, 700);
    }
    story.run_dry(Micros::from_millis(2_000));
    story.log()
}

#[test]
fn the_same_seed_tells_the_same_story_and_another_seed_another() {
    let first = told(55);
    assert!(first.len() > 500);
    assert_eq!(first, told(55));
    assert_ne!(first, told(56));
    assert!(first.is_sorted_by_key(|&(at, ..)| at), "time rises");
}
