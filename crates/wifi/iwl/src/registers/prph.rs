//! Peripheral registers outside the scheduler (`iwl-prph.h`), by the low 20 bits of their address.

use super::register::{Block, Doorbell, Register, Rule, well_formed};

/// Bits of a peripheral address that the card decodes.
pub const ADDRESS_MASK: u32 = 0x000f_ffff;

const ALL: u32 = u32::MAX;

/// Registers of peripherals outside the scheduler.
pub static BLOCK: Block = Block {
    name: "PRPH: peripherals",
    access: "Through HBUS_TARG_PRPH_*.",
    registers: REGISTERS,
};

const REGISTERS: &[Register] = &[
    Register::new(
        0x1c30,
        "DEVICE_SET_NMI",
        Rule::Doorbell(ALL, Doorbell::Nmi),
        "bit 7: the microcode dies, INT bit 25",
    ),
    Register::new(0x3004, "APMG_CLK_EN", Rule::Masked(ALL), "DMA clock on"),
    Register::new(0x3008, "APMG_CLK_DIS", Rule::Masked(ALL), "DMA clock off"),
    Register::new(0x300c, "APMG_PS_CTRL", Rule::Masked(ALL), "power source"),
    Register::new(0x3010, "APMG_PCIDEV_STT", Rule::Masked(ALL), "L1 control"),
    Register::new(
        0x301c,
        "APMG_RTC_INT_STT",
        Rule::Masked(ALL),
        "radio interrupt",
    ),
    Register::new(
        0x3030,
        "(probe, newer kernels)",
        Rule::Masked(ALL),
        "pcie/trans.c: scratch here",
    ),
    Register::new(
        0x3098,
        "(probe, newer kernels)",
        Rule::ReadOnly,
        "pcie/trans.c: 0",
    ),
    Register::new(
        0x200b0,
        "(probe, newer kernels)",
        Rule::ReadOnly,
        "pcie/trans.c: 0",
    ),
    Register::new(
        0x29600,
        "(probe, newer kernels)",
        Rule::ReadOnly,
        "pcie/trans.c: 0",
    ),
];

const _: () = assert!(well_formed(REGISTERS));
