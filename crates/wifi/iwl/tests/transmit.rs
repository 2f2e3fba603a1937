//! Frames from the driver's descriptors to the radio, and their reports back.

use std::sync::{Arc, Mutex};

use airlane_dot11::{AccessCategory, MacAddr, OfdmRate, Rate};
use airlane_iwl_driver::{Aggregation, FakeDriver, TxOptions, sent};
use airlane_waist::{
    Command, Event, Reply, Request, Tag, Transmit, TxCipher, TxRate, TxReport, TxStatus,
};

const ADDRESS: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xaa]);

/// A running driver; frames wait for the test to answer them, commands are answered.
fn manual() -> FakeDriver {
    let mut driver = FakeDriver::with_address(ADDRESS);
    driver.power_on();
    driver.add_station(0, AP);
    driver.link_quality(0, &[0xe90f; 16]);
    driver.set_radio(None);
    driver
}

fn qos_data(sequence: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x88, 0x01, 0, 0];
    frame.extend(AP.0);
    frame.extend(ADDRESS.0);
    frame.extend(AP.0);
    frame.extend((sequence << 4).to_le_bytes());
    frame.extend([5, 0]);
    frame.extend(payload);
    frame
}

fn authentication() -> Vec<u8> {
    let mut frame = vec![0xb0, 0, 0, 0];
    frame.extend(AP.0);
    frame.extend(ADDRESS.0);
    frame.extend(AP.0);
    frame.extend([0, 0, 0, 0, 1, 0, 0, 0]);
    frame
}

fn next_frame(driver: &mut FakeDriver) -> (Tag, Transmit) {
    match driver.next_request() {
        Some(Request {
            tag,
            command: Command::Transmit(transmit),
        }) => (tag, transmit),
        other => panic!("no frame but {other:?}"),
    }
}

fn bytes(transmit: &Transmit) -> Vec<u8> {
    let mut bytes = vec![0; transmit.frame.len()];
    transmit.frame.read(&mut bytes).unwrap();
    bytes
}

fn report(status: TxStatus) -> TxReport {
    TxReport {
        status,
        ..sent(0x1230)
    }
}

#[test]
fn qos_data_leaves_without_padding_and_with_its_options() {
    let mut driver = manual();
    let frame = qos_data(0x123, b"payload of some length");
    let options = TxOptions {
        ccmp: Some([9; 16]),
        protect: true,
        tid: 5,
        ..TxOptions::DATA
    };
    driver.transmit(&frame, &options);
    let (_, transmit) = next_frame(&mut driver);
    assert_eq!(bytes(&transmit), frame, "the two bytes of padding are gone");
    assert_eq!(
        (transmit.queue, transmit.category),
        (2, AccessCategory::BestEffort)
    );
    assert_eq!((transmit.station.0, transmit.retry_limit), (0, 15));
    assert!(transmit.acknowledge && transmit.protect && !transmit.assign_sequence);
    assert_eq!(transmit.rate, TxRate::Table);
    assert_eq!(transmit.cipher, TxCipher::Ccmp([9; 16]));
}

#[test]
fn a_management_frame_has_its_own_rate_and_gets_a_number() {
    let mut driver = manual();
    driver.transmit(&authentication(), &TxOptions::MANAGEMENT);
    let (_, transmit) = next_frame(&mut driver);
    assert_eq!(bytes(&transmit), authentication());
    assert_eq!(transmit.rate, TxRate::Fixed(Rate::DSSS_1));
    assert!(transmit.assign_sequence);
    assert_eq!(transmit.category, AccessCategory::Voice);
}

#[test]
fn the_report_on_data_echoes_the_first_rate_and_the_sequence() {
    let mut driver = manual();
    let options = TxOptions {
        tid: 5,
        ..TxOptions::DATA
    };
    driver.transmit(&qos_data(0x123, b"x"), &options);
    let (tag, _) = next_frame(&mut driver);
    let outcome = TxReport {
        retries: 3,
        rate: Rate::Ofdm(OfdmRate::M54),
        ..report(TxStatus::Success)
    };
    driver.event(Event::Transmitted(tag, outcome));
    let responses = driver.tx_responses();
    assert_eq!(responses.len(), 1);
    let response = responses[0];
    assert_eq!((response.status, response.retries), (1, 3));
    assert_eq!(response.rate, 0xe90f, "the ladder's first word");
    assert_eq!((response.sequence_control, response.ra_tid), (0x1230, 0x05));
}

