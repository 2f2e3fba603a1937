//! Scans and several channels on one radio.

use std::sync::Arc;

use airlane_air::Air;
use airlane_dot11::frame::{FrameKind, Header};
use airlane_dot11::*;
use airlane_lane::Micros;
use airlane_waist::*;

use super::world::*;

/// A scan of one VM, channel by channel, active or not.
pub(super) fn scan(number: usize, channels: &[(u16, bool)]) -> Vec<ScanSlot> {
    let slots = channels.iter().enumerate();
    slots
        .map(|(at, &(channel, active))| ScanSlot {
            begins: at == 0,
            ..slot(channel, &[(number, active)])
        })
        .collect()
}

/// One scan slot of several VMs.
fn slot(number: u16, participants: &[(usize, bool)]) -> ScanSlot {
    let dwell = |&(_, active): &(usize, bool)| if active { 30 } else { 120 };
    let longest = participants.iter().map(dwell).max().unwrap_or(0);
    ScanSlot {
        channel: channel(number),
        dwell: Micros::from_millis(longest),
        max_away: Micros(0),
        begins: true,
        participants: participants
            .iter()
            .map(|&(number, active)| Participant {
                vm: vm(number),
                active,
                request: request(),
            })
            .collect(),
    }
}

fn request() -> Arc<ScanRequest> {
    let mut probe = management(
        FrameKind::PROBE_REQUEST,
        MacAddr::BROADCAST,
        MacAddr::ZERO,
        MacAddr::BROADCAST,
    );
    probe.truncate(24);
    probe.extend([0, 2, b'o', b'n', 1, 1, 0x8c]);
    Arc::new(ScanRequest {
        channels: Vec::new(),
        probe,
        ssids: vec![b"other".to_vec()],
        rate: Rate::OFDM_6,
        max_away: Micros(0),
        filter: ReceiveFilter::GROUP | ReceiveFilter::FOREIGN_BEACONS,
    })
}

/// An interface that is up and belongs to no network.
fn up(world: &mut World, number: usize) {
    world.answer(number, VifCommand::Initialize);
    assert_eq!(world.configure(number, |_| {}, None), Reply::Ok);
}

#[test]
fn a_scan_without_neighbours_goes_straight_through_and_hears_beacons() {
    let mut world = World::new(&[36, 40]);
    up(&mut world, 0);
    world.scan(scan(0, &[(36, false), (40, false)]));
    world.run(Micros::from_millis(260));
    let (first, second) = (channel(36), channel(40));
    assert_eq!(
        world.scan_events(0),
        [
            ScanEvent::Started(first),
            ScanEvent::Left(first),
            ScanEvent::Started(second),
            ScanEvent::Left(second),
        ]
    );
    assert!(world.beacons_of(0, 0) > 0 && world.beacons_of(0, 1) > 0);
}

#[test]
fn an_active_channel_gets_the_template_and_one_probe_per_name() {
    let mut world = World::new(&[36]);
    up(&mut world, 0);
    world.scan(scan(0, &[(36, true)]));
    world.run(Micros::from_millis(100));
    let probes: Vec<&Buffer> = world.aps[0].heard.iter().collect();
    assert_eq!(probes.len(), 2);
    assert_eq!(&probes[0][24..], [0, 2, b'o', b'n', 1, 1, 0x8c]);
    assert_eq!(
        &probes[1][24..],
        [&[0, 5][..], b"other", &[1, 1, 0x8c]].concat()
    );
    for probe in probes {
        assert_eq!(Header::parse(probe).unwrap().transmitter, Some(own(0)));
    }
}

#[test]
fn a_scan_by_one_vm_loses_no_frame_of_a_neighbour() {
    let mut world = World::new(&[36, 40]);
    world.join(0, 0);
    up(&mut world, 1);
    world.run(Micros::from_millis(1_100));
    world.scan(scan(1, &[(36, true), (40, false), (44, true), (48, false)]));
    for round in 0..200u16 {
        let body = round.to_le_bytes();
        world.send(0, &uplink(0, 0, &body), |_| {});
        let frame = downlink(own(0), 0, &body);
        world.ap_sends(0, Buffer::from_slice(&frame).unwrap());
        world.run(Micros::from_millis(5));
    }
    world.run(Micros::from_millis(500));
    assert_eq!(world.slots_done, 4);
    assert!(world.beacons_of(1, 1) > 0, "the other channel was heard");
    let bodies = |frames: Vec<&Buffer>| {
        let body = |frame: &&Buffer| u16::from_le_bytes([frame[24], frame[25]]);
        frames.iter().map(body).collect::<Vec<u16>>()
    };
    let all: Vec<u16> = (0..200).collect();
    assert_eq!(bodies(world.heard_from(0, 0)), all);
    let down = world.received(0).iter().map(|r| &r.frame).collect();
    assert_eq!(bodies(down), all);
    let reports = world.reports(0);
    assert_eq!(reports.len(), 200, "null frames are reported to nobody");
    assert!(reports.iter().all(|(_, r)| r.status == TxStatus::Success));
    assert!(world.nic.counters().announcements >= 6);
    world.assert_conserved();
}

