//! What a few radios do together, in virtual time.

mod common;

use airlane_air::*;
use airlane_dot11::*;
use airlane_lane::{Instant, Micros};
use common::*;

fn pair() -> (Air, RadioId, RadioId) {
    let mut air = Air::new(AirConfig::default());
    let station = radio(&mut air, ghz5(), STATION);
    let access_point = radio(&mut air, ghz5(), ACCESS_POINT);
    (air, station, access_point)
}

fn frame(token: u64) -> Transmission {
    Transmission::new(token, data(ACCESS_POINT, STATION, 500), ghz5(), M54)
}

fn spread(exponent: f32) -> AirConfig {
    AirConfig {
        path_loss: PathLoss::LogDistance { exponent },
        ..AirConfig::default()
    }
}

#[test]
fn a_unicast_frame_reaches_its_receiver_alone_and_is_acknowledged() {
    let (mut air, station, access_point) = pair();
    let other = radio(&mut air, ghz5(), address(9));
    air.transmit(Instant(0), station, frame(7));
    let events = drain(&mut air);
    assert_eq!(receivers(&events), [access_point]);
    assert_eq!(outcomes(&events), [(7, Outcome::Acknowledged, 1)]);
    assert_eq!((air.counters().frames, air.counters().acks), (1, 1));
    assert_conserved(&air, &[station, access_point, other]);
}

#[test]
fn a_lone_frame_takes_difs_data_sifs_ack() {
    let (mut air, station, _) = pair();
    air.transmit(Instant(0), station, frame(7));
    let events = drain(&mut air);
    let length = airtime::frame_duration(ghz5(), M54, 500).0;
    let Some(AirEvent::Received(Heard { at, signal, .. })) = events.first() else {
        panic!("{events:?}");
    };
    assert_eq!((at.0, signal.0), (34 + length, -50.0));
    let Some(AirEvent::Sent(Ended {
        at,
        airtime,
        ack_signal,
        ..
    })) = events.last()
    else {
        panic!("{events:?}");
    };
    assert_eq!((at.0, airtime.0), (34 + length + 44, length + 44));
    assert_eq!(*ack_signal, Some(Dbm(-50.0)));
}

#[test]
fn a_group_frame_goes_out_once_to_all_on_its_channel() {
    let (mut air, station, access_point) = pair();
    let other = radio(&mut air, ghz5(), address(9));
    radio(&mut air, ghz2(), address(10));
    let frame = data(MacAddr::BROADCAST, STATION, 100);
    air.transmit(
        Instant(0),
        station,
        Transmission::new(1, frame, ghz5(), Rate::OFDM_6),
    );
    let events = drain(&mut air);
    assert_eq!(receivers(&events), [access_point, other]);
    assert_eq!(outcomes(&events), [(1, Outcome::Unacknowledged, 1)]);
    assert_eq!(air.counters().acks, 0);
}

#[test]
fn without_a_receiver_the_ladder_is_climbed_down_and_given_up() {
    let mut air = Air::new(AirConfig::default());
    let station = radio(&mut air, ghz5(), STATION);
    let log = Log::default();
    air.set_tap(Box::new(log.clone()));
    let mut transmission = frame(3);
    transmission.rates = [M54, Rate::Ofdm(OfdmRate::M24), Rate::OFDM_6]
        .into_iter()
        .collect();
    transmission.retry_limit = 3;
    air.transmit(Instant(0), station, transmission);
    let events = drain(&mut air);
    assert_eq!(outcomes(&events), [(3, Outcome::NoAck, 4)]);
    let Some(AirEvent::Sent(Ended {
        rate, last_rate, ..
    })) = events.last()
    else {
        panic!("{events:?}");
    };
    assert_eq!((*rate, *last_rate), (M54, Rate::OFDM_6));
    let retry: Vec<(Rate, bool)> = log
        .take()
        .iter()
        .map(|f| (f.rate, f.bytes[1] & 8 != 0))
        .collect();
    let expected = [
        (M54, false),
        (Rate::Ofdm(OfdmRate::M24), true),
        (Rate::OFDM_6, true),
        (Rate::OFDM_6, true),
    ];
    assert_eq!(retry, expected);
    assert_eq!((air.counters().no_receiver, air.counters().retries), (4, 3));
    assert_conserved(&air, &[station]);
}

