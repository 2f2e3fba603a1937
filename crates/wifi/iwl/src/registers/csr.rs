//! Control and status registers, and the indirect windows behind HBUS (`iwl-csr.h`).

use super::register::{Block, Doorbell, Port, Register, Rule, well_formed};

/// Two byte-wide interrupt timers, without effect here.
pub const INT_TIMERS: u32 = 0x004;
pub const INT: u32 = 0x008;
pub const INT_MASK: u32 = 0x00c;
pub const FH_INT: u32 = 0x010;
pub const RESET: u32 = 0x020;
pub const GP_CNTRL: u32 = 0x024;
pub const HW_REV: u32 = 0x028;
pub const EEPROM_REG: u32 = 0x02c;
pub const EEPROM_GP: u32 = 0x030;
pub const OTP_GP: u32 = 0x034;
pub const UCODE_GP1: u32 = 0x054;
pub const MEM_RADDR: u32 = 0x40c;
pub const MEM_WADDR: u32 = 0x410;
pub const PRPH_WADDR: u32 = 0x444;
pub const PRPH_RADDR: u32 = 0x448;
/// EEPROM_GP: the OTP is good, there is no EEPROM.
pub const SIGNATURE_OTP: u32 = 1;
/// OTP_GP: the card has an OTP and no EEPROM.
pub const OTP_SELECTED: u32 = 1 << 16;
/// One past the last register of this block; the DMA engine's begin at 0x1000.
pub const END: u32 = 0x1000;

/// RESET: the microcode is to die.
pub const RESET_FORCE_NMI: u32 = 1 << 1;
/// RESET: full reset, clears itself.
pub const RESET_SW: u32 = 1 << 7;
/// RESET: DMA has stopped.
pub const RESET_MASTER_DISABLED: u32 = 1 << 8;
/// RESET: stop DMA.
pub const RESET_STOP_MASTER: u32 = 1 << 9;

/// GP_CNTRL: the clock runs and the bus may reach the card's inside.
pub const GP_MAC_CLOCK_READY: u32 = 1 << 0;
/// GP_CNTRL: the driver asks for power and clock.
pub const GP_INIT_DONE: u32 = 1 << 2;
/// GP_CNTRL: set while the radio switch is on.
const GP_RADIO_ENABLED: u32 = 1 << 27;

const ALL: u32 = u32::MAX;

const fn at(offset: u32, name: &'static str, rule: Rule, source: &'static str) -> Register {
    Register::new(offset, name, rule, source)
}

/// Registers of control and status, and the windows to device memory and peripherals.
pub static BLOCK: Block = Block {
    name: "CSR and HBUS",
    access: "BAR 0, 32-bit accesses; bytes only at 0x004 and 0x005.",
    registers: REGISTERS,
};

