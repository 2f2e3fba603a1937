//! The gateway against a real IP stack: addresses, ARP, echo; and against nonsense.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use airlane_ap::gateway::{Echoes, Gateway, HostNames, Network, Probe, ProbeKind, Taken};
use airlane_ap::testing::Host;
use airlane_dot11::MacAddr;
use airlane_lane::{Instant, Micros};
use proptest::prelude::*;

const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 168, 7, 1);
const KNOWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

fn address(number: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 1, number])
}

fn gateway(answers: bool) -> Gateway {
    Gateway::new(network(answers))
}

fn network(answers: bool) -> Network {
    Network {
        hardware: MacAddr([2, 0xb, 0, 0, 0, 1]),
        address: GATEWAY,
        prefix: 24,
        known: BTreeMap::from([(KNOWN, Ipv4Addr::new(192, 168, 7, 100))]),
        answers,
        name_servers: Vec::new(),
        host_names: HostNames::default(),
        captive_portal: None,
    }
}

/// Lets the two talk for a second in steps of 10 ms; frames that were for somebody else.
fn talk(gateway: &mut Gateway, host: &mut Host, from: u64) -> usize {
    let mut elsewhere = 0;
    for step in 0..100 {
        let (frames, _) = host.step(Instant::from_millis(from + 10 * step));
        for frame in frames {
            match gateway.take(&frame) {
                Taken::Answered(answer) => host.take(answer),
                Taken::Silent => {}
                Taken::NotHere => elsewhere += 1,
            }
        }
    }
    elsewhere
}

#[test]
fn a_known_station_gets_the_address_kept_for_it_and_others_the_next() {
    let mut gateway = gateway(true);
    for (station, last) in [(address(1), 101), (address(2), 102), (KNOWN, 100)] {
        let mut host = Host::new(Instant(0), station);
        talk(&mut gateway, &mut host, 0);
        let expected = Ipv4Addr::new(192, 168, 7, last);
        assert_eq!(host.address, Some((expected, Some(GATEWAY))));
    }
    assert_eq!(gateway.leases().count(), 3);
    assert_eq!(
        (gateway.counters().offers, gateway.counters().leases),
        (3, 3)
    );
}

/// A host with smoltcp's resolver learns the server by DHCP and asks it.
#[test]
fn a_station_is_told_the_name_server_and_the_captive_portal_and_asks_for_names() {
    let mut network = network(true);
    network.host_names.insert("portal.test", GATEWAY);
    network.captive_portal = Some("https://portal.test/api".to_owned());
    let mut gateway = Gateway::new(network);
    let mut host = Host::new(Instant(0), KNOWN);
    talk(&mut gateway, &mut host, 0);
    assert_eq!(
        host.captive_portal.as_deref(),
        Some("https://portal.test/api")
    );
    assert_eq!(
        host.look_up("portal.test"),
        None,
        "nothing was asked before"
    );
    talk(&mut gateway, &mut host, 1_000);
    assert_eq!(host.look_up("portal.test"), Some(Ok(GATEWAY)));
    host.look_up("example.org");
    talk(&mut gateway, &mut host, 2_000);
    assert_eq!(host.look_up("example.org"), Some(Err(())));
    assert_eq!(gateway.counters().names, 2);
}

#[test]
fn a_gateway_without_names_has_no_name_server() {
    let mut gateway = gateway(true);
    let mut host = Host::new(Instant(0), KNOWN);
    talk(&mut gateway, &mut host, 0);
    assert!(!host.has_name_server());
    assert_eq!(host.captive_portal, None);
}

#[test]
fn echo_requests_to_its_own_address_are_answered_and_no_others() {
    let mut gateway = gateway(true);
    let mut host = Host::new(Instant(0), KNOWN);
    talk(&mut gateway, &mut host, 0);
    host.ping(GATEWAY, 1, 1_000);
    host.ping(Ipv4Addr::new(10, 0, 0, 1), 2, 56);
    let elsewhere = talk(&mut gateway, &mut host, 1_000);
    assert_eq!(host.replies, [(GATEWAY, 1)]);
    assert_eq!(elsewhere, 1, "by way of the gateway");
}

#[test]
fn where_somebody_else_has_the_address_only_addresses_are_given() {
    let mut gateway = gateway(false);
    let mut host = Host::new(Instant(0), KNOWN);
    talk(&mut gateway, &mut host, 0);
    assert!(host.address.is_some());
    host.ping(GATEWAY, 1, 56);
    assert!(talk(&mut gateway, &mut host, 1_000) > 0, "ARP goes on");
    assert!(host.replies.is_empty());
}

/// Frames of a series that are due until `now`.
fn probes(gateway: &mut Gateway, now: Instant) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| gateway.next_probe(now)).collect()
}

