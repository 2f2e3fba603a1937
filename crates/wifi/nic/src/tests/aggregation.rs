//! A-MPDUs: 802.11n as a VM's driver has agreed it with its peer.

use airlane_air::{AirConfig, PathLoss, Position};
use airlane_dot11::frame::Header;
use airlane_dot11::*;
use airlane_lane::{Instant, Micros};
use airlane_waist::*;

use super::world::*;

/// UDP payload of one MPDU, and what stands around it: LLC, IP, UDP, CCMP header and MIC, QoS data header.
const PAYLOAD: usize = 1_472;
const BODY: usize = PAYLOAD + 8 + 28 + 16;
/// What a driver keeps waiting.
const WAITING: u64 = 200;

const fn ht(mcs: u8, ht40: bool) -> Rate {
    Rate::Ht {
        mcs,
        ht40,
        short_guard: true,
        greenfield: false,
    }
}

/// As `iwldvm` asks (`dvm/rs.c`: 63 frames, 4 ms), to a peer that takes the longest.
fn agreed(world: &mut World, number: usize, rate: Rate, limits: AggregationLimits) {
    let peer = PeerHt {
        ampdu_exponent: 3,
        ampdu_spacing: 0,
        ht40: true,
    };
    let station = StationIndex(0);
    assert_eq!(
        world.answer(number, VifCommand::ModifyStation(station, peer)),
        Reply::Ok
    );
    let ladder = RateTable::from_iter([rate]);
    let ladder = VifCommand::RateTable(station, Box::new(ladder), limits);
    assert_eq!(world.answer(number, ladder), Reply::Ok);
    let edca = EdcaParameters {
        aifsn: 3,
        ..EdcaParameters::DCF
    };
    world.ask(number, VifCommand::Edca([edca; 4]));
}

const DVM: AggregationLimits = AggregationLimits {
    frames: 63,
    time: Micros::from_millis(4),
    no_start_after: 3,
};

/// One VM and one access point that are 40 MHz wide.
fn wide() -> World {
    wide_on(AirConfig::default())
}

fn wide_on(air: AirConfig) -> World {
    let mut world = World::on(air, &[36]);
    let channel = channel(36).with_width(Width::Mhz40Above);
    world.aps[0].channel = channel;
    let ap = world.aps[0].radio;
    world.air.tune(Instant(0), ap, Some(channel));
    world.join(0, 0);
    world
}

/// A QoS data frame of TID 0 with the driver's own sequence number.
fn qos(number: usize, sequence: u64) -> Vec<u8> {
    let mut frame = uplink(number, 0, &[0; BODY + 2]);
    frame[0] = 0x88;
    let control = ((sequence & 0xfff) as u16) << 4;
    frame[22..24].copy_from_slice(&control.to_le_bytes());
    frame
}

/// Keeps so many frames waiting for `span`; gives how many have arrived meanwhile.
fn saturate(world: &mut World, number: usize, aggregate: bool, span: Micros) -> usize {
    let before = world.heard_from(0, number).len();
    let end = world.now + span;
    while world.now < end {
        fill(world, number, aggregate);
        world.run(Micros::from_millis(1));
    }
    world.heard_from(0, number).len() - before
}

fn fill(world: &mut World, number: usize, aggregate: bool) {
    let counters = world.nic.vm_counters(vm(number));
    for more in counters.queued..WAITING {
        let sequence = counters.offered + more - counters.queued;
        world.send(number, &qos(number, sequence), |transmit| {
            transmit.assign_sequence = false;
            transmit.aggregate = aggregate;
            transmit.queue = if aggregate { 11 } else { 2 };
        });
    }
}

fn mbps(frames: usize, span: Micros) -> f64 {
    (frames * PAYLOAD * 8) as f64 / span.0 as f64
}

#[test]
fn three_streams_carry_what_the_formula_says() {
    const SPAN: Micros = Micros::from_millis(500);
    let mut world = wide();
    agreed(&mut world, 0, ht(23, true), DVM);
    saturate(&mut world, 0, true, Micros::from_millis(20));
    let frames = saturate(&mut world, 0, true, SPAN);
    let goodput = mbps(frames, SPAN);
    let counters = world.nic.counters();
    println!("MCS 23, 40 MHz: {goodput:.1} Mb/s; {counters:?}");
    assert!(goodput >= 0.98 * 360.0, "{goodput:.1} Mb/s");
    assert!(
        counters.aggregated_frames >= 40 * counters.aggregates,
        "full ones"
    );
    let numbers = sequence_numbers(&world);
    assert!(
        numbers
            .windows(2)
            .all(|pair| pair[1] == (pair[0] + 1) & 0xfff),
        "in order"
    );
    world.assert_conserved();
}