#[test]
fn the_report_on_management_has_its_own_rate_and_no_tid() {
    let mut driver = manual();
    driver.transmit(&authentication(), &TxOptions::MANAGEMENT);
    let (tag, _) = next_frame(&mut driver);
    driver.event(Event::Transmitted(tag, report(TxStatus::NoAck)));
    let response = driver.tx_responses()[0];
    assert_eq!(
        (response.status, response.rate, response.ra_tid),
        (0x83, 0x420a, 0xf8)
    );
}

#[test]
fn a_qos_null_frame_is_reported_without_its_tid() {
    let mut driver = manual();
    let mut null = qos_data(0, b"");
    null[0] = 0xc8;
    let options = TxOptions {
        tid: 5,
        ..TxOptions::DATA
    };
    driver.transmit(&null, &options);
    let (tag, _) = next_frame(&mut driver);
    driver.event(Event::Transmitted(tag, report(TxStatus::Success)));
    assert_eq!(driver.tx_responses()[0].ra_tid, 0x08);
}

#[test]
fn each_outcome_has_its_code() {
    for (status, code) in [
        (TxStatus::Success, 0x01),
        (TxStatus::NoAck, 0x83),
        (TxStatus::Flushed, 0x8e),
        (TxStatus::Refused, 0x89),
        (TxStatus::UnknownStation, 0x8b),
        (TxStatus::Malformed, 0x89),
    ] {
        let mut driver = manual();
        driver.transmit(&authentication(), &TxOptions::MANAGEMENT);
        let (tag, _) = next_frame(&mut driver);
        driver.event(Event::Transmitted(tag, report(status)));
        assert_eq!(driver.tx_responses()[0].status, code, "{status:?}");
    }
}

#[test]
fn reports_keep_ring_order_when_the_radio_does_not() {
    let mut driver = manual();
    for sequence in 0..3 {
        driver.transmit(&qos_data(sequence, b"x"), &TxOptions::DATA);
    }
    let tags: Vec<_> = (0..3).map(|_| next_frame(&mut driver).0).collect();
    driver.event(Event::Transmitted(tags[2], report(TxStatus::Success)));
    assert!(driver.tx_responses().is_empty());
    driver.event(Event::Transmitted(tags[0], report(TxStatus::Success)));
    assert_eq!(driver.tx_responses().len(), 1);
    driver.event(Event::Transmitted(tags[1], report(TxStatus::Success)));
    assert_eq!(driver.tx_responses().len(), 2);
}

#[test]
fn descriptors_are_fetched_when_the_lane_asks_and_queues_take_turns() {
    let mut driver = manual();
    driver.transmit(&authentication(), &TxOptions::MANAGEMENT);
    driver.transmit(&authentication(), &TxOptions::MANAGEMENT);
    driver.transmit(&qos_data(1, b"x"), &TxOptions::DATA);
    assert_eq!(driver.device().counters().tx_frames, 0);
    let queues: Vec<_> = (0..3).map(|_| next_frame(&mut driver).1.queue).collect();
    assert_eq!(queues, [0, 2, 0]);
    assert!(driver.next_request().is_none());
}

#[test]
fn nothing_is_fetched_past_the_write_index() {
    let mut driver = manual();
    driver.transmit(&authentication(), &TxOptions::MANAGEMENT);
    driver.transmit_quietly(&authentication(), &TxOptions::MANAGEMENT);
    next_frame(&mut driver);
    assert!(driver.next_request().is_none());
}

