//! How often a VM is interrupted for what its card does, and what that costs it.

use airlane_daemon::Tuning;
use airlane_lane::{Coalescing, Micros};

use crate::drive::Drive;
use crate::joining::notes;
use crate::story::Story;
use crate::vm::FULL;

fn tuned(interrupts: Coalescing) -> Tuning {
    Tuning {
        interrupts,
        ..Tuning::default()
    }
}

/// Frames sent and received, interrupts, and receive buffers used within two seconds of saturation.
fn saturated(interrupts: Coalescing, echoes: bool) -> [u64; 3] {
    let mut story = Story::tuned(tuned(interrupts), 54, &[36], 1);
    story.join(&[(0, 0)]);
    story.aps[0].echoes = echoes;
    story.load(0, u32::MAX, 60, FULL);
    story.advance(Micros::from_millis(100));
    let counters = |story: &mut Story| {
        let counters = story.vms[0].driver.device().counters();
        let frames = counters.tx_frames + counters.rx_frames;
        [frames, counters.interrupts, counters.receive_buffers]
    };
    let before = counters(&mut story);
    story.advance(Micros::from_millis(2_000));
    let after = counters(&mut story);
    std::array::from_fn(|at| after[at] - before[at])
}

#[test]
fn uncoalesced_every_frame_interrupts() {
    for echoes in [false, true] {
        let [frames, interrupts, _] = saturated(Coalescing::Off, echoes);
        assert!(interrupts * 100 > frames * 95, "{interrupts} for {frames}");
    }
}

#[test]
fn at_load_nine_of_ten_interrupts_are_saved_and_no_frame_is_lost_by_it() {
    for echoes in [false, true] {
        let [plain, _, _] = saturated(Coalescing::Off, echoes);
        let [frames, interrupts, buffers] = saturated(Coalescing::Adaptive, echoes);
        println!("{frames} frames, {interrupts} interrupts, {buffers} buffers");
        assert!(interrupts * 10 <= frames, "{interrupts} for {frames}");
        assert!(frames * 100 >= plain * 99, "{frames} where {plain} were");
    }
}

#[test]
fn completions_share_receive_buffers() {
    let [frames, _, buffers] = saturated(Coalescing::Adaptive, false);
    assert!(buffers * 10 <= frames, "{buffers} for {frames}");
}

#[test]
fn by_count_ten_frames_share_an_interrupt() {
    let [frames, interrupts, _] = saturated(Coalescing::Count(10), true);
    let per_interrupt = frames as f64 / interrupts as f64;
    assert!((8.0..=10.5).contains(&per_interrupt), "{per_interrupt}");
}

/// Round trips of a hundred notes, one every 10 ms.
fn round_trips(interrupts: Coalescing) -> Vec<Micros> {
    let mut story = Story::tuned(tuned(interrupts), 55, &[36], 1);
    story.join(&[(0, 0)]);
    let to = story.aps[0].bssid;
    let mut trips = Vec::new();
    for number in 0..100 {
        let sent = story.now();
        story.vms[0].send(to, 100);
        story.run_until("the echo", Micros::from_millis(9), |story| {
            story.vms[0].echoes.len() > number
        });
        trips.push(story.now().saturating_since(sent));
        let trip = story.now().saturating_since(sent);
        story.advance(Micros::from_millis(10).saturating_sub(trip));
    }
    trips
}

#[test]
fn a_hundred_round_trips_a_second_take_no_longer_when_interrupts_are_coalesced() {
    let plain = round_trips(Coalescing::Off);
    for coalescing in [
        Coalescing::Adaptive,
        Coalescing::Count(10),
        Coalescing::Time(Micros(500)),
    ] {
        let mut trips: [Vec<Micros>; 2] = [plain.clone(), round_trips(coalescing)];
        trips.iter_mut().for_each(|trips| trips.sort());
        let [plain, trips] = trips.map(|trips| trips[50].0);
        assert!(trips * 100 <= plain * 105, "{coalescing}: {trips}, {plain}");
    }
}

#[test]
fn the_last_frames_of_a_load_arrive() {
    for coalescing in [
        Coalescing::Adaptive,
        Coalescing::Count(10),
        Coalescing::Time(Micros(5_000)),
    ] {
        let mut story = Story::tuned(tuned(coalescing), 56, &[36], 2);
        story.join(&[(0, 0), (1, 0)]);
        story.load(0, 403, 40, 1_000);
        story.load(1, 17, 3, 1_000);
        story.run_dry(Micros::from_millis(3_000));
        assert_eq!(story.vms[0].echoes, notes(0, 403), "{coalescing}");
        assert_eq!(story.vms[1].echoes, notes(1, 17), "{coalescing}");
    }
}
