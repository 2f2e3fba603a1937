//! Scans while neighbours work.

use airlane_wlan::{Band, Micros};

use crate::joining::notes;
use crate::story::{Story, channel};

const SCAN_COMPLETE: u8 = 0x84;

#[test]
fn a_scan_costs_the_neighbour_time_and_no_frame() {
    let mut story = Story::new(31, &[36, 40, 44], 2);
    story.join(&[(0, 0), (1, 0)]);
    // Sweeps leave those in peace who have just joined.
    story.advance(Micros::from_millis(2_500));
    let address = story.vms[0].address;
    story.load(1, 2_000, 20, 1_000);
    story.advance(Micros::from_millis(50));
    story.vms[0]
        .driver
        .scan(Band::Ghz5, &[36, 40, 44, 48], address);
    story.run_until("the scan is complete", Micros::from_millis(2_000), |s| {
        s.vms[0].driver.take_notification(SCAN_COMPLETE).is_some()
    });
    assert!(story.vms[1].under_way() > 0, "the neighbour still works");
    assert_eq!([1, 2].map(|ap| story.has_heard(0, ap)), [true, true]);
    assert!(story.aps[0].seen.kept > 0, "the absence was announced");
    story.run_dry(Micros::from_millis(5_000));
    assert_eq!(story.vms[1].echoes, notes(1, 2_000));
    let reports = story.vms[1].reports.iter();
    assert!(reports.into_iter().all(|report| report.status & 0x7f == 1));
    assert!(story.world().radio.nic().counters().announcements >= 4);
    assert!(story.aps[0].seen.given_up.is_empty());
}

#[test]
fn all_vms_may_scan_at_the_same_time() {
    let mut story = Story::new(32, &[36, 40], 4);
    for vm in &mut story.vms {
        vm.driver.power_on();
        vm.bring_interface_up(channel(36));
        vm.driver.scan(Band::Ghz5, &[36, 40], vm.address);
    }
    let mut left = vec![0, 1, 2, 3];
    for _ in 0..4 {
        story.advance(Micros::from_millis(400));
        left.retain(|&vm: &usize| {
            let driver = &mut story.vms[vm].driver;
            driver.take_notification(SCAN_COMPLETE).is_none()
        });
    }
    assert!(left.is_empty(), "still scanning: {left:?}");
    for vm in 0..4 {
        let heard = [0, 1].map(|ap| story.has_heard(vm, ap));
        assert_eq!(heard, [true, true], "VM {vm}");
    }
    let counters = story.world().radio.host().counters();
    assert_eq!((counters.sweeps, counters.visits), (1, 2), "one sweep");
}
