//! From the air to a VM.

use airlane_dot11::*;
use airlane_lane::Micros;
use airlane_waist::*;

use super::world::*;

const SPAN: Micros = Micros::from_millis(20);

fn clear(frame: Vec<u8>) -> Buffer {
    Buffer::from_slice(&frame).unwrap()
}

#[test]
fn unicast_reaches_its_vm_and_no_other() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    world.join(1, 0);
    world.run(SPAN);
    world.ap_sends(0, clear(downlink(own(1), 0, b"for one")));
    world.ap_sends(0, clear(downlink(own(7), 0, b"for a stranger")));
    world.run(SPAN);
    assert_eq!(world.received(0).len(), 0);
    let received = world.received(1);
    assert_eq!((received.len(), received[0].cipher), (1, RxCipher::Clear));
    assert_eq!(&received[0].frame[24..], b"for one");
}

#[test]
fn a_key_opens_frames_of_its_own_vmac_only() {
    let mut world = World::new(&[36]);
    for number in [0, 1] {
        world.join(number, 0);
        world.set_key(number, 0, false, [number as u8; 16]);
    }
    world.run(SPAN);
    for number in [0, 1] {
        let frame = protect(downlink(own(number), 0, b"secret"), 1, 0);
        world.ap_sends(0, encrypted(frame, [0; 16]));
    }
    world.run(SPAN);
    let [mine] = world.received(0)[..] else {
        panic!("one frame");
    };
    assert_eq!(mine.cipher, RxCipher::Ccmp);
    assert_eq!(&mine.frame[32..38], b"secret");
    let [other] = world.received(1)[..] else {
        panic!("one frame");
    };
    assert_eq!(other.cipher, RxCipher::CcmpBad);
    assert_ne!(&other.frame[32..38], b"secret");
    assert_eq!(world.nic.vm_counters(vm(1)).undecryptable, 1);
}

#[test]
fn without_a_key_a_frame_stays_encrypted() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    world.run(SPAN);
    let frame = protect(downlink(own(0), 0, b"secret"), 1, 0);
    world.ap_sends(0, encrypted(frame, KEY));
    world.run(SPAN);
    assert_eq!(world.received(0)[0].cipher, RxCipher::Encrypted);
}

#[test]
fn a_driver_that_decrypts_itself_gets_it_encrypted() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    world.set_key(0, 0, false, KEY);
    world.configure(0, |c| c.filter = ReceiveFilter::NO_DECRYPTION, Some(0));
    world.run(SPAN);
    let frame = protect(downlink(own(0), 0, b"secret"), 1, 0);
    world.ap_sends(0, encrypted(frame, KEY));
    world.run(SPAN);
    assert_eq!(world.received(0)[0].cipher, RxCipher::Encrypted);
}

#[test]
fn a_group_frame_reaches_the_vmacs_of_its_bss_each_with_its_own_key() {
    let mut world = World::new(&[36, 36]);
    for (number, ap) in [(0, 0), (1, 0), (2, 1)] {
        world.join(number, ap);
        world.set_key(number, 0, false, [number as u8; 16]);
        world.set_key(number, 1, true, KEY);
    }
    world.set_key(1, 1, true, [3; 16]);
    world.run(SPAN);
    let frame = protect(downlink(MacAddr::BROADCAST, 0, b"to all"), 1, 1);
    world.ap_sends(0, encrypted(frame, KEY));
    world.run(SPAN);
    assert_eq!(world.received(0)[0].cipher, RxCipher::Ccmp);
    assert_eq!(world.received(1)[0].cipher, RxCipher::CcmpBad);
    assert_eq!(world.received(2).len(), 0);
}

#[test]
fn own_beacons_always_come_and_foreign_ones_on_demand() {
    let mut world = World::new(&[36, 36]);
    world.join(0, 0);
    world.join(1, 0);
    world.configure(1, |c| c.filter = ReceiveFilter::FOREIGN_BEACONS, Some(0));
    world.run(Micros::from_millis(1_000));
    assert!(world.beacons_of(0, 0) >= 8);
    assert_eq!(world.beacons_of(0, 1), 0);
    assert!(world.beacons_of(1, 1) >= 8);
    let Reply::Statistics(statistics) = world.answer(0, VifCommand::Statistics { clear: false })
    else {
        panic!("statistics");
    };
    assert!(statistics.beacons >= 8 && statistics.beacon_signal < 0);
}

#[test]
fn a_promiscuous_vmac_gets_a_neighbours_frame_as_it_is_on_the_air() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    world.join(1, 0);
    world.set_key(0, 0, false, KEY);
    world.set_key(1, 0, false, KEY);
    world.configure(1, |c| c.filter = ReceiveFilter::PROMISCUOUS, Some(0));
    world.run(SPAN);
    let frame = protect(downlink(own(0), 0, b"secret"), 1, 0);
    world.ap_sends(0, encrypted(frame, KEY));
    world.run(SPAN);
    assert_eq!(world.received(0)[0].cipher, RxCipher::Ccmp);
    assert_eq!(world.received(1)[0].cipher, RxCipher::Encrypted);
}

#[test]
fn statistics_are_kept_per_vm_and_cleared_on_demand() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    world.join(1, 0);
    for _ in 0..3 {
        world.send(0, &uplink(0, 0, b"x"), |_| {});
    }
    world.send(1, &uplink(1, 0, b"x"), |_| {});
    world.run(SPAN);
    let mut sent = |number, clear| match world.answer(number, VifCommand::Statistics { clear }) {
        Reply::Statistics(statistics) => statistics.transmitted,
        other => panic!("{other:?}"),
    };
    assert_eq!((sent(0, true), sent(1, false)), (3, 1));
    assert_eq!((sent(0, false), sent(1, false)), (0, 1));
}

#[test]
fn the_view_shows_what_is_configured() {
    let mut world = World::new(&[36]);
    world.join(3, 0);
    let views: Vec<_> = world.nic.vmacs().collect();
    assert_eq!(views.len(), 1);
    assert_eq!(
        (views[0].vm, views[0].address, views[0].bssid),
        (vm(3), own(3), bssid(0))
    );
    assert!(views[0].associated && views[0].channel == Some(channel(36)));
}
