//! What strangers send: nothing of it stops an access point, fills its memory, or harms its stations.

mod common;

use airlane_ap::testing::RSN;
use airlane_ap::{Drop, MAX_STATIONS, Order};
use airlane_dot11::{MacAddr, frame::FrameKind};
use common::{BSSID, Bench, OTHER, STATION, config};
use proptest::prelude::*;

fn address(number: u16) -> MacAddr {
    let [high, low] = number.to_be_bytes();
    MacAddr([2, 7, 0, 0, high, low])
}

#[test]
fn a_flood_of_authentications_leaves_who_is_associated_and_lets_others_in() {
    let mut bench = Bench::new(config(true));
    bench.joined();
    for number in 0..2_000 {
        bench.management(
            address(number),
            FrameKind::AUTHENTICATION,
            &[0, 0, 1, 0, 0, 0],
        );
    }
    assert_eq!(bench.ap.joined().count(), 1);
    assert_eq!(bench.associate(OTHER, &RSN), 0);
}

#[test]
fn a_flood_of_associations_ends_at_the_limit_with_status_17() {
    let mut bench = Bench::new(config(false));
    for number in 0..MAX_STATIONS as u16 {
        assert_eq!(bench.associate(address(number), &[]), 0);
    }
    bench.management(OTHER, FrameKind::AUTHENTICATION, &[0, 0, 1, 0, 0, 0]);
    let answers = bench.bodies(FrameKind::AUTHENTICATION, OTHER);
    assert_eq!(answers[0], [0, 0, 2, 0, 17, 0]);
    assert_eq!(bench.ap.joined().count(), MAX_STATIONS);
}

#[test]
fn answers_that_the_medium_does_not_take_do_not_pile_up() {
    let mut bench = Bench::new(config(false));
    for number in 0..10_000 {
        let frame = probe(address(number));
        bench.ap.receive(bench.now, &frame);
    }
    let orders = std::iter::from_fn(|| bench.ap.next_order());
    let frames = orders
        .filter(|order| matches!(order, Order::Transmit(_)))
        .count();
    assert!((1..2_000).contains(&frames), "{frames}");
    assert!(bench.ap.counters().dropped_for(Drop::QueueFull) > 8_000);
}

fn probe(from: MacAddr) -> Vec<u8> {
    let all = MacAddr::BROADCAST.0;
    [&[0x40, 0, 0, 0][..], &all, &from.0, &all, &[0, 0, 0, 0]].concat()
}

#[test]
fn frames_for_a_sleeper_are_bounded() {
    let mut bench = Bench::new(config(false));
    bench.associate(STATION, &[]);
    bench.doze(STATION, true);
    for _ in 0..1_000 {
        let frame = [&STATION.0[..], &OTHER.0, b"\x08\0payload"].concat();
        bench.ap.from_uplink(&frame);
        let group = [&[0xff; 6][..], &OTHER.0, b"\x08\0payload"].concat();
        bench.ap.from_uplink(&group);
    }
    assert!(bench.ap.pending() <= 512, "{}", bench.ap.pending());
    assert!(bench.ap.counters().dropped_for(Drop::QueueFull) >= 1_488);
}

#[test]
fn a_poll_fetches_one_frame_and_says_whether_more_wait() {
    let mut bench = Bench::new(config(false));
    bench.associate(STATION, &[]);
    bench.doze(STATION, true);
    bench.sent.clear();
    for _ in 0..2 {
        let frame = [&STATION.0[..], &OTHER.0, b"\x08\0payload"].concat();
        bench.ap.from_uplink(&frame);
    }
    let poll = [&[0xa4, 0, 1, 0xc0][..], &BSSID.0, &STATION.0].concat();
    for (control, data) in [(0x22, true), (0x02, true), (0x02, false)] {
        bench.hear(&poll);
        let sent = bench.sent.pop().expect("one frame for each poll");
        assert_eq!((sent.frame[1], sent.frame.len() > 24), (control, data));
        assert!(bench.sent.is_empty());
    }
    let stranger = [&[0xa4, 0, 2, 0xc0][..], &BSSID.0, &STATION.0].concat();
    bench.hear(&stranger);
    assert!(bench.sent.is_empty(), "not its association ID");
}

#[test]
fn data_of_strangers_is_answered_with_a_farewell() {
    let mut bench = Bench::new(config(false));
    bench.data(STATION, OTHER, [8, 0], b"payload");
    assert_eq!(bench.reason(STATION), Some(6));
    bench.management(STATION, FrameKind::AUTHENTICATION, &[0, 0, 1, 0, 0, 0]);
    bench.data(STATION, OTHER, [8, 0], b"payload");
    assert_eq!(bench.bodies(FrameKind::DISASSOCIATION, STATION), [[7, 0]]);
    assert!(bench.uplink().is_empty());
}

#[test]
fn fragments_and_other_directions_are_dropped() {
    let mut bench = Bench::new(config(false));
    bench.associate(STATION, &[]);
    let frame = bench.data_frame(STATION, OTHER, [8, 0], b"payload");
    for (at, value, reason) in [
        (1, 0x05, Drop::Fragment),
        (22, 0x01, Drop::Fragment),
        (1, 0x00, Drop::Addressing),
        (1, 0x02, Drop::Addressing),
    ] {
        let before = bench.ap.counters().dropped_for(reason);
        let mut other = frame.clone();
        other[at] = value;
        bench.hear(&other);
        assert_eq!(bench.ap.counters().dropped_for(reason), before + 1);
    }
    assert!(bench.uplink().is_empty());
}

#[test]
fn another_algorithm_or_step_is_refused_by_its_status() {
    let mut bench = Bench::new(config(false));
    for (body, status) in [([1, 0, 1, 0, 0, 0], 13), ([0, 0, 3, 0, 0, 0], 14)] {
        bench.management(STATION, FrameKind::AUTHENTICATION, &body);
        let answers = bench.bodies(FrameKind::AUTHENTICATION, STATION);
        assert_eq!(answers.last().unwrap()[4..], [status, 0]);
    }
    bench.management(STATION, FrameKind::AUTHENTICATION, &[0, 0, 1]);
    assert_eq!(bench.ap.counters().dropped_for(Drop::Malformed), 1);
}

proptest! {
    #[test]
    fn no_frame_panics(
        protected in any::<bool>(), kind in any::<u8>(), flags in any::<u8>(),
        body in proptest::collection::vec(any::<u8>(), 0..150), joined in any::<bool>(),
    ) {
        let mut bench = Bench::new(config(protected));
        if joined {
            bench.associate(STATION, &RSN);
        }
        let header = [&[kind, flags, 0, 0][..], &BSSID.0, &STATION.0, &BSSID.0, &[0x10, 0]];
        bench.hear(&[&header.concat()[..], &body].concat());
        bench.hear(&body);
        bench.ap.from_uplink(&body);
        bench.settle();
    }

    #[test]
    fn no_key_frame_panics(
        info in any::<u16>(), counter in 0u64..4, data in proptest::collection::vec(any::<u8>(), 0..60)
    ) {
        let mut bench = Bench::new(config(true));
        bench.associate(STATION, &RSN);
        let frame = airlane_ap::eapol::KeyFrame {
            info,
            replay_counter: counter,
            data,
            ..Default::default()
        };
        bench.data(STATION, BSSID, [0x88, 0x8e], &frame.encode(None));
        prop_assert_eq!(bench.ap.joined().count(), 0);
    }
}
