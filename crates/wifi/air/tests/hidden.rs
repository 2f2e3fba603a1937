//! Two saturated stations that do not hear each other, or of which one drowns the other: what it
//! costs, in figures. 1,500 bytes at 12 Mb/s.

mod common;

use airlane_air::*;
use airlane_dot11::*;
use airlane_lane::{Instant, Micros};
use common::*;

const PAYLOAD: usize = 1500;
const SPAN: Micros = Micros(20_000_000);
const M12: Rate = Rate::Ofdm(OfdmRate::M12);

struct Shares {
    /// Goodput of each, in Mb/s.
    mbps: [f64; 2],
    /// Frames or RTS that met another at the access point.
    collisions: u64,
}

/// The access point stands at 0, the stations at these places on a line.
fn contest(places: [f32; 2], protect: Protection, capture_margin_db: f32) -> Shares {
    let mut air = Air::new(AirConfig {
        path_loss: PathLoss::LogDistance { exponent: 3.5 },
        mode: AirMode::Real(RealAir {
            capture_margin_db,
            ..RealAir::default()
        }),
        ..AirConfig::default()
    });
    radio_at(&mut air, ghz5(), ACCESS_POINT, 0.0);
    let ids = [0, 1].map(|n| radio_at(&mut air, ghz5(), address(n), places[n]));
    let send = |air: &mut Air, now, n: usize| {
        let frame = data(ACCESS_POINT, address(n), 24 + 8 + PAYLOAD);
        let mut transmission = Transmission::new(n as u64, frame, ghz5(), M12);
        transmission.protect = protect;
        air.transmit(now, ids[n], transmission);
    };
    for n in [0, 1, 0, 1] {
        send(&mut air, Instant(0), n);
    }
    let (mut now, mut bits) = (Instant(0), [0; 2]);
    while now < Instant(0) + SPAN {
        now = air.step(now).unwrap();
        while let Some(event) = air.next_event() {
            if let AirEvent::Sent(Ended { token, outcome, .. }) = event {
                let acknowledged = u64::from(outcome == Outcome::Acknowledged);
                bits[token as usize] += 8 * PAYLOAD as u64 * acknowledged;
                send(&mut air, now, token as usize);
            }
        }
    }
    Shares {
        mbps: bits.map(|bits| bits as f64 / now.0 as f64),
        collisions: air.counters().collisions,
    }
}

const MARGIN: f32 = 10.0;

#[test]
fn hidden_stations_lose_more_than_half_of_the_medium_and_rts_cts_gives_most_of_it_back() {
    let sum = |shares: &Shares| shares.mbps[0] + shares.mbps[1];
    let near = contest([-1.0, 1.0], Protection::None, MARGIN);
    let hidden = contest([-16.0, 16.0], Protection::None, MARGIN);
    let protected = contest([-16.0, 16.0], Protection::RtsCts, MARGIN);
    assert_within(sum(&near), 9.66, 0.02);
    assert_within(sum(&hidden), 4.00, 0.04);
    assert_within(sum(&protected), 8.97, 0.02);
    assert!(hidden.collisions > 6 * near.collisions);
    assert!(protected.collisions < hidden.collisions / 5);
}

#[test]
fn a_near_station_wins_collisions_by_capture_and_gets_more() {
    let even = contest([1.0, 15.0], Protection::None, 200.0);
    let captured = contest([1.0, 15.0], Protection::None, MARGIN);
    assert_within(even.mbps[0], even.mbps[1], 0.03);
    assert_within(captured.mbps[0], 5.88, 0.03);
    assert_within(captured.mbps[1], 4.42, 0.03);
}
