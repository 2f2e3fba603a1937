//! A small world for stories: radios that are kept saturated, in virtual time.
#![allow(dead_code, missing_docs)]

pub mod bianchi;

use std::sync::{Arc, Mutex};

use airlane_air::*;
use airlane_dot11::*;
use airlane_lane::{Instant, Micros};

pub const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
pub const ACCESS_POINT: MacAddr = MacAddr([2, 0, 0, 0, 1, 0]);
pub const M54: Rate = Rate::Ofdm(OfdmRate::M54);

pub fn ghz5() -> Channel {
    Channel::new(Band::Ghz5, 36).unwrap()
}

pub fn ghz2() -> Channel {
    Channel::new(Band::Ghz2, 1).unwrap()
}

/// A data frame of `length` bytes without FCS.
pub fn data(receiver: MacAddr, transmitter: MacAddr, length: usize) -> Buffer {
    let mut bytes = vec![0; length.max(24)];
    bytes[..2].copy_from_slice(&[0x08, 0x01]);
    bytes[4..10].copy_from_slice(&receiver.0);
    bytes[10..16].copy_from_slice(&transmitter.0);
    bytes[16..22].copy_from_slice(&receiver.0);
    Buffer::from_slice(&bytes).unwrap()
}

/// A QoS data frame of TID 0 and `length` bytes without FCS.
pub fn qos(receiver: MacAddr, transmitter: MacAddr, sequence: u16, length: usize) -> Buffer {
    let mut buffer = data(receiver, transmitter, length.max(26));
    let bytes = buffer.bytes_mut();
    bytes[0] = 0x88;
    frame::set_sequence_number(bytes, sequence);
    buffer
}

/// 802.11n with a mixed-format preamble.
pub fn ht(mcs: u8, ht40: bool, short_guard: bool) -> Rate {
    Rate::Ht {
        mcs,
        ht40,
        short_guard,
        greenfield: false,
    }
}

pub fn address(number: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 2, number as u8])
}

pub fn radio_at(air: &mut Air, channel: Channel, address: MacAddr, x: f32) -> RadioId {
    let id = air.add_radio(RadioConfig {
        name: address.to_string(),
        position: Position { x, y: 0.0, z: 0.0 },
        tx_power: Dbm(15.0),
    });
    air.set_addresses(id, &[address]);
    air.tune(Instant(0), id, Some(channel));
    id
}

pub fn radio(air: &mut Air, channel: Channel, address: MacAddr) -> RadioId {
    radio_at(air, channel, address, 0.0)
}

pub fn events(air: &mut Air) -> Vec<AirEvent> {
    std::iter::from_fn(|| air.next_event()).collect()
}

/// Runs until nothing more is planned; everything that happened.
pub fn drain(air: &mut Air) -> Vec<AirEvent> {
    let mut now = Instant(0);
    while let Some(next) = air.step(now) {
        now = next;
    }
    events(air)
}

pub fn outcomes(events: &[AirEvent]) -> Vec<(u64, Outcome, u8)> {
    let sent = events.iter().filter_map(|event| match event {
        AirEvent::Sent(Ended {
            token,
            outcome,
            attempts,
            ..
        }) => Some((*token, *outcome, *attempts)),
        _ => None,
    });
    sent.collect()
}

pub fn receivers(events: &[AirEvent]) -> Vec<RadioId> {
    let received = events.iter().filter_map(|event| match event {
        AirEvent::Received(Heard { radio, .. }) => Some(*radio),
        _ => None,
    });
    received.collect()
}

/// offered = ended + queued.
pub fn assert_conserved(air: &Air, radios: &[RadioId]) {
    let queued: usize = radios
        .iter()
        .flat_map(|radio| AccessCategory::ALL.map(|category| air.queued(*radio, category)))
        .sum();
    let counters = air.counters();
    assert_eq!(counters.offered, counters.ended() + queued as u64);
}

/// Acknowledged frames of senders that always have two frames queued, until `end`.
pub struct Saturation {
    pub air: Air,
    pub senders: Vec<RadioId>,
    pub acknowledged: u64,
    pub per_sender: Vec<u64>,
    pub attempts: u64,
}

pub fn saturate(
    config: AirConfig,
    channel: Channel,
    senders: usize,
    span: Micros,
    make: impl Fn(usize, Channel) -> Transmission,
) -> Saturation {
    let mut air = Air::new(config);
    let receiver = radio(&mut air, channel, ACCESS_POINT);
    let ids: Vec<RadioId> = (0..senders)
        .map(|number| radio(&mut air, channel, address(number)))
        .collect();
    for (number, id) in ids.iter().enumerate() {
        air.transmit(Instant(0), *id, make(number, channel));
        air.transmit(Instant(0), *id, make(number, channel));
    }
    let (mut acknowledged, mut attempts, mut now) = (0, 0, Instant(0));
    let mut per_sender = vec![0; senders];
    while now < Instant(0) + span {
        let Some(next) = air.step(now) else { break };
        while let Some(event) = air.next_event() {
            if let AirEvent::Sent(Ended {
                radio,
                outcome,
                attempts: tries,
                ..
            }) = event
            {
                let number = ids.iter().position(|id| *id == radio).unwrap();
                acknowledged += u64::from(outcome == Outcome::Acknowledged);
                per_sender[number] += 1;
                attempts += u64::from(tries);
                air.transmit(now, radio, make(number, channel));
            }
        }
        now = next;
    }
    let mut all = ids.clone();
    all.push(receiver);
    assert_conserved(&air, &all);
    Saturation {
        air,
        senders: ids,
        acknowledged,
        per_sender,
        attempts,
    }
}

/// Payload bits acknowledged per microsecond.
pub fn goodput(saturation: &Saturation, payload: usize, span: Micros) -> f64 {
    saturation.acknowledged as f64 * payload as f64 * 8.0 / span.0 as f64
}

/// What the tap saw of one frame.
pub struct Seen {
    pub start: u64,
    pub end: u64,
    pub rate: Rate,
    pub subframe: Option<Subframe>,
    pub bytes: Vec<u8>,
}

/// A tap that keeps everything.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<Seen>>>);

impl Log {
    pub fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Tap for Log {
    fn frame(&mut self, captured: &Captured<'_>) {
        self.0.lock().unwrap().push(Seen {
            start: captured.start.0,
            end: captured.end.0,
            rate: captured.rate,
            subframe: captured.subframe,
            bytes: captured.frame.to_vec(),
        });
    }
}

#[track_caller]
pub fn assert_within(measured: f64, expected: f64, tolerance: f64) {
    let off = measured / expected - 1.0;
    assert!(
        off.abs() < tolerance,
        "{measured:.3} is {:.2} % off {expected}",
        off * 100.0
    );
}
