//! The transmit scheduler (`iwl-prph.h`, SCD block).

use super::register::{Block, Doorbell, Port, Register, Rule, well_formed};

/// Mask of FIFOs that may fetch.
pub const TXFACT: u32 = 0x2c10;
/// QUEUE_STATUS: the queue is active.
pub const STATUS_ACTIVE: u32 = 1 << 3;
/// Queues that aggregate, a bit each.
pub const AGGR_SEL: u32 = 0x2e48;
/// Queues of the card, numbered from 0.
pub const QUEUES: u8 = 20;
/// Where the scheduler's SRAM lies behind the memory window.
pub const SRAM_BASE: u32 = 0x00c0_0000;
/// Bytes of the scheduler's SRAM: contexts, states, RA/TID translation.
pub const SRAM_SIZE: u32 = 0x1000;

const ALL: u32 = u32::MAX;

/// Registers of the transmit scheduler.
pub static BLOCK: Block = Block {
    name: "SCD: transmit scheduler",
    access: "Through HBUS_TARG_PRPH_*.",
    registers: REGISTERS,
};

const REGISTERS: &[Register] = &[
    Register::new(
        0x2c00,
        "SRAM_BASE_ADDR",
        Rule::ReadOnly,
        "where the memory window shows the scheduler's SRAM",
    )
    .reset(SRAM_BASE),
    Register::new(
        0x2c08,
        "DRAM_BASE_ADDR",
        Rule::Masked(ALL),
        "byte-count tables >> 10; not used here",
    ),
    Register::new(0x2c10, "TXFACT", Rule::Masked(ALL), "FIFOs that may fetch"),
    Register::new(
        0x2c18,
        "QUEUE_WRPTR",
        Rule::Port(Port::QueueWritePointer),
        "write pointer, diagnostics",
    )
    .array(QUEUES as u32, 4),
    Register::new(
        0x2c68,
        "QUEUE_RDPTR",
        Rule::Port(Port::QueueReadPointer),
        "read pointer; a write sets it",
    )
    .array(QUEUES as u32, 4),
    Register::new(
        0x2ce8,
        "QUEUECHAIN_SEL",
        Rule::Masked(ALL),
        "queues that may chain",
    ),
    Register::new(0x2d08, "INTERRUPT_MASK", Rule::Masked(ALL), "not used"),
    Register::new(
        0x2d0c,
        "QUEUE_STATUS",
        Rule::Doorbell(ALL, Doorbell::QueueStatus),
        "bit 3 active, bits 2:0 FIFO",
    )
    .array(QUEUES as u32, 4),
    Register::new(0x2da8, "GP_CTRL", Rule::Masked(ALL), "auto-active mode"),
    Register::new(0x2e44, "CHAINEXT_EN", Rule::Masked(ALL), "written 0"),
    Register::new(
        AGGR_SEL,
        "AGGR_SEL",
        Rule::Masked(ALL),
        "queues that aggregate",
    ),
    Register::new(0x2e54, "EN_CTRL", Rule::Masked(ALL), "not used"),
];

const _: () = assert!(well_formed(REGISTERS));
