//! Registers as data: tables of offset, name, reset value and write rule, and one bank that applies
//! the rules. Only doorbells and ports reach device code.
//!
//! Not here: what a doorbell does (see the device).

pub(crate) mod csr;
pub(crate) mod fh;
pub(crate) mod prph;
mod register;
pub(crate) mod scd;

use std::fmt::Write as _;

pub use register::{Block, Doorbell, Port, Register, Rule};

/// Every block of registers, in the order of the document.
pub const BLOCKS: [&Block; 4] = [&csr::BLOCK, &fh::BLOCK, &prph::BLOCK, &scd::BLOCK];

/// The effect of a guest's write, once the rule was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// The bank has stored what the rule lets through; the device has nothing to do.
    Stored,
    /// Stored, and the device acts for this element of the row.
    Rings(Doorbell, u32),
    /// Nothing was stored: device code takes the value, for this element of the row.
    Port(Port, u32),
    /// No row of the block covers the offset.
    Unlisted,
}

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The register's value.
    Value(u32),
    /// Device code knows the value of this element of the row.
    Port(Port, u32),
    /// No row of the block covers the offset.
    Unlisted,
}

/// The values that a block's registers have now.
pub(crate) struct Bank {
    block: &'static Block,
    /// Index of each row's first value.
    starts: Vec<usize>,
    values: Vec<u32>,
}

impl Bank {
    /// Every register at its reset value.
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

    /// Puts every register back to its reset value.
    pub fn reset(&mut self) {
        *self = Self::new(self.block);
    }

    /// A guest's read at this offset.
    pub fn read(&self, offset: u32) -> Found {
        match self.find(offset) {
            None => Found::Unlisted,
            Some(Place { row, element, at }) => match row.rule {
                Rule::Port(port) => Found::Port(port, element),
                _ => Found::Value(self.values.get(at).copied().unwrap_or(0)),
            },
        }
    }

    /// A guest's write at this offset, by the rule of its row.
    pub fn write(&mut self, offset: u32, value: u32) -> Written {
        let Some(Place { row, element, at }) = self.find(offset) else {
            return Written::Unlisted;
        };
        let Some(slot) = self.values.get_mut(at) else {
            return Written::Unlisted;
        };
        let doorbell = match row.rule {
            Rule::ReadOnly => None,
            Rule::Masked(mask) => {
                *slot = merge(*slot, value, mask);
                None
            }
            Rule::ClearsOnes(doorbell) => {
                *slot &= !value;
                doorbell
            }
            Rule::Doorbell(mask, doorbell) => {
                *slot = merge(*slot, value, mask);
                Some(doorbell)
            }
            Rule::Port(port) => return Written::Port(port, element),
        };
        doorbell.map_or(Written::Stored, |doorbell| {
            Written::Rings(doorbell, element)
        })
    }

    /// The device's own look at a register.
    pub fn get(&self, offset: u32) -> u32 {
        self.find(offset)
            .and_then(|place| self.values.get(place.at).copied())
            .unwrap_or(0)
    }

    /// The device's own write, past the rule.
    pub fn set(&mut self, offset: u32, value: u32) {
        if let Some(place) = self.find(offset)
            && let Some(slot) = self.values.get_mut(place.at)
        {
            *slot = value;
        }
    }

    fn find(&self, offset: u32) -> Option<Place> {
        let rows = self.block.registers;
        let after = rows.partition_point(|row| row.offset <= offset);
        (0..after).rev().find_map(|index| {
            let row = rows.get(index)?;
            let element = element(row, offset)?;
            let at = self.starts.get(index)? + usize::try_from(element).ok()?;
            Some(Place { row, element, at })
        })
    }
}

/// The row, and the register in it, that covers an offset.
struct Place {
    row: &'static Register,
    /// Which one of the row's registers, counted from 0.
    element: u32,
    /// Index of its value.
    at: usize,
}

/// Which one of the row's registers lies at `offset`, counted from 0.
fn element(row: &Register, offset: u32) -> Option<u32> {
    let distance = offset.checked_sub(row.offset)?;
    let element = distance.checked_div(row.stride)?;
    (element < row.count && element * row.stride == distance).then_some(element)
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
        Rule::ClearsOnes(_) => "clears ones".to_owned(),
        Rule::Doorbell(mask, _) => format!("doorbell {mask:#010x}"),
        Rule::Port(_) => "port".to_owned(),
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
        assert_eq!(
            bank.write(csr::INT, 0x1),
            Written::Rings(Doorbell::Acknowledge, 0)
        );
        assert_eq!(bank.read(csr::INT), Found::Value(0x8000_0002));
    }

    #[test]
    fn a_doorbell_of_an_array_says_which_one_was_rung() {
        let mut bank = Bank::new(&fh::BLOCK);
        let rung = bank.write(0x1d00 + 9 * 0x20, 1);
        assert_eq!(rung, Written::Rings(Doorbell::TransmitConfig, 9));
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
