//! Scans while neighbours work.

use std::collections::BTreeMap;

use airlane_dot11::{Band, time_units};
use airlane_iwl_driver::Packet;
use airlane_lane::Micros;

use crate::drive::Drive;
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
    assert!(story.world().nic().counters().announcements >= 4);
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
    let counters = story.world().host().counters();
    assert_eq!((counters.sweeps, counters.visits), (1, 2), "one sweep");
}

const SCAN_START: u8 = 0x82;
const SCAN_RESULTS: u8 = 0x83;
/// After which the driver gives a scan up (dvm/scan.c, IWL_SCAN_CHECK_WATCHDOG).
const WATCHDOG: Micros = Micros::from_millis(15_000);
/// Longest time away from the operating channel that the driver allows while associated (dvm/scan.c).
const MAX_AWAY: Micros = time_units(200);

/// Every channel of a band; only listened to where there may be radar, or another country.
fn everywhere(band: Band) -> Vec<(u8, bool)> {
    match band {
        Band::Ghz2 => (1..=13).map(|channel| (channel, channel < 12)).collect(),
        Band::Ghz5 => {
            let low = (36..=64).step_by(4);
            let high = (100..=140).step_by(4).chain((149..=165).step_by(4));
            let silent = |channel: &u8| (52..=140).contains(channel);
            low.chain(high)
                .map(|channel| (channel, !silent(&channel)))
                .collect()
        }
    }
}

/// What a driver was told of one scan: each of its channels began once and ended after that, and then the whole.
fn assert_in_order(told: &[Packet], channels: &[(u8, bool)], vm: usize) {
    let (last, steps) = told.split_last().expect("an answer");
    assert_eq!(
        (last.id, usize::from(last.payload[0])),
        (SCAN_COMPLETE, channels.len()),
        "VM {vm}"
    );
    let mut asked: Vec<u8> = channels.iter().map(|&(channel, _)| channel).collect();
    for pair in steps.chunks(2) {
        assert_eq!(
            (pair[0].id, pair[1].id),
            (SCAN_START, SCAN_RESULTS),
            "VM {vm}"
        );
        let (began, ended) = (pair[0].payload[12], pair[1].payload[0]);
        assert_eq!(began, ended, "VM {vm}");
        let at = asked.iter().position(|&channel| channel == began);
        asked.remove(
            at.unwrap_or_else(|| panic!("VM {vm}: channel {began} again, or not asked for")),
        );
    }
    assert!(asked.is_empty(), "VM {vm}: nothing of {asked:?}");
}

/// Has all VMs scan this band at once; how long each had to wait.
fn all_scan(story: &mut Story, band: Band) -> BTreeMap<usize, Micros> {
    let (channels, from) = (everywhere(band), story.now());
    for vm in &mut story.vms {
        let away = if vm.bss.is_some() {
            MAX_AWAY
        } else {
            Micros(0)
        };
        assert_eq!(
            vm.driver.scan_with(band, &channels, vm.address, away),
            1,
            "accepted"
        );
    }
    let mut told: BTreeMap<usize, Vec<Packet>> = BTreeMap::new();
    let mut waited = BTreeMap::new();
    while waited.len() < story.vms.len() {
        story.advance(Micros::from_millis(10));
        let now = story.now();
        for (number, vm) in story.vms.iter_mut().enumerate() {
            let steps = vm
                .driver
                .take_notifications(&[SCAN_START, SCAN_RESULTS, SCAN_COMPLETE]);
            let over = steps.iter().any(|step| step.id == SCAN_COMPLETE);
            told.entry(number).or_default().extend(steps);
            if over {
                waited.insert(number, now.saturating_since(from));
            }
        }
        assert!(
            now.saturating_since(from) < WATCHDOG,
            "not answered in time: only {waited:?}"
        );
    }
    for (number, told) in told {
        assert_in_order(&told, &channels, number);
    }
    waited
}

#[test]
fn sixteen_vms_scan_both_bands_at_once_while_some_of_them_transfer() {
    let mut story = Story::new(33, &[36, 36], 16);
    story.world().forgetful = true;
    for vm in &mut story.vms[12..] {
        vm.driver.power_on();
        vm.bring_interface_up(channel(36));
    }
    let pairs: Vec<_> = (0..12).map(|number| (number, number % 2)).collect();
    story.join(&pairs);
    // Sweeps leave those in peace who have just joined.
    story.advance(Micros::from_millis(2_500));
    for number in 0..4 {
        story.load(number, u32::MAX, 10, 1_400);
    }
    for band in [Band::Ghz2, Band::Ghz5] {
        let before: Vec<usize> = (0..4)
            .map(|number| story.vms[number].echoes.len())
            .collect();
        let waited = all_scan(&mut story, band);
        let longest = waited.values().max().expect("sixteen");
        for (number, before) in before.into_iter().enumerate() {
            let echoes = story.vms[number].echoes.len() - before;
            println!("{band:?}: longest {longest}, VM {number}: {echoes} echoes");
            assert!(echoes as u64 > longest.0 / 10_000, "VM {number} goes on");
        }
        // Until what was heard is no longer recent.
        story.advance(Micros::from_millis(5_500));
    }
    let counters = story.world().host().counters();
    assert_eq!(
        (counters.sweeps, counters.visits),
        (2, 13 + 24),
        "one for each band"
    );
    for vm in &mut story.vms {
        vm.load = None;
    }
    story.run_dry(Micros::from_millis(5_000));
    for number in 0..4 {
        let echoes = story.vms[number].echoes.len();
        assert_eq!(story.vms[number].echoes, notes(number as u8, echoes as u32));
        assert_eq!(
            echoes,
            story.vms[number].sent.len(),
            "not one frame is lost"
        );
    }
}
