//! Built-in access points from end to end: VMs join, get addresses, talk.

use std::net::Ipv4Addr;

use airlane_ap::Drop;
use airlane_ap::gateway::{Echoes, ProbeKind};
use airlane_lane::Micros;

use crate::cell::{Cell, gateway};
use crate::drive::Drive;

/// All sequence numbers of so many echo requests.
fn all(count: u16) -> Vec<u16> {
    (0..count).collect()
}

#[test]
fn a_vm_joins_an_open_network_gets_an_address_and_pings_its_gateway() {
    let mut cell = Cell::new(1, &[None]);
    let vm = cell.guest(0);
    cell.join(&[vm]);
    assert_eq!(cell.ip(vm), Some(Ipv4Addr::new(192, 168, 1, 100)));
    assert_eq!(cell.joined(0), [cell.guests[vm].address]);
    assert_eq!(cell.ping(vm, gateway(0), 20, 56), all(20));
    assert_eq!(cell.counters(0).dropped_for(Drop::Unprotected), 0);
}

#[test]
fn a_vm_joins_a_wpa2_network_and_pings_its_gateway() {
    let mut cell = Cell::new(2, &[Some("a passphrase")]);
    let vm = cell.guest(0);
    cell.join(&[vm]);
    assert_eq!(cell.ping(vm, gateway(0), 20, 1_400), all(20));
    let counters = cell.counters(0);
    assert_eq!((counters.joined, counters.wrong_keys), (1, 0));
    assert_eq!(counters.dropped_for(Drop::Unprotected), 0);
    assert_eq!(cell.guests[vm].undecryptable, 0);
}

#[test]
fn a_wrong_passphrase_ends_in_the_reason_of_a_handshake_that_failed() {
    let mut cell = Cell::new(3, &[Some("a passphrase")]);
    let mut wish = cell.wish(0);
    wish.passphrase = Some("another one".to_owned());
    let vm = cell.guest_with(wish);
    cell.associate(&[vm]);
    cell.advance(Micros::from_millis(6_000));
    let farewell = cell.guests[vm].answer(airlane_dot11::frame::FrameKind::DEAUTHENTICATION);
    assert_eq!(farewell, Some(&[15, 0][..]), "4-way handshake time-out");
    assert!(!cell.guests[vm].is_keyed());
    assert!(cell.joined(0).is_empty());
    assert!(cell.counters(0).wrong_keys >= 1);
}

#[test]
fn two_vms_of_one_network_reach_each_other_and_not_those_of_another() {
    let passphrase = Some("a passphrase");
    let mut cell = Cell::new(4, &[passphrase, passphrase]);
    let (one, two, foreign) = (cell.guest(0), cell.guest(0), cell.guest(1));
    cell.join(&[one, two, foreign]);
    let other = cell.ip(two).unwrap();
    assert_eq!(cell.ping(one, other, 10, 500), all(10));
    for target in [cell.ip(foreign).unwrap(), gateway(1)] {
        assert_eq!(cell.ping(one, target, 3, 500), all(0), "{target}");
    }
    assert_eq!(cell.joined(0).len(), 2);
    assert_eq!(cell.joined(1), [cell.guests[foreign].address]);
}

#[test]
fn a_gateway_sees_by_answers_and_acknowledgements_that_a_vm_is_reached() {
    let mut cell = Cell::new(6, &[Some("a passphrase")]);
    let (vm, absent) = (cell.guest(0), cell.guest(0));
    cell.join(&[vm]);
    // smoltcp sends no answer to whom it has not resolved yet.
    assert_eq!(cell.ping(vm, gateway(0), 1, 56), all(1));
    let before = cell.delivered(0, vm);
    cell.probe(0, vm, ProbeKind::Echo, 10);
    let answered = Echoes {
        sent: 10,
        answered: 10,
    };
    assert_eq!(cell.echoes(0, vm), Some(answered));
    cell.probe(0, vm, ProbeKind::Datagrams, 50);
    let after = cell.delivered(0, vm);
    assert_eq!(after.acknowledged - before.acknowledged, 60);
    assert!(after.acknowledged_bytes - before.acknowledged_bytes > 50 * 1_500);
    assert_eq!(after.failed, 0);
    cell.probe(0, absent, ProbeKind::Echo, 3);
    cell.probe(0, absent, ProbeKind::Datagrams, 3);
    let none = Echoes {
        sent: 3,
        answered: 0,
    };
    assert_eq!(cell.echoes(0, absent), Some(none));
    assert_eq!(cell.delivered(0, absent).acknowledged, 0);
}

/// The octet of the traffic map in which the first seven association IDs are.
fn traffic(cell: &Cell, number: usize) -> u8 {
    let elements = &cell.guests[number].beacon;
    let at = elements
        .windows(2)
        .position(|pair| pair[0] == 5 && pair[1] >= 4);
    elements[at.expect("a traffic map") + 5]
}

#[test]
fn what_comes_for_a_sleeping_vm_waits_is_announced_and_is_not_lost() {
    let mut cell = Cell::new(5, &[Some("a passphrase")]);
    let (sleeper, other) = (cell.guest(0), cell.guest(0));
    cell.join(&[sleeper, other]);
    let address = cell.ip(sleeper).unwrap();
    assert_eq!(
        cell.ping(other, address, 1, 56),
        all(1),
        "addresses resolved"
    );
    cell.guests[sleeper].doze(true);
    cell.advance(Micros::from_millis(5));
    assert_eq!(cell.ping(other, address, 15, 200), all(0));
    cell.advance(Micros::from_millis(110));
    assert_eq!(traffic(&cell, sleeper) & 0x02, 0x02, "association ID 1");
    cell.guests[sleeper].doze(false);
    cell.advance(Micros::from_millis(150));
    let replies = &cell.guests[other].host.as_ref().unwrap().replies;
    let sequence: Vec<u16> = replies.iter().map(|(_, number)| *number).collect();
    assert_eq!(sequence, all(15), "in order, each once");
    assert_eq!(traffic(&cell, sleeper) & 0x02, 0);
}
