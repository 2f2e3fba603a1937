//! From a VM to the air.

use airlane_dot11::frame::Header;
use airlane_dot11::*;
use airlane_lane::Micros;
use airlane_waist::*;

use crate::AddressPolicy;

use super::world::*;
use crate::DropReason;

const SPAN: Micros = Micros::from_millis(50);

#[test]
fn a_frame_under_the_own_address_reaches_the_access_point() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    let tag = world.send(0, &uplink(0, 0, b"hello"), |_| {});
    world.run(SPAN);
    let (known, report) = world.reports(0)[0];
    assert_eq!(
        (known, report.status, report.retries),
        (tag, TxStatus::Success, 0)
    );
    assert_eq!(report.rate, Rate::Ofdm(OfdmRate::M54));
    assert!(report.airtime > Micros(0));
    assert_eq!(&world.heard_from(0, 0)[0][24..], b"hello");
    world.assert_conserved();
}

#[test]
fn a_frame_under_another_address_is_refused_and_counted() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    world.join(1, 0);
    let tag = world.send(0, &uplink(1, 0, b"spoof"), |_| {});
    world.run(SPAN);
    assert_eq!(world.status_of(0, tag), TxStatus::Refused);
    assert_eq!(
        world
            .nic
            .vm_counters(vm(0))
            .dropped_for(DropReason::Identity),
        1
    );
    assert!(world.heard_from(0, 1).is_empty());
}

#[test]
fn data_to_another_bss_is_refused() {
    let mut world = World::new(&[36, 36]);
    world.join(0, 0);
    let tag = world.send(0, &uplink(0, 1, b"stray"), |_| {});
    world.run(SPAN);
    assert_eq!(world.status_of(0, tag), TxStatus::Refused);
    assert_eq!(
        world
            .nic
            .vm_counters(vm(0))
            .dropped_for(DropReason::ForeignBss),
        1
    );
    assert!(world.heard_from(1, 0).is_empty());
}

#[test]
fn a_frame_shorter_than_its_header_is_malformed() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    let tag = world.send(0, &uplink(0, 0, b"")[..20], |_| {});
    world.run(SPAN);
    assert_eq!(world.status_of(0, tag), TxStatus::Malformed);
}

#[test]
fn a_frame_longer_than_a_buffer_is_malformed() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    let tag = world.send(0, &uplink(0, 0, &[0; CAPACITY]), |_| {});
    world.run(SPAN);
    assert_eq!(world.status_of(0, tag), TxStatus::Malformed);
}

#[test]
fn a_frame_to_encrypt_without_the_protected_bit_is_malformed() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    let frame = uplink(0, 0, &[0; 40]);
    let tag = world.send(0, &frame, |t| t.cipher = TxCipher::Ccmp(KEY));
    world.run(SPAN);
    assert_eq!(world.status_of(0, tag), TxStatus::Malformed);
}

#[test]
fn data_to_a_station_that_is_not_in_the_table_is_reported() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    let frame = uplink(0, 0, b"x");
    let tag = world.send(0, &frame, |t| t.station = StationIndex(5));
    world.run(SPAN);
    assert_eq!(world.status_of(0, tag), TxStatus::UnknownStation);
}

#[test]
fn a_vm_without_a_vmac_may_not_send() {
    let mut world = World::new(&[36]);
    let tag = world.send(0, &uplink(0, 0, b"x"), |_| {});
    assert_eq!(world.status_of(0, tag), TxStatus::Refused);
    assert_eq!(
        world.answer(0, VifCommand::Flush(1)),
        Reply::Refused(Refusal::NotInitialized)
    );
}

#[test]
fn a_full_queue_drops_and_counts() {
    let mut world = World::new(&[36]);
    world.nic.tx.config.queue_limit = 3;
    world.join(0, 0);
    for _ in 0..5 {
        world.send(0, &uplink(0, 0, b"x"), |_| {});
    }
    let counters = world.nic.vm_counters(vm(0));
    assert_eq!(
        (counters.queued, counters.dropped_for(DropReason::QueueFull)),
        (3, 2)
    );
    world.assert_conserved();
}

