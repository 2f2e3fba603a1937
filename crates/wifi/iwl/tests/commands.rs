//! Host commands: what each becomes, and how it is answered.

use std::sync::{Arc, Mutex};

use airlane_dot11::{Band, Channel, MacAddr, PeerHt};
use airlane_iwl_driver::{FakeDriver, Station, obliging_radio};
use airlane_lane::Micros;
use airlane_waist::{AggregationLimits, Command, Event, Mode, Refusal, Reply, Request, Statistics};

const ADDRESS: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xaa]);

type Log = Arc<Mutex<Vec<String>>>;

/// A running driver, and what its radio was asked, in `Debug` form.
fn logged() -> (FakeDriver, Log) {
    let mut driver = FakeDriver::with_address(ADDRESS);
    driver.power_on();
    let log = Log::default();
    let kept = Arc::clone(&log);
    driver.set_radio(Some(Box::new(move |request| {
        kept.lock().unwrap().push(format!("{:?}", request.command));
        obliging_radio(request)
    })));
    (driver, log)
}

fn last(log: &Log) -> String {
    log.lock().unwrap().last().cloned().unwrap_or_default()
}

/// A running driver whose radio refuses everything.
fn refused(refusal: Refusal) -> FakeDriver {
    let mut driver = FakeDriver::with_address(ADDRESS);
    driver.power_on();
    driver.set_radio(Some(Box::new(move |Request { tag, .. }| {
        vec![Event::Done(tag, Reply::Refused(refusal))]
    })));
    driver
}

fn channel(number: u16) -> Channel {
    Channel::new(Band::Ghz2, number).unwrap()
}

fn station(association_id: Option<u16>) -> Station {
    Station {
        address: ADDRESS,
        bssid: AP,
        channel: channel(6),
        association_id,
    }
}

#[test]
fn every_simple_command_becomes_its_waist_command() {
    let (mut driver, log) = logged();
    let mut timing = [0; 20];
    timing[8] = 100;
    timing[16] = 10;
    timing[18] = 2;
    let cases: [(u8, &[u8], &str); 12] = [
        (
            0x14,
            &timing,
            "Timing(Timing { beacon_interval: 100, listen_interval: 10, dtim_period: 2 })",
        ),
        (0x48, &[0; 8], "Led"),
        (0x5a, &[0; 68], "Coexistence"),
        (0x65, &[0; 92], "Calibrate"),
        (0x95, &[30, 0x40, 0x7f, 0], "TxPower(30)"),
        (0x98, &[7, 0, 0, 0], "TxAntennas(7)"),
        (0x9c, &[1, 0, 0, 0], "Statistics { clear: true }"),
        (0xa4, &[0; 12], "Thermal"),
        (0xa8, &[0; 24], "Sensitivity"),
        (0xa8, &[0; 48], "Sensitivity"),
        (0xb0, &[18, 0, 1, 1], "Calibrate"),
        (0x81, &[], "AbortScan"),
    ];
    for (id, payload, expected) in cases {
        driver.command(id, payload);
        assert_eq!(last(&log), expected, "{id:#x}");
    }
}

#[test]
fn commands_that_nobody_needs_to_know_of_are_answered_by_the_card() {
    let (mut driver, log) = logged();
    for (id, length) in [(0x03, 4), (0x20, 100), (0x91, 100), (0xa0, 4)] {
        driver.command(id, &vec![0; length]);
    }
    assert!(log.lock().unwrap().is_empty());
}

#[test]
fn unknown_and_malformed_commands_are_answered_and_counted() {
    let (mut driver, log) = logged();
    driver.command(0x77, &[0; 35]);
    driver.command(0xee, &[1, 2, 3]);
    driver.command(0xee, &[]);
    driver.command(0x11, &[0; 24]);
    assert!(log.lock().unwrap().is_empty());
    let counters = driver.device().counters();
    assert_eq!(
        (counters.malformed_commands, counters.unknown_commands),
        (2, 2)
    );
}

#[test]
fn rxon_without_assoc_forgets_stations_and_with_it_keeps_them() {
    let (mut driver, log) = logged();
    driver.configure(&station(None));
    let first = log.lock().unwrap()[0].clone();
    assert!(
        first.contains("forget_stations: true") && first.contains("associated: false"),
        "{first}"
    );
    assert!(
        first.contains("FOREIGN_BEACONS") && first.contains("short_slot: true"),
        "{first}"
    );
    driver.configure(&station(Some(0xc005)));
    let second = last(&log);
    assert!(
        second.contains("forget_stations: false") && second.contains("associated: true"),
        "{second}"
    );
    assert!(second.contains("association_id: 5"), "{second}");
}

#[test]
fn rxon_assoc_changes_the_flags_of_the_last_rxon() {
    let (mut driver, log) = logged();
    driver.configure(&station(Some(1)));
    let mut payload = [0; 24];
    payload[0..4].copy_from_slice(&(1_u32 | 1 << 3).to_le_bytes());
    payload[4..8].copy_from_slice(&(1_u32 << 5).to_le_bytes());
    driver.command(0x11, &payload);
    let configured = last(&log);
    assert!(configured.contains("protect: true") && configured.contains("short_slot: false"));
    assert!(configured.contains("forget_stations: false"));
    assert!(configured.contains(&format!("{AP}")), "{configured}");
}

