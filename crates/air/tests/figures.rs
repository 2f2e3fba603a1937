//! The medium's throughput against the standard's arithmetic and against Bianchi's model.

mod common;

use airlane_air::*;
use airlane_wlan::*;
use common::*;

const SECONDS_20: Micros = Micros(20_000_000);
/// LLC, IP and UDP headers.
const ABOVE_MAC: usize = 8 + 28;
const CCMP: usize = 16;

fn single(
    channel: Channel,
    body: usize,
    payload: usize,
    change: impl Fn(&mut Transmission),
) -> f64 {
    let frame = data(ACCESS_POINT, address(0), body);
    let run = saturate(
        AirConfig::default(),
        channel,
        1,
        SECONDS_20,
        |_, channel| {
            let mut transmission = Transmission::new(0, frame.clone(), channel, M54);
            change(&mut transmission);
            transmission
        },
    );
    goodput(&run, payload, SECONDS_20)
}

#[track_caller]
fn assert_within(measured: f64, expected: f64, tolerance: f64) {
    let off = measured / expected - 1.0;
    assert!(
        off.abs() < tolerance,
        "{measured:.3} is {:.2} % off {expected}",
        off * 100.0
    );
}

#[test]
fn dcf_goodput_is_what_the_standard_allows() {
    for (payload, expected) in [(1450, 29.48), (1472, 29.93)] {
        let measured = single(ghz5(), 24 + ABOVE_MAC + payload, payload, |_| {});
        assert_within(measured, expected, 0.01);
    }
}

#[test]
fn edca_best_effort_with_ccmp_goodput_is_what_the_standard_allows() {
    for (payload, expected) in [(1450, 28.82), (1472, 28.97)] {
        let body = 26 + CCMP + ABOVE_MAC + payload;
        let measured = single(ghz5(), body, payload, |transmission| {
            transmission.edca.aifsn = 3;
        });
        assert_within(measured, expected, 0.01);
    }
}

#[test]
fn rts_cts_goodput_is_what_the_standard_allows() {
    for (payload, expected) in [(1450, 24.09), (1472, 24.26)] {
        let measured = single(ghz5(), 24 + ABOVE_MAC + payload, payload, |transmission| {
            transmission.protect = Protection::RtsCts;
        });
        assert_within(measured, expected, 0.01);
    }
}

#[test]
fn cts_to_self_goodput_is_what_the_standard_allows() {
    for (payload, expected) in [(1450, 22.76), (1472, 22.92)] {
        let body = 24 + CCMP + ABOVE_MAC + payload;
        let measured = single(ghz2(), body, payload, |transmission| {
            transmission.protect = Protection::CtsToSelf;
        });
        assert_within(measured, expected, 0.01);
    }
}

#[test]
fn saturated_stations_follow_bianchi() {
    for (stations, mbps, collision) in [(5, 29.83, 0.272), (10, 28.15, 0.384)] {
        let run = saturate(
            AirConfig::default(),
            ghz5(),
            stations,
            SECONDS_20,
            |n, channel| {
                let frame = data(ACCESS_POINT, address(n), 24 + 8 + 1500);
                let mut transmission = Transmission::new(0, frame, channel, M54);
                transmission.retry_limit = 255;
                transmission
            },
        );
        let lost = 1.0 - run.acknowledged as f64 / run.attempts as f64;
        println!(
            "{stations}: {:.3} Mb/s, collision probability {lost:.4}",
            goodput(&run, 1500, SECONDS_20)
        );
        assert_within(lost, collision, 0.05);
        assert_within(goodput(&run, 1500, SECONDS_20), mbps, 0.015);
    }
}