fn sequence_numbers(world: &World) -> Vec<u16> {
    let number = |frame: &&Buffer| Header::parse(frame).unwrap().sequence_number().unwrap();
    world.heard_from(0, 0).iter().map(number).collect()
}

#[test]
fn one_stream_carries_most_of_its_rate() {
    const SPAN: Micros = Micros::from_millis(500);
    let mut world = wide();
    agreed(&mut world, 0, ht(7, false), DVM);
    saturate(&mut world, 0, true, Micros::from_millis(20));
    let frames = saturate(&mut world, 0, true, SPAN);
    let goodput = mbps(frames, SPAN);
    println!("MCS 7, 20 MHz: {goodput:.1} of 72.2 Mb/s");
    // 4 ms hold 22 MPDUs of 1,560 bytes: 22 payloads in 20 + 3,820 + 110 + 16 + 32 and some µs.
    assert!(goodput >= 0.98 * 64.5, "{goodput:.1} Mb/s");
}

#[test]
fn an_a_mpdu_is_no_longer_than_driver_and_peer_let_it() {
    let limits = AggregationLimits { frames: 8, ..DVM };
    let mut world = wide();
    agreed(&mut world, 0, ht(23, true), limits);
    saturate(&mut world, 0, true, Micros::from_millis(50));
    let counters = world.nic.counters();
    assert_eq!(counters.aggregated_frames.div_ceil(counters.aggregates), 8);
    let mut world = wide();
    agreed(
        &mut world,
        0,
        ht(23, true),
        AggregationLimits { frames: 1, ..DVM },
    );
    saturate(&mut world, 0, true, Micros::from_millis(50));
    assert_eq!(world.nic.counters().aggregates, 0, "1 means none");
    let mut world = wide();
    agreed(&mut world, 0, ht(23, true), DVM);
    world.ask(
        0,
        VifCommand::ModifyStation(StationIndex(0), PeerHt::default()),
    );
    saturate(&mut world, 0, true, Micros::from_millis(50));
    let counters = world.nic.counters();
    assert_eq!(
        counters.aggregated_frames.div_ceil(counters.aggregates),
        5,
        "8,191 bytes"
    );
}

#[test]
fn on_a_lossy_link_only_what_is_missing_is_sent_again() {
    let mut world = wide_on(AirConfig {
        path_loss: PathLoss::LogDistance { exponent: 3.0 },
        ..AirConfig::default()
    });
    let (ap, x) = (world.aps[0].radio, 15.5);
    world.air.move_radio(ap, Position { x, y: 0.0, z: 0.0 });
    agreed(&mut world, 0, ht(23, true), DVM);
    saturate(&mut world, 0, true, Micros::from_millis(500));
    let (counters, mine) = (world.nic.counters(), world.nic.vm_counters(vm(0)));
    println!("{counters:?} {mine:?}");
    assert!(mine.retries > 100, "lossy: {}", mine.retries);
    let again = counters.aggregated_frames - mine.sent - mine.failed;
    assert!(again < mine.retries + 128, "what arrived is not sent again");
    let mut arrived = sequence_numbers(&world);
    let heard = arrived.len();
    arrived.dedup();
    assert!(heard - arrived.len() < heard / 50, "hardly any twice");
    world.run(Micros::from_millis(200));
    let reports: Vec<u16> = world.reports(0).iter().map(|(tag, _)| tag.0).collect();
    assert!(reports.is_sorted(), "reported in order");
    world.assert_conserved();
}

#[test]
fn airtime_is_shared_fairly_between_802_11n_and_older_stations() {
    let mut world = wide();
    world.join(1, 0);
    agreed(&mut world, 0, ht(23, true), DVM);
    let end = world.now + Micros::from_millis(1_000);
    while world.now < end {
        fill(&mut world, 0, true);
        fill(&mut world, 1, false);
        world.run(Micros::from_millis(1));
    }
    let [new, old] = [0, 1].map(|number| {
        let counters = world.nic.vm_counters(vm(number));
        (counters.airtime + counters.contention).0 as f64
    });
    println!("802.11n {new} µs, 802.11a {old} µs");
    assert!((0.9..1.1).contains(&(new / old)), "{new} against {old}");
    let arrived = [0, 1].map(|number| world.heard_from(0, number).len());
    assert!(arrived[0] > 5 * arrived[1], "{arrived:?}");
    world.assert_conserved();
}