#[test]
fn a_retry_leaves_the_callers_buffer_alone() {
    let mut air = Air::new(AirConfig::default());
    let station = radio(&mut air, ghz5(), STATION);
    let transmission = frame(1);
    let mine = transmission.frame.clone();
    air.transmit(Instant(0), station, transmission);
    drain(&mut air);
    assert_eq!(mine[1] & 8, 0);
}

#[test]
fn the_tap_sees_rts_cts_data_ack_a_sifs_apart() {
    let (mut air, station, _) = pair();
    let log = Log::default();
    air.set_tap(Box::new(log.clone()));
    let mut transmission = frame(1);
    transmission.protect = Protection::RtsCts;
    air.transmit(Instant(0), station, transmission);
    drain(&mut air);
    let seen = log.take();
    let first: Vec<(u8, usize)> = seen.iter().map(|f| (f.bytes[0], f.bytes.len())).collect();
    assert_eq!(first, [(0xb4, 16), (0xc4, 10), (0x08, 500), (0xd4, 10)]);
    let duration = |f: &Seen| u64::from(u16::from_le_bytes([f.bytes[2], f.bytes[3]]));
    let over = seen.last().unwrap().end;
    assert_eq!(
        seen[0].end + duration(&seen[0]),
        over,
        "RTS reserves to the end of the ACK"
    );
    assert_eq!(seen[1].end + duration(&seen[1]), over, "so does the CTS");
    assert_eq!(duration(&seen[3]), 0);
    assert_eq!(seen[1].bytes[4..10], STATION.0);
}

#[test]
fn an_unanswered_rts_is_tried_again_and_counted_apart_from_the_frame() {
    let mut air = Air::new(AirConfig::default());
    let station = radio(&mut air, ghz5(), STATION);
    let mut transmission = frame(1);
    transmission.protect = Protection::RtsCts;
    transmission.retry_limit = 2;
    air.transmit(Instant(0), station, transmission);
    let events = drain(&mut air);
    let Some(AirEvent::Sent(Ended {
        attempts,
        rts_failures,
        outcome,
        ..
    })) = events.last()
    else {
        panic!("{events:?}");
    };
    assert_eq!((*attempts, *rts_failures, *outcome), (0, 3, Outcome::NoAck));
    assert_eq!((air.counters().rts, air.counters().frames), (3, 0));
}

#[test]
fn a_busy_medium_makes_the_second_wait() {
    let (mut air, station, access_point) = pair();
    air.transmit(Instant(0), station, frame(1));
    air.step(Instant(50));
    let back = data(STATION, ACCESS_POINT, 500);
    air.transmit(
        Instant(50),
        access_point,
        Transmission::new(2, back, ghz5(), M54),
    );
    assert_eq!(
        outcomes(&drain(&mut air)),
        [(1, Outcome::Acknowledged, 1), (2, Outcome::Acknowledged, 1)]
    );
    assert_eq!(air.counters().collisions, 0);
}

#[test]
fn equal_frames_in_one_slot_destroy_each_other_and_are_repeated() {
    let (mut air, station, access_point) = pair();
    let other = radio(&mut air, ghz5(), address(9));
    air.transmit(Instant(0), station, frame(1));
    let second = data(ACCESS_POINT, address(9), 500);
    air.transmit(Instant(0), other, Transmission::new(2, second, ghz5(), M54));
    let events = drain(&mut air);
    assert_eq!(air.counters().collisions % 2, 0);
    assert!(air.counters().collisions >= 2);
    let mut outcomes = outcomes(&events);
    outcomes.sort_by_key(|(token, ..)| *token);
    assert!(
        outcomes
            .iter()
            .all(|(_, outcome, attempts)| { *outcome == Outcome::Acknowledged && *attempts > 1 })
    );
    assert_conserved(&air, &[station, access_point, other]);
}

