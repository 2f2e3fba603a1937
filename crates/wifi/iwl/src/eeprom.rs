//! The card's EEPROM: identity, antennas, regulatory channels, calibration, transmit power; 1,024
//! words behind a port (`iwl-eeprom-parse.c`, `dvm/eeprom.c`).
//!
//! The OTP memory of the 6000 series holds the same and is read the same way, since its shadow in RAM lies
//! flat (`shadow_ram_support`). Not here: which of the two a card has (see the device's straps).

use crate::model::{Facts, Identity};
use crate::wire::{put, u16_at};

/// Bytes of the image.
const SIZE: usize = 2048;

const REGULATORY: u16 = 0x140;
const CALIBRATION: u16 = 0x200;
const POWER_LENGTH: u16 = 0x4f0;
const POWER: u16 = 0x500;
/// Entries of the transmit power table.
const POWER_ENTRIES: u16 = 5;

/// A channel entry: flags, greatest power in dBm.
type Entry = [u8; 2];
/// Valid, IBSS and active scanning allowed, wide.
const OPEN: Entry = [0x2b, 15];
/// Valid, passive scanning only, radar, wide.
const PASSIVE: Entry = [0x31, 15];
/// A channel that the card may not use.
const NONE: Entry = [0, 0];

/// The memory behind the port, as the factory wrote it.
pub struct Eeprom {
    bytes: Box<[u8]>,
}

impl Eeprom {
    /// What the factory would have written into this card.
    pub fn new(identity: &Identity) -> Self {
        let facts = identity.model.facts();
        let mut bytes = vec![0; SIZE];
        write_header(&mut bytes, identity, facts);
        write_regulatory(&mut bytes, facts);
        write_calibration(&mut bytes, facts);
        write_power(&mut bytes);
        Self {
            bytes: bytes.into_boxed_slice(),
        }
    }

    /// What the port reads after `command` was written to it: data in bits 31:16, done in bit 0.
    /// The command is the word index, shifted left by two.
    pub fn answer(&self, command: u32) -> u32 {
        let byte = ((command & 0xfffc) >> 1) as usize;
        let word = u16_at(&self.bytes, byte).unwrap_or(0);
        (u32::from(word) << 16) | 1
    }
}

fn word(bytes: &mut [u8], at: u16, value: u16) {
    put(bytes, usize::from(at), &value.to_le_bytes());
}

/// A link counts 16-bit words.
fn link(bytes: &mut [u8], at: u16, target: u16) {
    word(bytes, at, target / 2);
}

fn write_header(bytes: &mut [u8], identity: &Identity, facts: &Facts) {
    word(bytes, 0x10, facts.device_id);
    word(bytes, 0x14, facts.subsystem_id);
    put(bytes, 0x2a, &identity.address.0);
    word(bytes, 0x88, facts.eeprom_version);
    word(bytes, 0x8a, SKU_BOTH_BANDS_AND_HT);
    word(bytes, 0x90, facts.radio);
    word(bytes, 0x98, 1);
    link(bytes, 0xcc, REGULATORY);
    link(bytes, 0xce, CALIBRATION);
    link(bytes, 0xd4, POWER);
    link(bytes, 0xd6, POWER_LENGTH);
}

/// 2.4 GHz, 5 GHz, 802.11n; no second context (IPAN).
const SKU_BOTH_BANDS_AND_HT: u16 = 0x0070;

fn channels(bytes: &mut [u8], at: usize, entries: impl IntoIterator<Item = Entry>) {
    for (index, entry) in entries.into_iter().enumerate() {
        put(bytes, usize::from(REGULATORY) + at + 2 * index, &entry);
    }
}

fn write_regulatory(bytes: &mut [u8], facts: &Facts) {
    let open = |count| std::iter::repeat_n(OPEN, count);
    channels(bytes, 0x08, open(13).chain([NONE]));
    let lower_5ghz = [34, 36, 38, 40, 42, 44, 46, 48, 52, 56, 60, 64];
    channels(bytes, 0x42, lower_5ghz.map(lower_5ghz_entry));
    channels(bytes, 0x5c, std::iter::repeat_n(PASSIVE, 11));
    channels(bytes, 0x74, open(6));
    channels(bytes, facts.wide_2ghz, open(7));
    channels(bytes, 0x92, open(11));
}

fn lower_5ghz_entry(channel: u8) -> Entry {
    match channel {
        36 | 40 | 44 | 48 => OPEN,
        52.. => PASSIVE,
        _ => NONE,
    }
}

fn write_calibration(bytes: &mut [u8], facts: &Facts) {
    word(bytes, CALIBRATION, u16::from(facts.calibration_version));
    word(bytes, CALIBRATION + 0x250, 0x40);
    word(bytes, CALIBRATION + 0x252, 0x40);
    word(bytes, CALIBRATION + 0x254, 0x120);
    word(bytes, CALIBRATION + 0x256, 0xa8c);
}

/// The table of the 6000 series: common limits of 16 dBm for both bands. The 5000 series does not look.
fn write_power(bytes: &mut [u8]) {
    let entries: [u8; POWER_ENTRIES as usize] = [0x81, 0x85, 0x8d, 0x87, 0x8f];
    word(bytes, POWER_LENGTH, 4 * POWER_ENTRIES);
    for (index, flags) in entries.into_iter().enumerate() {
        let entry = [flags, 0, 32, 32, 32, 0, 32, 32];
        put(bytes, usize::from(POWER) + 8 * index, &entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_dot11::MacAddr;

    fn eeprom() -> Eeprom {
        Eeprom::new(&Identity {
            model: crate::Model::Wifi5300,
            address: MacAddr([2, 1, 2, 3, 4, 5]),
        })
    }

    fn read(eeprom: &Eeprom, byte: u32) -> u16 {
        let answer = eeprom.answer((byte << 1) & 0xfffc);
        assert_eq!(answer & 1, 1);
        (answer >> 16) as u16
    }

    #[test]
    fn the_address_stands_at_0x2a_in_transmission_order() {
        let eeprom = eeprom();
        let words = [0x2a, 0x2c, 0x2e].map(|byte| read(&eeprom, byte));
        assert_eq!(words, [0x0102, 0x0302, 0x0504]);
    }

    #[test]
    fn channel_1_lies_behind_the_regulatory_link_and_is_open() {
        let eeprom = eeprom();
        let regulatory = 2 * u32::from(read(&eeprom, 0xcc));
        assert_eq!(read(&eeprom, regulatory + 8), 0x0f2b);
        assert_eq!(read(&eeprom, regulatory + 8 + 2 * 13), 0, "no channel 14");
    }

    #[test]
    fn the_calibration_version_satisfies_the_driver() {
        let eeprom = eeprom();
        let calibration = 2 * u32::from(read(&eeprom, 0xce));
        assert!(read(&eeprom, calibration) & 0xff >= 4);
    }

    #[test]
    fn an_address_past_the_end_reads_as_zero() {
        assert_eq!(eeprom().answer(0xfffc), 1);
    }
}
