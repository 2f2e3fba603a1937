//! When the radio sleeps, and what keeps it from that. What a sleeper gets is told in the stories of the daemon.

use airlane_lane::{Instant, Micros};
use airlane_waist::*;

use super::world::*;

const SPAN: Micros = Micros::from_millis(2_000);

fn let_sleep(world: &mut World) {
    let power = PowerSave {
        enabled: true,
        receive_timeout: Micros::from_millis(50),
        transmit_timeout: Micros::from_millis(50),
        sleep_interval: 1,
    };
    world.request(NicRequest::PowerSave(power));
}

/// Two vMACs that have joined these access points a while ago, in a card that may sleep.
fn joined(channels: &[u16], second: usize) -> World {
    let mut world = World::new(channels);
    world.join(0, 0);
    world.join(1, second);
    let_sleep(&mut world);
    world.run(SPAN);
    world
}

fn naps(world: &mut World) -> u64 {
    let before = world.nic.awake_time(world.now).naps;
    world.run(SPAN);
    world.nic.awake_time(world.now).naps - before
}

#[test]
fn the_radio_sleeps_from_beacon_to_beacon_and_its_time_adds_up() {
    let mut world = joined(&[36], 0);
    assert!((18..=20).contains(&naps(&mut world)), "as many as beacons");
    let time = world.nic.awake_time(world.now);
    assert_eq!(Instant(0) + time.awake + time.asleep, world.now);
    assert!(time.asleep > time.awake, "{time:?}");
}

#[test]
fn vmacs_on_two_channels_keep_it_awake() {
    assert_eq!(naps(&mut joined(&[36, 40], 1)), 0);
}

#[test]
fn a_vmac_that_listens_to_all_keeps_it_awake() {
    let mut world = joined(&[36], 0);
    let everything = |configuration: &mut VifConfig| {
        configuration.filter |= ReceiveFilter::PROMISCUOUS;
    };
    world.configure(1, everything, Some(0));
    world.run(SPAN);
    assert_eq!(naps(&mut world), 0);
}

#[test]
fn a_vmac_that_joins_keeps_it_awake() {
    let mut world = joined(&[36], 0);
    world.configure(1, |configuration| configuration.associated = false, Some(0));
    assert_eq!(naps(&mut world), 0);
}

#[test]
fn a_scan_wakes_it_and_it_sleeps_again() {
    let mut world = joined(&[36, 40], 0);
    let scan = super::channels::scan(0, &[(36, false), (40, false)]);
    world.scan(scan);
    world.run(SPAN);
    assert_eq!(world.scan_events(0).len(), 4);
    assert!(world.beacons_of(0, 1) > 0, "it was on for the scan");
    assert!(naps(&mut world) > 10);
}

#[test]
fn an_access_point_that_dies_while_the_radio_sleeps_is_missed() {
    let mut world = joined(&[36], 0);
    let silent = world.aps[0].radio;
    world.air.tune(world.now, silent, None);
    let told = world.events.len();
    world.run(SPAN);
    let told = world.events.split_off(told);
    let missed = told.iter().filter_map(|(owner, event)| match event {
        Event::MissedBeacons(missed) if *owner == vm(0) => Some(missed.consecutive),
        _ => None,
    });
    let missed: Vec<u32> = missed.collect();
    assert!(missed.starts_with(&[5, 6, 7]), "{missed:?}");
    assert_eq!(
        naps(&mut world),
        0,
        "who has lost his access point listens for it"
    );
}

#[test]
fn who_cannot_tell_its_access_point_does_not_sleep() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    world.run(SPAN);
    let silent = world.aps[0].radio;
    world.air.set_addresses(silent, &[]);
    let_sleep(&mut world);
    assert_eq!(naps(&mut world), 0);
    assert!(
        world.nic.counters().unheard_announcements > 2,
        "it tries again"
    );
}

#[test]
fn the_time_of_a_card_without_vmacs_counts_for_nothing() {
    let mut world = joined(&[36], 0);
    world.ask(0, VifCommand::Reset);
    world.ask(1, VifCommand::Reset);
    let before = world.nic.awake_time(world.now);
    world.run(SPAN);
    assert_eq!(world.nic.awake_time(world.now), before);
    world.join(0, 0);
    world.run(SPAN);
    let time = world.nic.awake_time(world.now);
    assert!(
        time.awake > before.awake && world.beacons_of(0, 0) > 10,
        "on again"
    );
}
