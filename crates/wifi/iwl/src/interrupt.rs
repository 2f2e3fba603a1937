//! The interrupt line, its causes, and the interrupt cause table in guest memory (`pcie/rx.c`, ICT).
//!
//! The line is level: pending and unmasked causes. Each rise is one MSI message and, while the
//! table is enabled, one entry in it; unmasking with causes pending is a rise too, since the driver
//! masks everything before it looks.
//!
//! The driver acknowledges a receive cause first and looks at the ring afterwards, but its writes are
//! posted: the card may close a buffer after the driver looked and before the acknowledgement
//! arrives, which would wipe out that buffer's cause. The real card covers this by a periodic
//! interrupt; here, which has no clock, an acknowledgement does not clear a receive cause that was
//! raised again after the message went out. At worst the driver looks once more for nothing.

use airlane_dma::{Memory, Window};

use crate::registers::{Bank, csr};

/// Causes, as bits of INT.
pub mod cause {
    /// The microcode has started.
    pub const ALIVE: u32 = 1 << 0;
    /// The microcode has died.
    pub const SOFTWARE_ERROR: u32 = 1 << 25;
    /// The service channel is done.
    pub const FH_TX: u32 = 1 << 27;
    /// A receive buffer is closed.
    pub const FH_RX: u32 = 1 << 31;
}

/// FH_INT: transmit channel 0.
const FH_TX_CHANNEL: u32 = 1 << 0;
/// FH_INT: receive channel 0.
const FH_RX_CHANNEL: u32 = 1 << 16;

/// What the driver writes to INT when it wants silence rather than news.
const EVERYTHING: u32 = u32::MAX;

const TABLE_ENABLE: u32 = 1 << 31;
const TABLE_ENTRIES: u32 = 1024;

/// State of the line and of the table's write index.
#[derive(Default)]
pub struct Interrupts {
    level: bool,
    message_due: bool,
    rises: u64,
    table: Option<u64>,
    index: u32,
    /// Raised after the last message had gone out: the driver may not have seen why.
    unannounced: u32,
}

impl Interrupts {
    /// Adds causes, and the DMA causes that go with them.
    pub fn raise(&mut self, csr: &mut Bank, memory: &mut Memory, causes: u32) {
        let mut dma = csr.get(csr::FH_INT);
        if causes & cause::FH_RX != 0 {
            dma |= FH_RX_CHANNEL;
        }
        if causes & cause::FH_TX != 0 {
            dma |= FH_TX_CHANNEL;
        }
        csr.set(csr::FH_INT, dma);
        csr.set(csr::INT, csr.get(csr::INT) | causes);
        if !self.message_due {
            self.unannounced |= causes;
        }
        self.update(csr, memory);
    }

    /// The driver has written `causes` to INT, whose rule has cleared them.
    pub fn acknowledged(&mut self, csr: &mut Bank, memory: &mut Memory, causes: u32) {
        let unseen = std::mem::take(&mut self.unannounced) & causes & cause::FH_RX;
        if causes != EVERYTHING {
            csr.set(csr::INT, csr.get(csr::INT) | unseen);
        }
        self.update(csr, memory);
    }

    /// Follows a change of INT or INT_MASK.
    pub fn update(&mut self, csr: &Bank, memory: &mut Memory) {
        let pending = csr.get(csr::INT) & csr.get(csr::INT_MASK);
        let level = pending != 0;
        if level && !self.level {
            self.write_entry(memory, pending);
            self.message_due = true;
            self.unannounced = 0;
            self.rises += 1;
        }
        self.level = level;
    }

    /// The table's register was written: its index starts again.
    pub fn set_table(&mut self, value: u32) {
        let base = u64::from(value & 0x00ff_ffff) << 12;
        self.table = (value & TABLE_ENABLE != 0).then_some(base);
        self.index = 0;
    }

    /// Line down, table off, no message due; the count of rises stays.
    pub fn reset(&mut self) {
        *self = Self {
            rises: self.rises,
            ..Self::default()
        };
    }

    /// True, once, for each rise of the line (several rises not yet fetched are one).
    pub fn take_message(&mut self) -> bool {
        std::mem::take(&mut self.message_due)
    }

    /// True while an unmasked cause is pending.
    pub fn level(&self) -> bool {
        self.level
    }

