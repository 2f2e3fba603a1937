//! VMs scan, authenticate, associate, and talk to their own networks.

use airlane_dot11::Band;
use airlane_lane::Micros;

use crate::drive::Drive;
use crate::frames::Note;
use crate::story::{Story, channel};

/// The notes `0..count` of a VM.
pub fn notes(vm: u8, count: u32) -> Vec<Note> {
    (0..count).map(|number| Note { vm, number }).collect()
}

#[test]
fn two_vms_join_two_networks_on_one_channel_and_each_sees_only_its_own() {
    let mut story = Story::new(1, &[36, 36], 2);
    story.join(&[(0, 0), (1, 1)]);
    for number in 0..2 {
        story.load(number, 200, 20, 1_000);
    }
    story.run_dry(Micros::from_millis(2_000));
    for number in 0..2 {
        let expected = notes(number as u8, 200);
        assert_eq!(story.vms[number].echoes, expected);
        assert_eq!(story.aps[number].seen.notes, expected);
        assert_eq!(story.counters(number).undecryptable, 0);
    }
}

#[test]
fn a_scan_finds_the_networks_of_every_channel_visited_and_no_other() {
    let mut story = Story::new(2, &[36, 40, 44], 1);
    story.vms[0].driver.power_on();
    story.vms[0].bring_interface_up(channel(36));
    let address = story.vms[0].address;
    story.vms[0].driver.scan(Band::Ghz5, &[36, 40], address);
    story.run_until("the scan is complete", Micros::from_millis(1_000), |s| {
        s.vms[0].driver.take_notification(0x84).is_some()
    });
    let heard = [0, 1, 2].map(|ap| story.has_heard(0, ap));
    assert_eq!(heard, [true, true, false]);
}