#[test]
fn a_slot_of_several_vms_probes_for_each_under_its_own_address() {
    let mut world = World::new(&[36]);
    for number in 0..3 {
        up(&mut world, number);
    }
    world.scan(vec![slot(36, &[(0, true), (1, false), (2, true)])]);
    world.run(Micros::from_millis(130));
    let from = |probe: &Buffer| Header::parse(probe).unwrap().transmitter.unwrap();
    let probes: Vec<MacAddr> = world.aps[0].heard.iter().map(from).collect();
    assert_eq!(probes, [own(0), own(0), own(2), own(2)]);
    for number in 0..3 {
        assert!(world.beacons_of(number, 0) > 0);
        let (begin, end) = (ScanEvent::Started, ScanEvent::Left);
        let here = channel(36);
        assert_eq!(world.scan_events(number), [begin(here), end(here)]);
    }
    assert_eq!(world.slots_done, 1);
}

#[test]
fn a_participant_that_leaves_does_not_shorten_the_dwell() {
    let mut world = World::new(&[36]);
    up(&mut world, 0);
    up(&mut world, 1);
    world.scan(vec![slot(40, &[(0, true), (1, true)])]);
    world.run(Micros::from_millis(10));
    assert_eq!(world.leave_scan(0), Ok(()));
    world.run(Micros::from_millis(10));
    assert_eq!((world.slots_done, world.scan_events(1).len()), (0, 1));
    world.run(Micros::from_millis(15));
    assert_eq!((world.slots_done, world.scan_events(1).len()), (1, 2));
}

#[test]
fn one_slot_is_run_at_a_time() {
    let mut world = World::new(&[36]);
    up(&mut world, 0);
    world.scan(scan(0, &[(36, false)]));
    let second = slot(40, &[(0, false)]);
    let answer = world.request(NicRequest::ScanSlot(Box::new(second)));
    let busy = matches!(answer, Some(NicEvent::ScanDone(Err(Refusal::Busy))));
    assert!(busy, "{answer:?}");
}

#[test]
fn a_nic_that_goes_slot_by_slot_says_so_and_refuses_a_list() {
    let mut world = World::new(&[36]);
    up(&mut world, 0);
    let capabilities = Nic::<Air>::capabilities(&world.nic);
    assert_eq!(capabilities.scan, ScanStyle::Slots);
    let list = ScanList {
        channels: request().channels.clone(),
        max_away: Micros(0),
        participants: Vec::new(),
    };
    let answer = world.request(NicRequest::ScanList(Box::new(list)));
    let refused = matches!(answer, Some(NicEvent::ScanDone(Err(Refusal::NotSupported))));
    assert!(refused, "{answer:?}");
}

#[test]
fn with_its_last_participant_a_slot_ends_and_the_radio_returns_to_its_context() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    up(&mut world, 1);
    world.run(Micros::from_millis(1_100));
    world.scan(vec![slot(100, &[(0, false), (1, false)])]);
    world.run(Micros::from_millis(30));
    assert_eq!(world.nic.channel(), Some(channel(100)));
    assert_eq!(world.leave_scan(0), Ok(()));
    world.run(Micros::from_millis(1));
    assert_eq!(world.nic.channel(), Some(channel(100)), "VM 1 still looks");
    world.ask(1, VifCommand::Reset);
    assert_eq!(world.slots_done, 1, "answered at once");
    world.run(Micros::from_millis(1));
    assert_eq!(world.nic.channel(), Some(channel(36)));
    assert_eq!(world.leave_scan(0), Err(Refusal::NoScan));
    world.run(Micros::from_millis(20));
    assert!(
        world.aps[0].asleep.is_empty(),
        "the access point knows that it is back"
    );
}

#[test]
fn a_scan_waits_while_a_neighbour_joins_but_not_for_ever() {
    let mut world = World::new(&[36]);
    world.answer(0, VifCommand::Initialize);
    world.configure(0, |c| c.associated = false, Some(0));
    up(&mut world, 1);
    world.scan(scan(1, &[(100, false)]));
    world.run(Micros::from_millis(1_900));
    assert!(world.scan_events(1).is_empty());
    world.configure(0, |_| {}, Some(0));
    world.run(Micros::from_millis(400));
    assert_eq!(world.scan_events(1).len(), 2, "its patience is two seconds");
}