fn probe(kind: ProbeKind) -> Probe {
    Probe {
        station: KNOWN,
        kind,
        count: 3,
        interval: Micros::from_millis(200),
    }
}

/// What a host answers to an echo request: addresses exchanged, type 0 for 8 (RFC 792), and the checksum larger by that.
fn reply(request: &[u8]) -> Vec<u8> {
    let mut frame = request.to_vec();
    let (to, from) = (&request[..6], &request[6..12]);
    frame[..12].copy_from_slice(&[from, to].concat());
    frame[26..34].copy_from_slice(&[&request[30..34], &request[26..30]].concat());
    frame[34] = 0;
    let sum = u32::from(u16::from_be_bytes([request[36], request[37]])) + 0x0800;
    let folded = (sum & 0xffff) as u16 + (sum >> 16) as u16;
    frame[36..38].copy_from_slice(&folded.to_be_bytes());
    frame
}

#[test]
fn echo_requests_go_to_the_address_that_a_station_has_and_its_answers_are_counted() {
    let mut gateway = gateway(true);
    let mut host = Host::new(Instant(0), KNOWN);
    talk(&mut gateway, &mut host, 0);
    gateway.probe(Instant(0), probe(ProbeKind::Echo));
    let first = probes(&mut gateway, Instant(0));
    assert_eq!(first.len(), 1, "one at a time");
    let address = host.address.map(|(address, _)| address.octets());
    assert_eq!(first[0].get(30..34), address.as_ref().map(|a| &a[..]));
    let rest = probes(&mut gateway, Instant::from_millis(400));
    assert_eq!((rest.len(), gateway.probe_due()), (2, None));
    assert_eq!(gateway.take(&reply(&first[0])), Taken::Silent);
    gateway.take(&reply(&first[0]));
    gateway.take(&reply(&rest[1]));
    let echoes = Echoes {
        sent: 3,
        answered: 2,
    };
    assert_eq!(gateway.echoes().collect::<Vec<_>>(), [(KNOWN, echoes)]);
}

#[test]
fn answers_to_an_earlier_series_do_not_count_for_the_next() {
    let mut gateway = gateway(true);
    gateway.probe(Instant(0), probe(ProbeKind::Echo));
    let old = probes(&mut gateway, Instant(0));
    gateway.probe(Instant(1), probe(ProbeKind::Echo));
    probes(&mut gateway, Instant::from_millis(400));
    gateway.take(&reply(&old[0]));
    let answered = gateway.echoes().map(|(_, echoes)| echoes.answered);
    assert_eq!(answered.collect::<Vec<_>>(), [0]);
}

#[test]
fn datagrams_go_to_the_station_and_to_an_address_that_nobody_has() {
    let mut gateway = gateway(true);
    gateway.probe(Instant(0), probe(ProbeKind::Datagrams));
    let frames = probes(&mut gateway, Instant::from_millis(1_000));
    assert_eq!(frames.len(), 3);
    for frame in frames {
        assert_eq!((frame.len(), &frame[..6]), (1_514, &KNOWN.0[..]));
        assert_eq!(frame[30..34], [192, 168, 7, 251]);
    }
    assert_eq!(gateway.echoes().count(), 0);
}

#[test]
fn a_hundred_addresses_are_given_and_no_more() {
    let mut gateway = gateway(true);
    for number in 0..120 {
        let mut host = Host::new(Instant(0), address(number));
        talk(&mut gateway, &mut host, 0);
        assert_eq!(host.address.is_some(), number < 99, "{number}");
    }
    assert!(gateway.counters().exhausted > 0);
}

proptest! {
    #[test]
    fn no_frame_panics(
        kind in prop_oneof![Just([8, 0]), Just([8, 6])],
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut gateway = gateway(true);
        let frame = [&[0xff; 6][..], &KNOWN.0, &kind, &bytes].concat();
        let _ = gateway.take(&frame);
        let _ = gateway.take(&bytes);
    }

    /// From valid frames, so that checksums of the outer layers are not all that is tried.
    #[test]
    fn no_damaged_message_panics(at in 0usize..400, value in any::<u8>(), cut in 0usize..400) {
        let mut gateway = gateway(true);
        let mut host = Host::new(Instant(0), KNOWN);
        let (frames, _) = host.step(Instant(0));
        for mut frame in frames {
            frame.truncate(frame.len().saturating_sub(cut % 60));
            if let Some(byte) = frame.get_mut(at) {
                *byte = value;
            }
            // A UDP checksum of zero is none (RFC 768).
            if let Some(checksum) = frame.get_mut(40..42) {
                checksum.fill(0);
            }
            let _ = gateway.take(&frame);
        }
    }
}
