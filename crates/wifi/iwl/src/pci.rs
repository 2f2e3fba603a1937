//! PCI configuration space: header, power management, MSI, PCI Express (PCI Local Bus 3.0 6.1, PCI
//! Power Management 1.2 3.2, PCI Express Base 2.0 7.8).
//!
//! Not here: delivering interrupts and placing the BAR, which the transport does.

use crate::model::Facts;
use crate::wire::{array_at, put};

const SIZE: usize = 256;
/// BAR 0 covers this much.
pub const BAR_SIZE: u64 = 0x2000;

const COMMAND: u8 = 0x04;
const BAR0: u8 = 0x10;
const POWER: u8 = 0xc8;
const MSI: u8 = 0xd0;
const EXPRESS: u8 = 0xe0;
/// Device Control; bit 15 starts a function reset.
const DEVICE_CONTROL: u8 = EXPRESS + 8;

/// The 256 bytes and which of their bits a write reaches.
pub struct ConfigSpace {
    bytes: [u8; SIZE],
    writable: [u8; SIZE],
}

impl ConfigSpace {
    /// As after power-on.
    pub fn new(facts: &Facts) -> Self {
        let mut space = Self {
            bytes: [0; SIZE],
            writable: [0; SIZE],
        };
        space.header(facts);
        space.power_management();
        space.msi();
        space.express();
        space
    }

    /// Reads; bytes beyond the 256 are zero.
    pub fn read(&self, offset: u64, data: &mut [u8]) {
        // Where the address space itself ends, the rest is zero, too.
        data.fill(0);
        for (byte, at) in data.iter_mut().zip(offset..=u64::MAX) {
            let at = usize::try_from(at).unwrap_or(SIZE);
            *byte = self.bytes.get(at).copied().unwrap_or(0);
        }
    }

