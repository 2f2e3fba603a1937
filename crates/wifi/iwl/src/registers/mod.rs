//! Registers as data: tables of offset, name, reset value and write rule, and one bank that applies
//! the rules. Only doorbells and ports reach device code.
//!
//! Not here: what a doorbell does (see the device).

pub(crate) mod csr;
pub(crate) mod fh;
pub(crate) mod prph;
pub(crate) mod scd;

use std::fmt::Write as _;

/// What a write does to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nothing.
    ReadOnly,
    /// Stores the bits of this mask.
    Masked(u32),
    /// Clears the bits that are written as one; device code is told.
    ClearsOnes,
    /// Stores the bits of this mask; device code is told.
    Doorbell(u32),
    /// Stores nothing: reads and writes both go to device code.
    Port,
}

/// A register, or an array of equal ones.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Offset in bytes of the first.
    pub offset: u32,
    /// Its name in the driver's headers, without prefix.
    pub name: &'static str,
    /// Its value after a reset.
    pub reset: u32,
    /// What a write does.
    pub rule: Rule,
    /// How many there are.
    pub count: u32,
    /// Bytes from one to the next.
    pub stride: u32,
    /// Where the driver's source says so, and what it is for.
    pub source: &'static str,
}

impl Register {
    const fn new(offset: u32, name: &'static str, rule: Rule, source: &'static str) -> Self {
        Self {
            offset,
            name,
            reset: 0,
            rule,
            count: 1,
            stride: 4,
            source,
        }
    }

    const fn reset(self, reset: u32) -> Self {
        Self { reset, ..self }
    }

    const fn array(self, count: u32, stride: u32) -> Self {
        Self {
            count,
            stride,
            ..self
        }
    }

    /// Which one of the array lies at `offset`.
    fn element(&self, offset: u32) -> Option<u32> {
        let distance = offset.checked_sub(self.offset)?;
        let element = distance.checked_div(self.stride)?;
        (element < self.count && element * self.stride == distance).then_some(element)
    }
}

/// A table of registers that share one address space.
pub struct Block {
    /// What it is.
    pub name: &'static str,
    /// How the driver reaches it.
    pub access: &'static str,
    /// Its registers, by ascending offset.
    pub registers: &'static [Register],
}

/// Every block of the card.
pub const BLOCKS: [&Block; 4] = [&csr::BLOCK, &fh::BLOCK, &prph::BLOCK, &scd::BLOCK];

/// True when offsets ascend and everything is aligned to 32 bits.
const fn well_formed(registers: &[Register]) -> bool {
    let mut index = 0;
    while index < registers.len() {
        let register = &registers[index];
        let aligned = register.offset.is_multiple_of(4) && register.stride.is_multiple_of(4);
        if !aligned || register.stride == 0 || register.count == 0 {
            return false;
        }
        if index > 0 && registers[index - 1].offset >= register.offset {
            return false;
        }
        index += 1;
    }
    true
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// The rule was applied; that is all.
    Stored,
    /// The rule was applied; device code has to act.
    Told,
    /// There is no such register.
    Unlisted,
}

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// This value.
    Value(u32),
    /// Device code knows the value.
    Port,
    /// There is no such register.
    Unlisted,
}

/// The values of a block.
pub(crate) struct Bank {
    block: &'static Block,
    /// Index of each row's first value.
    starts: Vec<usize>,
    values: Vec<u32>,
}

impl Bank {
    /// All at their reset values.
    pub fn new(block: &'static Block) -> Self {
        let mut starts = Vec::with_capacity(block.registers.len());
        let mut values = Vec::new();
        for register in block.registers {
            starts.push(values.len());
            values.extend((0..register.count).map(|_| register.reset));
        }
        Self {
            block,
            starts,
            values,
        }
    }

    /// Back to the reset values.
    pub fn reset(&mut self) {
        *self = Self::new(self.block);
    }

    /// A guest's read.
    pub fn read(&self, offset: u32) -> Found {
        match self.find(offset) {
            None => Found::Unlisted,
            Some((register, _)) if register.rule == Rule::Port => Found::Port,
            Some((_, at)) => Found::Value(self.values.get(at).copied().unwrap_or(0)),
        }
    }

    /// A guest's write.
    pub fn write(&mut self, offset: u32, value: u32) -> Written {
        let Some((register, at)) = self.find(offset) else {
            return Written::Unlisted;
        };
        let Some(slot) = self.values.get_mut(at) else {
            return Written::Unlisted;
        };
        match register.rule {
            Rule::ReadOnly => Written::Stored,
            Rule::Masked(mask) => {
                *slot = merge(*slot, value, mask);
                Written::Stored
            }
            Rule::ClearsOnes => {
                *slot &= !value;
                Written::Told
            }
            Rule::Doorbell(mask) => {
                *slot = merge(*slot, value, mask);
                Written::Told
            }
            Rule::Port => Written::Told,
        }
    }

