//! What a guest with one hwsim radio and the medium say to each other.

mod front_end;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use airlane_dot11::{Band, Buffer, Channel, Dbm, MacAddr, Rate};
use airlane_lane::ring::{Receiver, Sender, ring};
use airlane_transport::{EventFd, EventWake, FromHwsim, HwsimServer, ToHwsim, serve_hwsim};
use front_end::{ENTRIES, Guest, Queue, SIZE, connect};
use vhost::VhostBackend;
use vhost::vhost_user::message::{VhostUserHeaderFlag, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};

const RADIO: MacAddr = MacAddr([0x42, 0, 0, 0, 0, 0]);

struct Bench {
    path: PathBuf,
    server: HwsimServer,
    from: Receiver<FromHwsim>,
    to: Sender<ToHwsim>,
}

fn bench(name: &str, capacity: usize) -> Bench {
    let file = format!("airlane-hwsim-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(file);
    let wake = EventFd::new(libc::EFD_NONBLOCK).unwrap();
    let (to_radio, from) = ring(capacity, Arc::new(airlane_lane::ring::NoWake));
    let (to, from_radio) = ring(2048, Arc::new(EventWake(wake.try_clone().unwrap())));
    let server = serve_hwsim(&path, to_radio, from_radio, wake).unwrap();
    Bench {
        path,
        server,
        from,
        to,
    }
}

impl Bench {
    fn next(&mut self) -> FromHwsim {
        for _ in 0..400 {
            if let Some(message) = self.from.pop() {
                return message;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the medium heard nothing");
    }
}

fn frame_message(cookie: u64, frame: &[u8]) -> Vec<u8> {
    let mut message = vec![0u8; 20];
    (message[16], message[17]) = (2, 1);
    let attributes: [(u16, &[u8]); 7] = [
        (2, &RADIO.0),
        (3, frame),
        (4, &1u32.to_ne_bytes()),
        (19, &2412u32.to_ne_bytes()),
        (7, &[0, 3, 0xff, 0, 0xff, 0, 0xff, 0]),
        (21, &[0, 0, 0, 0xff, 0, 0, 0xff, 0, 0, 0xff, 0, 0]),
        (8, &cookie.to_ne_bytes()),
    ];
    for (number, value) in attributes {
        message.extend((4 + value.len() as u16).to_ne_bytes());
        message.extend(number.to_ne_bytes());
        message.extend(value);
        message.resize(message.len().next_multiple_of(4), 0);
    }
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message
}

fn receive(byte: u8) -> ToHwsim {
    ToHwsim::Receive {
        radio: RADIO,
        frame: Buffer::from_slice(&[byte; 40]).unwrap(),
        rate: Rate::DSSS_1,
        signal: Dbm(-42.0),
        channel: Channel::new(Band::Ghz2, 1).unwrap(),
    }
}

#[test]
fn one_frame_each_way_and_a_status() {
    let mut bench = bench("both", 64);
    let guest = Guest::new();
    let (mut tx, mut rx) = (Queue::new(0x1_0000), Queue::new(0x8_0000));
    for _ in 0..4 {
        rx.offer(&guest, true);
    }
    let mut frontend = connect(&bench.path, &guest, [&tx, &rx]);
    let protocol = frontend.get_protocol_features().unwrap();
    assert!(!protocol.contains(VhostUserProtocolFeatures::CONFIG));
    rx.kick.write(1).unwrap();
    tx.send(&guest, &frame_message(77, &[9; 50]));
    assert!(matches!(bench.next(), FromHwsim::Connected));
    let FromHwsim::Frame(frame) = bench.next() else {
        panic!("not a frame");
    };
    assert_eq!((frame.radio, &frame.frame[..]), (RADIO, &[9; 50][..]));
    assert_eq!((frame.cookie, frame.rates[0]), (77, (Rate::DSSS_1, 3)));
    assert!(frame.wants_status() && !frame.no_ack());
    assert!(tx.take(&guest).is_empty(), "the buffer came back unused");

    bench.to.push(frame.status(true, Dbm(-50.0), &[2])).unwrap();
    let status = rx.take(&guest);
    assert_eq!(status[16], 3, "TX_INFO_FRAME");
    assert!(status.windows(8).any(|bytes| bytes == 77u64.to_ne_bytes()));
    bench.to.push(receive(5)).unwrap();
    let received = rx.take(&guest);
    assert_eq!(received[16], 2, "FRAME");
    assert!(received.windows(40).any(|bytes| bytes == [5; 40]));
    assert!(rx.call.read().is_ok(), "the guest is interrupted");

    drop(frontend);
    assert!(matches!(bench.next(), FromHwsim::Closed));
    let counters = bench.server.counters();
    assert_eq!(
        (counters.transmitted, counters.statuses, counters.received),
        (1, 1, 1)
    );
    let path = bench.path.clone();
    drop(bench);
    assert!(!path.exists());
}

#[test]
fn messages_wait_for_a_buffer() {
    let mut bench = bench("wait", 64);
    let guest = Guest::new();
    let (mut tx, mut rx) = (Queue::new(0x1_0000), Queue::new(0x8_0000));
    let _frontend = connect(&bench.path, &guest, [&tx, &rx]);
    tx.send(&guest, &frame_message(1, &[9; 50]));
    assert!(matches!(bench.next(), FromHwsim::Connected));
    bench.to.push(receive(6)).unwrap();
    // Three frames that come through, one after the other: by the last one the server has also looked at what the medium said.
    for cookie in 2..4 {
        assert!(matches!(bench.next(), FromHwsim::Frame(_)));
        tx.send(&guest, &frame_message(cookie, &[9; 50]));
    }
    assert!(matches!(bench.next(), FromHwsim::Frame(_)));
    assert_eq!(bench.server.counters().received, 0);
    rx.offer(&guest, true);
    rx.kick.write(1).unwrap();
    assert!(rx.take(&guest).windows(40).any(|bytes| bytes == [6; 40]));
}

#[test]
fn a_frame_that_the_medium_refuses_is_answered_as_lost() {
    let bench = bench("refused", 2);
    let guest = Guest::new();
    let (mut tx, mut rx) = (Queue::new(0x1_0000), Queue::new(0x8_0000));
    rx.offer(&guest, true);
    let _frontend = connect(&bench.path, &guest, [&tx, &rx]);
    // The ring holds two: Connected and the first frame. Nobody reads it.
    for cookie in 1..=3 {
        tx.send(&guest, &frame_message(cookie, &[9; 50]));
        tx.take(&guest);
    }
    let status = rx.take(&guest);
    assert_eq!(status[16], 3);
    assert!(status.windows(8).any(|bytes| bytes == 2u64.to_ne_bytes()));
    assert_eq!(bench.server.counters().refused, 2);
}

#[test]
fn what_a_hostile_guest_offers_is_counted_and_the_next_frame_passes() {
    let mut bench = bench("hostile", 64);
    let guest = Guest::new();
    let (mut tx, mut rx) = (Queue::new(0x1_0000), Queue::new(0x8_0000));
    let _frontend = connect(&bench.path, &guest, [&tx, &rx]);
    tx.send(&guest, &[0xff; 100]);
    tx.take(&guest);
    tx.send(&guest, &[20, 0, 0, 0]);
    tx.take(&guest);
    let entry = tx.base + 16 * u64::from(tx.next % ENTRIES);
    tx.offer(&guest, false);
    guest.put(entry, &(SIZE * 2).to_le_bytes());
    tx.kick.write(1).unwrap();
    tx.take(&guest);
    tx.send(&guest, &frame_message(4, &[1; 24]));
    assert!(matches!(bench.next(), FromHwsim::Connected));
    assert!(matches!(bench.next(), FromHwsim::Frame(frame) if frame.cookie == 4));
    let counters = bench.server.counters();
    assert_eq!((counters.bad_buffers, counters.malformed), (2, 1));
    // An index that runs away yields nothing and does not hold the thread.
    rx.offer(&guest, true);
    guest.put(tx.available() + 2, &0x7fffu16.to_le_bytes());
    tx.kick.write(1).unwrap();
    bench.to.push(receive(8)).unwrap();
    assert!(rx.take(&guest).windows(40).any(|bytes| bytes == [8; 40]));
}

#[test]
fn a_guest_that_reboots_and_a_front_end_that_returns_are_served_again() {
    let mut bench = bench("again", 64);
    for round in 0..2u64 {
        let guest = Guest::new();
        let (mut tx, rx) = (Queue::new(0x1_0000), Queue::new(0x8_0000));
        let frontend = connect(&bench.path, &guest, [&tx, &rx]);
        tx.send(&guest, &frame_message(round, &[1; 24]));
        assert!(matches!(bench.next(), FromHwsim::Connected));
        assert!(matches!(bench.next(), FromHwsim::Frame(frame) if frame.cookie == round));
        tx.take(&guest);
        assert_eq!(frontend.get_vring_base(0).unwrap(), 1);
        frontend.get_vring_base(1).unwrap();
        assert!(matches!(bench.next(), FromHwsim::Closed));
        drop(frontend);
    }
    assert_eq!(bench.server.counters().connections, 2);
}

#[test]
fn memory_that_could_vanish_is_refused_and_the_next_front_end_is_served() {
    let mut bench = bench("unsealed", 64);
    let guest = Guest::unsealed();
    let mut frontend = Frontend::connect(&bench.path, 2).unwrap();
    frontend.set_owner().unwrap();
    let features = frontend.get_features().unwrap();
    frontend.set_features(features).unwrap();
    frontend
        .set_protocol_features(VhostUserProtocolFeatures::REPLY_ACK)
        .unwrap();
    frontend.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
    assert!(frontend.set_mem_table(&[guest.region()]).is_err());
    drop(frontend);
    let guest = Guest::new();
    let (mut tx, rx) = (Queue::new(0x1_0000), Queue::new(0x8_0000));
    let _frontend = connect(&bench.path, &guest, [&tx, &rx]);
    tx.send(&guest, &frame_message(7, &[1; 24]));
    assert!(matches!(bench.next(), FromHwsim::Connected));
    assert!(matches!(bench.next(), FromHwsim::Frame(frame) if frame.cookie == 7));
    assert_eq!(bench.server.counters().memory_refused, 1);
}

#[test]
fn a_malformed_message_closes_the_connection_and_the_next_front_end_is_served() {
    let mut bench = bench("malformed", 64);
    for round in 1..=2 {
        let guest = Guest::new();
        let mut tx = Queue::new(0x1_0000);
        let rx = Queue::new(0x8_0000);
        let _frontend = connect(&bench.path, &guest, [&tx, &rx]);
        // A FRAME without any attribute.
        tx.send(
            &guest,
            &[20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0],
        );
        assert!(matches!(bench.next(), FromHwsim::Connected));
        assert!(matches!(bench.next(), FromHwsim::Closed));
        assert_eq!(bench.server.counters().malformed, round);
    }
}