#[test]
fn without_an_answer_the_ladder_is_climbed_down_to_the_retry_limit() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    let ap = world.aps[0].radio;
    world.air.set_addresses(ap, &[]);
    world.send(0, &uplink(0, 0, b"x"), |t| t.retry_limit = 5);
    world.run(SPAN);
    let (_, report) = world.reports(0)[0];
    assert_eq!((report.status, report.retries), (TxStatus::NoAck, 5));
    assert_eq!(report.rate, Rate::Ofdm(OfdmRate::M54));
    let Reply::Statistics(statistics) = world.answer(0, VifCommand::Statistics { clear: true })
    else {
        panic!("statistics");
    };
    assert_eq!((statistics.failed, statistics.retries), (1, 5));
    world.assert_conserved();
}

#[test]
fn sequence_numbers_are_given_where_asked_and_kept_elsewhere() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    let mut numbered = uplink(0, 0, b"x");
    numbered[22..24].copy_from_slice(&0x1230u16.to_le_bytes());
    world.send(0, &numbered, |t| t.assign_sequence = false);
    for _ in 0..2 {
        world.send(0, &numbered, |_| {});
    }
    world.run(SPAN);
    let numbers: Vec<u16> = world
        .reports(0)
        .iter()
        .map(|(_, r)| r.sequence_control >> 4)
        .collect();
    assert_eq!(numbers, [0x123, 0, 1]);
}

#[test]
fn ccmp_is_applied_with_the_key_of_the_frame() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    world.set_key(0, 0, false, KEY);
    let frame = protect(uplink(0, 0, b"secret"), 1, 0);
    world.send(0, &frame, |t| t.cipher = TxCipher::Ccmp(KEY));
    world.send(0, &protect(uplink(0, 0, b"other"), 2, 0), |t| {
        t.cipher = TxCipher::Ccmp([9; 16]);
    });
    world.run(SPAN);
    for (heard, key, clear) in [(0, KEY, &b"secret"[..]), (1, [9; 16], &b"other"[..])] {
        let mut frame = world.heard_from(0, 0)[heard].to_vec();
        assert_ne!(&frame[32..frame.len() - 8], clear);
        let header = Header::parse(&frame).unwrap();
        airlane_dot11::ccmp::Ccmp::new(&key)
            .decrypt(&header, &mut frame)
            .unwrap();
        assert_eq!(&frame[32..frame.len() - 8], clear);
    }
}

#[test]
fn flushed_frames_are_reported_in_order_before_the_answer() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    let tags: Vec<Tag> = (0..20)
        .map(|_| world.send(0, &uplink(0, 0, &[0; 1_000]), |_| {}))
        .collect();
    let kept = world.send(0, &uplink(0, 0, b"kept"), |t| {
        t.queue = 1;
        t.category = AccessCategory::Video;
    });
    world.run(Micros(400));
    let flush = world.ask(0, VifCommand::Flush(1 << 2));
    world.run(SPAN);
    let done = world
        .events
        .iter()
        .position(|(_, e)| matches!(e, Event::Done(t, _) if *t == flush))
        .unwrap();
    let before: Vec<Tag> = world.events[..done]
        .iter()
        .filter_map(|(_, e)| match e {
            Event::Transmitted(tag, _) if *tag != kept => Some(*tag),
            _ => None,
        })
        .collect();
    assert_eq!(before, tags);
    assert_eq!(world.status_of(0, tags[19]), TxStatus::Flushed);
    assert_eq!(world.status_of(0, kept), TxStatus::Success);
    world.assert_conserved();
}

#[test]
fn a_refused_frame_is_not_reported_before_an_older_one_of_its_queue() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    let first = world.send(0, &uplink(0, 0, &[0; 1_000]), |_| {});
    let second = world.send(0, &uplink(1, 0, b"spoof"), |_| {});
    world.run(SPAN);
    let tags: Vec<Tag> = world.reports(0).iter().map(|(tag, _)| *tag).collect();
    assert_eq!(tags, [first, second]);
}

