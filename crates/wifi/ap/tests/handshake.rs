//! Joining a protected BSS: the handshakes, what may go wrong in them, and the keys that come of them.

mod common;

use airlane_ap::eapol::{KeyFrame, info};
use airlane_ap::testing::{RSN, Supplicant};
use airlane_ap::{Drop, Event};
use airlane_lane::Micros;
use common::{BSSID, Bench, OTHER, PASSPHRASE, STATION, config};

const SECOND: Micros = Micros::from_millis(1_000);

#[test]
fn both_ends_come_to_the_same_keys() {
    let mut bench = Bench::new(config(true));
    let supplicant = bench.joined();
    let key = supplicant.pairwise.expect("message 3 has come");
    let frame = bench.sealed(&key, 1, OTHER, b"payload");
    bench.hear(&frame);
    let uplink = bench.uplink();
    assert_eq!(uplink.len(), 1);
    assert_eq!(
        uplink[0],
        [&OTHER.0[..], &STATION.0, b"\x08\0payload"].concat()
    );
    assert_eq!(supplicant.group.len(), 1);
    assert_eq!(bench.ap.next_event(), Some(Event::Joined(STATION)));
}

#[test]
fn a_packet_number_that_does_not_rise_is_dropped() {
    let mut bench = Bench::new(config(true));
    let key = bench.joined().pairwise.unwrap();
    for number in [5, 5, 4, 6] {
        let frame = bench.sealed(&key, number, OTHER, b"payload");
        bench.hear(&frame);
    }
    assert_eq!(bench.uplink().len(), 2);
    assert_eq!(bench.ap.counters().dropped_for(Drop::Replayed), 2);
}

#[test]
fn frames_in_clear_or_with_another_key_are_dropped() {
    let mut bench = Bench::new(config(true));
    bench.joined();
    bench.data(STATION, OTHER, [8, 0], b"in clear");
    let frame = bench.sealed(&[9; 16], 1, OTHER, b"payload");
    bench.hear(&frame);
    assert!(bench.uplink().is_empty());
    let counters = bench.ap.counters();
    assert_eq!(counters.dropped_for(Drop::Unprotected), 1);
    assert_eq!(counters.dropped_for(Drop::Undecryptable), 1);
}

#[test]
fn nothing_but_key_frames_passes_before_the_handshake_is_over() {
    let mut bench = Bench::new(config(true));
    assert_eq!(bench.associate(STATION, &RSN), 0);
    bench.data(STATION, OTHER, [8, 0], b"too early");
    assert!(bench.uplink().is_empty());
    assert_eq!(bench.ap.counters().dropped_for(Drop::Unprotected), 1);
}

