//! What a row of the tables is: a register, or an array of equal ones, and what a write does to it.
//!
//! Not here: the values that registers have, and how a guest's access finds its row (the bank, in the parent).

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
    pub(super) const fn new(
        offset: u32,
        name: &'static str,
        rule: Rule,
        source: &'static str,
    ) -> Self {
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

    pub(super) const fn reset(self, reset: u32) -> Self {
        Self { reset, ..self }
    }

    pub(super) const fn array(self, count: u32, stride: u32) -> Self {
        Self {
            count,
            stride,
            ..self
        }
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

/// True when offsets ascend and everything is aligned to 32 bits.
pub(super) const fn well_formed(registers: &[Register]) -> bool {
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
