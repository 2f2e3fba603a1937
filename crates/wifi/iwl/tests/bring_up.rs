//! From power-off to a running interface, by the driver's register sequences.

use airlane_dot11::MacAddr;
use airlane_iwl::microcode;
use airlane_iwl::{Device, Identity, Model};
use airlane_iwl_driver::{FakeDriver, Image};
use airlane_waist::{Command, Event};

const ADDRESS: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

fn driver() -> FakeDriver {
    FakeDriver::with_address(ADDRESS)
}

#[test]
fn probe_passes() {
    let mut driver = driver();
    driver.probe();
    let counters = driver.device().counters();
    assert_eq!(counters.unlisted_reads + counters.unlisted_writes, 0);
}

#[test]
fn the_eeprom_gives_the_address() {
    let mut driver = driver();
    driver.start_hardware();
    assert_eq!(driver.read_eeprom()[0x2a..0x30], ADDRESS.0);
}

/// A driver of this card.
fn driver_of(model: Model) -> FakeDriver {
    FakeDriver::new(Device::new(Identity {
        model,
        address: ADDRESS,
    }))
}

#[test]
fn every_model_comes_up_as_its_driver_expects() {
    for model in Model::ALL {
        let mut driver = driver_of(model);
        driver.probe();
        driver.start_hardware();
        assert_eq!(driver.read_eeprom()[0x2a..0x30], ADDRESS.0, "{model}");
        driver.stop();
        driver.power_on();
        let counters = driver.device().counters();
        assert_eq!(counters.microcode_starts, 2, "{model}");
        let strange = counters.unlisted_reads + counters.unlisted_writes;
        assert_eq!(strange + counters.odd_accesses, 0, "{model}");
    }
}

#[test]
fn the_5000_series_has_an_eeprom_and_the_6000_series_an_otp() {
    let otp = Model::ALL.map(|model| {
        let mut driver = driver_of(model);
        driver.start_hardware();
        (driver.read(0x034) >> 16 & 1, driver.read(0x030) & 7)
    });
    assert_eq!(otp, [(0, 2), (0, 2), (1, 1), (1, 1), (1, 1)]);
}

/// What the driver accepts, by the first words of `iwl_cfg`: least version of EEPROM and of calibration,
/// antennas where it takes them from the card, name of the microcode.
#[test]
fn versions_antennas_and_microcode_are_those_of_the_drivers_tables() {
    let rows = [
        (Model::Wifi5100, 0x11a, 4, None, "iwlwifi-5000-5.ucode"),
        (Model::Wifi5300, 0x11a, 4, None, "iwlwifi-5000-5.ucode"),
        (Model::Wifi6200, 0x423, 4, None, "iwlwifi-6000-4.ucode"),
        (
            Model::Wifi6205,
            0x709,
            6,
            Some(0x33),
            "iwlwifi-6000g2a-6.ucode",
        ),
        (
            Model::Wifi6300,
            0x423,
            4,
            Some(0x77),
            "iwlwifi-6000-4.ucode",
        ),
    ];
    for (model, version, calibration, antennas, file) in rows {
        let mut driver = driver_of(model);
        driver.start_hardware();
        let image = driver.read_eeprom();
        let word = |at: usize| u16::from_le_bytes([image[at], image[at + 1]]);
        assert!(word(0x88) >= version, "{model}");
        assert!(image[2 * usize::from(word(0xce))] >= calibration, "{model}");
        assert!(
            antennas.is_none_or(|mask| mask == word(0x90) >> 8),
            "{model}"
        );
        assert_eq!(microcode::file_name(model), file);
    }
}

#[test]
fn both_images_run_and_nothing_is_unlisted() {
    let mut driver = driver();
    driver.power_on();
    assert!(driver.device().is_up());
    let counters = driver.device().counters();
    assert_eq!(counters.microcode_starts, 2);
    assert_eq!(counters.microcode_sections, 4);
    assert_eq!(counters.unlisted_reads + counters.unlisted_writes, 0);
    assert_eq!(counters.unknown_commands + counters.malformed_commands, 0);
    assert_eq!(counters.dma_faults + counters.stale_events, 0);
}

#[test]
fn the_radio_hears_of_each_start_and_stop_once() {
    let mut driver = driver();
    driver.start_hardware();
    let log = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = std::sync::Arc::clone(&log);
    driver.set_radio(Some(Box::new(move |request| {
        kept.lock().unwrap().push(match &request.command {
            Command::Reset => 'r',
            Command::Initialize => 'i',
            _ => '.',
        });
        airlane_iwl_driver::obliging_radio(request)
    })));
    driver.load_microcode(&microcode::image(Model::Wifi5300));
    let starts: String = log.lock().unwrap().iter().filter(|c| **c != '.').collect();
    assert_eq!(starts, "iri");
}