#[test]
fn device_types_become_modes() {
    for (dev_type, mode) in [
        (3, Mode::Station),
        (4, Mode::Adhoc),
        (6, Mode::Monitor),
        (1, Mode::Other),
    ] {
        let (mut driver, log) = logged();
        let mut payload = [0; 50];
        (payload[0x18], payload[0x20], payload[0x28]) = (dev_type, 1, 1);
        driver.command(0x10, &payload);
        assert!(last(&log).contains(&format!("mode: {mode:?}")));
    }
}

#[test]
fn forty_megahertz_lies_above_or_below() {
    for (flags, width) in [
        (1 << 26, "Mhz40Above"),
        (1 << 26 | 1 << 22, "Mhz40Below"),
        (1 << 25, "Mhz40Above"),
        (1 << 22, "Mhz20"),
    ] {
        let (mut driver, log) = logged();
        let mut payload = [0; 50];
        payload[0x20..0x24].copy_from_slice(&u32::to_le_bytes(flags));
        payload[0x28] = 36;
        driver.command(0x10, &payload);
        let configured = last(&log);
        assert!(
            configured.contains(width) && configured.contains("Ghz5"),
            "{configured}"
        );
    }
}

#[test]
fn stations_and_keys() {
    let (mut driver, log) = logged();
    assert_eq!(driver.add_station(0, AP), 1);
    assert_eq!(
        last(&log),
        format!("AddStation(StationIndex(0), {AP}, {:?})", PeerHt::default())
    );
    assert_eq!(driver.set_key(0, 3, Some(2), [7; 16]), 1);
    assert_eq!(
        last(&log),
        "SetKey(Key(StationIndex(0) slot 3 index 2 group true Ccmp))"
    );
    assert_eq!(driver.remove_key(0, 3), 1);
    assert_eq!(last(&log), "RemoveKey(StationIndex(0), 3)");
    let mut remove = [0; 12];
    remove[4..10].copy_from_slice(&AP.0);
    assert_eq!(driver.command(0x19, &remove)[0], 1);
    assert_eq!(last(&log), format!("RemoveStation({AP})"));
}

/// What becomes of a change that says nothing new about what the station can.
const MODIFIED: &str =
    "ModifyStation(StationIndex(2), PeerHt { ampdu_exponent: 0, ampdu_spacing: 0, ht40: false })";

#[test]
fn what_a_peer_can_follows_the_flags_under_their_mask() {
    let (mut driver, log) = logged();
    driver.add_station(0, AP);
    let peer = PeerHt {
        ampdu_exponent: 3,
        ampdu_spacing: 5,
        ht40: true,
    };
    assert_eq!(driver.update_ht(0, peer), 1);
    let changed = format!("ModifyStation(StationIndex(0), {peer:?})");
    assert_eq!(last(&log), changed);
    let mut power_save = [0; 92];
    (power_save[0], power_save[0x49], power_save[0x4d]) = (1, 0xff, 1);
    power_save[0x4b] = 0xff;
    driver.command(0x18, &power_save);
    assert_eq!(last(&log), changed, "only what the mask names changes");
    driver.add_station(0, AP);
    assert!(last(&log).ends_with(&format!("{:?})", PeerHt::default())));
}

#[test]
fn link_quality_carries_rates_and_bounds_of_a_mpdus() {
    let (mut driver, log) = logged();
    driver.add_station(0, AP);
    let limits = AggregationLimits {
        frames: 31,
        time: Micros(2_000),
        no_start_after: 4,
    };
    driver.link_quality_with(0, &[0x1_e917; 16], &limits);
    let asked = last(&log);
    assert!(
        asked.contains("mcs: 23, ht40: true, short_guard: true"),
        "{asked}"
    );
    assert!(asked.ends_with(&format!("{limits:?})")), "{asked}");
}

#[test]
fn block_acks_and_flags_of_a_station() {
    let (mut driver, log) = logged();
    let mut payload = [0; 92];
    (payload[0], payload[0x0c]) = (1, 2);
    for (mask, expected) in [
        (
            0x08,
            "BlockAck(BlockAck { station: StationIndex(2), tid: 5, start: Some(291) })",
        ),
        (
            0x10,
            "BlockAck(BlockAck { station: StationIndex(2), tid: 6, start: None })",
        ),
        (0x02, MODIFIED),
        (0x00, MODIFIED),
    ] {
        payload[0x0d] = mask;
        payload[0x54..0x58].copy_from_slice(&[5, 6, 0x23, 0x01]);
        driver.command(0x18, &payload);
        assert_eq!(last(&log), expected);
    }
}

#[test]
fn refusals_become_station_status_codes() {
    for (refusal, code) in [(Refusal::StationTableFull, 2), (Refusal::UnknownStation, 8)] {
        assert_eq!(refused(refusal).add_station(0, AP), code);
    }
}

