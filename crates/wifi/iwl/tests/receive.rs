//! Received frames and the receive ring.

use airlane_dot11::{Band, Buffer, Channel, Dbm, MacAddr, Rate};
use airlane_iwl_driver::FakeDriver;
use airlane_lane::Instant;
use airlane_waist::{Event, Received, RxCipher};

fn running() -> FakeDriver {
    let mut driver = FakeDriver::with_address(MacAddr([2, 0, 0, 0, 0, 1]));
    driver.power_on();
    driver
}

fn frame(length: usize, cipher: RxCipher) -> Received {
    let bytes: Vec<u8> = (0..length).map(|at| at as u8).collect();
    Received {
        frame: Buffer::from_slice(&bytes).unwrap(),
        cipher,
        channel: Channel::new(Band::Ghz2, 6).unwrap(),
        rate: Rate::DSSS_1,
        signal: Dbm(-61.4),
        at: Instant(0x1_0000_0002),
        aggregated: false,
    }
}

#[test]
fn the_driver_reads_what_was_received() {
    let mut driver = running();
    driver.event(Event::Received(frame(301, RxCipher::Clear)));
    let frames = driver.received();
    assert_eq!(frames.len(), 1);
    let received = &frames[0];
    let expected: Vec<u8> = (0..301).map(|at| at as u8).collect();
    assert_eq!(received.bytes, expected);
    assert_eq!((received.signal, received.channel), (-61, 6));
    assert_eq!((received.rate, received.at), (0x420a, 0x1_0000_0002));
    assert_eq!(received.phy_flags, 0b1_0011, "2.4 GHz, CCK, antenna A");
}

#[test]
fn the_status_word_says_what_became_of_the_cipher() {
    let mut driver = running();
    for (cipher, status) in [
        (RxCipher::Clear, 0x003),
        (RxCipher::Ccmp, 0xa43),
        (RxCipher::CcmpBad, 0xa03),
        (RxCipher::Encrypted, 0x203),
    ] {
        driver.event(Event::Received(frame(100, cipher)));
        assert_eq!(driver.received()[0].status, status);
    }
}

#[test]
fn aggregated_frames_are_marked() {
    let mut driver = running();
    let received = Received {
        aggregated: true,
        ..frame(100, RxCipher::Clear)
    };
    driver.event(Event::Received(received));
    assert_ne!(driver.received()[0].phy_flags & 0x80, 0);
}

#[test]
fn frames_of_every_length_arrive_whole_and_the_ring_wraps() {
    let mut driver = running();
    for length in (10..=airlane_dot11::CAPACITY)
        .step_by(7)
        .chain([airlane_dot11::CAPACITY])
    {
        driver.event(Event::Received(frame(length, RxCipher::Clear)));
        let frames = driver.received();
        assert_eq!((frames.len(), frames[0].bytes.len()), (1, length));
    }
    assert_eq!(driver.device().counters().rx_dropped, 0);
}

#[test]
fn a_small_frame_takes_one_buffer() {
    let mut driver = running();
    let before = driver.device().counters().receive_buffers;
    driver.event(Event::Received(frame(1500, RxCipher::Clear)));
    assert_eq!(driver.device().counters().receive_buffers, before + 1);
}

#[test]
fn without_buffers_frames_wait_and_then_are_dropped_and_counted() {
    let mut driver = running();
    driver.set_restocking(false);
    for _ in 0..1000 {
        driver.event(Event::Received(frame(100, RxCipher::Clear)));
    }
    let counters = driver.device().counters();
    let written = driver.received().len() as u64;
    assert!(written > 200 && written < 256, "{written}");
    assert_eq!(written + 128 + counters.rx_dropped, 1000);
    driver.set_restocking(true);
    assert_eq!(driver.received().len(), 128, "what waited comes");
    assert_eq!(driver.device().counters().rx_dropped, counters.rx_dropped);
}

#[test]
fn what_waited_shares_buffers() {
    let mut driver = running();
    driver.set_restocking(false);
    for _ in 0..1000 {
        driver.event(Event::Received(frame(100, RxCipher::Clear)));
    }
    let before = driver.device().counters().receive_buffers;
    driver.received();
    driver.set_restocking(true);
    let taken = driver.device().counters().receive_buffers - before;
    assert!(taken <= 8, "128 frames of 320 bytes in {taken} buffers");
}

#[test]
fn without_buffers_commands_are_not_fetched_for_ever() {
    let mut driver = running();
    driver.set_restocking(false);
    for round in 0..40_u32 {
        for _ in 0..32 {
            driver.send(0x48, &[0; 8]);
        }
        driver.run();
        if driver.device().counters().commands < 32 * u64::from(round) {
            return;
        }
    }
    panic!("1,280 responses wait for buffers");
}

#[test]
fn a_monitor_gets_the_check_sequence() {
    let mut driver = running();
    let mut rxon = [0; 50];
    (rxon[0x18], rxon[0x20], rxon[0x28]) = (6, 1, 6);
    driver.command(0x10, &rxon);
    let mut received = frame(9, RxCipher::Clear);
    received.frame = Buffer::from_slice(b"123456789").unwrap();
    driver.event(Event::Received(received));
    let bytes = &driver.received()[0].bytes;
    assert_eq!(bytes[9..], 0xcbf4_3926_u32.to_le_bytes());
}

#[test]
fn several_events_make_one_interrupt() {
    let mut driver = running();
    let before = driver.messages();
    for _ in 0..10 {
        driver
            .device()
            .event(Event::Received(frame(100, RxCipher::Clear)));
    }
    driver.handle_interrupts();
    assert_eq!(driver.messages(), before + 1);
    assert_eq!(driver.received().len(), 10);
}

#[test]
fn nothing_is_received_before_the_microcode_runs() {
    let mut driver = FakeDriver::with_address(MacAddr([2, 0, 0, 0, 0, 1]));
    driver.event(Event::Received(frame(100, RxCipher::Clear)));
    assert_eq!(driver.device().counters().stale_events, 1);
}

/// Has the card take so many frames at once.
fn at_once(driver: &mut FakeDriver, frames: usize, length: usize) {
    driver.events((0..frames).map(|_| Event::Received(frame(length, RxCipher::Clear))));
}

#[test]
fn frames_that_come_at_once_share_buffers_and_one_interrupt() {
    let mut driver = running();
    let before = driver.device().counters();
    at_once(&mut driver, 40, 200);
    let after = driver.device().counters();
    assert_eq!(driver.received().len(), 40);
    assert_eq!(after.interrupts - before.interrupts, 1);
    // RX_PHY takes 128 bytes, RX_MPDU of 200 bytes 256: ten frames to a buffer of 4,096 bytes.
    assert_eq!(after.receive_buffers - before.receive_buffers, 4);
}

#[test]
fn a_driver_that_masks_interrupts_finds_everything_when_it_looks_again() {
    let mut driver = running();
    driver.write(0x00c, 0);
    let messages = driver.messages();
    for _ in 0..3 {
        at_once(&mut driver, 15, 200);
    }
    assert_eq!((driver.messages(), driver.received().len()), (messages, 0));
    driver.write(0x00c, u32::MAX);
    driver.handle_interrupts();
    assert_eq!(
        (driver.messages(), driver.received().len()),
        (messages + 1, 45)
    );
}