#[test]
fn two_networks_on_two_channels_are_both_served() {
    let mut world = World::new(&[36, 149]);
    world.join(0, 0);
    world.join(1, 1);
    // The access points learn only from the first absence that their stations share a radio, and the first
    // scan slot may be a long one: its vMAC has just joined.
    world.run(Micros::from_millis(400));
    for round in 0..100u8 {
        for number in [0, 1] {
            world.send(number, &uplink(number, number, &[round, 0]), |_| {});
            let frame = downlink(own(number), number, &[round, 0]);
            world.ap_sends(number, Buffer::from_slice(&frame).unwrap());
        }
        world.run(Micros::from_millis(10));
    }
    world.run(Micros::from_millis(500));
    for number in [0, 1] {
        assert_eq!(world.heard_from(number, number).len(), 100);
        let success = |(_, r): &(Tag, TxReport)| r.status == TxStatus::Success;
        assert!(world.reports(number).iter().all(success));
        assert_eq!(world.received(number).len(), 100);
    }
    let tunes = world.nic.counters().tunes;
    assert!(tunes >= 10, "{tunes}");
    world.assert_conserved();
}

#[test]
fn a_vmac_follows_its_access_point_to_another_channel() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    let switch = ChannelSwitch {
        channel: channel(48),
        after: Micros::from_millis(10),
    };
    world.ask(0, VifCommand::SwitchChannel(switch));
    world.run(Micros::from_millis(20));
    assert_eq!(world.nic.channel(), Some(channel(48)));
    assert!(
        world
            .events
            .iter()
            .any(|(_, e)| matches!(e, Event::ChannelSwitched(c) if *c == channel(48)))
    );
}

#[test]
fn frames_that_the_radio_takes_along_unsent_keep_their_order() {
    let mut world = World::new(&[36, 149]);
    world.join(0, 0);
    world.join(1, 1);
    let ap = world.aps[0].radio;
    world.air.set_addresses(ap, &[]);
    world.air.set_promiscuous(ap, true);
    let slow = |transmit: &mut Transmit| {
        transmit.rate = TxRate::Fixed(Rate::OFDM_6);
        transmit.retry_limit = 7;
    };
    for _ in 0..30 {
        world.send(0, &uplink(0, 0, &[0; 1_400]), slow);
    }
    world.run(Micros::from_millis(3_000));
    let number = |frame: &&Buffer| Header::parse(frame).unwrap().sequence_number().unwrap();
    let numbers: Vec<u16> = world.heard_from(0, 0).iter().map(number).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    assert_eq!(world.reports(0).len(), 30);
    world.assert_conserved();
}

/// Downlink and uplink that never end, for so many milliseconds.
fn saturate(world: &mut World, numbers: &[usize], millis: u64) {
    for round in 0..millis {
        for &number in numbers {
            for _ in 0..3 {
                world.send(number, &uplink(number, number, &[0; 1_400]), |_| {});
            }
            let frame = downlink(own(number), number, &[round as u8; 1_400]);
            world.ap_sends(number, Buffer::from_slice(&frame).unwrap());
        }
        world.run(Micros::from_millis(1));
    }
}

fn time_at(world: &World, number: u16) -> Micros {
    let homes = world.nic.contexts(world.now);
    let home = homes
        .into_iter()
        .find(|home| home.channel == channel(number));
    home.map(|home| home.time).unwrap_or_default()
}

/// A scan has left the radio where the network is: it never comes there for the network's sake.
#[test]
fn a_radio_that_is_on_the_channel_of_its_only_network_already_has_come_there_once() {
    let mut world = World::new(&[36]);
    up(&mut world, 0);
    world.scan(scan(0, &[(44, false), (36, false)]));
    world.run(Micros::from_millis(300));
    world.join(0, 0);
    let joined = world.now;
    world.run(Micros::from_millis(1_000));
    let contexts: Vec<_> = world.nic.contexts(world.now).collect();
    let [context] = contexts[..] else {
        panic!("one channel: {contexts:?}");
    };
    assert_eq!((context.channel, context.visits), (channel(36), 1));
    assert!(context.beacons_heard > 5, "{context:?}");
    let since = world.now.saturating_since(joined);
    assert!(context.time >= since, "{context:?} after {since:?}");
}

#[test]
fn weights_divide_the_time_between_channels() {
    let mut world = World::new(&[36, 149]);
    world.nic.set_weight(vm(0), 1);
    world.nic.set_weight(vm(1), 3);
    world.join(0, 0);
    world.join(1, 1);
    world.run(Micros::from_millis(1_200));
    saturate(&mut world, &[0, 1], 500);
    let before = [36, 149].map(|number| time_at(&world, number));
    saturate(&mut world, &[0, 1], 6_000);
    let [one, three] = [36, 149].map(|number| time_at(&world, number).0);
    let ratio = (three - before[1].0) as f64 / (one - before[0].0) as f64;
    assert!((2.7..3.3).contains(&ratio), "{ratio:.2}");
}

