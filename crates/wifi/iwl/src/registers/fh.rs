//! The DMA engine, "flow handler" (`iwl-fh.h`).

use super::register::{Block, Doorbell, Register, Rule, well_formed};

/// Service channel: source address bits 31:0.
pub const SERVICE_SOURCE: u32 = 0x1948;
/// Service channel: source address bits 35:32 in 31:28, byte count below.
pub const SERVICE_COUNT: u32 = 0x194c;
/// Service channel: destination in device memory.
pub const SERVICE_SRAM: u32 = 0x19c8;
/// TFD ring bases of queues 0 to 15, address >> 8.
pub const CBBC_LOW: u32 = 0x19d0;
/// TFD ring bases of queues 16 to 19.
pub const CBBC_HIGH: u32 = 0x1bf0;
/// Receive status block, address >> 4.
pub const RX_STATUS: u32 = 0x1bc0;
/// Receive buffer descriptors, address >> 8.
pub const RX_BASE: u32 = 0x1bc4;
/// Enable bit of a channel's configuration word.
pub const ENABLE: u32 = 1 << 31;

const ALL: u32 = u32::MAX;

const fn at(offset: u32, name: &'static str, rule: Rule, source: &'static str) -> Register {
    Register::new(offset, name, rule, source)
}

/// Registers of the DMA engine.
pub static BLOCK: Block = Block {
    name: "FH: DMA engine",
    access: "BAR 0, 32-bit accesses.",
    registers: REGISTERS,
};

const REGISTERS: &[Register] = &[
    at(
        0x1900,
        "TFDIB_CTRL0",
        Rule::Masked(ALL),
        "channel n; 9 is the service channel: source address 31:0",
    )
    .array(10, 8),
    at(
        0x1904,
        "TFDIB_CTRL1",
        Rule::Masked(ALL),
        "source address 35:32 << 28, byte count",
    )
    .array(10, 8),
    at(0x1958, "TX_TRB", Rule::ReadOnly, "diagnostics").array(8, 4),
    at(
        0x197c,
        "KW_MEM_ADDR",
        Rule::Masked(ALL),
        "keep-warm page >> 4; not used here",
    ),
    at(
        0x19a4,
        "SRVC_CHNL_SRAM",
        Rule::Masked(ALL),
        "destination of channel n in device memory",
    )
    .array(10, 4),
    at(0x19d0, "CBBC 0-15", Rule::Masked(ALL), "TFD ring base >> 8").array(16, 4),
    at(
        0x1bc0,
        "RSCSR_STTS_WPTR",
        Rule::Masked(ALL),
        "receive status block >> 4",
    ),
    at(
        0x1bc4,
        "RSCSR_RBDCB_BASE",
        Rule::Masked(ALL),
        "receive descriptor ring >> 8",
    ),
    at(
        0x1bc8,
        "RSCSR_RBDCB_WPTR",
        Rule::Doorbell(0xff, Doorbell::Receive),
        "receive doorbell: buffers below this index are posted",
    ),
    at(
        0x1bcc,
        "RSCSR_RDPTR",
        Rule::Masked(ALL),
        "written 0 at start",
    ),
    at(
        0x1bf0,
        "CBBC 16-19",
        Rule::Masked(ALL),
        "TFD ring base >> 8",
    )
    .array(4, 4),
    at(
        0x1c00,
        "RCSR_CONFIG",
        Rule::Doorbell(ALL, Doorbell::ReceiveConfig),
        "receive channel: enable bit 31, buffer size 17:16; 0 stops",
    ),
    at(
        0x1c08,
        "RCSR_RBDCB_WPTR",
        Rule::Masked(ALL),
        "written 0 at start",
    ),
    at(
        0x1c10,
        "RCSR_FLUSH_RB_REQ",
        Rule::Masked(ALL),
        "written 0 at start",
    ),
    at(0x1c40, "RSSR_CTRL", Rule::Masked(ALL), "not used"),
    at(
        0x1c44,
        "RSSR_STATUS",
        Rule::ReadOnly,
        "bit 24: receive is idle, always",
    )
    .reset(0x0100_0000),
    at(0x1c48, "RSSR_ERR_IRQ", Rule::Masked(ALL), "not used"),
    at(
        0x1d00,
        "TCSR_CONFIG",
        Rule::Doorbell(ALL, Doorbell::TransmitConfig),
        "transmit channel n; on 9, bit 31 starts a microcode transfer",
    )
    .array(10, 0x20),
    at(0x1d04, "TCSR_CREDIT", Rule::Masked(ALL), "not used").array(10, 0x20),
    at(
        0x1d08,
        "TCSR_BUF_STS",
        Rule::Masked(ALL),
        "buffer valid, service channel",
    )
    .array(10, 0x20),
    at(
        0x1e98,
        "TX_CHICKEN_BITS",
        Rule::Masked(ALL),
        "bit 1 set after alive",
    ),
    at(0x1ea8, "TSSR_MSG_CONFIG", Rule::Masked(ALL), "not used"),
    at(
        0x1eb0,
        "TSSR_STATUS",
        Rule::ReadOnly,
        "bits 23:16: channels are idle, always",
    )
    .reset(0x00ff_0000),
    at(0x1eb8, "TSSR_ERROR", Rule::ReadOnly, "not used"),
];

const _: () = assert!(well_formed(REGISTERS));
