//! A guest that does as it likes: nothing panics, nothing hangs, nothing grows without bound.

use airlane_dot11::MacAddr;
use airlane_iwl::Device;
use airlane_iwl_driver::{FakeDriver, TxOptions, obliging_radio};
use airlane_waist::Event;
use proptest::prelude::*;

fn running() -> FakeDriver {
    let mut driver = FakeDriver::with_address(MacAddr([2, 0, 0, 0, 0, 1]));
    driver.power_on();
    driver
}

/// Lets the radio answer, but no driver look; at most so often.
fn turn(driver: &mut FakeDriver) {
    for _ in 0..600 {
        let Some(request) = driver.device().next_request() else {
            return;
        };
        for event in obliging_radio(request) {
            driver.device().event(event);
        }
    }
}

fn descriptor(count: u8, address: u64, length: u16) -> [u8; 128] {
    let mut bytes = [0; 128];
    bytes[3] = count;
    for index in 0..usize::from(count.min(20)) {
        let at = 4 + 6 * index;
        bytes[at..at + 4].copy_from_slice(&(address as u32).to_le_bytes());
        let high = ((address >> 32) & 0xf) as u16 | length << 4;
        bytes[at + 4..at + 6].copy_from_slice(&high.to_le_bytes());
    }
    bytes
}

#[test]
fn bad_descriptors_are_counted_and_the_queue_goes_on() {
    for (count, address, length) in [
        (31, 0x40_0000, 64),
        (0, 0, 0),
        (20, 0x40_0000, 0),
        (3, 0xf_ffff_fff0, 4095),
        (20, 0x40_0000, 4095),
    ] {
        for queue in [2, 4] {
            let mut driver = running();
            let before = driver.device().counters();
            driver.put_descriptor(queue, &descriptor(count, address, length));
            driver.ring(queue);
            turn(&mut driver);
            let after = driver.device().counters();
            let noticed = after.bad_descriptors + after.dma_faults + after.unknown_commands;
            assert!(
                noticed > before.bad_descriptors + before.dma_faults,
                "{count} {address:#x}"
            );
            driver.transmit(
                &[0x80; 30],
                &TxOptions {
                    queue: 3,
                    ..TxOptions::MANAGEMENT
                },
            );
            turn(&mut driver);
            assert_eq!(driver.device().counters().tx_frames, 1);
        }
    }
}

#[test]
fn a_write_index_may_jump_anywhere() {
    let mut driver = running();
    for index in [255, 1, 128, 127, 0] {
        for queue in 0..32 {
            driver.write(0x460, index | queue << 8);
            turn(&mut driver);
        }
    }
    assert!(driver.device().next_request().is_none());
}

#[test]
fn an_unmapped_receive_ring_loses_packets_and_counts_them() {
    let mut driver = running();
    driver.write(0x1c00, 0);
    driver.start_hardware();
    driver.write(0x1bc4, 0xffff_ffff);
    driver.write(0x1bc0, 0xffff_ffff);
    driver.write(0x1c00, 0x8080_1114);
    driver.write(0x1bc8, 248);
    driver.poke(0x1c_0000, &[1; 4]);
    for (offset, value) in [
        (0x1948, 0x1c_0000),
        (0x194c, 4),
        (0x1e20, 0x8010_0000),
        (0x020, 0),
    ] {
        driver.write(offset, value);
    }
    let counters = driver.device().counters();
    assert_eq!((counters.packets_dropped, counters.dma_faults), (1, 1));
}

#[test]
fn memory_may_vanish_at_any_time() {
    let mut driver = running();
    driver.transmit(&[0x80; 30], &TxOptions::MANAGEMENT);
    driver.send(0x48, &[0; 8]);
    driver.device().memory().unmap_all();
    turn(&mut driver);
    driver
        .device()
        .event(Event::MissedBeacons(Default::default()));
    assert!(driver.device().counters().dma_faults > 0);
}

#[test]
fn accesses_beyond_the_registers_read_zeros_change_nothing_and_are_counted() {
    let mut driver = running();
    let before = driver.device().counters();
    for offset in [0x1ffc, 0x1fff, 0x2000, u64::MAX - 3, u64::MAX] {
        let device = driver.device();
        for read in [Device::bar_read, Device::config_read] {
            let mut bytes = [0xff; 16];
            read(device, offset, &mut bytes);
            assert_eq!(bytes, [0; 16], "{offset:#x}");
        }
        device.bar_write(offset, &[0xff; 16]);
        device.config_write(offset, &[0xff; 16]);
    }
    driver.device().bar_read(0, &mut []);
    driver.device().bar_write(0, &[]);
    let after = driver.device().counters();
    // Reads: 4 words at 0x1ffc and 0x2000, 5 at 0x1fff; at the very end, where addresses do not go on, one for each byte
    // that is left. Writes: 4 whole words at 0x1ffc and 0x2000, one at the end.
    assert_eq!(after.unlisted_reads - before.unlisted_reads, 42);
    assert_eq!(after.unlisted_writes - before.unlisted_writes, 9);
    assert_eq!(
        after.odd_accesses - before.odd_accesses,
        12,
        "none of these is one aligned word"
    );
    assert_eq!(
        (after.resets, after.dma_faults),
        (before.resets, before.dma_faults)
    );
    assert!(driver.device().is_up());
}

