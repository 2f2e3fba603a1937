//! The medium's throughput against the standard's arithmetic.

mod common;

use airlane_air::*;
use airlane_dot11::*;
use airlane_lane::Micros;
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