#[test]
fn a_reset_in_mid_transfer_leaves_the_neighbour_alone() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    world.join(1, 0);
    for _ in 0..100 {
        world.send(0, &uplink(0, 0, &[0; 1_000]), |_| {});
        world.send(1, &uplink(1, 0, &[0; 1_000]), |_| {});
    }
    world.run(Micros::from_millis(5));
    world.ask(0, VifCommand::Reset);
    let reset = world
        .events
        .iter()
        .rposition(|(_, e)| matches!(e, Event::ResetDone))
        .unwrap();
    world.run(Micros::from_millis(200));
    assert_eq!(world.heard_from(0, 1).len(), 100);
    assert!(
        world
            .reports(1)
            .iter()
            .all(|(_, r)| r.status == TxStatus::Success)
    );
    assert!(
        world.events[reset + 1..]
            .iter()
            .all(|(owner, _)| *owner == vm(1))
    );
    assert!(world.nic.vm_counters(vm(0)).dropped_for(DropReason::Reset) > 50);
    world.assert_conserved();
}

#[test]
fn a_slow_neighbour_does_not_take_more_than_half_the_airtime() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    world.join(1, 0);
    let slow = RateTable::from_iter([Rate::OFDM_6]);
    world.ask(
        0,
        VifCommand::RateTable(
            StationIndex(0),
            Box::new(slow),
            AggregationLimits::default(),
        ),
    );
    for _ in 0..600 {
        world.send(0, &uplink(0, 0, &[0; 1_400]), |_| {});
        world.send(1, &uplink(1, 0, &[0; 1_400]), |_| {});
    }
    world.run(Micros::from_millis(200));
    let cost = |number| {
        let counters = world.nic.vm_counters(vm(number));
        (counters.airtime + counters.contention).0 as f64
    };
    let ratio = cost(0) / cost(1);
    assert!((0.85..1.2).contains(&ratio), "{ratio}");
    assert!(world.heard_from(0, 1).len() > 4 * world.heard_from(0, 0).len());
    world.assert_conserved();
}

#[test]
fn an_assigned_address_is_refused_to_others_before_its_owner_is_up() {
    let mut world = World::new(&[36]);
    world.nic.assign(vm(0), own(0), AddressPolicy::Fixed);
    world.nic.assign(vm(1), own(1), AddressPolicy::Free);
    world.answer(1, VifCommand::Initialize);
    let taken = world.configure(1, |c| c.address = own(0), Some(0));
    assert_eq!(taken, Reply::Refused(Refusal::AddressTaken(own(0))));
    assert_eq!(world.nic.vm_counters(vm(1)).addresses_refused, 1);
    let free = world.configure(1, |c| c.address = own(7), Some(0));
    assert_eq!(free, Reply::Ok);
}

#[test]
fn a_vm_of_fixed_address_sends_nothing_under_another() {
    let mut world = World::new(&[36]);
    world.nic.assign(vm(0), own(0), AddressPolicy::Fixed);
    world.join(0, 0);
    let other = world.configure(0, |c| c.address = own(7), Some(0));
    assert_eq!(other, Reply::Refused(Refusal::AddressFixed(own(7))));
    let foreign = world.send(0, &uplink(7, 0, b"x"), |_| {});
    let mine = world.send(0, &uplink(0, 0, b"x"), |_| {});
    world.run(Micros::from_millis(20));
    assert_eq!(world.status_of(0, foreign), TxStatus::Refused);
    assert_eq!(world.status_of(0, mine), TxStatus::Success);
    let counters = world.nic.vm_counters(vm(0));
    assert_eq!(counters.dropped_for(DropReason::Identity), 1);
    assert_eq!(counters.addresses_refused, 1);
    world.assert_conserved();
}

#[test]
fn no_vm_takes_the_address_of_an_access_point_in_use() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    world.answer(1, VifCommand::Initialize);
    let taken = world.configure(1, |c| c.address = bssid(0), None);
    assert_eq!(taken, Reply::Refused(Refusal::AddressTaken(bssid(0))));
}

#[test]
fn an_address_belongs_to_one_vmac() {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    world.answer(1, VifCommand::Initialize);
    let taken = world.configure(1, |c| c.address = own(0), Some(0));
    assert_eq!(taken, Reply::Refused(Refusal::AddressTaken(own(0))));
    world.ask(0, VifCommand::Reset);
    assert_eq!(
        world.configure(1, |c| c.address = own(0), Some(0)),
        Reply::Ok
    );
}