    /// The device's own look at a register.
    pub fn get(&self, offset: u32) -> u32 {
        self.find(offset)
            .and_then(|(_, at)| self.values.get(at).copied())
            .unwrap_or(0)
    }

    /// The device's own write, past the rule.
    pub fn set(&mut self, offset: u32, value: u32) {
        if let Some((_, at)) = self.find(offset)
            && let Some(slot) = self.values.get_mut(at)
        {
            *slot = value;
        }
    }

    fn find(&self, offset: u32) -> Option<(&'static Register, usize)> {
        let rows = self.block.registers;
        let after = rows.partition_point(|row| row.offset <= offset);
        let (row, element) = (0..after).rev().find_map(|row| {
            let element = rows.get(row)?.element(offset)?;
            Some((row, element))
        })?;
        Some((rows.get(row)?, self.starts.get(row)? + element as usize))
    }
}

const fn merge(old: u32, new: u32, mask: u32) -> u32 {
    (old & !mask) | (new & mask)
}

/// The tables as a document, `docs/registers.md`.
pub fn document() -> String {
    let mut text = String::from(
        "# Registers\n\nPrinted from the tables in `crates/wifi/iwl/src/registers`; do not edit. Regenerate with\n\
         `UPDATE_DOCS=1 cargo test -p airlane-iwl --test documents`.\n\n\
         Write rules: *read only* ignores writes; *stores M* keeps the bits of mask M; *clears ones* clears the bits\n\
         written as one; *doorbell M* stores the bits of M and makes the device act; *port* is answered by the device.\n",
    );
    for block in BLOCKS {
        let _ = writeln!(text, "\n## {}\n\n{}\n", block.name, block.access);
        text.push_str(
            "| offset | name | reset | write | source and use |\n|---|---|---|---|---|\n",
        );
        for register in block.registers {
            let _ = writeln!(text, "{}", line(register));
        }
    }
    text
}

fn line(register: &Register) -> String {
    let array = match register.count {
        1 => String::new(),
        count => format!(" + {:#x}·n, n < {count}", register.stride),
    };
    let rule = match register.rule {
        Rule::ReadOnly => "read only".to_owned(),
        Rule::Masked(mask) => format!("stores {mask:#010x}"),
        Rule::ClearsOnes => "clears ones".to_owned(),
        Rule::Doorbell(mask) => format!("doorbell {mask:#010x}"),
        Rule::Port => "port".to_owned(),
    };
    format!(
        "| {:#06x}{array} | {} | {:#010x} | {rule} | {} |",
        register.offset, register.name, register.reset, register.source
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn int_write_one_clears_only_set_bits() {
        let mut bank = Bank::new(&csr::BLOCK);
        bank.set(csr::INT, 0x8000_0003);
        assert_eq!(bank.write(csr::INT, 0x1), Written::Told);
        assert_eq!(bank.read(csr::INT), Found::Value(0x8000_0002));
    }

    #[test]
    fn a_read_only_register_keeps_its_value() {
        let mut bank = Bank::new(&csr::BLOCK);
        bank.set(csr::HW_REV, 0x24);
        assert_eq!(bank.write(csr::HW_REV, 0), Written::Stored);
        assert_eq!(bank.read(csr::HW_REV), Found::Value(0x24));
    }

    #[test]
    fn a_mask_keeps_status_bits_from_read_modify_write() {
        let mut bank = Bank::new(&csr::BLOCK);
        bank.write(csr::GP_CNTRL, 0x4);
        assert_eq!(bank.read(csr::GP_CNTRL), Found::Value(0x0800_0004));
    }

    #[test]
    fn interleaved_arrays_do_not_share_values() {
        let mut bank = Bank::new(&fh::BLOCK);
        for offset in [0x1d00, 0x1d04, 0x1d08, 0x1e20, 0x1e28] {
            assert_ne!(bank.write(offset, offset), Written::Unlisted, "{offset:#x}");
        }
        for offset in [0x1d00, 0x1d04, 0x1d08, 0x1e20, 0x1e28] {
            assert_eq!(bank.get(offset), offset);
        }
    }

    #[test]
    fn no_two_rows_claim_one_address() {
        for block in BLOCKS {
            let mut seen = std::collections::BTreeSet::new();
            for register in block.registers {
                for element in 0..register.count {
                    let offset = register.offset + element * register.stride;
                    assert!(seen.insert(offset), "{} {offset:#x}", block.name);
                }
            }
        }
    }

    #[test]
    fn an_unlisted_offset_is_unlisted() {
        let mut bank = Bank::new(&csr::BLOCK);
        assert_eq!(bank.read(0x7fc), Found::Unlisted);
        assert_eq!(bank.write(0x7fc, 1), Written::Unlisted);
    }
}
