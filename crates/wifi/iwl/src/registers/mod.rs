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
    /// The value stays.
    ReadOnly,
    /// Stores the bits of this mask.
    Masked(u32),
    /// Clears the bits that are written as one; the device acts where a doorbell is named.
    ClearsOnes(Option<Doorbell>),
    /// Stores the bits of this mask, and the device acts.
    Doorbell(u32, Doorbell),
    /// Stores nothing: reads and writes both go to device code.
    Port(Port),
}

/// A register whose write makes the device act. The device matches them without a rest: a row of a table that names a new one
/// does not compile until something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doorbell {
    /// INT: causes are acknowledged.
    Acknowledge,
    /// INT_MASK: which causes raise the line.
    InterruptMask,
    /// RESET: stop, reset, die, or start with 0.
    Reset,
    /// GP_CNTRL: power and clock.
    Power,
    /// EEPROM_REG: the address of a word that is wanted.
    EepromWord,
    /// DRAM_INT_TBL: where the cause table lies.
    InterruptTable,
    /// HBUS_TARG_WRPTR: a transmit queue has new entries.
    Transmit,
    /// RSCSR_RBDCB_WPTR: receive buffers are posted.
    Receive,
    /// RCSR_CONFIG: the receive channel starts or stops.
    ReceiveConfig,
    /// TCSR_CONFIG: a transmit channel stops, or the service channel begins a transfer.
    TransmitConfig,
    /// DEVICE_SET_NMI: the microcode dies.
    Nmi,
    /// QUEUE_STATUS: a queue goes on or off.
    QueueStatus,
}

/// A register that holds no value of its own. Matched without a rest by reads and by writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// UCODE_DRV_GP1_SET.
    MailboxSet,
    /// UCODE_DRV_GP1_CLR.
    MailboxClear,
    /// HBUS_TARG_MEM_WDAT.
    MemoryWrite,
    /// HBUS_TARG_MEM_RDAT.
    MemoryRead,
    /// HBUS_TARG_PRPH_WDAT.
    PeripheralWrite,
    /// HBUS_TARG_PRPH_RDAT.
    PeripheralRead,
    /// QUEUE_WRPTR, one for each queue.
    QueueWritePointer,
    /// QUEUE_RDPTR, one for each queue.
    QueueReadPointer,
}

/// A register, or an array of equal ones.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Offset in bytes of the first.
    pub offset: u32,
    /// The driver's name for it, without prefix.
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
    /// The hardware unit, as the document's heading.
    pub name: &'static str,
    /// By which accesses the driver reaches the block.
    pub access: &'static str,
    /// By ascending offset.
    pub registers: &'static [Register],
}

/// Every block of registers, in the order of the document.
pub const BLOCKS: [&Block; 4] = [&csr::BLOCK, &fh::BLOCK, &prph::BLOCK, &scd::BLOCK];

/// True when offsets ascend and everything is aligned to 32 bits.
const fn well_formed(registers: &[Register]) -> bool {
    let mut rest = registers;
    while let [register, after @ ..] = rest {
        let aligned = register.offset.is_multiple_of(4) && register.stride.is_multiple_of(4);
        if !aligned || register.stride == 0 || register.count == 0 {
            return false;
        }
        if let [next, ..] = after
            && register.offset >= next.offset
        {
            return false;
        }
        rest = after;
    }
    true
}

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
            let element = row.element(offset)?;
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