#[test]
fn a_home_without_work_gives_its_time_away_and_hears_its_beacons() {
    let mut world = World::new(&[36, 149]);
    world.join(0, 0);
    world.join(1, 1);
    world.run(Micros::from_millis(1_500));
    let before = (time_at(&world, 149), world.beacons_of(1, 1));
    saturate(&mut world, &[0], 4_000);
    let idle = time_at(&world, 149).saturating_sub(before.0);
    assert!(idle < Micros::from_millis(500), "{idle}");
    let beacons = world.beacons_of(1, 1) - before.1;
    assert!(beacons >= 34, "{beacons} of 39");
}

#[test]
fn nobody_moves_the_radio_between_beacons_for_nothing() {
    let mut world = World::new(&[36, 149]);
    world.join(0, 0);
    world.join(1, 1);
    world.run(Micros::from_millis(1_500));
    let before = world.nic.counters().tunes;
    world.run(Micros::from_millis(10_240));
    let tunes = world.nic.counters().tunes - before;
    assert!(tunes <= 200, "{tunes}: to each of the 100 beacons of each");
}

#[test]
fn scanning_the_own_channel_again_and_again_takes_nobodys_slices() {
    let mut world = World::new(&[36, 149]);
    world.join(0, 0);
    world.join(1, 1);
    world.run(Micros::from_millis(1_500));
    let before = [36, 149].map(|number| time_at(&world, number));
    for _ in 0..60 {
        world.scan(scan(0, &[(36, false)]));
        saturate(&mut world, &[0, 1], 50);
    }
    let [own, other] = [36, 149].map(|number| time_at(&world, number).0);
    let (own, other) = (own - before[0].0, other - before[1].0);
    assert!(other * 3 > own, "{own} against {other}");
    let silence = |vmac: crate::VmacView| vmac.longest_silence;
    let silence = world.nic.vmacs().map(silence).max().unwrap();
    assert!(silence < time_units(700), "{silence}");
}

#[test]
fn one_that_joins_again_and_again_starves_nobody() {
    let mut world = World::new(&[36, 149]);
    world.join(0, 0);
    world.join(1, 1);
    world.run(Micros::from_millis(1_500));
    let before = time_at(&world, 149);
    for round in 0..40 {
        let associated = round % 2 == 0;
        world.configure(0, |c| c.associated = associated, Some(0));
        saturate(&mut world, &[0, 1], 100);
    }
    let other = time_at(&world, 149).saturating_sub(before);
    assert!(
        other > Micros::from_millis(1_300),
        "a third of 4 s: {other}"
    );
}

#[test]
fn one_that_joins_is_not_left_in_the_middle_of_it() {
    let mut world = World::new(&[36, 149]);
    world.join(1, 1);
    world.run(Micros::from_millis(1_500));
    world.answer(0, VifCommand::Initialize);
    world.configure(0, |c| c.associated = false, Some(0));
    world.ask(
        0,
        VifCommand::AddStation(StationIndex(0), bssid(0), PeerHt::default()),
    );
    saturate(&mut world, &[1], 30);
    let request = management(FrameKind::AUTHENTICATION, bssid(0), own(0), bssid(0));
    world.send(0, &request, |t| t.rate = TxRate::Fixed(Rate::OFDM_6));
    world.run(Micros::from_millis(20));
    assert_eq!(
        world.nic.channel(),
        Some(channel(36)),
        "it does not wait for a slice"
    );
    saturate(&mut world, &[1], 150);
    assert_eq!(
        world.nic.channel(),
        Some(channel(36)),
        "nor lose the answer"
    );
}

#[test]
fn an_access_point_that_dies_is_missed_and_absence_is_not() {
    let mut world = World::new(&[36, 149]);
    world.join(0, 0);
    world.join(1, 1);
    world.run(Micros::from_millis(3_000));
    let missed = |world: &World, number: usize| {
        let mine = world
            .events
            .iter()
            .filter(|(owner, _)| *owner == vm(number));
        let missed = mine.filter_map(|(_, event)| match event {
            Event::MissedBeacons(missed) => Some(missed.consecutive),
            _ => None,
        });
        missed.collect::<Vec<u32>>()
    };
    assert_eq!([missed(&world, 0), missed(&world, 1)], [[0; 0]; 2]);
    let dead = world.aps[0].radio;
    world.air.tune(world.now, dead, None);
    world.run(Micros::from_millis(3_000));
    for home in world.nic.contexts(world.now) {
        println!("{home:?}");
    }
    for home in world.nic.vmacs() {
        println!("{home:?}");
    }
    assert_eq!(missed(&world, 0).first(), Some(&5));
    assert!(missed(&world, 0).is_sorted());
    assert_eq!(missed(&world, 1), [0; 0], "its neighbour has its beacons");
}