    /// Writes what may be written; true when the write asks for a function reset.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> bool {
        for (&byte, at) in data.iter().zip(offset..=u64::MAX) {
            let at = usize::try_from(at).unwrap_or(SIZE);
            if let (Some(old), Some(&mask)) = (self.bytes.get_mut(at), self.writable.get(at)) {
                *old = (*old & !mask) | (byte & mask);
            }
        }
        self.take_function_reset()
    }

    /// What a function reset leaves: a fresh space with the BAR where it was.
    pub fn reset(&mut self, facts: &Facts) {
        let bar: Option<[u8; 8]> = array_at(&self.bytes, usize::from(BAR0));
        *self = Self::new(facts);
        self.field(BAR0, &bar.unwrap_or_default());
    }

    /// True in any power state but D0 (PCI Power Management 1.2 3.2.4).
    pub fn sleeps(&self) -> bool {
        let state = self.bytes.get(usize::from(POWER) + 4);
        state.is_some_and(|state| state & 3 != 0)
    }

    fn take_function_reset(&mut self) -> bool {
        let Some(high) = self.bytes.get_mut(usize::from(DEVICE_CONTROL) + 1) else {
            return false;
        };
        let asked = *high & 0x80 != 0;
        *high &= 0x7f;
        asked
    }

    fn field(&mut self, at: u8, value: &[u8]) {
        put(&mut self.bytes, usize::from(at), value);
    }

    fn allow(&mut self, at: u8, mask: &[u8]) {
        put(&mut self.writable, usize::from(at), mask);
    }

    fn header(&mut self, facts: &Facts) {
        self.field(0x00, &INTEL.to_le_bytes());
        self.field(0x02, &facts.device_id.to_le_bytes());
        self.field(0x06, &[0x10]); // status: there is a capability list
        self.field(0x08, &[0x00, 0x00, 0x80, 0x02]); // network controller, other
        self.field(BAR0, &[0x04]); // memory, 64-bit, not prefetchable
        self.field(0x2c, &INTEL.to_le_bytes());
        self.field(0x2e, &facts.subsystem_id.to_le_bytes());
        self.field(0x34, &[POWER]);
        self.field(0x3d, &[1]); // INTA
        self.allow(COMMAND, &[0x46, 0x05]); // memory, master, parity, SERR, INTx disable
        self.allow(0x0c, &[0xff]); // cache line size
        let size_mask = !(BAR_SIZE - 1);
        self.allow(BAR0, &size_mask.to_le_bytes());
        self.allow(0x3c, &[0xff]); // interrupt line
        // The driver turns the retry timeout off here; accepted, nothing done.
        self.allow(0x41, &[0xff]);
    }

    fn power_management(&mut self) {
        self.field(POWER, &[0x01, MSI, 0x03, 0xc8]); // PME from D3hot, D3cold; D0
        self.field(POWER + 4, &[0x08]); // no soft reset
        self.allow(POWER + 4, &[0x03, 0x01]);
    }

    fn msi(&mut self) {
        self.field(MSI, &[0x05, EXPRESS, 0x80, 0x00]); // 64-bit, one vector
        self.allow(MSI + 2, &[0x01]);
        self.allow(MSI + 4, &[0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        self.allow(MSI + 12, &[0xff, 0xff]);
    }

    fn express(&mut self) {
        self.field(EXPRESS, &[0x10, 0x00, 0x01, 0x00]); // version 1, endpoint
        // 128 B payload, role-based errors, function reset.
        self.field(EXPRESS + 4, &0x1000_8fc0_u32.to_le_bytes());
        self.allow(DEVICE_CONTROL, &[0xff, 0xff]);
        self.field(EXPRESS + 12, &0x0006_dc11_u32.to_le_bytes()); // 2.5 GT/s, one lane
        self.allow(EXPRESS + 16, &[0xfb, 0x01]);
        self.field(EXPRESS + 18, &0x1011_u16.to_le_bytes());
    }
}

const INTEL: u16 = 0x8086;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;

    fn space() -> ConfigSpace {
        ConfigSpace::new(Model::Wifi5300.facts())
    }

    fn read<const N: usize>(space: &ConfigSpace, at: u64) -> [u8; N] {
        let mut bytes = [0; N];
        space.read(at, &mut bytes);
        bytes
    }

    #[test]
    fn the_driver_would_bind_to_it() {
        assert_eq!(read(&space(), 0), [0x86, 0x80, 0x36, 0x42]);
        assert_eq!(read(&space(), 0x2c), [0x86, 0x80, 0x14, 0x10]);
    }

    #[test]
    fn the_bar_answers_its_size() {
        let mut space = space();
        space.write(0x10, &[0xff; 8]);
        let answer = u64::from_le_bytes(read(&space, 0x10));
        assert_eq!(!(answer & !0xf) + 1, BAR_SIZE);
        assert_eq!(answer & 0xf, 4, "64-bit memory");
    }

    #[test]
    fn capabilities_are_power_msi_express() {
        let space = space();
        let mut at = read::<1>(&space, 0x34)[0];
        let mut ids = Vec::new();
        while at != 0 {
            let [id, next] = read(&space, u64::from(at));
            ids.push(id);
            at = next;
        }
        assert_eq!(ids, [1, 5, 0x10]);
    }

    #[test]
    fn identity_cannot_be_written() {
        let mut space = space();
        space.write(0, &[0; 4]);
        assert_eq!(read(&space, 0), [0x86, 0x80, 0x36, 0x42]);
    }

    #[test]
    fn it_sleeps_in_every_state_but_d0_and_wakes_after_a_reset() {
        let mut space = space();
        for state in 0..4 {
            space.write(0xcc, &[state]);
            assert_eq!(space.sleeps(), state != 0);
        }
        space.reset(Model::Wifi5300.facts());
        assert!(!space.sleeps());
    }

    #[test]
    fn a_function_reset_is_reported_once() {
        let mut space = space();
        assert!(space.write(0xe8, &[0x10, 0xa8]));
        assert!(!space.write(0xe8, &[0x10, 0x28]));
    }

    #[test]
    fn beyond_the_space_reads_zero_and_ignores_writes() {
        let mut space = space();
        assert!(!space.write(u64::MAX - 1, &[1, 2]));
        assert_eq!(read(&space, 0xfff), [0; 4]);
    }
}
