//! Cards that stop, start again, go and come, while their neighbours work.

use airlane_iwl::{Device, Identity, Model};
use airlane_iwl_driver::FakeDriver;
use airlane_lane::Micros;

use crate::drive::Drive;
use crate::joining::notes;
use crate::story::{Story, on_both_paths};

#[test]
fn a_vm_resets_in_mid_transfer_and_its_neighbour_loses_nothing() {
    on_both_paths(|tuning| {
        let mut story = Story::tuned(tuning, 21, &[36, 36], 2);
        story.join(&[(0, 0), (1, 1)]);
        story.load(0, u32::MAX, 100, 1_400);
        story.load(1, 400, 20, 1_400);
        story.advance(Micros::from_millis(100));
        assert!(story.vms[0].under_way() > 50, "in the middle of it");
        story.vms[0].load = None;
        story.vms[0].driver.stop();
        story.vms[0].forget();
        story.run_dry(Micros::from_millis(3_000));
        assert_eq!(story.vms[1].echoes, notes(1, 400));
        assert!(story.world().nic().vmacs().count() == 1);
    });
}

#[test]
fn a_driver_may_be_reloaded_ten_times() {
    on_both_paths(|tuning| {
        let mut story = Story::tuned(tuning, 22, &[36], 2);
        story.join(&[(0, 0), (1, 0)]);
        for round in 0..10 {
            let before = story.vms[0].echoes.len();
            story.load(0, 30, 10, 800);
            story.load(1, 30, 10, 800);
            story.run_dry(Micros::from_millis(2_000));
            assert_eq!(story.vms[0].echoes.len(), before + 30, "round {round}");
            story.vms[0].driver.stop();
            story.vms[0].driver.device().reset();
            story.vms[0].driver.run();
            story.vms[0].forget();
            story.join(&[(0, 0)]);
        }
        assert_eq!(story.vms[1].echoes, notes(1, 300));
        assert!(story.vms[0].driver.device().counters().resets >= 20);
    });
}

#[test]
fn the_place_of_a_detached_vm_is_taken_by_a_new_driver() {
    on_both_paths(|tuning| {
        let mut story = Story::tuned(tuning, 23, &[36], 2);
        story.join(&[(0, 0), (1, 0)]);
        story.load(0, u32::MAX, 50, 1_000);
        story.load(1, 300, 10, 1_000);
        story.advance(Micros::from_millis(50));
        let device = detach(&mut story, 0);
        // Until the access point has given up what it had for the one who is gone.
        story.advance(Micros::from_millis(1_000));
        story.vms[0].driver = FakeDriver::new(device);
        story.vms[0].echoes.clear();
        story.connect(0);
        story.join(&[(0, 0)]);
        story.load(0, 50, 10, 1_000);
        story.run_dry(Micros::from_millis(3_000));
        assert_eq!(story.vms[0].echoes.len(), 50);
        assert_eq!(story.vms[1].echoes, notes(1, 300));
    });
}

/// As the lane does when its VMM is gone: reset, memory gone, the radio told.
fn detach(story: &mut Story, number: usize) -> Device {
    let vm = &mut story.vms[number];
    vm.forget();
    vm.driver.device().reset();
    vm.driver.run();
    let identity = Identity {
        model: Model::Wifi5300,
        address: vm.address,
    };
    let mut device = std::mem::replace(vm.driver.device(), Device::new(identity));
    device.memory().unmap_all();
    device
}
