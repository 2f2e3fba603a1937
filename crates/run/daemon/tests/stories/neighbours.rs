//! What one VM does to its own card is no event for another: a neighbour in mid-transfer is told the same things at
//! the same microseconds, byte by byte, as if that VM had done nothing.

use airlane_lane::Micros;

use crate::drive::Drive;
use crate::joining::notes;
use crate::story::{Story, channel};
use crate::world::{Told, Whom};

const PAUSE: Micros = Micros::from_millis(20);

/// Something that VM 0 does.
type Deed = Box<dyn Fn(&mut Story)>;

/// All that VM 1 is told in a second and a half of a transfer while VM 0, whose card is on, does `deeds`, one every 20 ms.
fn told_to_the_neighbour(deeds: &[&dyn Fn(&mut Story)]) -> Vec<Told> {
    let mut story = Story::new(61, &[36, 36], 2);
    story.vms[0].driver.power_on();
    story.vms[0].bring_interface_up(channel(36));
    story.join(&[(1, 1)]);
    story.load(1, 3_000, 20, 1_000);
    let from = story.log().len();
    for deed in 0..75 {
        if let Some(deed) = deeds.get(deed) {
            deed(&mut story);
        }
        story.advance(PAUSE);
    }
    assert!(story.vms[1].under_way() > 0, "still in the middle of it");
    let told = story.log().split_off(from);
    story.run_dry(Micros::from_millis(5_000));
    assert_eq!(story.vms[1].echoes, notes(1, 3_000), "in order, each once");
    assert!(
        story.vms[1]
            .reports
            .iter()
            .all(|report| report.status & 0x7f == 1)
    );
    let neighbours = |told: &Told| told.1 == Whom::Vm(1);
    told.into_iter().filter(neighbours).collect()
}

fn restart(story: &mut Story) {
    let driver = &mut story.vms[0].driver;
    driver.stop();
    driver.device().reset();
    driver.run();
    driver.power_on();
}

fn switch_off(story: &mut Story) {
    story.vms[0].driver.stop();
}

fn switch_on(story: &mut Story) {
    story.vms[0].driver.power_on();
}

fn up(story: &mut Story) {
    story.vms[0].bring_interface_up(channel(36));
}

#[test]
fn a_vm_initializes_resets_and_switches_its_radio_off_and_its_neighbour_does_not_notice() {
    let deeds: [&dyn Fn(&mut Story); 8] = [
        &restart,
        &up,
        &switch_off,
        &switch_on,
        &up,
        &restart,
        &switch_off,
        &switch_on,
    ];
    let quiet = told_to_the_neighbour(&[]);
    assert!(quiet.len() > 2_000, "{} things", quiet.len());
    assert_eq!(told_to_the_neighbour(&deeds), quiet);
}

#[test]
fn the_comparison_sees_what_a_neighbour_would_notice() {
    let probe = |story: &mut Story| {
        let address = story.vms[0].address;
        let scan = airlane_dot11::Band::Ghz5;
        story.vms[0].driver.scan(scan, &[36], address);
    };
    assert_ne!(told_to_the_neighbour(&[&probe]), told_to_the_neighbour(&[]));
}

/// Commands about the card as a whole, with payloads that would make a real one deaf, hot, dark or silent.
fn about_the_card() -> Vec<(u8, Vec<u8>)> {
    let sensitivity = [vec![1, 0], vec![0xff; 22]].concat();
    let calibration = [vec![8, 0, 1, 0], vec![0x7f; 16]].concat();
    vec![
        (0xa8, sensitivity),
        (0xb0, calibration),
        (0x65, vec![0; 44]),
        (0x48, vec![0xe8, 3, 0, 0, 1, 1, 1, 0]),
        (0x5a, vec![0xff; 68]),
        (0xa4, vec![0; 12]),
        (0x98, vec![0; 4]),
    ]
}

#[test]
fn commands_about_the_card_change_nothing_for_a_neighbour() {
    let commands = about_the_card();
    let deeds: Vec<Deed> = commands
        .into_iter()
        .map(|(id, payload)| {
            let deed = move |story: &mut Story| {
                story.vms[0].driver.command(id, &payload);
            };
            Box::new(deed) as Deed
        })
        .collect();
    let deeds: Vec<&dyn Fn(&mut Story)> = deeds.iter().map(|deed| &**deed).collect();
    assert_eq!(told_to_the_neighbour(&deeds), told_to_the_neighbour(&[]));
}

/// What the cards of an idle VM and of its neighbour say of themselves, temperature included, while the neighbour
/// transfers, or does not.
fn statistics(transfer: bool) -> [Vec<u8>; 2] {
    let mut story = Story::new(62, &[36], 2);
    story.vms[0].driver.power_on();
    story.join(&[(1, 0)]);
    if transfer {
        story.load(1, 500, 20, 1_000);
    }
    story.advance(Micros::from_millis(800));
    assert_eq!(story.vms[1].echoes.len(), if transfer { 500 } else { 0 });
    [0, 1].map(|number| story.vms[number].driver.command(0x9c, &[0; 4]))
}

/// The answers carry the VM's own channel, so they are no constants; neither the VM's own traffic nor that of its
/// neighbour shows in them.
#[test]
fn statistics_and_temperature_tell_of_the_own_channel_and_of_no_traffic() {
    let [idle, busy] = statistics(true);
    let [alone, beside] = statistics(false);
    assert!(idle == alone, "an idle VM sees its neighbour's traffic");
    assert!(busy == beside, "statistics count traffic");
    assert!(idle != busy, "the answers are constants");
}