#[test]
fn a_ring_wraps_many_times() {
    let mut driver = FakeDriver::with_address(ADDRESS);
    driver.power_on();
    for sequence in 0..2000 {
        driver.transmit(&qos_data(sequence & 0xfff, b"x"), &TxOptions::DATA);
        driver.run();
    }
    assert_eq!(driver.tx_responses().len(), 2000);
}

#[test]
fn at_most_512_frames_are_in_flight() {
    let mut driver = manual();
    for queue in 0..4 {
        for sequence in 0..250 {
            let options = TxOptions {
                queue,
                ..TxOptions::DATA
            };
            driver.transmit(&qos_data(sequence, b"x"), &options);
        }
    }
    let tags: Vec<_> =
        std::iter::from_fn(|| driver.next_request().map(|request| request.tag)).collect();
    assert_eq!(tags.len(), 512);
    driver.event(Event::Transmitted(tags[0], report(TxStatus::Success)));
    assert!(driver.next_request().is_some() && driver.next_request().is_none());
}

#[test]
fn a_cipher_that_the_nic_lacks_is_not_sent_in_the_clear() {
    let mut driver = manual();
    for sec_ctl in [1, 3] {
        let index = driver.transmit_quietly(&qos_data(1, b"secret"), &TxOptions::DATA);
        let at = 0x0040_0000 + (2 * 256 + u64::from(index)) * 0x1000 + 4 + 0x11;
        driver.poke(at, &[sec_ctl]);
        driver.ring(2);
        assert!(driver.next_request().is_none());
        driver.run();
        assert_eq!(driver.tx_responses()[0].status, 0x89);
    }
    assert_eq!(driver.device().counters().tx_refused, 2);
}

#[test]
fn a_frame_shorter_than_it_claims_is_refused() {
    let mut driver = manual();
    let index = driver.transmit_quietly(&qos_data(1, b"short"), &TxOptions::DATA);
    let at = 0x0040_0000 + (2 * 256 + u64::from(index)) * 0x1000 + 4;
    driver.poke(at, &2000_u16.to_le_bytes());
    driver.ring(2);
    assert!(driver.next_request().is_none());
    driver.run();
    assert_eq!(driver.tx_responses()[0].status, 0x89);
}

/// With the access point, for TID 0, as best effort.
fn agreement(queue: u8, start: u16) -> Aggregation {
    Aggregation {
        queue,
        station: 0,
        tid: 0,
        fifo: 1,
        start,
    }
}

#[test]
fn a_queue_that_served_an_agreement_serves_plain_frames_again() {
    let mut driver = manual();
    driver.start_aggregation(&agreement(11, 0x300));
    driver.enable_queue(11, 1, 7);
    let options = TxOptions {
        queue: 11,
        ..TxOptions::DATA
    };
    driver.transmit(&qos_data(0x300, b"x"), &options);
    let (tag, transmit) = next_frame(&mut driver);
    assert!(!transmit.aggregate);
    driver.event(Event::Transmitted(tag, sent(0x3000)));
    assert_eq!(driver.tx_responses()[0].next, 8);
}

#[test]
fn a_null_frame_on_an_aggregation_queue_is_not_aggregated() {
    let mut driver = manual();
    driver.start_aggregation(&agreement(11, 0));
    let mut null = qos_data(0, b"");
    null[0] = 0xc8;
    let options = TxOptions {
        queue: 11,
        ..TxOptions::DATA
    };
    driver.transmit(&null, &options);
    assert!(!next_frame(&mut driver).1.aggregate);
}

#[test]
fn an_aggregation_queue_reclaims_by_sequence_number() {
    let mut driver = manual();
    driver.start_aggregation(&agreement(11, 0xffe));
    let options = TxOptions {
        queue: 11,
        tid: 0,
        ..TxOptions::DATA
    };
    for sequence in [0xffe, 0xfff, 0x000] {
        driver.transmit(&qos_data(sequence, b"x"), &options);
        let (tag, transmit) = next_frame(&mut driver);
        assert_eq!(
            (transmit.queue, transmit.category),
            (11, AccessCategory::BestEffort)
        );
        assert!(transmit.aggregate);
        driver.event(Event::Transmitted(tag, sent(sequence << 4)));
    }
    let next: Vec<_> = driver
        .tx_responses()
        .iter()
        .map(|response| response.next)
        .collect();
    assert_eq!(next, [0xfff, 0x000, 0x001]);
}

