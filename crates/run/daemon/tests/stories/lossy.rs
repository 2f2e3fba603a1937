//! A link so long that frames are lost.

use airlane_air::PathLoss;
use airlane_daemon::Tuning;
use airlane_dot11::{OfdmRate, Rate};
use airlane_lane::Micros;

use crate::frames::Note;
use crate::joining::notes;
use crate::story::{Plan, Story};

/// Metres at which a frame of 1,000 bytes at 54 Mb/s mostly fails and one at 6 Mb/s does not.
const FAR: f32 = 23.0;

fn far_and_near() -> Story {
    let mut story = Story::of(Plan {
        seed: 41,
        path_loss: PathLoss::LogDistance { exponent: 3.0 },
        access_points: vec![(36, FAR), (36, 2.0)],
        vms: 2,
        tuning: Tuning::default(),
    });
    story.aps[0].rates = vec![(Rate::Ofdm(OfdmRate::M54), 5)];
    story.join(&[(0, 0), (1, 1)]);
    story
}

#[test]
fn every_report_on_a_lossy_link_tells_what_became_of_the_frame() {
    let mut story = far_and_near();
    story.load(0, 300, 10, 1_000);
    story.load(1, 300, 10, 1_000);
    story.run_dry(Micros::from_millis(20_000));
    let vm = &story.vms[0];
    let (mut sent, mut failed): (Vec<Note>, Vec<Note>) = Default::default();
    for (&note, report) in vm.sent.iter().zip(&vm.reports) {
        let list = match report.status & 0x7f {
            1 => &mut sent,
            _ => &mut failed,
        };
        list.push(note);
    }
    assert!(!sent.is_empty() && !failed.is_empty(), "{}", sent.len());
    assert_eq!(story.aps[0].seen.notes, sent, "what was reported as sent");
    let retries: u64 = vm
        .reports
        .iter()
        .map(|report| u64::from(report.retries))
        .sum();
    let counters = story.counters(0);
    assert_eq!(counters.retries, retries, "all of them of data");
    assert_eq!(counters.failed, failed.len() as u64);
    assert_eq!(
        story.vms[1].echoes,
        notes(1, 300),
        "the near one loses nothing"
    );
    assert!(
        story.vms[1]
            .reports
            .iter()
            .all(|report| report.status & 0x7f == 1)
    );
}

#[test]
fn the_access_points_statuses_tell_what_became_of_the_frame() {
    let mut story = far_and_near();
    story.load(0, 300, 10, 1_000);
    story.run_dry(Micros::from_millis(20_000));
    let seen = &story.aps[0].seen;
    assert!(!seen.acknowledged.is_empty() && !seen.given_up.is_empty());
    assert_eq!(story.vms[0].echoes, seen.acknowledged);
    let frames = (seen.acknowledged.len() + seen.given_up.len()) as u64;
    assert_eq!(frames, seen.notes.len() as u64, "one status for each echo");
    assert!(seen.attempts > frames && seen.attempts <= 5 * frames);
}
