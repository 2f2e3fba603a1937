//! Keys from end to end: a group key that is replaced while VMs talk, and management frames that only who has the
//! key can make or read.

use airlane_ap::Drop;
use airlane_dot11::frame::FrameKind;
use airlane_lane::Micros;

use crate::cell::{Cell, gateway};
use crate::drive::Drive;
use crate::story::Story;

const INTERVAL: Micros = Micros::from_millis(5_000);

/// All sequence numbers of so many echo requests.
fn all(count: u16) -> Vec<u16> {
    (0..count).collect()
}

fn rekeying(seed: u64) -> Cell {
    Cell::with(seed, &[Some("a passphrase")], |built_in| {
        built_in.bss.group_rekey = Some(INTERVAL);
    })
}

/// Group frames of this VM's network that it decrypted, by key ID.
fn group_keys(cell: &Cell, vm: usize) -> Vec<u8> {
    let mut keys: Vec<u8> = cell.guests[vm]
        .group_numbers
        .iter()
        .map(|&(key, _)| key)
        .collect();
    keys.dedup();
    keys
}

#[test]
fn the_group_key_is_replaced_in_mid_transfer_and_nobody_loses_a_frame() {
    let mut cell = rekeying(101);
    let (one, two) = (cell.guest(0), cell.guest(0));
    cell.join(&[one, two]);
    let other = cell.ip(two).expect("an address");
    let before = cell.counters(0).group_rekeys;
    for _ in 0..8 {
        assert_eq!(cell.ping(one, gateway(0), 50, 800), all(50));
        assert_eq!(cell.ping(one, other, 50, 800), all(50));
        let asks = broadcast(&cell, two);
        cell.guests[two].send(&asks);
    }
    let rekeys = cell.counters(0).group_rekeys - before;
    assert!((3..=4).contains(&rekeys), "one every 5 s: {rekeys}");
    assert!(
        group_keys(&cell, one).len() >= 3,
        "{:?}",
        group_keys(&cell, one)
    );
    assert_eq!(cell.guests[one].undecryptable, 0);
    assert_eq!(cell.joined(0).len(), 2, "all have answered");
    assert_eq!(cell.counters(0).dropped_for(Drop::Eapol), 0);
}

/// A group frame that nobody answers.
fn broadcast(cell: &Cell, vm: usize) -> Vec<u8> {
    let own = cell.guests[vm].address.0;
    [&[0xff; 6][..], &own, &[0x88, 0xb5], &[0; 40]].concat()
}

#[test]
fn who_does_not_confirm_the_new_group_key_is_sent_away_and_told_why() {
    let mut cell = rekeying(102);
    let vm = cell.guest(0);
    cell.join(&[vm]);
    cell.guests[vm].supplicant = None;
    cell.advance(INTERVAL + Micros::from_millis(6_000));
    let farewell = cell.guests[vm].answer(FrameKind::DEAUTHENTICATION);
    assert_eq!(farewell, Some(&[16, 0][..]), "group key handshake time-out");
    assert!(cell.joined(0).is_empty());
}

const ACTION: &[u8] = &[8, 0, 1, 2, 3, 4];

#[test]
fn a_protected_farewell_and_action_reach_the_driver_in_clear() {
    let mut story = Story::new(103, &[36, 36], 2);
    story.join(&[(0, 0), (1, 1)]);
    let to = story.vms[0].address;
    let before = story.vms[0].management.len();
    story.aps[0].send_protected(to, FrameKind::ACTION, ACTION);
    story.aps[0].send_protected(to, FrameKind::DEAUTHENTICATION, &[7, 0]);
    story.advance(Micros::from_millis(20));
    let opened: Vec<&[u8]> = story.vms[0].management[before..]
        .iter()
        .map(|frame| &frame[32..frame.len() - 8])
        .collect();
    assert_eq!(opened, [ACTION, &[7, 0]]);
    assert_eq!(story.vms[0].unopened, 0);
}

#[test]
fn one_made_with_another_key_is_marked_and_one_of_the_vm_is_readable_by_its_own_access_point_alone()
{
    let mut story = Story::new(104, &[36, 36], 2);
    story.join(&[(0, 0), (1, 0)]);
    let (victim, other) = (story.vms[0].address, story.vms[1].key());
    story.aps[0].preset_for_member(victim, other);
    story.aps[0].send_protected(victim, FrameKind::DEAUTHENTICATION, &[7, 0]);
    story.advance(Micros::from_millis(20));
    assert_eq!(story.vms[0].unopened, 1, "forged");
    story.vms[1].send_protected(FrameKind::ACTION, ACTION);
    story.advance(Micros::from_millis(20));
    assert_eq!(
        story.aps[0].seen.actions,
        [ACTION],
        "decrypted with the key of VM 1"
    );
    story.vms[0].send_protected(FrameKind::ACTION, ACTION);
    story.advance(Micros::from_millis(20));
    assert_eq!(
        story.aps[0].seen.actions.len(),
        1,
        "with the wrong key it is unreadable"
    );
}
