//! VMs that change their address: as connection managers do for scans, and as one does that means no good.

use airlane_daemon::journal::{AddressRefusal, Kind};
use airlane_dot11::{Band, MacAddr};
use airlane_lane::Micros;
use airlane_nic::AddressPolicy;

use crate::drive::Drive;
use crate::joining::notes;
use crate::story::{Story, channel, on_both_paths};
use crate::world::lane;

const SCAN_COMPLETE: u8 = 0x84;
/// As NetworkManager draws one: locally administered.
const RANDOM: MacAddr = MacAddr([0xa6, 0x41, 0x3d, 0x5b, 0x1f, 0x07]);

/// VMs that are assigned their addresses; the first may have others, or not.
fn assigned(seed: u64, first: AddressPolicy) -> Story {
    let mut story = Story::new(seed, &[36], 2);
    assign(&mut story, first);
    story
}

fn assign(story: &mut Story, first: AddressPolicy) {
    for (number, policy) in [first, AddressPolicy::Fixed].into_iter().enumerate() {
        let (id, address) = (story.vms[number].id, story.vms[number].address);
        story.world().radio.assign(lane(id), address, policy);
    }
}

/// The VM's interface comes up under `address`, and the VM scans the access point's channel.
fn scan_as(story: &mut Story, address: MacAddr) {
    story.vms[0].address = address;
    story.vms[0].bring_interface_up(channel(36));
    // What an earlier scan has heard answers no longer.
    story.advance(Micros::from_millis(5_500));
    story.vms[0].driver.scan(Band::Ghz5, &[36], address);
    story.run_until("the scan is complete", Micros::from_millis(2_000), |s| {
        s.vms[0].driver.take_notification(SCAN_COMPLETE).is_some()
    });
}

/// Which addresses the first VM was refused since the last call, and why.
fn refusals(story: &mut Story) -> Vec<(MacAddr, AddressRefusal)> {
    let mut world = story.world();
    let events = std::iter::from_fn(|| world.radio.journal_mut().next_event());
    let kinds = events.map(|event| event.kind);
    let refused = kinds.filter_map(|kind| match kind {
        Kind::AddressRefused { address, why, .. } => Some((address, why)),
        _ => None,
    });
    refused.collect()
}

#[test]
fn a_vm_that_may_change_its_address_scans_under_a_random_one_and_joins_under_its_own() {
    let mut story = assigned(41, AddressPolicy::Free);
    story.vms[0].driver.power_on();
    let own = story.vms[0].address;
    scan_as(&mut story, RANDOM);
    assert!(story.aps[0].seen.probed_by.contains(&RANDOM));
    assert!(story.has_heard(0, 0));
    story.vms[0].address = own;
    story.associate(&[(0, 0)]);
    story.load(0, 50, 10, 500);
    story.run_dry(Micros::from_millis(2_000));
    assert_eq!(story.vms[0].echoes, notes(0, 50));
    assert_eq!(refusals(&mut story), []);
}

#[test]
fn a_vm_of_fixed_address_probes_under_no_other_and_an_event_says_so() {
    let mut story = assigned(42, AddressPolicy::Fixed);
    story.vms[0].driver.power_on();
    scan_as(&mut story, RANDOM);
    assert!(story.aps[0].seen.probed_by.is_empty());
    let fixed = (RANDOM, AddressRefusal::Fixed);
    assert_eq!(refusals(&mut story), [fixed]);
}

#[test]
fn a_vm_that_may_change_its_address_takes_none_that_is_anothers_or_nobodys() {
    on_both_paths(|tuning| {
        let mut story = Story::tuned(tuning, 43, &[36], 2);
        assign(&mut story, AddressPolicy::Free);
        let (neighbour, access_point) = (story.vms[1].address, story.aps[0].bssid);
        let multicast = MacAddr([1, 0, 0x5e, 0, 0, 1]);
        story.vms[0].driver.power_on();
        let own = story.vms[0].address;
        let tries = [
            (neighbour, AddressRefusal::Taken),
            (access_point, AddressRefusal::Taken),
            (multicast, AddressRefusal::Group),
            (MacAddr::BROADCAST, AddressRefusal::Group),
        ];
        let try_all = |story: &mut Story| {
            for (address, why) in tries {
                scan_as(story, address);
                assert_eq!(refusals(story), [(address, why)]);
            }
            scan_as(story, MacAddr::ZERO);
            assert_eq!(refusals(story), [], "no address: the interface is down");
            assert!(story.aps[0].seen.probed_by.is_empty());
            let nic = story.world().nic().vmacs().next().map(|vmac| vmac.address);
            assert_eq!(nic, Some(MacAddr::ZERO));
        };
        // The neighbour is off, then it works.
        try_all(&mut story);
        story.join(&[(1, 0)]);
        story.load(1, 3_000, 10, 500);
        try_all(&mut story);
        story.run_dry(Micros::from_millis(5_000));
        assert_eq!(story.vms[1].echoes, notes(1, 3_000), "undisturbed");
        scan_as(&mut story, own);
        assert!(story.aps[0].seen.probed_by.contains(&own));
    });
}

#[test]
fn a_neighbour_comes_to_its_address_whatever_was_tried_before() {
    let mut story = assigned(44, AddressPolicy::Free);
    story.vms[0].driver.power_on();
    let (own, neighbour) = (story.vms[0].address, story.vms[1].address);
    scan_as(&mut story, neighbour);
    scan_as(&mut story, RANDOM);
    scan_as(&mut story, neighbour);
    assert_eq!(
        story.world().nic().vmacs().next().map(|vmac| vmac.address),
        Some(RANDOM),
        "what it bore before"
    );
    story.vms[0].address = own;
    story.join(&[(1, 0)]);
    story.load(1, 50, 10, 500);
    story.run_dry(Micros::from_millis(2_000));
    assert_eq!(story.vms[1].echoes, notes(1, 50));
}