#[test]
fn a_silent_station_is_asked_four_times_and_sent_away_with_reason_15() {
    let mut bench = Bench::new(config(true));
    bench.associate(STATION, &RSN);
    for _ in 0..5 {
        bench.advance(SECOND);
    }
    let messages = bench.key_frames();
    assert_eq!(messages.len(), 4);
    let counter = |bytes: &Vec<u8>| KeyFrame::parse(bytes).unwrap().replay_counter;
    assert_eq!(
        messages.iter().map(counter).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    assert_eq!(bench.reason(STATION), Some(15));
}

#[test]
fn an_answer_to_an_earlier_try_is_taken() {
    let mut bench = Bench::new(config(true));
    bench.associate(STATION, &RSN);
    let first = bench.key_frames().remove(0);
    bench.advance(SECOND);
    let mut supplicant = Supplicant::new(PASSPHRASE, "cell", STATION, BSSID);
    let answer = supplicant.hear(&first).unwrap();
    bench.data(STATION, BSSID, [0x88, 0x8e], &answer);
    bench.shake_hands(&mut supplicant);
    assert_eq!(bench.ap.joined().count(), 1);
}

#[test]
fn a_replayed_answer_changes_nothing() {
    let mut bench = Bench::new(config(true));
    bench.associate(STATION, &RSN);
    let first = bench.key_frames().remove(0);
    let mut supplicant = Supplicant::new(PASSPHRASE, "cell", STATION, BSSID);
    let answer = supplicant.hear(&first).unwrap();
    for _ in 0..3 {
        bench.data(STATION, BSSID, [0x88, 0x8e], &answer);
    }
    assert_eq!(bench.key_frames().len(), 1, "one message 3");
    assert_eq!(bench.ap.counters().dropped_for(Drop::Eapol), 2);
}

#[test]
fn another_rsn_element_than_the_requests_ends_in_reason_17() {
    let mut bench = Bench::new(config(true));
    bench.associate(STATION, &RSN);
    let mut supplicant = Supplicant::new(PASSPHRASE, "cell", STATION, BSSID);
    supplicant.rsn[20] = 1;
    bench.shake_hands(&mut supplicant);
    assert_eq!(bench.reason(STATION), Some(17));
}

#[test]
fn an_association_without_our_ciphers_is_refused_by_its_status() {
    let mut bench = Bench::new(config(true));
    assert_eq!(bench.associate(STATION, &[]), 40);
    for (at, status) in [(7, 41), (13, 42), (19, 43)] {
        let mut rsn = RSN;
        rsn[at] = 2;
        if at == 19 {
            rsn[at] = 8;
        }
        assert_eq!(bench.associate(STATION, &rsn), status, "byte {at}");
    }
    assert_eq!(bench.ap.counters().refused, 4);
}

#[test]
fn a_new_group_key_is_used_when_the_last_station_has_confirmed_it() {
    let mut bench = Bench::new(config(true));
    let mut supplicant = bench.joined();
    let key = supplicant.pairwise.unwrap();
    bench.sent.clear();
    bench.ap.rekey_group(bench.now);
    bench.settle();
    let sealed = bench.sent.remove(0).frame;
    let payload = opened(&key, &sealed);
    let broadcast = [&[0xff; 6][..], &OTHER.0, b"\x08\0to all"].concat();
    bench.ap.from_uplink(&broadcast);
    bench.settle();
    assert_eq!(group_key_id(&bench), 1, "not confirmed yet");
    let answer = supplicant.hear(&payload[2..]).unwrap();
    assert_eq!(supplicant.group.last().unwrap().0, 2);
    let clear = bench.data_frame(STATION, BSSID, [0x88, 0x8e], &answer);
    bench.hear(&clear);
    bench.ap.from_uplink(&broadcast);
    bench.settle();
    assert_eq!(group_key_id(&bench), 2);
    assert_eq!(bench.ap.counters().group_rekeys, 1);
}

#[test]
fn who_never_confirms_a_group_key_is_sent_away_with_reason_16() {
    let mut bench = Bench::new(config(true));
    bench.joined();
    bench.ap.rekey_group(bench.now);
    for _ in 0..6 {
        bench.advance(SECOND);
    }
    assert_eq!(bench.reason(STATION), Some(16));
    assert_eq!(bench.ap.joined().count(), 0);
}

/// EtherType and payload of an encrypted frame to the station.
fn opened(key: &[u8; 16], sealed: &[u8]) -> Vec<u8> {
    let mut frame = sealed.to_vec();
    let header = airlane_dot11::frame::Header::parse(&frame).unwrap();
    airlane_dot11::ccmp::Ccmp::new(key)
        .decrypt(&header, &mut frame)
        .unwrap();
    frame[header.length + 8 + 6..frame.len() - 8].to_vec()
}

/// Under which key the last group frame went out.
fn group_key_id(bench: &Bench) -> u8 {
    let mut frames = bench.sent.iter().filter(|frame| frame.receiver.is_group());
    frames.next_back().unwrap().frame[27] >> 6
}

#[test]
fn the_first_message_is_as_the_standard_has_it() {
    let mut bench = Bench::new(config(true));
    bench.associate(STATION, &RSN);
    let first = KeyFrame::parse(&bench.key_frames()[0]).unwrap();
    assert_eq!(first.info, info::VERSION | info::PAIRWISE | info::ACK);
    assert_eq!((first.key_length, first.data.len()), (16, 0));
}
