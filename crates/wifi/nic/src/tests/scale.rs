//! As many vMACs as a card has.

use airlane_dot11::time_units;
use airlane_lane::Micros;
use airlane_waist::MAX_VMS;

use super::world::*;

/// Everybody associated, the first excitement over.
fn idle(channels: &[u16]) -> World {
    let mut world = World::new(channels);
    for number in 0..MAX_VMS {
        world.join(number, number % channels.len());
    }
    world.run(Micros::from_millis(5_000));
    world.events.clear();
    world.wakes = 0;
    world
}

#[test]
fn idle_vms_cost_nothing_but_their_beacons() {
    let mut world = idle(&[36]);
    world.run(time_units(100 * 100));
    let beacons: Vec<usize> = (0..MAX_VMS).map(|n| world.beacons_of(n, 0)).collect();
    assert_eq!(beacons, [100; MAX_VMS]);
    assert_eq!(world.events.len(), 100 * MAX_VMS, "nothing else is told");
    assert_eq!(world.wakes, 0, "no timer of the card runs out");
}

#[test]
fn idle_vms_on_two_channels_cost_the_ways_between_their_beacons() {
    let mut world = idle(&[36, 149]);
    world.run(time_units(100 * 100));
    // Leaving in time for a beacon, and lingering before: for each of two beacons per interval.
    assert!(world.wakes <= 6 * 100, "{}", world.wakes);
    let told = world.events.len() as f64 / (100 * MAX_VMS) as f64;
    assert!(told > 0.9 && told <= 1.0, "beacons alone: {told:.2}");
}

#[test]
fn sixteen_vms_share_the_airtime_equally() {
    let mut world = idle(&[36]);
    let before = world.now;
    for _ in 0..1_000 {
        for number in 0..MAX_VMS {
            let waiting = world.nic.vm_counters(vm(number)).queued;
            for _ in waiting..4 {
                world.send(number, &uplink(number, 0, &[0; 1_400]), |_| {});
            }
        }
        world.run(Micros::from_millis(2));
    }
    let airtime = |number: usize| world.nic.vm_counters(vm(number)).airtime.0;
    let times: Vec<u64> = (0..MAX_VMS).map(airtime).collect();
    let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
    assert!(most - least < most / 20, "{times:?}");
    let all: u64 = times.iter().sum();
    assert!(
        all > world.now.saturating_since(before).0 / 2,
        "the air is full: {all}"
    );
    world.assert_conserved();
}
