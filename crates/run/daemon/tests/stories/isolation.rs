//! What one VM cannot do to another.

use airlane_dot11::MacAddr;
use airlane_lane::Micros;
use airlane_nic::{AddressPolicy, DropReason};

use crate::drive::Drive;
use crate::frames::Note;
use crate::joining::notes;
use crate::story::{Story, on_both_paths};
use crate::world::lane;

/// TX status of a frame that the card refuses: not sent, by the driver's own table.
const SUCCESS: u8 = 1;

#[test]
fn a_vm_cannot_send_from_anothers_address() {
    on_both_paths(|tuning| {
        let mut story = Story::tuned(tuning, 11, &[36], 2);
        story.join(&[(0, 0), (1, 0)]);
        let (thief, victim) = (0, story.vms[1].address);
        story.load(1, 100, 10, 500);
        for _ in 0..5 {
            let bssid = story.aps[0].bssid;
            story.vms[thief].write_as(victim, bssid, 500);
        }
        story.vms[thief].driver.ring(2);
        story.run_dry(Micros::from_millis(2_000));
        let reports = &story.vms[thief].reports;
        assert_eq!(reports.len(), 5);
        assert!(reports.iter().all(|report| report.status & 0x7f != SUCCESS));
        let counters = story.counters(thief);
        assert_eq!(counters.dropped_for(DropReason::Identity), 5);
        assert_eq!(story.vms[1].echoes, notes(1, 100), "undisturbed");
        assert_eq!(
            story.aps[0].seen.notes,
            notes(1, 100),
            "nothing of the thief"
        );
    });
}

#[test]
fn a_vm_cannot_take_anothers_address() {
    on_both_paths(|tuning| {
        let mut story = Story::tuned(tuning, 12, &[36], 2);
        story.join(&[(1, 0)]);
        story.vms[0].driver.power_on();
        let own = story.vms[0].address;
        story.vms[0].address = story.vms[1].address;
        let bss = story.bss(1, 0);
        story.vms[0].begin_joining(&bss);
        story.vms[0].ask_authentication(&bss);
        story.load(1, 50, 10, 500);
        story.run_dry(Micros::from_millis(2_000));
        assert_eq!(story.vms[1].echoes, notes(1, 50));
        assert!(story.vms[0].management.is_empty(), "no answer comes here");
        story.vms[0].address = own;
        assert!(story.counters(0).dropped_for(DropReason::NotConfigured) > 0);
    });
}

#[test]
fn an_assigned_address_is_kept_for_its_vm_while_that_is_off() {
    on_both_paths(|tuning| {
        let mut story = Story::tuned(tuning, 15, &[36], 2);
        for number in 0..2 {
            let (id, address) = (story.vms[number].id, story.vms[number].address);
            story
                .world()
                .radio
                .assign(lane(id), address, AddressPolicy::Fixed);
        }
        story.vms[0].driver.power_on();
        let own = story.vms[0].address;
        story.vms[0].address = story.vms[1].address;
        let bss = story.bss(0, 0);
        story.vms[0].begin_joining(&bss);
        story.vms[0].ask_authentication(&bss);
        story.advance(Micros::from_millis(300));
        assert!(story.vms[0].management.is_empty(), "no answer comes");
        let counters = story.counters(0);
        assert_eq!(counters.addresses_refused, 1);
        assert_eq!(counters.dropped_for(DropReason::NotConfigured), 1);
        story.vms[0].address = own;
        story.join(&[(1, 0)]);
        story.associate(&[(0, 0)]);
        story.load(0, 50, 10, 500);
        story.load(1, 50, 10, 500);
        story.run_dry(Micros::from_millis(2_000));
        assert_eq!(story.vms[0].echoes, notes(0, 50), "under its own address");
        assert_eq!(story.vms[1].echoes, notes(1, 50));
    });
}

#[test]
fn group_frames_reach_the_vms_of_that_bss_only() {
    on_both_paths(|tuning| {
        let mut story = Story::tuned(tuning, 13, &[36, 36], 4);
        story.join(&[(0, 0), (1, 0), (2, 1), (3, 1)]);
        for _ in 0..20 {
            story.vms[0].send(MacAddr::BROADCAST, 300);
            // Nobody repeats a group frame: leave it the air alone.
            story.advance(Micros::from_millis(5));
        }
        story.run_dry(Micros::from_millis(1_000));
        let heard: Vec<usize> = story.vms.iter().map(|vm| vm.group.len()).collect();
        assert_eq!(heard, [20, 20, 0, 0]);
        assert_eq!(story.vms[1].group, notes(0, 20));
        assert!(story.vms.iter().all(|vm| vm.echoes.is_empty()));
    });
}

#[test]
fn a_flush_ends_all_frames_of_its_queue_before_it_is_answered() {
    on_both_paths(|tuning| {
        let mut story = Story::tuned(tuning, 14, &[36], 2);
        story.join(&[(0, 0), (1, 0)]);
        story.load(0, 150, 150, 1_000);
        story.load(1, 100, 10, 1_000);
        story.advance(Micros::from_millis(10));
        let mask = (1_u32 << 2).to_le_bytes();
        let payload = [mask, [0; 4]].concat();
        let sequence = story.vms[0].driver.send(0x1e, &payload);
        story.run_until("the flush is answered", Micros::from_millis(100), |story| {
            story.vms[0].driver.take_response(sequence).is_some()
        });
        assert_eq!(story.vms[0].under_way(), 0, "reported by then");
        let sent = story.vms[0].reports.iter();
        let sent = sent
            .filter(|report| report.status & 0x7f == SUCCESS)
            .count();
        story.run_dry(Micros::from_millis(2_000));
        let flushed = story.counters(0).dropped_for(DropReason::Flushed);
        assert!(flushed > 0 && sent > 0, "{sent} sent, {flushed} flushed");
        assert_eq!(story.vms[0].echoes, notes(0, sent as u32));
        assert_eq!(story.vms[1].echoes, notes(1, 100), "undisturbed");
        let next = story.vms[0].send(story.aps[0].bssid, 100);
        story.run_dry(Micros::from_millis(1_000));
        assert_eq!(story.vms[0].echoes.last(), Some(&next), "the queue goes on");
        assert_eq!(next, Note { vm: 0, number: 150 });
    });
}
