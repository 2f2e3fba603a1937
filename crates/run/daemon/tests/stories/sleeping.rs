//! The radio sleeps when all VMs let it, wakes for the beacons that one of them must hear, and nobody misses
//! a frame for it.

use std::net::Ipv4Addr;

use airlane_ap::{DTIM_PERIOD, Drop};
use airlane_daemon::RadioStatus;
use airlane_dot11::{MacAddr, time_units};
use airlane_lane::Micros;
use airlane_nic::AwakeTime;

use crate::cell::{Cell, gateway};
use crate::drive::Drive;

const POWER_TABLE: u8 = 0x77;
const BEACON_INTERVAL: Micros = time_units(100);
/// Somebody behind the access point.
const ELSEWHERE: (MacAddr, Ipv4Addr) = (
    MacAddr([2, 0xee, 0, 0, 0, 1]),
    Ipv4Addr::new(192, 168, 1, 9),
);

/// A cell whose access points have uplinks.
fn cell(seed: u64, networks: &[Option<&str>]) -> Cell {
    Cell::with(seed, networks, |built_in| built_in.has_uplink = true)
}

/// POWER_TABLE as level 3 of the driver's table has it: sleep allowed, time-outs of 50 TU, so many beacons.
fn let_sleep(cell: &mut Cell, vm: usize, beacons: u32) {
    let mut payload = [0; 36];
    payload[0] = 1;
    payload[4..8].copy_from_slice(&51_200_u32.to_le_bytes());
    payload[8..12].copy_from_slice(&51_200_u32.to_le_bytes());
    for interval in payload[12..32].chunks_exact_mut(4) {
        interval.copy_from_slice(&beacons.to_le_bytes());
    }
    cell.guests[vm].driver.command(POWER_TABLE, &payload);
}

/// POWER_TABLE of the driver that wants its card awake.
fn keep_awake(cell: &mut Cell, vm: usize) {
    cell.guests[vm].driver.command(POWER_TABLE, &[0; 36]);
}

/// What the radio has spent so far.
fn time(cell: &Cell) -> AwakeTime {
    let world = cell.world();
    world.nic().awake_time(world.now)
}

/// What the radio spends in so much time.
fn spent(cell: &mut Cell, span: Micros) -> AwakeTime {
    let before = time(cell);
    cell.advance(span);
    let after = time(cell);
    AwakeTime {
        awake: after.awake.saturating_sub(before.awake),
        asleep: after.asleep.saturating_sub(before.asleep),
        naps: after.naps - before.naps,
    }
}

/// Beacons that a VM has missed though the radio was to be there for them.
fn missed(cell: &Cell) -> Vec<u32> {
    let world = cell.world();
    let vmacs = world.nic().vmacs();
    vmacs.map(|view| view.beacons.total).collect()
}

/// Somebody elsewhere asks who has the VM's address: all, or the VM itself.
fn ask_from_elsewhere(cell: &mut Cell, vm: usize, all: bool) {
    let (to, ip) = (cell.guests[vm].address, cell.ip(vm).expect("an address"));
    let to = if all { MacAddr::BROADCAST } else { to };
    let (own, own_ip) = ELSEWHERE;
    let ethernet = [&to.0[..], &own.0, &[8, 6]].concat();
    let arp = [0, 1, 8, 0, 6, 4, 0, 1];
    let request = [
        &ethernet[..],
        &arp,
        &own.0,
        &own_ip.octets(),
        &[0; 6],
        &ip.octets(),
    ]
    .concat();
    let mut world = cell.world();
    world.radio.built_ins_mut().from_uplink(0, &request);
    world.activity += 1;
}

/// Answers for elsewhere so far, each once.
fn answers(cell: &mut Cell) -> usize {
    let mut world = cell.world();
    let built_ins = world.radio.built_ins_mut();
    let frames = std::iter::from_fn(|| built_ins.next_for_uplink());
    frames
        .filter(|(_, frame)| frame[..6] == ELSEWHERE.0.0)
        .count()
}

#[test]
fn an_idle_radio_is_awake_for_beacons_alone_and_the_time_is_told() {
    let mut cell = cell(91, &[Some("a passphrase")]);
    let vm = cell.guest(0);
    cell.join(&[vm]);
    let_sleep(&mut cell, vm, u32::from(DTIM_PERIOD));
    cell.advance(Micros::from_millis(2_000));
    let span = Micros::from_millis(20_000);
    let time = spent(&mut cell, span);
    println!("{time:?}");
    assert_eq!(time.awake + time.asleep, span);
    let beacons = span.0 / BEACON_INTERVAL.0 / u64::from(DTIM_PERIOD);
    assert!(
        (beacons - 1..=beacons + 1).contains(&time.naps),
        "one nap from DTIM to DTIM"
    );
    assert!(time.awake.0 < span.0 / 40, "no more than 2.5 %");
    assert!(time.awake.0 > beacons * 500, "each beacon takes its time");
    assert_eq!(missed(&cell), [0]);
    let now = cell.now();
    let status = RadioStatus::of(&cell.world().radio, now, Micros(0), std::iter::empty());
    let told = ["nic_awake_us", "nic_asleep_us"].map(|name| status.counters[name]);
    assert!(
        told[0] > time.awake.0 && told[1] > time.asleep.0,
        "{told:?}"
    );
}

