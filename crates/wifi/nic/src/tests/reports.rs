//! What becomes of frames whose way to their report is not the usual one: held back, called back, flushed, reset.

use airlane_dot11::*;
use airlane_lane::Micros;
use airlane_waist::*;

use super::world::*;
use crate::DropReason;

/// A body that takes 2 ms at the lowest rate.
const LONG: usize = 1_400;

/// Sends a long frame at the lowest rate; `mark` is the first byte of its body.
fn send_slow(world: &mut World, mark: u8, retry_limit: u8) -> Tag {
    let mut body = [0; LONG];
    body[0] = mark;
    world.send(0, &uplink(0, 0, &body), |transmit| {
        transmit.rate = TxRate::Fixed(Rate::OFDM_6);
        transmit.retry_limit = retry_limit;
    })
}

/// The access point hears all frames, and answers none.
fn fall_silent(world: &mut World) {
    let ap = world.aps[0].radio;
    world.air.set_addresses(ap, &[]);
    world.air.set_promiscuous(ap, true);
}

/// A refused frame costs the card work and no airtime: a guest could offer them without end while one frame of its
/// own holds their reports back.
#[test]
fn frames_whose_reports_are_held_back_count_in_the_queue_limit() {
    const BATCH: usize = 100;
    const BATCHES: usize = 175;
    let mut world = World::new(&[36]);
    world.join(0, 0);
    fall_silent(&mut world);
    let limit = world.nic.tx.config.queue_limit;
    let oldest = send_slow(&mut world, 0, 60);
    world.run(Micros(400));
    for batch in 1..=BATCHES {
        for _ in 0..BATCH {
            world.send(0, &uplink(1, 0, b"spoof"), |transmit| {
                transmit.category = AccessCategory::Voice;
            });
        }
        world.run(Micros(10));
        let unreported = 1 + batch * BATCH - world.reports(0).len();
        assert!(unreported <= limit, "{unreported} after {batch} batches");
    }
    let counters = world.nic.vm_counters(vm(0));
    let dropped = [DropReason::Identity, DropReason::QueueFull].map(|r| counters.dropped_for(r));
    let held = limit - 1;
    assert_eq!(dropped, [held, BATCH * BATCHES - held].map(|n| n as u64));
    world.run(Micros::from_millis(2_000));
    let reports = world.reports(0);
    assert_eq!(reports.len(), 1 + BATCH * BATCHES);
    let in_order = reports
        .iter()
        .filter(|(_, r)| r.status != TxStatus::Flushed);
    let in_order: Vec<Tag> = in_order.map(|(tag, _)| *tag).collect();
    assert_eq!((in_order.len(), in_order[0]), (limit, oldest));
    assert!(in_order.is_sorted_by_key(|tag| tag.0));
    let vmac = world.nic.card.vmacs.get(vm(0)).unwrap();
    assert_eq!(vmac.tx.outstanding(), 0, "all places are free again");
    world.assert_conserved();
}
