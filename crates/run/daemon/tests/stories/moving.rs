//! The card is carried about, and access points are: signals follow, and what is far is not heard.

use airlane_air::{PathLoss, Position};
use airlane_daemon::{Placed, Tuning};
use airlane_lane::Micros;

use crate::drive::Drive;
use crate::joining::notes;
use crate::story::{Plan, Story};

/// Two access points on one channel, 4 m and 40 m from the card.
fn near_and_far() -> Story {
    Story::of(Plan {
        seed: 51,
        path_loss: PathLoss::LogDistance { exponent: 3.0 },
        access_points: vec![(36, 4.0), (36, 40.0)],
        vms: 1,
        tuning: Tuning::default(),
    })
}

fn place(story: &mut Story, what: Placed, x: f32) {
    let position = Position { x, y: 0.0, z: 0.0 };
    story.world().radio.place(what, position);
}

/// The signal of the beacons that the VM hears now, in dBm.
fn signal(story: &mut Story) -> Option<f32> {
    story.world().signals[0] = None;
    story.advance(Micros::from_millis(250));
    story.world().signals[0].map(|dbm| dbm.0)
}

#[test]
fn the_signal_follows_the_card() {
    let mut story = near_and_far();
    story.join(&[(0, 0)]);
    let near = signal(&mut story).expect("it hears its beacons");
    place(&mut story, Placed::Card(0), -4.0);
    let twice = signal(&mut story).expect("it hears its beacons");
    // Twice the distance at exponent 3.
    assert!((near - twice - 9.03).abs() < 0.1, "{near} then {twice}");
}

#[test]
fn the_signal_follows_the_access_point_that_moves_only() {
    let mut story = near_and_far();
    story.join(&[(0, 0)]);
    let near = signal(&mut story).expect("it hears its beacons");
    let other = Placed::AccessPoint { port: 1, number: 0 };
    place(&mut story, other, 1.0);
    assert_eq!(signal(&mut story), Some(near));
    let own = Placed::AccessPoint { port: 0, number: 0 };
    place(&mut story, own, 8.0);
    let twice = signal(&mut story).expect("it hears its beacons");
    assert!((near - twice - 9.03).abs() < 0.1, "{near} then {twice}");
}

#[test]
fn out_of_reach_nothing_is_heard_and_the_nearer_access_point_takes_over() {
    let mut story = near_and_far();
    story.join(&[(0, 0)]);
    story.load(0, 50, 4, 500);
    story.run_dry(Micros::from_millis(2_000));
    place(&mut story, Placed::Card(0), 400.0);
    assert_eq!(signal(&mut story), None, "400 m away");
    place(&mut story, Placed::Card(0), 36.0);
    story.associate(&[(0, 1)]);
    story.load(0, 50, 4, 500);
    story.run_dry(Micros::from_millis(2_000));
    assert_eq!(story.vms[0].echoes, notes(0, 100));
    assert_eq!(story.aps[1].seen.notes.len(), 50);
}
