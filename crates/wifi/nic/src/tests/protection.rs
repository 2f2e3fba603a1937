//! Management frame protection (IEEE 802.11-2020 12.6.19): what the driver leaves to the NIC.
//!
//! Unicast robust management frames go through CCMP like data. Group ones carry a code (BIP) in the clear that
//! the driver checks; the NIC passes them as they are.

use airlane_dot11::frame::{FrameKind, Header};
use airlane_dot11::*;
use airlane_lane::Micros;
use airlane_waist::*;

use super::world::*;

const SPAN: Micros = Micros::from_millis(20);

/// A station whose driver has installed the pairwise key.
fn joined() -> World {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    world.set_key(0, 0, false, KEY);
    world.run(SPAN);
    world
}

fn from_ap(kind: FrameKind, to: MacAddr) -> Vec<u8> {
    management(kind, to, bssid(0), bssid(0))
}

#[test]
fn a_protected_management_frame_is_decrypted_for_its_vm() {
    for kind in [
        FrameKind::DISASSOCIATION,
        FrameKind::DEAUTHENTICATION,
        FrameKind::ACTION,
    ] {
        let mut world = joined();
        let frame = protect(from_ap(kind, own(0)), 1, 0);
        world.ap_sends(0, encrypted(frame, KEY));
        world.run(SPAN);
        let [received] = world.received(0)[..] else {
            panic!("one frame");
        };
        assert_eq!(received.cipher, RxCipher::Ccmp);
        assert_eq!(&received.frame[32..36], b"body", "the CCMP header stays");
    }
}

#[test]
fn a_forged_management_frame_is_marked_as_such() {
    let mut world = joined();
    let frame = protect(from_ap(FrameKind::DEAUTHENTICATION, own(0)), 1, 0);
    world.ap_sends(0, encrypted(frame, [9; 16]));
    world.run(SPAN);
    assert_eq!(world.received(0)[0].cipher, RxCipher::CcmpBad);
}

#[test]
fn an_unprotected_one_reaches_the_driver_which_judges_it() {
    let mut world = joined();
    let frame = from_ap(FrameKind::DEAUTHENTICATION, own(0));
    world.ap_sends(0, Buffer::from_slice(&frame).unwrap());
    world.run(SPAN);
    assert_eq!(world.received(0)[0].cipher, RxCipher::Clear);
}

#[test]
fn a_group_management_frame_comes_with_its_integrity_code() {
    let mut world = joined();
    world.set_key(0, 1, true, [5; 16]);
    let mut frame = from_ap(FrameKind::DEAUTHENTICATION, MacAddr::BROADCAST);
    let code = [76, 16, 4, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    frame.extend(code);
    world.ap_sends(0, Buffer::from_slice(&frame).unwrap());
    world.run(SPAN);
    let received = world.received(0);
    assert_eq!(received[0].cipher, RxCipher::Clear);
    assert!(received[0].frame.ends_with(&code));
}

#[test]
fn authentication_by_a_shared_key_is_left_alone() {
    let mut world = joined();
    let frame = protect(from_ap(FrameKind::AUTHENTICATION, own(0)), 1, 0);
    world.ap_sends(0, encrypted(frame, KEY));
    world.run(SPAN);
    assert_eq!(world.received(0)[0].cipher, RxCipher::Encrypted);
}

#[test]
fn the_nic_encrypts_a_management_frame_after_it_has_numbered_it() {
    let mut world = joined();
    let frame = management(FrameKind::DEAUTHENTICATION, bssid(0), own(0), bssid(0));
    let frame = protect(frame, 1, 0);
    let tag = world.send(0, &frame, |transmit| {
        transmit.station = StationIndex(15);
        transmit.rate = TxRate::Fixed(Rate::OFDM_6);
        transmit.cipher = TxCipher::Ccmp(KEY);
    });
    world.run(SPAN);
    assert_eq!(world.status_of(0, tag), TxStatus::Success);
    let heard = world.aps[0].heard.iter();
    let mut protected = heard.filter(|frame| Header::parse(frame).unwrap().is_protected());
    let mut sealed = protected.next().expect("heard").to_vec();
    let header = Header::parse(&sealed).unwrap();
    let key = airlane_dot11::ccmp::Ccmp::new(&KEY);
    key.decrypt(&header, &mut sealed).expect("genuine");
    assert_eq!(&sealed[32..36], b"body");
}