#[test]
fn a_much_stronger_frame_is_captured() {
    let mut air = Air::new(spread(3.0));
    let access_point = radio_at(&mut air, ghz5(), ACCESS_POINT, 0.0);
    let near = radio_at(&mut air, ghz5(), STATION, 2.0);
    let far = radio_at(&mut air, ghz5(), address(9), 30.0);
    let once = |token, from, rate| {
        let frame = data(ACCESS_POINT, from, 500);
        let mut transmission = Transmission::new(token, frame, ghz5(), rate);
        transmission.retry_limit = 0;
        transmission
    };
    air.transmit(Instant(0), near, once(1, STATION, Rate::OFDM_6));
    air.transmit(Instant(0), far, once(2, address(9), Rate::OFDM_6));
    let mut outcomes = outcomes(&drain(&mut air));
    outcomes.sort_by_key(|(token, ..)| *token);
    assert_eq!(
        outcomes,
        [(1, Outcome::Acknowledged, 1), (2, Outcome::NoAck, 1)]
    );
    assert_conserved(&air, &[access_point, near, far]);
}

/// Two stations on either side of their access point, out of each other's hearing.
fn hidden(protect: Protection) -> AirCounters {
    let mut air = Air::new(spread(3.5));
    radio_at(&mut air, ghz5(), ACCESS_POINT, 0.0);
    let left = radio_at(&mut air, ghz5(), address(1), -16.0);
    let right = radio_at(&mut air, ghz5(), address(2), 16.0);
    for token in 0..100 {
        for (radio, number) in [(left, 1), (right, 2)] {
            let frame = data(ACCESS_POINT, address(number), 1500);
            let mut transmission =
                Transmission::new(token, frame, ghz5(), Rate::Ofdm(OfdmRate::M12));
            transmission.protect = protect;
            air.transmit(Instant(0), radio, transmission);
        }
    }
    drain(&mut air);
    assert_conserved(&air, &[left, right]);
    air.counters().clone()
}

#[test]
fn hidden_stations_collide_and_rts_cts_helps() {
    let bare = hidden(Protection::None);
    let protected = hidden(Protection::RtsCts);
    assert!(bare.given_up > 10, "{bare:?}");
    assert!(bare.frames > 2 * protected.frames, "{bare:?} {protected:?}");
    assert!(protected.given_up < bare.given_up, "{protected:?}");
}

/// The hidden one's slot begins in the very microsecond of the ACK: it cannot have heard it.
#[test]
fn who_begins_in_the_same_microsecond_does_not_defer_and_a_sender_is_deaf() {
    let m12 = Rate::Ofdm(OfdmRate::M12);
    let mut air = Air::new(spread(3.5));
    radio_at(&mut air, ghz5(), ACCESS_POINT, 0.0);
    let left = radio_at(&mut air, ghz5(), address(1), -16.0);
    let right = radio_at(&mut air, ghz5(), address(2), 16.0);
    let send = |number| {
        let frame = data(ACCESS_POINT, address(number), 500);
        let mut transmission = Transmission::new(number as u64, frame, ghz5(), m12);
        transmission.retry_limit = 0;
        transmission
    };
    air.tune(Instant(0), right, None);
    air.transmit(Instant(0), left, send(1));
    let ack_at = Instant(34 + 16) + airtime::frame_duration(ghz5(), m12, 500);
    let difs_before = ack_at.saturating_sub(Micros(34));
    air.tune(difs_before, right, Some(ghz5()));
    air.transmit(difs_before, right, send(2));
    let outcomes = outcomes(&drain(&mut air));
    assert_eq!(
        outcomes,
        [(1, Outcome::Acknowledged, 1), (2, Outcome::NoAck, 1)]
    );
    assert_eq!(air.counters().receiver_sending, 1);
}

#[test]
fn airtime_of_a_channel_is_the_time_that_frames_fill() {
    let (mut air, station, _) = pair();
    air.transmit(Instant(0), station, frame(1));
    drain(&mut air);
    let expected = airtime::frame_duration(ghz5(), M54, 500) + Micros(28);
    let channels = &air.counters().channels;
    assert_eq!((channels[0].channel, channels[0].busy), (ghz5(), expected));
}