#[test]
fn a_doorbell_on_an_inactive_queue_fetches_nothing() {
    let mut driver = manual();
    driver.write(0x460, 12 << 8 | 200);
    assert!(driver.next_request().is_none());
    driver.enable_queue(12, 1, 200);
    assert!(driver.next_request().is_none());
}

#[test]
fn a_queue_that_goes_off_takes_its_frames_along() {
    let mut driver = manual();
    driver.start_aggregation(&agreement(11, 0));
    let options = TxOptions {
        queue: 11,
        ..TxOptions::DATA
    };
    driver.transmit(&qos_data(0, b"x"), &options);
    let (tag, _) = next_frame(&mut driver);
    driver.disable_queue(11);
    driver.start_aggregation(&agreement(11, 0));
    driver.transmit(&qos_data(0, b"y"), &options);
    next_frame(&mut driver);
    driver.event(Event::Transmitted(tag, report(TxStatus::Success)));
    assert!(
        driver.tx_responses().is_empty(),
        "the report is of the old frame"
    );
    assert_eq!(driver.device().counters().stale_events, 1);
}

#[test]
fn a_flush_completes_everything_pending_and_is_answered_last() {
    let mut driver = manual();
    let mut tags = Vec::new();
    for sequence in 0..6 {
        driver.transmit(&qos_data(sequence, b"x"), &TxOptions::DATA);
        if sequence < 3 {
            tags.push(next_frame(&mut driver).0);
        }
    }
    let flush = driver.send(0x1e, &[0xef, 0xfd, 0x0f, 0, 2, 0, 0, 0]);
    let request = driver.next_request().unwrap();
    assert!(
        matches!(request.command, Command::Flush(0xf_fdef)),
        "{request:?}"
    );
    assert!(driver.next_request().is_none(), "nothing else is fetched");
    assert!(
        driver.tx_responses().is_empty(),
        "the fetched ones come first"
    );
    driver.event(Event::Transmitted(tags[0], report(TxStatus::Success)));
    driver.event(Event::Transmitted(tags[1], report(TxStatus::Flushed)));
    assert!(driver.take_response(flush).is_none());
    driver.event(Event::Done(request.tag, Reply::Ok));
    let codes: Vec<_> = driver
        .tx_responses()
        .iter()
        .map(|response| response.status)
        .collect();
    assert_eq!(codes, [0x01, 0x8e, 0x8e, 0x8e, 0x8e, 0x8e]);
    assert!(driver.take_response(flush).is_some());
    assert!(driver.is_empty(2));
    driver.event(Event::Transmitted(tags[2], report(TxStatus::Success)));
    assert_eq!(driver.device().counters().stale_events, 1);
    assert_eq!(driver.device().counters().tx_flushed, 3);
}

#[test]
fn frames_go_on_after_a_flush() {
    let mut driver = manual();
    driver.send(0x1e, &[4, 0, 0, 0, 2, 0, 0, 0]);
    let flush = driver.next_request().unwrap();
    driver.transmit(&qos_data(1, b"x"), &TxOptions::DATA);
    assert!(driver.next_request().is_none(), "held during the flush");
    driver.event(Event::Done(flush.tag, Reply::Ok));
    next_frame(&mut driver);
}

#[test]
fn a_report_is_written_once() {
    let mut driver = manual();
    let count = Arc::new(Mutex::new(0));
    driver.transmit(&authentication(), &TxOptions::MANAGEMENT);
    let (tag, _) = next_frame(&mut driver);
    for _ in 0..2 {
        driver.event(Event::Transmitted(tag, report(TxStatus::Success)));
        *count.lock().unwrap() += driver.tx_responses().len();
    }
    assert_eq!(*count.lock().unwrap(), 1);
}
