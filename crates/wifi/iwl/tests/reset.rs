//! After a stop the card touches the guest's memory no more.

use airlane_dot11::{Band, Buffer, Channel, Dbm, MacAddr, Rate};
use airlane_iwl_driver::{FakeDriver, TxOptions, obliging_radio, sent};
use airlane_lane::Instant;
use airlane_waist::{Command, Event, Received, Reply, RxCipher, Tag};

fn frame() -> Received {
    Received {
        frame: Buffer::from_slice(&[0x80; 200]).unwrap(),
        cipher: RxCipher::Clear,
        channel: Channel::new(Band::Ghz2, 6).unwrap(),
        rate: Rate::OFDM_6,
        signal: Dbm(-50.0),
        at: Instant(0),
        aggregated: false,
    }
}

/// A driver with a frame, a command and received frames under way; the tags of the first two.
fn busy() -> (FakeDriver, Vec<Tag>) {
    let mut driver = FakeDriver::with_address(MacAddr([2, 0, 0, 0, 0, 1]));
    driver.power_on();
    driver.set_radio(None);
    driver.set_restocking(false);
    for _ in 0..300 {
        driver.event(Event::Received(frame()));
    }
    driver.send(0x48, &[0; 8]);
    let mut header = vec![0xb0; 1];
    header.resize(30, 0);
    driver.transmit(&header, &TxOptions::MANAGEMENT);
    driver.transmit(&header, &TxOptions::MANAGEMENT);
    let tags = (0..2).map(|_| driver.next_request().unwrap().tag).collect();
    (driver, tags)
}

fn late_events(driver: &mut FakeDriver, tags: &[Tag]) {
    for &tag in tags {
        driver.device().event(Event::Done(tag, Reply::Ok));
        driver.device().event(Event::Transmitted(tag, sent(0)));
    }
    driver.device().event(Event::Received(frame()));
    driver.write(0x1bc8, 64);
    driver.write(0x460, 200);
}

/// Stops the card as told and checks that nothing reaches the guest any more.
fn silent_after(stop: impl FnOnce(&mut FakeDriver)) {
    let (mut driver, tags) = busy();
    stop(&mut driver);
    let before = driver.snapshot();
    late_events(&mut driver, &tags);
    let asked = driver.next_request().map(|request| request.command);
    assert!(matches!(asked, Some(Command::Reset)), "{asked:?}");
    late_events(&mut driver, &tags);
    assert!(driver.next_request().is_none(), "one reset");
    assert!(
        driver.snapshot() == before,
        "the guest's memory has changed"
    );
}

#[test]
fn stop_master_stops_all_dma() {
    silent_after(|driver| driver.set_bits(0x020, 1 << 9));
}

#[test]
fn a_software_reset_stops_all_dma() {
    silent_after(|driver| driver.set_bits(0x020, 1 << 7));
}

#[test]
fn receive_off_stops_all_dma() {
    silent_after(|driver| driver.write(0x1c00, 0));
}

#[test]
fn transmit_off_stops_all_dma() {
    silent_after(|driver| driver.write(0x1d00, 0));
}

#[test]
fn a_function_reset_stops_all_dma() {
    silent_after(|driver| driver.device().reset());
}

#[test]
fn a_function_reset_through_configuration_space_stops_all_dma() {
    silent_after(|driver| driver.device().config_write(0xe8, &[0, 0x80]));
}

#[test]
fn a_card_put_to_sleep_stops_all_dma() {
    silent_after(|driver| driver.device().config_write(0xcc, &[3]));
}

/// Suspend to RAM: the driver stops the card and saves its configuration space, the platform puts it to
/// sleep and cuts its power; on the way back the space is restored and the driver starts over.
#[test]
fn after_suspend_and_resume_the_driver_starts_the_card_again() {
    let (mut driver, _) = busy();
    driver.stop();
    let mut saved = [0; 256];
    driver.device().config_read(0, &mut saved);
    driver.device().config_write(0xcc, &[3]);
    driver.device().reset();
    for (at, dword) in saved.chunks(4).enumerate() {
        driver.device().config_write(4 * at as u64, dword);
    }
    let mut restored = [0; 256];
    driver.device().config_read(0, &mut restored);
    assert_eq!(restored, saved);
    driver.set_radio(Some(Box::new(obliging_radio)));
    driver.set_restocking(true);
    driver.power_on();
    assert!(driver.device().is_up());
}

#[test]
fn the_whole_stop_sequence_resets_the_radio_once() {
    let (mut driver, _) = busy();
    driver.stop();
    assert!(matches!(
        driver.next_request().unwrap().command,
        Command::Reset
    ));
    assert!(driver.next_request().is_none());
}

#[test]
fn a_reset_in_the_middle_of_a_load_starts_over() {
    let mut driver = FakeDriver::with_address(MacAddr([2, 0, 0, 0, 0, 1]));
    driver.start_hardware();
    driver.write(0x1e20, 0x8010_0000);
    driver.set_bits(0x020, 1 << 7);
    driver.write(0x020, 0);
    assert!(!driver.device().is_up(), "nothing is loaded any more");
    driver.power_on();
    assert!(driver.device().is_up());
}