#[test]
fn a_receiver_that_others_have_reserved_does_not_answer_an_rts() {
    let m12 = Rate::Ofdm(OfdmRate::M12);
    let mut air = Air::new(spread(3.5));
    radio_at(&mut air, ghz5(), ACCESS_POINT, 0.0);
    let left = radio_at(&mut air, ghz5(), address(1), -16.0);
    radio_at(&mut air, ghz5(), address(2), 17.0);
    let far = radio_at(&mut air, ghz5(), address(3), 32.0);
    let send = |from, to| {
        let mut transmission = Transmission::new(0, data(to, address(from), 1500), ghz5(), m12);
        transmission.protect = Protection::RtsCts;
        transmission.retry_limit = 0;
        transmission
    };
    air.transmit(Instant(0), left, send(1, ACCESS_POINT));
    air.transmit(Instant(400), far, send(3, address(2)));
    let outcomes = outcomes(&drain(&mut air));
    assert_eq!(
        outcomes,
        [(0, Outcome::NoAck, 0), (0, Outcome::Acknowledged, 1)]
    );
    assert_eq!(air.counters().answer_withheld, 1);
}

#[test]
fn who_heard_only_the_data_leaves_the_ack_its_time() {
    let m12 = Rate::Ofdm(OfdmRate::M12);
    let mut air = Air::new(spread(3.5));
    radio_at(&mut air, ghz5(), ACCESS_POINT, 0.0);
    let left = radio_at(&mut air, ghz5(), address(1), -16.0);
    let beyond = radio_at(&mut air, ghz5(), address(2), -31.0);
    let frame = data(ACCESS_POINT, address(1), 500);
    air.transmit(Instant(0), left, Transmission::new(1, frame, ghz5(), m12));
    let in_gap = Instant(34 + 2) + airtime::frame_duration(ghz5(), m12, 500);
    let group = data(MacAddr::BROADCAST, address(2), 500);
    air.transmit(in_gap, beyond, Transmission::new(2, group, ghz5(), m12));
    let outcomes = outcomes(&drain(&mut air));
    assert_eq!(
        outcomes,
        [
            (1, Outcome::Acknowledged, 1),
            (2, Outcome::Unacknowledged, 1)
        ]
    );
}

#[test]
fn a_weak_link_loses_fast_frames_and_carries_slow_ones() {
    let loss = |rate| {
        let mut air = Air::new(AirConfig {
            path_loss: PathLoss::Ideal { loss_db: 100.0 },
            ..AirConfig::default()
        });
        let station = radio(&mut air, ghz5(), STATION);
        radio(&mut air, ghz5(), ACCESS_POINT);
        for token in 0..20 {
            let frame = data(ACCESS_POINT, STATION, 500);
            air.transmit(
                Instant(0),
                station,
                Transmission::new(token, frame, ghz5(), rate),
            );
        }
        drain(&mut air);
        (air.counters().acknowledged, air.counters().noise_errors > 0)
    };
    assert_eq!(loss(M54), (0, true));
    assert_eq!(loss(Rate::OFDM_6), (20, false));
}

#[test]
fn a_frame_for_another_channel_waits_until_its_radio_is_there() {
    let (mut air, station, access_point) = pair();
    air.tune(Instant(0), station, Some(ghz2()));
    air.transmit(Instant(0), station, frame(1));
    assert!(drain(&mut air).is_empty());
    assert_eq!(air.queued(station, AccessCategory::BestEffort), 1);
    air.tune(Instant(1_000), station, Some(ghz5()));
    assert_eq!(outcomes(&drain(&mut air)), [(1, Outcome::Acknowledged, 1)]);
    assert_conserved(&air, &[station, access_point]);
}

#[test]
fn a_frame_whose_radio_leaves_in_mid_exchange_holds_up_nothing() {
    let (mut air, station, access_point) = pair();
    air.transmit(Instant(0), station, frame(1));
    air.step(Instant(60));
    air.tune(Instant(60), station, Some(ghz2()));
    air.cancel(Instant(60), station, |_| true);
    assert_eq!(outcomes(&drain(&mut air)), [(1, Outcome::Cancelled, 1)]);
    assert_eq!(air.queued(station, AccessCategory::BestEffort), 0);
    assert_conserved(&air, &[station, access_point]);
}