    /// Rises of the line so far.
    pub fn rises(&self) -> u64 {
        self.rises
    }

    fn write_entry(&mut self, memory: &mut Memory, pending: u32) {
        let Some(base) = self.table else { return };
        let entry = (pending & 0xff) | ((pending >> 16) & 0xff00);
        // An unmapped table is counted as a fault by the memory itself.
        let mut window = Window::new("interrupt table");
        let _ = memory.write_via(
            &mut window,
            base + u64::from(self.index) * 4,
            &entry.to_le_bytes(),
        );
        self.index = (self.index + 1) % TABLE_ENTRIES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> (Interrupts, Bank, Memory) {
        let memory = Memory::anonymous(0x4000).unwrap();
        (Interrupts::default(), Bank::new(&csr::BLOCK), memory)
    }

    #[test]
    fn a_masked_cause_waits_and_fires_when_unmasked() {
        let (mut line, mut csr, mut memory) = parts();
        line.raise(&mut csr, &mut memory, cause::FH_RX);
        assert!(!line.take_message() && !line.level());
        csr.set(csr::INT_MASK, u32::MAX);
        line.update(&csr, &mut memory);
        assert!(line.level() && line.take_message());
        assert!(!line.take_message(), "one rise, one message");
    }

    #[test]
    fn each_unmask_with_causes_pending_writes_a_new_table_entry() {
        let (mut line, mut csr, mut memory) = parts();
        line.set_table(0x9800_0001);
        csr.set(csr::INT_MASK, u32::MAX);
        line.raise(&mut csr, &mut memory, cause::FH_RX | cause::ALIVE);
        for mask in [0, u32::MAX] {
            csr.set(csr::INT_MASK, mask);
            line.update(&csr, &mut memory);
        }
        assert_eq!(memory.read_u32(0x1000), Ok(0x8001));
        assert_eq!(memory.read_u32(0x1004), Ok(0x8001));
        assert_eq!(memory.read_u32(0x1008), Ok(0));
    }

    #[test]
    fn an_acknowledgement_that_crosses_a_new_cause_does_not_lose_it() {
        let (mut line, mut csr, mut memory) = parts();
        csr.set(csr::INT_MASK, u32::MAX);
        line.raise(&mut csr, &mut memory, cause::FH_RX);
        assert!(line.take_message());
        line.raise(&mut csr, &mut memory, cause::FH_RX);
        for (mask, message) in [(0, false), (u32::MAX, true)] {
            csr.set(csr::INT_MASK, mask);
            line.update(&csr, &mut memory);
            csr.write(csr::INT, cause::FH_RX);
            line.acknowledged(&mut csr, &mut memory, cause::FH_RX);
            assert_eq!(line.take_message(), message);
        }
        assert!(!line.level(), "the second acknowledgement clears it");
    }

    #[test]
    fn causes_before_the_message_goes_out_are_one_interrupt() {
        let (mut line, mut csr, mut memory) = parts();
        csr.set(csr::INT_MASK, u32::MAX);
        for _ in 0..3 {
            line.raise(&mut csr, &mut memory, cause::FH_RX);
        }
        assert!(line.take_message());
        csr.write(csr::INT, cause::FH_RX);
        line.acknowledged(&mut csr, &mut memory, cause::FH_RX);
        assert!(!line.level() && !line.take_message());
    }

    #[test]
    fn clearing_everything_clears_everything() {
        let (mut line, mut csr, mut memory) = parts();
        line.raise(&mut csr, &mut memory, cause::FH_RX);
        csr.write(csr::INT, u32::MAX);
        line.acknowledged(&mut csr, &mut memory, u32::MAX);
        assert_eq!(csr.get(csr::INT), 0);
    }

    #[test]
    fn the_table_wraps_after_1024_entries() {
        let (mut line, mut csr, mut memory) = parts();
        line.set_table(0x8000_0001);
        for _ in 0..1025 {
            csr.set(csr::INT_MASK, 0);
            line.update(&csr, &mut memory);
            csr.set(csr::INT_MASK, u32::MAX);
            line.raise(&mut csr, &mut memory, cause::FH_RX);
        }
        assert_eq!(memory.read_u32(0x2000), Ok(0), "nothing past the table");
        assert_eq!(line.index, 1);
    }
}