#[test]
fn a_scan_is_asked_for_channel_by_channel_and_completes() {
    let (mut driver, log) = logged();
    assert_eq!(driver.scan(Band::Ghz2, &[1, 6, 11], ADDRESS), 1);
    let asked = last(&log);
    assert!(
        asked.contains("number: 11") && asked.contains("active: true"),
        "{asked}"
    );
    assert!(
        asked.contains(&format!("dwell: {:?}", Micros(36_000))),
        "{asked}"
    );
    let complete = driver.take_notification(0x84).unwrap();
    assert_eq!(complete.payload[..4], [3, 1, 0, 11]);
}

#[test]
fn a_scan_that_is_refused_is_over() {
    let mut driver = refused(Refusal::Busy);
    assert_eq!(driver.scan(Band::Ghz5, &[36], ADDRESS), 2);
    assert_eq!(driver.take_notification(0x84).unwrap().payload[1], 2);
}

#[test]
fn an_abort_without_a_scan_says_so() {
    assert_eq!(refused(Refusal::NoScan).command(0x81, &[]), [2, 0, 0, 0]);
}

#[test]
fn statistics_have_480_bytes_and_a_low_temperature() {
    let (mut driver, _) = logged();
    driver.set_radio(Some(Box::new(|Request { tag, .. }| {
        let statistics = Statistics {
            cleared: true,
            channel: Some(channel(11)),
            ..Statistics::default()
        };
        vec![Event::Done(tag, Reply::Statistics(Box::new(statistics)))]
    })));
    let payload = driver.command(0x9c, &[0; 4]);
    assert_eq!(payload.len(), 480);
    assert_eq!(payload[..4], [0b0011, 0, 11, 0]);
    assert_eq!(payload[0x188..0x18c], [40, 0, 0, 0]);
}

#[test]
fn responses_keep_ring_order_when_the_radio_does_not() {
    let (mut driver, _) = logged();
    driver.set_radio(None);
    let sequences: Vec<_> = (0..3).map(|_| driver.send(0x48, &[0; 8])).collect();
    let tags: Vec<_> = (0..3).map(|_| driver.next_request().unwrap().tag).collect();
    driver.event(Event::Done(tags[2], Reply::Ok));
    driver.event(Event::Done(tags[1], Reply::Ok));
    assert!(driver.take_response(sequences[1]).is_none(), "held back");
    driver.event(Event::Done(tags[0], Reply::Ok));
    for sequence in sequences {
        assert!(driver.take_response(sequence).is_some());
    }
    driver.event(Event::Done(tags[0], Reply::Ok));
    assert_eq!(
        driver.device().counters().stale_events,
        1,
        "a second answer"
    );
}

#[test]
fn the_ring_wraps_at_256_commands() {
    let (mut driver, _) = logged();
    for _ in 0..600 {
        driver.command(0x48, &[0; 8]);
    }
}

#[test]
fn one_doorbell_may_stand_for_many_commands() {
    let (mut driver, log) = logged();
    for _ in 0..20 {
        driver.send_quietly(0x48, &[0; 8]);
    }
    driver.ring(4);
    driver.run();
    assert_eq!(log.lock().unwrap().len(), 20);
    assert!(driver.is_empty(4));
}

#[test]
fn notifications_carry_what_the_radio_said() {
    let (mut driver, _) = logged();
    driver.event(Event::ChannelSwitched(channel(9)));
    let switched = driver.take_notification(0x73).unwrap();
    assert_eq!(switched.payload, [1, 0, 9, 0, 0, 0, 0, 0]);
    driver.event(Event::MissedBeacons(airlane_waist::MissedBeacons {
        consecutive: 6,
        total: 7,
        expected: 8,
        received: 1,
    }));
    let missed = driver.take_notification(0xa2).unwrap();
    assert_eq!(
        missed.payload,
        [6, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0]
    );
}

#[test]
fn link_quality_becomes_a_ladder_without_words_of_no_rate() {
    let (mut driver, log) = logged();
    let mut rates = [0x420a; 16];
    rates[15] = 0xff;
    driver.link_quality(15, &rates);
    let asked = log.lock().unwrap().pop().unwrap();
    assert_eq!(asked.matches("M1").count(), 15, "{asked}");
}

#[test]
fn edca_is_in_the_order_of_the_categories() {
    let (mut driver, _) = logged();
    let seen = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&seen);
    driver.set_radio(Some(Box::new(move |request| {
        if let Command::Edca(parameters) = &request.command {
            *kept.lock().unwrap() = Some(*parameters);
        }
        obliging_radio(request)
    })));
    let mut payload = [0; 36];
    for category in 0..4 {
        let at = 4 + 8 * category;
        payload[at] = 15;
        payload[at + 4] = 10 + category as u8;
        payload[at + 6] = 94;
    }
    driver.command(0x13, &payload);
    let parameters = seen.lock().unwrap().unwrap();
    assert_eq!(parameters.map(|each| each.aifsn), [10, 11, 12, 13]);
    assert_eq!((parameters[0].cw_min, parameters[3].txop), (15, Micros(94)));
}