#[test]
fn who_tunes_in_amid_a_frame_does_not_hear_it() {
    let (mut air, station, access_point) = pair();
    air.tune(Instant(0), access_point, None);
    let mut once = frame(1);
    once.retry_limit = 0;
    air.transmit(Instant(0), station, once);
    air.step(Instant(60));
    air.tune(Instant(60), access_point, Some(ghz5()));
    let events = drain(&mut air);
    assert_eq!(receivers(&events), []);
    assert_eq!(outcomes(&events), [(1, Outcome::NoAck, 1)]);
}

#[test]
fn a_40_mhz_frame_needs_a_40_mhz_receiver() {
    let (mut air, station, access_point) = pair();
    let rate = Rate::Ht {
        mcs: 7,
        ht40: true,
        short_guard: true,
        greenfield: false,
    };
    let send = |token| Transmission::new(token, data(ACCESS_POINT, STATION, 500), ghz5(), rate);
    air.transmit(Instant(0), station, send(1));
    assert_eq!(outcomes(&drain(&mut air))[0].1, Outcome::NoAck);
    assert!(air.counters().too_wide > 0);
    air.tune(
        Instant(0),
        access_point,
        Some(ghz5().with_width(Width::Mhz40Above)),
    );
    air.transmit(Instant(0), station, send(2));
    assert_eq!(outcomes(&drain(&mut air)), [(2, Outcome::Acknowledged, 1)]);
}

#[test]
fn a_monitor_hears_the_unicast_of_others_and_does_not_answer() {
    let (mut air, station, access_point) = pair();
    let monitor = radio(&mut air, ghz5(), address(9));
    air.set_promiscuous(monitor, true);
    air.transmit(Instant(0), station, frame(1));
    assert_eq!(receivers(&drain(&mut air)), [access_point, monitor]);
    assert_eq!(air.counters().acks, 1);
    air.set_promiscuous(monitor, false);
    air.transmit(Instant(0), station, frame(2));
    assert_eq!(receivers(&drain(&mut air)), [access_point]);
}

#[test]
fn cancelling_spares_the_frame_on_the_air() {
    let (mut air, station, access_point) = pair();
    for token in 0..4 {
        air.transmit(Instant(0), station, frame(token));
    }
    air.step(Instant(50));
    air.cancel(Instant(50), station, |token| token != 2);
    assert_eq!(
        outcomes(&drain(&mut air)),
        [
            (1, Outcome::Cancelled, 0),
            (3, Outcome::Cancelled, 0),
            (0, Outcome::Acknowledged, 1),
            (2, Outcome::Acknowledged, 1)
        ]
    );
    assert_conserved(&air, &[station, access_point]);
}

#[test]
fn removing_a_radio_cancels_what_it_had_and_its_frame_still_ends() {
    let (mut air, station, access_point) = pair();
    air.transmit(Instant(0), station, frame(1));
    air.transmit(Instant(0), station, frame(2));
    air.step(Instant(50));
    air.remove_radio(station);
    let events = drain(&mut air);
    assert_eq!(
        outcomes(&events),
        [(1, Outcome::Cancelled, 1), (2, Outcome::Cancelled, 0)]
    );
    assert_eq!(receivers(&events), [access_point]);
    air.transmit(Instant(0), station, frame(3));
    assert_eq!(air.counters().removed_radio, 1);
    assert_conserved(&air, &[access_point]);
}

#[test]
fn a_removed_receiver_answers_no_more() {
    let (mut air, station, access_point) = pair();
    air.transmit(Instant(0), station, frame(1));
    air.step(Instant(34 + 96));
    air.remove_radio(access_point);
    assert_eq!(outcomes(&drain(&mut air)), [(1, Outcome::NoAck, 8)]);
    assert_conserved(&air, &[station]);
}

#[test]
fn voice_goes_before_background_of_the_same_radio() {
    let (mut air, station, _) = pair();
    air.transmit(Instant(0), station, frame(0));
    for (token, category, aifsn) in [
        (1, AccessCategory::Background, 7),
        (2, AccessCategory::Voice, 2),
    ] {
        let mut transmission = frame(token);
        transmission.category = category;
        transmission.edca.aifsn = aifsn;
        transmission.edca.cw_min = if token == 1 { 15 } else { 3 };
        air.transmit(Instant(40), station, transmission);
    }
    let order: Vec<u64> = outcomes(&drain(&mut air))
        .iter()
        .map(|(token, ..)| *token)
        .collect();
    assert_eq!(order, [0, 2, 1]);
}

