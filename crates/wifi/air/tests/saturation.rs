//! Many stations that always have something to send, against Bianchi's model.
//!
//! Which variant of the model: after a collision the standard makes the bystanders wait EIFS
//! (10.3.7: 94 µs in 5 GHz), the colliders an acknowledgement time-out and an AIFS (10.23.2.4:
//! 79 µs), so a collision costs the frame and EIFS. Counters run down at the beginning of a slot,
//! the slot after a busy medium included (10.23.2.4), as in Bianchi's own chain.

mod common;

use airlane_air::*;
use airlane_lane::Micros;
use common::bianchi::{Slots, collision, played, throughput};
use common::*;

const PAYLOAD: usize = 1500;
/// A frame of 1,536 bytes at 54 Mb/s.
const FRAME: f64 = 248.0;
const DIFS: f64 = 34.0;
const EIFS: f64 = 94.0;
const SIFS_AND_ACK: f64 = 16.0 + 28.0;

fn slots(after_collision: f64) -> Slots {
    Slots {
        empty: 9.0,
        success: FRAME + SIFS_AND_ACK + DIFS,
        collision: FRAME + after_collision,
        bits: 8.0 * PAYLOAD as f64,
    }
}

#[test]
fn the_oracle_gives_the_published_values() {
    for (stations, mbps, p) in [(5, 29.83, 0.272), (10, 28.15, 0.384)] {
        assert_within(collision(stations), p, 0.002);
        assert_within(throughput(stations, &slots(DIFS).dcf()), mbps, 0.001);
    }
}

#[test]
fn the_model_and_its_process_agree_but_for_few_stations() {
    for stations in [5, 10, 20, 50] {
        assert_within(played(stations, 300_000), collision(stations), 0.02);
    }
    assert!(played(2, 300_000) > 1.04 * collision(2));
    assert!(played(3, 300_000) > 1.01 * collision(3));
}

#[test]
fn saturated_stations_follow_bianchi() {
    let time = Micros(30_000_000);
    for stations in [2, 3, 5, 10, 20, 35, 50] {
        let config = AirConfig::default();
        let run = saturate(config, ghz5(), stations, time, |number, channel| {
            let frame = data(ACCESS_POINT, address(number), 24 + 8 + PAYLOAD);
            let mut transmission = Transmission::new(0, frame, channel, M54);
            transmission.retry_limit = 255;
            transmission
        });
        let lost = 1.0 - run.acknowledged as f64 / run.attempts as f64;
        let mbps = goodput(&run, PAYLOAD, time);
        let (process, model) = (played(stations, 150_000), collision(stations));
        println!(
            "{stations}: {mbps:.3} Mb/s, lost {lost:.4}, process {process:.4}, model {model:.4}"
        );
        assert_within(mbps, throughput(stations, &slots(EIFS)), 0.015);
        assert_within(lost, process, 0.02);
        if stations >= 5 {
            assert_within(lost, model, 0.02);
        }
    }
}
