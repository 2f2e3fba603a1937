//! A-MPDUs: what shares a PPDU, what comes of each frame, and how long it all takes.

mod common;

use airlane_air::*;
use airlane_wlan::*;
use common::*;

/// 450 Mb/s.
fn fastest() -> Rate {
    ht(23, true, true)
}

fn ht40() -> Channel {
    ghz5().with_width(Width::Mhz40Above)
}

/// A best-effort frame under a block-ack agreement; its token is its sequence number.
fn agreed(receiver: MacAddr, sequence: u16, length: usize, rate: Rate) -> Transmission {
    let frame = qos(receiver, STATION, sequence & 0xfff, length);
    let mut transmission = Transmission::new(u64::from(sequence), frame, ht40(), rate);
    transmission.edca.aifsn = 3;
    transmission.aggregation = Some(Aggregation::LARGEST);
    transmission
}

struct Link {
    air: Air,
    station: RadioId,
    access_point: RadioId,
    log: Log,
}

impl Link {
    fn new(config: AirConfig) -> Self {
        let mut air = Air::new(config);
        let station = radio(&mut air, ht40(), STATION);
        let access_point = radio(&mut air, ht40(), ACCESS_POINT);
        let log = Log::default();
        air.set_tap(Box::new(log.clone()));
        Self {
            air,
            station,
            access_point,
            log,
        }
    }

    fn send(&mut self, transmission: Transmission) {
        self.air.transmit(Micros(0), self.station, transmission);
    }

    /// Lets a frame go first, so that what is queued meanwhile meets a busy medium.
    fn occupy(&mut self) {
        let frame = data(ACCESS_POINT, STATION, 30);
        self.send(Transmission::new(9_999, frame, ht40(), Rate::OFDM_6));
        self.air.step(Micros(34));
    }
}

#[test]
fn forty_two_frames_at_450_mbps_take_1216_microseconds_and_one_block_ack() {
    let mut link = Link::new(AirConfig::default());
    link.occupy();
    for sequence in 0..50 {
        let length = 26 + 16 + 8 + 28 + 1472;
        link.send(agreed(ACCESS_POINT, sequence, length, fastest()));
    }
    let events = drain(&mut link.air);
    let on_air = link.log.take();
    let ampdu = &on_air[2];
    assert_eq!(ampdu.end - ampdu.start, 1_216);
    let members = on_air.iter().filter(|frame| frame.start == ampdu.start);
    assert_eq!(members.count(), 42);
    let answer = &on_air[2 + 42];
    assert_eq!(answer.start - ampdu.end, 16);
    assert_eq!(answer.end - answer.start, 32);
    assert_eq!(answer.bytes[0], 0x94);
    assert_eq!(link.air.counters().block_acks, 2);
    assert!(
        outcomes(&events)
            .iter()
            .all(|(_, outcome, _)| *outcome == Outcome::Acknowledged)
    );
    assert_eq!(receivers(&events), [link.access_point; 51]);
}