#[test]
fn queues_of_one_radio_that_reach_zero_together_collide_inside() {
    let (mut air, station, _) = pair();
    for (token, category) in [(1, AccessCategory::BestEffort), (2, AccessCategory::Voice)] {
        let mut transmission = frame(token);
        transmission.category = category;
        air.transmit(Instant(0), station, transmission);
    }
    assert_eq!(
        outcomes(&drain(&mut air)),
        [(2, Outcome::Acknowledged, 1), (1, Outcome::Acknowledged, 1)]
    );
    assert_eq!(air.counters().internal_collisions, 1);
}

#[test]
fn who_lost_inside_its_radio_backs_off() {
    let second_begins = |seed| {
        let mut air = Air::new(AirConfig {
            seed,
            ..AirConfig::default()
        });
        let station = radio(&mut air, ghz5(), STATION);
        radio(&mut air, ghz5(), ACCESS_POINT);
        for (token, category) in [(1, AccessCategory::BestEffort), (2, AccessCategory::Voice)] {
            let mut transmission = frame(token);
            transmission.category = category;
            air.transmit(Instant(0), station, transmission);
        }
        let ends: Vec<u64> = ends(&drain(&mut air));
        ends[1] - ends[0]
    };
    let gaps: std::collections::BTreeSet<u64> = (0..8).map(second_begins).collect();
    assert!(gaps.len() > 3, "{gaps:?}");
}

fn ends(events: &[AirEvent]) -> Vec<u64> {
    let sent = events.iter().filter_map(|event| match event {
        AirEvent::Sent(Ended { at, .. }) => Some(at.0),
        _ => None,
    });
    sent.collect()
}

#[test]
fn who_begins_to_contend_waits_difs_from_the_last_frame_it_could_hear() {
    let (mut air, station, access_point) = pair();
    air.transmit(Instant(0), station, frame(1));
    let length = airtime::frame_duration(ghz5(), M54, 500).0 + 44;
    let over = 34 + length;
    let now = Instant(over + 5);
    air.step(now);
    assert_eq!(ends(&events(&mut air)), [over]);
    let back = data(STATION, ACCESS_POINT, 500);
    air.transmit(now, access_point, Transmission::new(2, back, ghz5(), M54));
    assert_eq!(ends(&drain(&mut air)), [over + 34 + length]);
}

#[test]
fn who_begins_to_contend_in_the_gap_before_an_ack_leaves_the_gap_alone() {
    let (mut air, station, _) = pair();
    let other = radio(&mut air, ghz5(), address(9));
    air.transmit(Instant(0), station, frame(1));
    let data_over = Instant(34) + airtime::frame_duration(ghz5(), M54, 500);
    let second = data(ACCESS_POINT, address(9), 500);
    let in_gap = data_over + Micros(8);
    air.transmit(in_gap, other, Transmission::new(2, second, ghz5(), M54));
    assert_eq!(
        outcomes(&drain(&mut air)),
        [(1, Outcome::Acknowledged, 1), (2, Outcome::Acknowledged, 1)]
    );
}

#[test]
fn a_promiscuous_receiver_hears_its_own_unicast_once() {
    let (mut air, station, access_point) = pair();
    air.set_promiscuous(access_point, true);
    air.transmit(Instant(0), station, frame(1));
    assert_eq!(receivers(&drain(&mut air)), [access_point]);
}

#[test]
fn a_frame_shorter_than_its_header_is_cancelled() {
    let (mut air, station, _) = pair();
    let stump = Buffer::from_slice(&[8, 1, 0]).unwrap();
    air.transmit(
        Instant(0),
        station,
        Transmission::new(1, stump, ghz5(), M54),
    );
    assert_eq!(outcomes(&drain(&mut air)), [(1, Outcome::Cancelled, 0)]);
    assert_eq!(air.counters().malformed, 1);
    assert_conserved(&air, &[station]);
}

