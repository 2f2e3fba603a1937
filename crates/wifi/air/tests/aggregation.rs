//! A-MPDUs: what shares a PPDU, what comes of each frame, and how long it all takes.

mod common;

use airlane_air::*;
use airlane_dot11::*;
use airlane_lane::{Instant, Micros};
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
        self.air.transmit(Instant(0), self.station, transmission);
    }

    /// Lets a frame go first, so that what is queued meanwhile meets a busy medium.
    fn occupy(&mut self) {
        let frame = data(ACCESS_POINT, STATION, 30);
        self.send(Transmission::new(9_999, frame, ht40(), Rate::OFDM_6));
        self.air.step(Instant(34));
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

/// Payload bits over time of `frames` of 1,472 bytes, sent back to back.
fn megabits(payload: usize, frames: u64, time: Instant) -> f64 {
    (8 * payload as u64 * frames) as f64 / time.0 as f64
}

#[test]
fn saturated_450_mbps_carries_360_and_without_aggregation_50() {
    for (aggregation, expected) in [(Some(Aggregation::LARGEST), 360.0), (None, 50.2)] {
        let mut link = Link::new(AirConfig::default());
        link.air.take_tap();
        let (mut now, mut next, mut done) = (Instant(0), 0_u16, 0_u64);
        let end = Instant::from_millis(2_000);
        let mut queued = 0;
        while now < end {
            while queued < 128 {
                let mut frame = agreed(ACCESS_POINT, next, 1554 - 4, fastest());
                frame.aggregation = aggregation;
                link.air.transmit(now, link.station, frame);
                (next, queued) = (next.wrapping_add(1), queued + 1);
            }
            now = link.air.step(now).unwrap();
            while let Some(event) = link.air.next_event() {
                if let AirEvent::Sent(Ended { outcome, .. }) = event {
                    assert_eq!(outcome, Outcome::Acknowledged);
                    (queued, done) = (queued - 1, done + 1);
                }
            }
        }
        let measured = megabits(1472, done, now);
        assert!((measured / expected - 1.0).abs() < 0.01, "{measured}");
    }
}

/// A link on which about one frame in three is lost to noise.
fn noisy() -> AirConfig {
    AirConfig {
        path_loss: PathLoss::Ideal { loss_db: 77.9 },
        ..AirConfig::default()
    }
}

fn told(events: &[AirEvent]) -> Vec<(u8, u16, Option<u64>)> {
    let aggregates = events.iter().filter_map(|event| match *event {
        AirEvent::Aggregated {
            frames,
            start,
            bitmap,
            ..
        } => Some((frames, start, bitmap)),
        _ => None,
    });
    aggregates.collect()
}

#[test]
fn what_a_block_ack_leaves_out_goes_first_in_the_next_with_newer_frames() {
    let mut link = Link::new(noisy());
    link.occupy();
    for sequence in 4_090..4_170 {
        let mut frame = agreed(ACCESS_POINT, sequence, 1500, fastest());
        frame.retry_limit = 60;
        link.send(frame);
    }
    let events = drain(&mut link.air);
    let told = told(&events);
    let (frames, start, bitmap) = told[0];
    assert_eq!((frames, start), (43, 4_090));
    let bitmap = bitmap.unwrap();
    assert!((5..40).contains(&bitmap.count_ones()), "{bitmap:x}");
    let missing = bitmap.trailing_ones() as u16;
    assert_eq!(
        told[1].1,
        (4_090 + missing) & 0xfff,
        "the first one missing leads"
    );
    assert!(
        told[1].0 > frames - bitmap.count_ones() as u8,
        "newer ones fill up"
    );
    let all = outcomes(&events);
    assert_eq!(all.len(), 81);
    assert!(
        all.iter()
            .all(|(_, outcome, _)| *outcome == Outcome::Acknowledged)
    );
    assert_eq!(receivers(&events).len(), 81, "nothing arrives twice");
    let again = all.iter().filter(|(_, _, attempts)| *attempts > 1).count();
    assert!(again > 5 && link.air.counters().retries >= again as u64);
}

#[test]
fn no_frame_lies_further_than_the_window_behind_the_first() {
    let mut link = Link::new(noisy());
    link.occupy();
    for sequence in 0..200 {
        let mut frame = agreed(ACCESS_POINT, sequence, 200, fastest());
        frame.retry_limit = 60;
        frame.aggregation = Some(Aggregation {
            window: 16,
            ..Aggregation::LARGEST
        });
        link.send(frame);
    }
    let told = told(&drain(&mut link.air));
    assert!(told.iter().all(|(frames, ..)| *frames <= 16));
    let reach = |bitmap: Option<u64>| 64 - bitmap.unwrap().leading_zeros();
    assert!(told.iter().all(|(_, _, bitmap)| reach(*bitmap) <= 16));
}

#[test]
fn without_block_acks_all_is_sent_again_rung_by_rung_and_given_up() {
    let mut air = Air::new(AirConfig::default());
    let station = radio(&mut air, ht40(), STATION);
    let weak = air.add_radio(RadioConfig {
        name: "heard by nobody".into(),
        position: Position::default(),
        tx_power: Dbm(-40.0),
    });
    air.set_addresses(weak, &[ACCESS_POINT]);
    air.tune(Instant(0), weak, Some(ht40()));
    let log = Log::default();
    air.set_tap(Box::new(log.clone()));
    for sequence in 0..3 {
        let mut frame = agreed(ACCESS_POINT, sequence, 500, fastest());
        frame.rates = [fastest(), ht(15, true, false)].into_iter().collect();
        frame.retry_limit = 2;
        air.transmit(Instant(0), station, frame);
    }
    let events = drain(&mut air);
    let ends = outcomes(&events);
    assert_eq!(ends, [0, 1, 2].map(|token| (token, Outcome::NoAck, 3)));
    assert_eq!(told(&events), [(3, 0, None); 3]);
    let data: Vec<Seen> = log
        .take()
        .into_iter()
        .filter(|seen| seen.bytes[0] == 0x88)
        .collect();
    let rate_and_retry: Vec<_> = data.iter().map(|s| (s.rate, s.bytes[1] & 8 != 0)).collect();
    let slower = ht(15, true, false);
    let attempts = [(fastest(), false), (slower, true), (slower, true)];
    assert_eq!(
        rate_and_retry,
        attempts.map(|attempt| [attempt; 3]).concat()
    );
    assert_eq!(receivers(&events).len(), 9, "each attempt arrives");
}

#[test]
fn frames_to_another_are_passed_over_and_not_lost() {
    let mut link = Link::new(AirConfig::default());
    let other = radio(&mut link.air, ht40(), address(9));
    link.occupy();
    for sequence in 0..6 {
        link.send(agreed(ACCESS_POINT, sequence, 500, fastest()));
        link.send(agreed(address(9), sequence, 500, fastest()));
    }
    let events = drain(&mut link.air);
    let told = told(&events);
    assert_eq!(told.iter().map(|told| told.0).collect::<Vec<_>>(), [6, 6]);
    let got = receivers(&events);
    assert_eq!(got.iter().filter(|radio| **radio == other).count(), 6);
    assert_conserved(&link.air, &[link.station]);
}

#[test]
fn what_does_not_belong_together_does_not_travel_together() {
    let alone: [fn(&mut Transmission); 6] = [
        |frame| frame.aggregation = None,
        |frame| frame.acknowledge = false,
        |frame| frame.frame.bytes_mut()[24] = 5,
        |frame| frame.frame.bytes_mut()[22] |= 1,
        |frame| frame.rates = [ht(22, true, true)].into_iter().collect(),
        |frame| frame.frame.bytes_mut()[0] = 0x08,
    ];
    for change in alone {
        let mut link = Link::new(AirConfig::default());
        link.occupy();
        link.send(agreed(ACCESS_POINT, 0, 500, fastest()));
        let mut odd = agreed(ACCESS_POINT, 1, 500, fastest());
        change(&mut odd);
        link.send(odd);
        let events = drain(&mut link.air);
        assert_eq!(told(&events), []);
        assert_eq!(receivers(&events).len(), 3);
        assert!(events.iter().all(|event| !matches!(
            event,
            AirEvent::Received(Heard {
                aggregated: true,
                ..
            })
        )));
    }
}

#[test]
fn legacy_rates_carry_one_frame_each() {
    let mut link = Link::new(AirConfig::default());
    link.occupy();
    for sequence in 0..4 {
        link.send(agreed(ACCESS_POINT, sequence, 500, M54));
    }
    assert_eq!(told(&drain(&mut link.air)), []);
    assert_eq!(link.air.counters().acks, 5);
}

#[test]
fn bytes_time_and_transmit_opportunity_bound_an_ampdu() {
    type Change = fn(&mut Transmission);
    let bounds: [(Rate, Change); 4] = [
        (ht(7, false, false), |frame| {
            frame.aggregation = Some(Aggregation {
                octets: 8_191,
                ..Aggregation::LARGEST
            });
        }),
        (ht(7, false, false), |frame| {
            frame.aggregation = Some(Aggregation {
                time: Micros(1_000),
                ..Aggregation::LARGEST
            });
        }),
        (ht(7, false, false), |frame| frame.edca.txop = Micros(1_504)),
        (ht(0, false, false), |_| {}),
    ];
    // 1,504 bytes each: 8,191 hold 5, 1,000 us 5, 1,504 - 48 us 7, and 5,484 us at 6.5 Mb/s 2.
    for ((rate, change), expected) in bounds.into_iter().zip([5, 5, 7, 2]) {
        let mut link = Link::new(AirConfig::default());
        link.occupy();
        for sequence in 0..20 {
            let mut frame = agreed(ACCESS_POINT, sequence, 1_500, rate);
            change(&mut frame);
            link.send(frame);
        }
        assert_eq!(told(&drain(&mut link.air))[0].0, expected, "{rate}");
    }
}

#[test]
fn rts_reserves_to_the_end_of_the_block_ack() {
    let mut link = Link::new(AirConfig::default());
    link.occupy();
    for sequence in 0..10 {
        let mut frame = agreed(ACCESS_POINT, sequence, 1_500, fastest());
        frame.protect = Protection::RtsCts;
        link.send(frame);
    }
    drain(&mut link.air);
    let on_air = link.log.take();
    let (rts, answer) = (&on_air[2], &on_air[on_air.len() - 1]);
    assert_eq!((rts.bytes[0], answer.bytes[0]), (0xb4, 0x94));
    let duration = u64::from(u16::from_le_bytes([rts.bytes[2], rts.bytes[3]]));
    assert_eq!(rts.end + duration, answer.end);
}

#[test]
fn the_capture_shows_a_compressed_block_ack_and_the_last_subframe() {
    let mut link = Link::new(AirConfig::default());
    link.occupy();
    for sequence in 0x123..0x126 {
        link.send(agreed(ACCESS_POINT, sequence, 500, fastest()));
    }
    drain(&mut link.air);
    let on_air = link.log.take();
    let last: Vec<_> = on_air.iter().map(|f| f.subframe.map(|s| s.last)).collect();
    let ampdu = [Some(false), Some(false), Some(true)];
    assert_eq!((&last[2..5], last[5]), (&ampdu[..], None));
    let answer = &on_air[5].bytes;
    assert_eq!(answer.len(), 28);
    assert_eq!(answer[4..16], [STATION.0, ACCESS_POINT.0].concat());
    assert_eq!(answer[16..20], [0x04, 0x00, 0x30, 0x12]);
    assert_eq!(answer[20..], [7, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn cancelling_spares_the_ampdu_on_the_air() {
    let mut link = Link::new(AirConfig::default());
    for sequence in 0..6 {
        link.send(agreed(ACCESS_POINT, sequence, 500, fastest()));
    }
    let now = Instant(43 + 20);
    link.air.step(now);
    link.send(agreed(address(9), 0, 500, fastest()));
    link.air.cancel(now, link.station, |_| true);
    let ends = outcomes(&drain(&mut link.air));
    let cancelled = ends
        .iter()
        .filter(|(_, outcome, _)| *outcome == Outcome::Cancelled);
    assert_eq!((ends.len(), cancelled.count()), (7, 1));
    assert_conserved(&link.air, &[link.station]);
}
