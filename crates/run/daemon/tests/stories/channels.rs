//! Networks on several channels share the one radio in time.

use airlane_dot11::time_units;
use airlane_lane::{LaneId, Micros};

use crate::drive::Drive;
use crate::story::Story;
use crate::vm::FULL;

/// UDP payload of one frame.
const UDP_BITS: f64 = 1_472.0 * 8.0;
const MISSED_BEACONS: u8 = 0xa2;
/// Long enough for everybody's first beacons and slices.
const SETTLE: Micros = Micros::from_millis(1_000);

/// Mb/s of payload of each VM, both ways together, while all are saturated for `span`.
fn goodput(story: &mut Story, span: Micros) -> Vec<f64> {
    story.world().forgetful = true;
    for number in 0..story.vms.len() {
        story.load(number, u32::MAX, 60, FULL);
    }
    story.advance(SETTLE);
    let notes = |story: &Story| -> Vec<usize> {
        let both = story.vms.iter().zip(&story.aps);
        both.map(|(vm, ap)| vm.echoes.len() + ap.seen.notes.len())
            .collect()
    };
    let before = notes(story);
    story.advance(span);
    let after = notes(story);
    let mbps = |(after, before): (usize, usize)| (after - before) as f64 * UDP_BITS / span.0 as f64;
    after.into_iter().zip(before).map(mbps).collect()
}

fn show(story: &Story) {
    let world = story.world();
    let nic = world.nic();
    nic.contexts(world.now)
        .for_each(|context| println!("{context:?}"));
    for vmac in nic.vmacs() {
        let (beacons, silence) = (vmac.beacons, vmac.longest_silence);
        println!("VM {} {beacons:?}, longest silence {silence}", vmac.vm);
    }
}

/// What one VM has alone.
fn alone(span: Micros) -> f64 {
    let mut story = Story::new(61, &[36], 1);
    story.join(&[(0, 0)]);
    goodput(&mut story, span).iter().sum()
}

/// Nobody was told of missed beacons or lost his association, and mac80211's own timer would not have run out: seven
/// intervals (IEEE80211_BEACON_LOSS_COUNT).
fn assert_associations_live(story: &mut Story) {
    for vm in &mut story.vms {
        let told = vm.driver.take_notification(MISSED_BEACONS);
        assert!(told.is_none(), "{:?}", vm.id);
    }
    let world = story.world();
    for vmac in world.nic().vmacs() {
        assert!(vmac.associated, "VM {}", vmac.vm);
        assert!(vmac.longest_silence < time_units(700));
    }
}

fn share_two_channels(span: Micros) {
    let alone = alone(Micros::from_millis(10_000));
    let mut story = Story::new(62, &[36, 149], 2);
    story.join(&[(0, 0), (1, 1)]);
    let shares = goodput(&mut story, span);
    let sum: f64 = shares.iter().sum();
    let part = 100.0 * sum / alone;
    println!("alone {alone:.2} Mb/s; together {shares:.2?}: {part:.1} %");
    show(&story);
    assert_associations_live(&mut story);
    assert!(sum >= 0.85 * alone, "{sum:.2} of {alone:.2} Mb/s");
    let ratio = shares[0] / shares[1];
    assert!((0.9..1.1).contains(&ratio), "{shares:?}");
}

#[test]
fn two_channels_together_carry_what_one_carries_alone() {
    share_two_channels(Micros::from_millis(10_000));
}

#[test]
#[ignore = "takes a minute"]
fn two_channels_carry_both_networks_for_ten_minutes() {
    share_two_channels(Micros::from_millis(600_000));
}

#[test]
fn weights_divide_what_two_channels_carry() {
    let alone = alone(Micros::from_millis(5_000));
    let mut story = Story::new(63, &[36, 149], 2);
    story.world().radio.set_weight(LaneId::new(1), 2);
    story.join(&[(0, 0), (1, 1)]);
    let shares = goodput(&mut story, Micros::from_millis(20_000));
    let (sum, ratio) = (shares.iter().sum::<f64>(), shares[1] / shares[0]);
    println!("alone {alone:.2} Mb/s; weights 1:2 {shares:.2?}, ratio {ratio:.2}");
    show(&story);
    assert_associations_live(&mut story);
    assert!((1.85..2.15).contains(&ratio), "{shares:?}");
    assert!(sum >= 0.85 * alone, "{sum:.2} of {alone:.2} Mb/s");
}