#[test]
fn a_sleeper_gets_what_is_sent_to_it_and_what_is_sent_to_all() {
    let mut cell = cell(92, &[Some("a passphrase")]);
    let vm = cell.guest(0);
    cell.join(&[vm]);
    let_sleep(&mut cell, vm, u32::from(DTIM_PERIOD));
    cell.advance(Micros::from_millis(2_000));
    for round in 0..20 {
        ask_from_elsewhere(&mut cell, vm, round % 2 == 0);
        // To the DTIM, and what follows it.
        cell.advance(Micros(BEACON_INTERVAL.0 * u64::from(DTIM_PERIOD)) + Micros::from_millis(30));
        assert_eq!(answers(&mut cell), 1, "round {round}");
        cell.advance(Micros::from_millis(200 + 13 * round));
    }
    assert_eq!(
        cell.counters(0).dropped_for(Drop::NoAck),
        0,
        "nothing was sent to a radio that was off"
    );
    assert!(
        spent(&mut cell, Micros::from_millis(1_000)).naps > 3,
        "it sleeps again"
    );
}

#[test]
fn what_a_vm_has_to_send_does_not_wait_for_a_beacon() {
    let mut cell = cell(93, &[Some("a passphrase")]);
    let vm = cell.guest(0);
    cell.join(&[vm]);
    assert_eq!(cell.ping(vm, gateway(0), 1, 56), [0], "addresses resolved");
    let_sleep(&mut cell, vm, 10);
    for wait in [311, 333, 377, 399] {
        cell.advance(Micros::from_millis(wait));
        let before = cell.now();
        let host = cell.guests[vm].host.as_mut().expect("a host");
        host.replies.clear();
        host.ping(gateway(0), 1, 56);
        cell.guests[vm].due = Some(before + Micros(1));
        let answered = |cell: &mut Cell| {
            !cell.guests[vm]
                .host
                .as_ref()
                .expect("a host")
                .replies
                .is_empty()
        };
        cell.run_until("an answer", Micros::from_millis(5), answered);
    }
}

#[test]
fn one_vm_that_wants_its_card_awake_keeps_the_radio_awake() {
    let mut cell = cell(94, &[Some("a passphrase")]);
    let (sleeper, other) = (cell.guest(0), cell.guest(0));
    cell.join(&[sleeper, other]);
    let_sleep(&mut cell, sleeper, 2);
    cell.advance(Micros::from_millis(1_000));
    assert_eq!(
        spent(&mut cell, Micros::from_millis(3_000)).naps,
        0,
        "the other has not said anything"
    );
    let_sleep(&mut cell, other, 2);
    cell.advance(Micros::from_millis(1_000));
    assert!(spent(&mut cell, Micros::from_millis(3_000)).naps > 10);
    keep_awake(&mut cell, other);
    cell.advance(Micros::from_millis(10));
    assert_eq!(spent(&mut cell, Micros::from_millis(3_000)).naps, 0);
    let all: Vec<u16> = (0..10).collect();
    assert_eq!(cell.ping(other, gateway(0), 10, 56), all);
    ask_from_elsewhere(&mut cell, sleeper, false);
    cell.advance(Micros::from_millis(5));
    assert_eq!(
        answers(&mut cell),
        1,
        "its access point knows that the sleeper is awake"
    );
}

#[test]
fn traffic_of_one_vm_keeps_the_radio_awake_and_is_not_slowed_down() {
    let mut cell = cell(95, &[Some("a passphrase")]);
    let (sleeper, busy) = (cell.guest(0), cell.guest(0));
    cell.join(&[sleeper, busy]);
    for vm in [sleeper, busy] {
        let_sleep(&mut cell, vm, 2);
    }
    let all: Vec<u16> = (0..100).collect();
    let before = time(&cell).naps;
    assert_eq!(
        cell.ping(busy, gateway(0), 100, 1_000),
        all,
        "each within 20 ms of the next"
    );
    let naps = time(&cell).naps - before;
    assert!(naps <= 1, "only behind the last reply: {naps}");
    assert!(
        spent(&mut cell, Micros::from_millis(2_000)).naps > 5,
        "it is over"
    );
}

#[test]
fn sleepers_of_two_networks_wake_the_radio_for_the_beacons_of_both() {
    let mut cell = cell(96, &[Some("a passphrase"), None]);
    let (one, two) = (cell.guest(0), cell.guest(1));
    cell.join(&[one, two]);
    for vm in [one, two] {
        let_sleep(&mut cell, vm, 4);
    }
    cell.advance(Micros::from_millis(2_000));
    let time = spent(&mut cell, Micros::from_millis(20_000));
    assert!(time.awake.0 * 20 < time.asleep.0, "{time:?}");
    assert_eq!(missed(&cell), [0, 0]);
    ask_from_elsewhere(&mut cell, one, true);
    cell.advance(Micros::from_millis(250));
    assert_eq!(answers(&mut cell), 1);
}

#[test]
fn a_vm_that_goes_leaves_the_radio_to_sleep_as_the_others_want() {
    let mut cell = cell(97, &[Some("a passphrase")]);
    let (sleeper, other) = (cell.guest(0), cell.guest(0));
    cell.join(&[sleeper, other]);
    let_sleep(&mut cell, sleeper, 2);
    cell.guests[other].driver.stop();
    cell.advance(Micros::from_millis(1_000));
    assert!(spent(&mut cell, Micros::from_millis(3_000)).naps > 10);
    // A new driver comes up: until it has said what it wants, it has its card.
    cell.guests[other].driver.power_on();
    cell.advance(Micros::from_millis(10));
    assert_eq!(spent(&mut cell, Micros::from_millis(1_000)).naps, 0);
}