#[test]
fn a_late_step_runs_events_at_their_own_times() {
    let run = |steps: &[u64]| {
        let (mut air, station, _) = pair();
        for token in 0..5 {
            air.transmit(Instant(0), station, frame(token));
        }
        for step in steps {
            air.step(Instant(*step));
        }
        (format!("{:?}", drain(&mut air)), air.counters().lag_max)
    };
    let (on_time, _) = run(&[]);
    let (late, lag) = run(&[100_000]);
    assert_eq!(on_time, late);
    let first_end = Instant(34) + airtime::frame_duration(ghz5(), M54, frame(0).frame.len());
    assert_eq!(Some(lag), Instant(100_000).checked_since(first_end));
}

#[test]
fn the_medium_asks_to_be_called_at_the_ends_of_frame_and_ack_and_at_no_other_time() {
    let (mut air, station, access_point) = pair();
    for token in 0..3 {
        air.transmit(Instant(0), station, frame(token));
    }
    let mut now = Instant(0);
    while let Some(next) = air.step(now) {
        now = next;
        air.step(now);
        let events = events(&mut air);
        assert!(events.iter().all(|event| event.at() == now));
        let heard = receivers(&events) == [access_point];
        assert!(heard != (outcomes(&events).len() == 1), "{events:?}");
    }
    assert_eq!(air.counters().acknowledged, 3);
}

#[test]
fn who_leaves_before_its_ack_is_due_contends_at_once_where_it_has_gone() {
    let (mut air, station, access_point) = pair();
    let elsewhere = Channel::new(Band::Ghz5, 149).unwrap();
    let other = address(9);
    radio(&mut air, elsewhere, other);
    let first = frame(1);
    let left = Instant(34) + airtime::frame_duration(ghz5(), M54, first.frame.len());
    air.transmit(Instant(0), station, first);
    air.step(left);
    air.tune(left, access_point, Some(elsewhere));
    let farewell = Transmission::new(2, data(other, ACCESS_POINT, 500), elsewhere, M54);
    air.transmit(left, access_point, farewell);
    air.step(left + Micros(1_000));
    assert_eq!(outcomes(&events(&mut air)), [(2, Outcome::Acknowledged, 1)]);
}

#[test]
fn an_infinite_medium_delivers_and_acknowledges_at_once() {
    let mut air = Air::new(AirConfig {
        mode: AirMode::Infinite,
        ..AirConfig::default()
    });
    let station = radio(&mut air, ghz5(), STATION);
    let access_point = radio(&mut air, ghz5(), ACCESS_POINT);
    radio(&mut air, ghz2(), address(9));
    air.transmit(Instant(5), station, frame(1));
    let events = events(&mut air);
    assert_eq!(receivers(&events), [access_point]);
    assert_eq!(outcomes(&events), [(1, Outcome::Acknowledged, 1)]);
    let lost = Transmission::new(2, data(address(9), STATION, 100), ghz5(), M54);
    air.transmit(Instant(5), station, lost);
    let group = Transmission::new(3, data(MacAddr::BROADCAST, STATION, 100), ghz5(), M54);
    air.transmit(Instant(5), station, group);
    assert_eq!(
        outcomes(&drain(&mut air)),
        [(2, Outcome::NoAck, 1), (3, Outcome::Unacknowledged, 1)]
    );
    assert_conserved(&air, &[station, access_point]);
}

fn log_of(seed: u64) -> String {
    let config = AirConfig {
        seed,
        ..spread(3.0)
    };
    let mut air = Air::new(config);
    radio(&mut air, ghz5(), ACCESS_POINT);
    for number in 0..4 {
        let id = radio_at(&mut air, ghz5(), address(number), 10.0 * number as f32);
        for token in 0..30 {
            let frame = data(ACCESS_POINT, address(number), 800);
            air.transmit(
                Instant(token * 300),
                id,
                Transmission::new(token, frame, ghz5(), M54),
            );
        }
    }
    format!("{:?}", drain(&mut air))
}

#[test]
fn a_run_is_named_by_its_seed() {
    assert_eq!(log_of(1), log_of(1));
    assert_ne!(log_of(1), log_of(2));
}