#[test]
fn loaded_bytes_can_be_read_back_through_the_memory_window() {
    let mut driver = driver();
    driver.power_on();
    driver.write(0x40c, 0x0080_0000);
    assert_eq!(driver.read(0x41c).to_le_bytes(), *b"lane");
    assert_eq!(driver.read(0x40c), 0x0080_0004, "the address advances");
}

#[test]
fn the_scheduler_base_is_stable() {
    let mut driver = driver();
    let base = driver.read_peripheral(0x00a0_2c00);
    driver.power_on();
    assert_eq!(driver.read_peripheral(0x00a0_2c00), base);
}

#[test]
fn an_unmapped_section_raises_no_interrupt() {
    let mut driver = driver();
    driver.start_hardware();
    driver.write(0x00c, 0x0800_0000);
    for (offset, value) in [(0x1948, 0), (0x194c, 0xf000_0004), (0x1e20, 0x8010_0000)] {
        driver.write(offset, value);
    }
    assert!(!driver.device().take_msi());
    assert_eq!(driver.device().counters().dma_faults, 1);
}

#[test]
fn an_nmi_kills_the_microcode_and_a_restart_works() {
    let mut driver = driver();
    driver.power_on();
    driver.write(0x00c, 0);
    driver.write_peripheral(0x00a0_1c30, 0x80);
    assert_ne!(driver.read(0x008) & 1 << 25, 0, "SW_ERR");
    assert!(!driver.device().is_up());
    driver.stop();
    driver.power_on();
    assert!(driver.device().is_up());
}

#[test]
fn events_before_the_reset_is_answered_are_ignored() {
    let mut driver = driver();
    driver.power_on();
    driver.set_radio(None);
    driver.stop();
    let reset = driver.next_request().unwrap();
    assert!(matches!(reset.command, Command::Reset));
    driver.start_hardware();
    let image = microcode::image(Model::Wifi5300);
    driver.set_radio(Some(Box::new(|request| match request.command {
        Command::Initialize => vec![Event::MissedBeacons(Default::default()), Event::ResetDone],
        _ => airlane_iwl_driver::obliging_radio(request),
    })));
    driver.start_image(&image, Image::Runtime);
    assert!(driver.take_notification(0xa2).is_none());
    assert_eq!(driver.device().counters().stale_events, 1);
    driver.event(Event::MissedBeacons(Default::default()));
    assert!(driver.take_notification(0xa2).is_some(), "heard again");
}

#[test]
fn without_msi_the_line_says_the_same() {
    let mut driver = driver();
    driver.start_hardware();
    driver.set_radio(None);
    assert!(!driver.device().intx_level());
    driver.write(0x00c, 1 << 25);
    driver.write_peripheral(0x00a0_1c30, 0x80);
    assert!(driver.device().intx_level());
    driver.write(0x008, 1 << 25);
    assert!(!driver.device().intx_level());
}

#[test]
fn byte_accesses_at_4_and_5_are_ordinary_and_elsewhere_counted() {
    let mut driver = driver();
    driver.device().bar_write(4, &[0x40]);
    driver.device().bar_write(5, &[0xff]);
    assert_eq!(driver.read(4), 0xff40);
    assert_eq!(driver.device().counters().odd_accesses, 0);
    driver.write(0x00c, 0x1122_3344);
    let mut byte = [0];
    driver.device().bar_read(0x00d, &mut byte);
    assert_eq!(byte, [0x33]);
    driver.device().bar_write(0x00d, &[0]);
    assert_eq!(driver.read(0x00c), 0x1122_3344, "ignored");
    let mut both = [0; 8];
    driver.device().bar_read(0x008, &mut both);
    assert_eq!(both[4..], 0x1122_3344_u32.to_le_bytes());
    assert_eq!(driver.device().counters().odd_accesses, 3);
}

#[test]
fn unmasking_a_pending_cause_through_its_register_sends_a_message() {
    let mut driver = driver();
    driver.start_hardware();
    driver.set_radio(None);
    driver.write(0x00c, 0);
    driver.write_peripheral(0x00a0_1c30, 0x80);
    assert!(!driver.device().take_msi(), "masked");
    driver.write(0x00c, 1 << 25);
    assert!(driver.device().take_msi());
    driver.write(0x00c, 0);
    assert!(!driver.device().intx_level(), "masked again");
    driver.write(0x00c, 1 << 25);
    assert!(driver.device().take_msi(), "and once more");
}