/// What a guest can do.
#[derive(Clone, Debug)]
enum Act {
    Write(u64, u32),
    Read(u64, usize),
    Bytes(u64, Vec<u8>),
    Poke(u64, Vec<u8>),
    Peripheral(u32, u32),
    Config(u64, Vec<u8>),
    Turn,
}

/// Registers that do something, more often than others.
fn offset() -> impl Strategy<Value = u64> {
    prop_oneof![
        prop::sample::select(vec![
            0x008, 0x00c, 0x010, 0x020, 0x024, 0x02c, 0x0a0, 0x40c, 0x410, 0x418, 0x41c, 0x460,
            0x1948, 0x194c, 0x19c8, 0x19d0, 0x19d8, 0x19e0, 0x1bc0, 0x1bc4, 0x1bc8, 0x1c00, 0x1d00,
            0x1e20,
        ]),
        0..0x2100_u64,
    ]
}

fn value() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        0..0x800_u32,
        (0..32_u32).prop_map(|bit| 1 << bit),
        Just(0),
        Just(0x8080_1114),
        Just(0x8010_0000),
        (0..0x2000_u32).prop_map(|page| page << 4),
    ]
}

fn peripheral() -> impl Strategy<Value = u32> {
    prop_oneof![
        0x2c00..0x2e60_u32,
        Just(0x1c30_u32),
        0x2d0c..0x2d5c_u32,
        any::<u32>()
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let address = || {
        prop_oneof![
            0..0x60_0000_u64,
            0x10_0000..0x10_4000_u64,
            0x1b_0000..0x1b_0400_u64
        ]
    };
    let bytes = || prop::collection::vec(any::<u8>(), 0..160);
    prop_oneof![
        6 => (offset(), value()).prop_map(|(offset, value)| Act::Write(offset, value)),
        1 => (offset(), 0..20_usize).prop_map(|(offset, length)| Act::Read(offset, length)),
        1 => (offset(), bytes()).prop_map(|(offset, bytes)| Act::Bytes(offset, bytes)),
        3 => (address(), bytes()).prop_map(|(address, bytes)| Act::Poke(address, bytes)),
        2 => (peripheral(), value()).prop_map(|(address, value)| Act::Peripheral(address, value)),
        1 => (0..300_u64, bytes()).prop_map(|(offset, bytes)| Act::Config(offset, bytes)),
        2 => Just(Act::Turn),
    ]
}

fn perform(driver: &mut FakeDriver, act: &Act) {
    match act {
        Act::Write(offset, value) => driver.write(*offset, *value),
        Act::Read(offset, length) => driver.device().bar_read(*offset, &mut vec![0; *length]),
        Act::Bytes(offset, bytes) => driver.device().bar_write(*offset, bytes),
        Act::Poke(address, bytes) => driver.poke(*address, bytes),
        Act::Peripheral(address, value) => driver.write_peripheral(*address, *value),
        Act::Config(offset, bytes) => driver.device().config_write(*offset, bytes),
        Act::Turn => turn(driver),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_accesses_panics(acts in prop::collection::vec(act(), 0..200)) {
        let mut driver = running();
        for act in &acts {
            perform(&mut driver, act);
        }
        // Whatever happened, a driver that starts over gets a working card.
        driver.device().reset();
        turn(&mut driver);
        driver.power_on();
        prop_assert!(driver.device().is_up());
    }

    #[test]
    fn no_command_payload_panics(id in any::<u8>(), payload in prop::collection::vec(any::<u8>(), 0..1400)) {
        let mut driver = running();
        if id != 0x1c && !(0xc0..=0xc5).contains(&id) {
            driver.command(id, &payload);
        }
        prop_assert!(driver.is_empty(4));
    }

    #[test]
    fn no_transmit_command_panics(bytes in prop::collection::vec(any::<u8>(), 100), cut in 0..100_usize) {
        let mut driver = running();
        let index = driver.transmit_quietly(&[0x88; 60], &TxOptions::DATA);
        let at = 0x0040_0000 + (2 * 256 + u64::from(index)) * 0x1000;
        driver.poke(at + 4 + cut as u64, &bytes);
        driver.ring(2);
        driver.run();
        prop_assert!(driver.is_empty(2), "answered all the same");
    }
}