const REGISTERS: &[Register] = &[
    at(
        0x000,
        "HW_IF_CONFIG",
        Rule::Masked(ALL),
        "ready and EEPROM handshakes: bits read back as written",
    ),
    at(
        0x004,
        "INT_COALESCING, INT_PERIODIC",
        Rule::Masked(0xffff),
        "two bytes: interrupt timers, without effect here",
    ),
    at(
        0x008,
        "INT",
        Rule::ClearsOnes(Some(Doorbell::Acknowledge)),
        "iwl-csr.h CSR_INT: pending causes",
    ),
    at(
        0x00c,
        "INT_MASK",
        Rule::Doorbell(ALL, Doorbell::InterruptMask),
        "iwl-csr.h CSR_INT_MASK: causes that raise the line",
    ),
    at(
        0x010,
        "FH_INT_STATUS",
        Rule::ClearsOnes(None),
        "iwl-csr.h CSR_FH_INT_STATUS: DMA causes",
    ),
    at(0x018, "GPIO_IN", Rule::ReadOnly, "not used by this family"),
    at(
        0x020,
        "RESET",
        Rule::Doorbell(0x8000_0000, Doorbell::Reset),
        "iwl-csr.h CSR_RESET: stop DMA, reset, start the CPU with 0",
    ),
    at(
        0x024,
        "GP_CNTRL",
        Rule::Doorbell(0x0000_040c, Doorbell::Power),
        "power and clock handshake; bit 27 is the radio switch",
    )
    .reset(GP_RADIO_ENABLED),
    at(
        0x028,
        "HW_REV",
        Rule::ReadOnly,
        "iwl-csr.h CSR_HW_REV: type, step, dash; set for the model",
    ),
    at(
        0x02c,
        "EEPROM_REG",
        Rule::Doorbell(0, Doorbell::EepromWord),
        "word port: address out, data << 16 | 1 back",
    ),
    at(
        0x030,
        "EEPROM_GP",
        Rule::Masked(0x0000_0180),
        "signature: 2 a good EEPROM, 1 a good OTP",
    )
    .reset(2),
    at(
        0x034,
        "OTP_GP",
        Rule::ReadOnly,
        "bit 16: OTP, no EEPROM; no error bit is ever set",
    ),
    at(0x03c, "GIO", Rule::Masked(ALL), "L0s control"),
    at(0x048, "GP_UCODE", Rule::Masked(ALL), "not used"),
    at(
        0x050,
        "GP_DRIVER",
        Rule::Masked(ALL),
        "radio variant, other members of the family",
    ),
    at(
        0x054,
        "UCODE_DRV_GP1",
        Rule::Masked(ALL),
        "mailbox bits; bit 0, asleep, is never set",
    ),
    at(
        0x058,
        "UCODE_DRV_GP1_SET",
        Rule::Port(Port::MailboxSet),
        "sets bits of 0x054",
    ),
    at(
        0x05c,
        "UCODE_DRV_GP1_CLR",
        Rule::Port(Port::MailboxClear),
        "clears bits of 0x054",
    ),
    at(0x060, "UCODE_DRV_GP2", Rule::Masked(ALL), "not used"),
    at(
        0x088,
        "MBOX_SET",
        Rule::Masked(ALL),
        "bit 5: the operating system is alive",
    ),
    at(0x094, "LED", Rule::Masked(ALL), "written 0x60 at start"),
    at(
        0x09c,
        "HW_RF_ID",
        Rule::ReadOnly,
        "0: not one of the newer radios",
    ),
    at(
        0x0a0,
        "DRAM_INT_TBL",
        Rule::Doorbell(ALL, Doorbell::InterruptTable),
        "interrupt cause table: address >> 12, enable bit 31",
    ),
    at(
        0x0a8,
        "MAC_SHADOW_REG_CTRL",
        Rule::Masked(ALL),
        "not used by this family",
    ),
    at(
        0x100,
        "GIO_CHICKEN_BITS",
        Rule::Masked(ALL),
        "set in power-up",
    ),
    at(
        0x20c,
        "ANA_PLL_CFG",
        Rule::Masked(ALL),
        "set in power-up, 5000 series",
    ),
    at(0x214, "MONITOR_CFG", Rule::Masked(ALL), "diagnostics"),
    at(0x228, "MONITOR_STATUS", Rule::ReadOnly, "diagnostics"),
    at(0x22c, "HW_REV_WA", Rule::ReadOnly, "diagnostics"),
    at(0x240, "DBG_HPET_MEM", Rule::Masked(ALL), "set in power-up"),
    at(
        0x250,
        "DBG_LINK_PWR_MGMT",
        Rule::Masked(ALL),
        "set when the handshake fails",
    ),
    at(
        0x40c,
        "HBUS_TARG_MEM_RADDR",
        Rule::Masked(ALL),
        "SRAM read address, advances by 4 with each read",
    ),
    at(
        0x410,
        "HBUS_TARG_MEM_WADDR",
        Rule::Masked(ALL),
        "SRAM write address, advances by 4 with each write",
    ),
    at(
        0x418,
        "HBUS_TARG_MEM_WDAT",
        Rule::Port(Port::MemoryWrite),
        "SRAM write data",
    ),
    at(
        0x41c,
        "HBUS_TARG_MEM_RDAT",
        Rule::Port(Port::MemoryRead),
        "SRAM read data",
    ),
    at(0x430, "HBUS_TARG_MBX_C", Rule::Masked(ALL), "mailbox"),
    at(
        0x444,
        "HBUS_TARG_PRPH_WADDR",
        Rule::Masked(ALL),
        "peripheral write address, low 20 bits count",
    ),
    at(
        0x448,
        "HBUS_TARG_PRPH_RADDR",
        Rule::Masked(ALL),
        "peripheral read address, low 20 bits count",
    ),
    at(
        0x44c,
        "HBUS_TARG_PRPH_WDAT",
        Rule::Port(Port::PeripheralWrite),
        "peripheral write data",
    ),
    at(
        0x450,
        "HBUS_TARG_PRPH_RDAT",
        Rule::Port(Port::PeripheralRead),
        "peripheral read data",
    ),
    at(
        0x460,
        "HBUS_TARG_WRPTR",
        Rule::Doorbell(ALL, Doorbell::Transmit),
        "transmit doorbell: write index, queue << 8",
    ),
];

const _: () = assert!(well_formed(REGISTERS));
