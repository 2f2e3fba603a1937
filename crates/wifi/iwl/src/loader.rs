//! Device memory, the service channel that fills it, and the life of the microcode
//! (`pcie/trans.c`, `iwl_pcie_load_section` and what follows).

use airlane_dma::{Fault, Memory};

use crate::model::Facts;
use crate::registers::{Bank, fh, scd};
use crate::wire::{put, u32_at};

/// Where data SRAM begins in the device's address space.
const DATA: u32 = 0x0080_0000;
/// Bytes of the error table that the driver reads after a failure.
const ERROR_TABLE: u32 = 148;
/// Greatest byte count of one transfer: the driver's largest chunk.
const LARGEST_CHUNK: usize = 0x2_0000;

/// Where the microcode is between reset, load, start and halt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Microcode {
    /// Nothing loaded since the last reset.
    #[default]
    Absent,
    /// At least one section is loaded; the CPU is held in reset.
    Loaded,
    /// The CPU runs: commands and frames are taken.
    Running,
    /// The CPU was stopped, or died; only a reset helps.
    Halted,
}

impl Microcode {
    const EDGES: [(Self, Self); 6] = [
        (Self::Absent, Self::Loaded),
        (Self::Loaded, Self::Loaded),
        (Self::Loaded, Self::Running),
        (Self::Halted, Self::Loaded),
        (Self::Running, Self::Halted),
        (Self::Loaded, Self::Halted),
    ];

    /// Goes over to `next` where there is such an edge; says whether it did.
    pub fn go(&mut self, next: Self) -> bool {
        let legal = Self::EDGES.contains(&(*self, next));
        if legal {
            *self = next;
        }
        legal
    }
}

/// The device's own memory, as the memory window and the loader see it.
pub struct Sram {
    instructions: Box<[u8]>,
    data: Box<[u8]>,
    scheduler: Box<[u8]>,
    /// Device address of the error table: the end of data SRAM.
    error_table: u32,
}

impl Sram {
    /// Zeroed memory of the model's sizes.
    pub fn new(facts: &Facts) -> Self {
        let zeroed = |size: u32| vec![0; size as usize].into_boxed_slice();
        Self {
            instructions: zeroed(facts.instruction_sram),
            data: zeroed(facts.data_sram),
            scheduler: zeroed(scd::SRAM_SIZE),
            error_table: DATA + facts.data_sram.saturating_sub(ERROR_TABLE),
        }
    }

    /// The 32-bit word at `address`; zero where there is no memory.
    pub fn read(&self, address: u32) -> u32 {
        let (region, at) = self.region(address);
        u32_at(region, at).unwrap_or(0)
    }

    /// Stores a 32-bit word; where there is no memory, nothing.
    pub fn write(&mut self, address: u32, value: u32) {
        let (region, at) = self.region_mut(address);
        put(region, at, &value.to_le_bytes());
    }

    /// Device address of the error table.
    pub fn error_table(&self) -> u32 {
        self.error_table
    }

    /// Leaves a note of why the CPU died for the driver's log.
    pub fn write_error_table(&mut self, error: u32) {
        self.write(self.error_table, 1);
        self.write(self.error_table + 4, error);
    }

    fn region(&self, address: u32) -> (&[u8], usize) {
        match address {
            0..DATA => (&self.instructions, address as usize),
            DATA..scd::SRAM_BASE => (&self.data, (address - DATA) as usize),
            _ => (&self.scheduler, (address - scd::SRAM_BASE) as usize),
        }
    }

    fn region_mut(&mut self, address: u32) -> (&mut [u8], usize) {
        match address {
            0..DATA => (&mut self.instructions, address as usize),
            DATA..scd::SRAM_BASE => (&mut self.data, (address - DATA) as usize),
            _ => (&mut self.scheduler, (address - scd::SRAM_BASE) as usize),
        }
    }
}

/// Runs the service channel's transfer as `fh` describes it. Bytes beyond the SRAM are read and lost.
pub fn transfer(fh: &Bank, memory: &mut Memory, sram: &mut Sram) -> Result<(), Fault> {
    let count = fh.get(fh::SERVICE_COUNT);
    let source = u64::from(count >> 28) << 32 | u64::from(fh.get(fh::SERVICE_SOURCE));
    let length = ((count & 0x0fff_ffff) as usize).min(LARGEST_CHUNK);
    let mut bytes = vec![0; length];
    memory.read(source, &mut bytes)?;
    let (region, at) = sram.region_mut(fh.get(fh::SERVICE_SRAM));
    if let Some(target) = region.get_mut(at..) {
        let fits = length.min(target.len());
        put(target, 0, bytes.get(..fits).unwrap_or_default());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_starts_only_after_a_section_was_loaded() {
        let mut microcode = Microcode::default();
        assert!(!microcode.go(Microcode::Running));
        assert!(microcode.go(Microcode::Loaded));
        assert!(microcode.go(Microcode::Running));
        assert!(!microcode.go(Microcode::Running), "it runs already");
    }

    #[test]
    fn memory_outside_the_sram_reads_as_zero_and_ignores_writes() {
        let mut sram = Sram::new(crate::Model::Wifi5300.facts());
        for address in [0x2_0000, 0x0080_c000, 0x00c0_1000, u32::MAX] {
            sram.write(address, 7);
            assert_eq!(sram.read(address), 0);
        }
        sram.write(0x0080_bffc, 7);
        assert_eq!(sram.read(0x0080_bffc), 7);
    }
}
