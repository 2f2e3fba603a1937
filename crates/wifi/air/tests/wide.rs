//! 40 MHz frames on channel 36 with the secondary channel 40, and their neighbours there.

mod common;

use airlane_air::*;
use airlane_dot11::*;
use airlane_lane::Instant;
use common::*;

const DIFS: u64 = 34;
const EIFS: u64 = 94;
const WIDE: u64 = 1;
const NEIGHBOUR: u64 = 2;

/// A station and its access point at 40 MHz, a neighbour alone on the secondary channel.
struct Air40 {
    air: Air,
    log: Log,
    station: RadioId,
    neighbour: RadioId,
}

fn channel40() -> Channel {
    Channel::new(Band::Ghz5, 40).unwrap()
}

impl Air40 {
    /// The neighbour stands `away` metres from the others.
    fn new(away: f32) -> Self {
        let mut air = Air::new(AirConfig {
            path_loss: PathLoss::LogDistance { exponent: 3.0 },
            ..AirConfig::default()
        });
        let log = Log::default();
        air.set_tap(Box::new(log.clone()));
        let both = ghz5().with_width(Width::Mhz40Above);
        radio_at(&mut air, both, ACCESS_POINT, 0.0);
        let station = radio_at(&mut air, both, STATION, 1.0);
        let neighbour = radio_at(&mut air, channel40(), address(9), away);
        Self {
            air,
            log,
            station,
            neighbour,
        }
    }

    fn wide(&mut self, now: u64, rate: Rate) {
        let both = ghz5().with_width(Width::Mhz40Above);
        let frame = data(ACCESS_POINT, STATION, 3_000);
        let mut transmission = Transmission::new(WIDE, frame, both, rate);
        transmission.retry_limit = 0;
        self.air.transmit(Instant(now), self.station, transmission);
    }

    fn beside(&mut self, now: u64) {
        let frame = data(MacAddr::BROADCAST, address(9), 1_000);
        let frame = Transmission::new(NEIGHBOUR, frame, channel40(), Rate::OFDM_6);
        self.air.transmit(Instant(now), self.neighbour, frame);
    }
}

fn slow_wide() -> Rate {
    ht(0, true, false)
}

#[test]
fn a_neighbour_on_the_secondary_channel_waits_for_a_wide_frame_and_cannot_read_it() {
    let mut world = Air40::new(1.0);
    world.wide(0, slow_wide());
    world.air.step(Instant(DIFS + 20));
    world.beside(DIFS + 20);
    drain(&mut world.air);
    let seen = world.log.take();
    let beside = seen.iter().find(|seen| seen.bytes[4] == 0xff).unwrap();
    let gap = beside.start - seen[0].end;
    assert!(gap >= EIFS && (gap - EIFS).is_multiple_of(9), "{gap}");
}

#[test]
fn a_neighbour_on_the_secondary_channel_does_not_wait_for_a_narrow_frame() {
    let mut world = Air40::new(1.0);
    world.wide(0, ht(0, false, false));
    world.air.step(Instant(DIFS + 20));
    world.beside(DIFS + 20);
    let events = drain(&mut world.air);
    let seen = world.log.take();
    let beside = seen.iter().find(|seen| seen.bytes[4] == 0xff).unwrap();
    assert!(beside.start < DIFS + 20 + 16, "{}", beside.start);
    assert!(outcomes(&events).contains(&(WIDE, Outcome::Acknowledged, 1)));
}

/// At what rate a wide frame goes out while the neighbour is sending.
fn beside_busy_neighbour(away: f32) -> Rate {
    let mut world = Air40::new(away);
    world.beside(0);
    world.air.step(Instant(DIFS + 20));
    world.wide(DIFS + 20, slow_wide());
    drain(&mut world.air);
    let seen = world.log.take();
    let wide = seen.iter().find(|seen| seen.bytes[10..16] == STATION.0);
    wide.unwrap().rate
}

#[test]
fn beside_a_strong_signal_on_the_secondary_channel_a_wide_frame_goes_out_narrow() {
    assert_eq!(beside_busy_neighbour(2.0), ht(0, false, false));
    assert_eq!(
        beside_busy_neighbour(20.0),
        slow_wide(),
        "weaker than -62 dBm"
    );
}

#[test]
fn a_wide_frame_and_one_on_its_secondary_channel_destroy_each_other() {
    let mut world = Air40::new(1.0);
    let listener = radio_at(&mut world.air, channel40(), address(8), 1.0);
    world.wide(0, slow_wide());
    world.beside(0);
    let events = drain(&mut world.air);
    let seen = world.log.take();
    assert_eq!(seen[0].start, seen[1].start);
    assert!(outcomes(&events).contains(&(WIDE, Outcome::NoAck, 1)));
    assert!(!receivers(&events).contains(&listener));
}

#[test]
fn a_20_mhz_station_of_the_same_channel_waits_eifs_after_a_wide_frame() {
    let mut world = Air40::new(1.0);
    let narrow = radio_at(&mut world.air, ghz5(), address(7), 1.0);
    let both = ghz5().with_width(Width::Mhz40Above);
    let group = data(MacAddr::BROADCAST, STATION, 1_000);
    let group = Transmission::new(WIDE, group, both, slow_wide());
    world.air.transmit(Instant(0), world.station, group);
    world.air.step(Instant(DIFS + 20));
    let frame = data(MacAddr::BROADCAST, address(7), 500);
    let frame = Transmission::new(3, frame, ghz5(), Rate::OFDM_6);
    world.air.transmit(Instant(DIFS + 20), narrow, frame);
    drain(&mut world.air);
    let seen = world.log.take();
    let gap = seen[1].start - seen[0].end;
    assert!(gap >= EIFS && (gap - EIFS).is_multiple_of(9), "{gap}");
}
