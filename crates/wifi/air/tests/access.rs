//! Channel access to the microsecond: who may begin how long after what (IEEE 802.11-2020 10.3.7,
//! 10.23.2.4), in 5 GHz with DIFS.

mod common;

use airlane_air::*;
use airlane_dot11::*;
use airlane_lane::Instant;
use common::*;

const SLOT: u64 = 9;
const DIFS: u64 = 34;
const EIFS: u64 = 94;

fn watched(config: AirConfig) -> (Air, Log) {
    let mut air = Air::new(config);
    let log = Log::default();
    air.set_tap(Box::new(log.clone()));
    (air, log)
}

/// Whole slots after `space`, counted from the end of one frame to the start of the next.
#[track_caller]
fn assert_slots_after(space: u64, before: &Seen, after: &Seen) {
    let gap = after.start - before.end;
    assert!(gap >= space && (gap - space).is_multiple_of(SLOT), "{gap}");
}

/// How the frame of a station that has waited follows a group frame at `rate`, 26 m away: -80 dBm.
fn after_group_frame(rate: Rate) -> Vec<Seen> {
    let (mut air, log) = watched(AirConfig {
        path_loss: PathLoss::LogDistance { exponent: 3.4 },
        ..AirConfig::default()
    });
    let speaker = radio_at(&mut air, ghz5(), ACCESS_POINT, 0.0);
    let waiting = radio_at(&mut air, ghz5(), STATION, 26.0);
    let group = |from| data(MacAddr::BROADCAST, from, 500);
    let frame = Transmission::new(1, group(ACCESS_POINT), ghz5(), rate);
    air.transmit(Instant(0), speaker, frame);
    air.step(Instant(DIFS + 10));
    let frame = Transmission::new(2, group(STATION), ghz5(), Rate::OFDM_6);
    air.transmit(Instant(DIFS + 10), waiting, frame);
    drain(&mut air);
    log.take()
}

#[test]
fn after_a_frame_that_could_be_read_slots_follow_difs() {
    let seen = after_group_frame(Rate::OFDM_6);
    assert_slots_after(DIFS, &seen[0], &seen[1]);
}

#[test]
fn after_a_frame_that_could_not_be_read_slots_follow_eifs() {
    let seen = after_group_frame(M54);
    assert_slots_after(EIFS, &seen[0], &seen[1]);
}

#[test]
fn after_a_collision_bystanders_wait_eifs() {
    let (mut air, log) = watched(AirConfig::default());
    let bystander = radio(&mut air, ghz5(), ACCESS_POINT);
    for number in 0..2 {
        let id = radio(&mut air, ghz5(), address(number));
        let frame = data(MacAddr::BROADCAST, address(number), 500);
        air.transmit(Instant(0), id, Transmission::new(1, frame, ghz5(), M54));
    }
    air.step(Instant(DIFS + 10));
    let frame = data(MacAddr::BROADCAST, ACCESS_POINT, 500);
    let frame = Transmission::new(2, frame, ghz5(), M54);
    air.transmit(Instant(DIFS + 10), bystander, frame);
    drain(&mut air);
    let seen = log.take();
    assert_eq!(seen[0].start, seen[1].start);
    assert_slots_after(EIFS, &seen[1], &seen[2]);
}

#[test]
fn after_an_unanswered_frame_slots_follow_the_time_out_and_difs() {
    let (mut air, log) = watched(AirConfig::default());
    let station = radio(&mut air, ghz5(), STATION);
    let mut frame = Transmission::new(1, data(ACCESS_POINT, STATION, 500), ghz5(), M54);
    frame.retry_limit = 1;
    air.transmit(Instant(0), station, frame);
    drain(&mut air);
    let seen = log.take();
    let time_out = 16 + 9 + 20;
    assert_slots_after(time_out + DIFS, &seen[0], &seen[1]);
}

#[test]
fn a_signal_is_noticed_six_microseconds_after_it_began() {
    for (late, together) in [(0, true), (5, true), (6, false)] {
        let (mut air, log) = watched(AirConfig::default());
        for number in 0..2 {
            let id = radio(&mut air, ghz5(), address(number as usize));
            air.tune(Instant(0), id, None);
            // Its DIFS counts from when it begins to listen.
            air.tune(Instant(number * late), id, Some(ghz5()));
            let frame = data(MacAddr::BROADCAST, address(number as usize), 500);
            let frame = Transmission::new(number, frame, ghz5(), M54);
            air.transmit(Instant(number * late), id, frame);
        }
        drain(&mut air);
        let seen = log.take();
        assert_eq!(seen[1].start < seen[0].end, together, "{late}");
    }
}

/// Two access points on one host: its clock hands over the beacons of both at the same moment, each time.
#[test]
fn beacons_that_one_clock_hands_over_do_not_collide() {
    let (mut air, log) = watched(AirConfig::default());
    let aps = [0, 1].map(|number| radio(&mut air, ghz5(), address(number)));
    let beacon = |number| {
        let mut frame = data(MacAddr::BROADCAST, address(number), 146);
        frame.bytes_mut()[..2].copy_from_slice(&[0x80, 0]);
        Transmission::new(1, frame, ghz5(), Rate::OFDM_6)
    };
    for interval in 0..50 {
        let at = Instant(102_400 * interval);
        air.step(at);
        for (number, ap) in aps.into_iter().enumerate() {
            air.transmit(at, ap, beacon(number));
        }
        drain(&mut air);
        let seen = log.take();
        assert_eq!(seen.len(), 2);
        assert!(seen[0].end <= seen[1].start, "interval {interval}");
    }
}
