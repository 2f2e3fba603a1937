//! Register accesses: which block, which width, and what each doorbell and port does.

use super::Device;
use crate::interrupt::cause;
use crate::loader::{self, Microcode};
use crate::registers::{Found, Written, csr, fh, prph, scd};
use crate::response;

/// The two byte-wide registers: interrupt coalescing and periodic interrupts. Neither has an effect.
const BYTE_REGISTERS: [u64; 2] = [0x004, 0x005];
/// SET_NMI: the bit.
const NMI: u32 = 1 << 7;
/// The error that the driver's log shows after an NMI.
const NMI_ERROR: u32 = 0x84;
/// Configuration words of the transmit channels 0 to 7.
const FIRST_DATA_CHANNEL: u32 = 0x1d00;
const LAST_DATA_CHANNEL: u32 = 0x1de0;

impl Device {
    /// Reads BAR 0. Registers are 32 bits wide; other widths read the parts, and are counted.
    pub fn bar_read(&mut self, offset: u64, data: &mut [u8]) {
        if data.len() != 4 || !offset.is_multiple_of(4) {
            self.counters.odd_accesses += 1;
        }
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            let skip = (at % 4) as usize;
            let word = self.read_register(at - at % 4).to_le_bytes();
            let part = word.get(skip..).unwrap_or_default();
            let take = part.len().min(rest.len());
            let (now, later) = rest.split_at_mut(take);
            now.copy_from_slice(part.get(..take).unwrap_or_default());
            rest = later;
            at = at.saturating_add(take as u64);
        }
    }

    /// Writes BAR 0. Whole 32-bit registers are written; of other widths only the two byte registers.
    pub fn bar_write(&mut self, offset: u64, data: &[u8]) {
        if let ([value], true) = (data, BYTE_REGISTERS.contains(&offset)) {
            return self.write_byte(offset, *value);
        }
        if data.len() != 4 || !offset.is_multiple_of(4) {
            self.counters.odd_accesses += 1;
        }
        if !offset.is_multiple_of(4) {
            return;
        }
        for (word, at) in data.chunks_exact(4).zip((offset..=u64::MAX).step_by(4)) {
            let value = word.try_into().map_or(0, u32::from_le_bytes);
            self.write_register(at, value);
        }
    }

    fn write_byte(&mut self, offset: u64, value: u8) {
        let shift = (offset % 4) as u32 * 8;
        let register = (offset - offset % 4) as u32;
        let old = self.csr.get(register) & !(0xff << shift);
        self.csr.write(register, old | u32::from(value) << shift);
    }

    fn read_register(&mut self, offset: u64) -> u32 {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        let found = if offset < csr::END {
            self.csr.read(offset)
        } else {
            self.fh.read(offset)
        };
        match found {
            Found::Value(value) => value,
            Found::Port => self.read_port(offset),
            Found::Unlisted => self.unlisted_read(offset),
        }
    }

    fn unlisted_read(&mut self, offset: u32) -> u32 {
        self.counters.unlisted_reads += 1;
        tracing::debug!("read of register {offset:#x}, which is in no table");
        0
    }

    fn unlisted_write(&mut self, offset: u32, value: u32) {
        self.counters.unlisted_writes += 1;
        tracing::debug!("write of {value:#x} to register {offset:#x}, which is in no table");
    }

    fn write_register(&mut self, offset: u64, value: u32) {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        let written = if offset < csr::END {
            self.csr.write(offset, value)
        } else {
            self.fh.write(offset, value)
        };
        match written {
            Written::Stored => {}
            Written::Told if offset < csr::END => self.csr_written(offset, value),
            Written::Told => self.fh_written(offset, value),
            Written::Unlisted => self.unlisted_write(offset, value),
        }
    }

    fn csr_written(&mut self, offset: u32, value: u32) {
        match offset {
            csr::INT => {
                self.interrupts
                    .acknowledged(&mut self.csr, &mut self.memory, value);
            }
            csr::INT_MASK => self.interrupts.update(&self.csr, &mut self.memory),
            csr::RESET => self.reset_written(value),
            csr::GP_CNTRL => self.power_written(value),
            csr::EEPROM_REG => self.csr.set(offset, self.eeprom.answer(value)),
            csr::UCODE_GP1_SET => self.change_mailbox(value, 0),
            csr::UCODE_GP1_CLR => self.change_mailbox(0, value),
            csr::DRAM_INT_TBL => self.interrupts.set_table(value),
            csr::MEM_WDAT => self.write_memory_window(value),
            csr::PRPH_WDAT => self.write_peripheral(value),
            csr::WRPTR => self.doorbell(value),
            _ => {}
        }
    }

    /// RESET: 0 starts the CPU; the bits each do their own.
    fn reset_written(&mut self, value: u32) {
        if value & csr::RESET_SW != 0 {
            return self.software_reset();
        }
        if value & csr::RESET_STOP_MASTER != 0 {
            self.stop();
            let stopped = csr::RESET_STOP_MASTER | csr::RESET_MASTER_DISABLED;
            self.csr.set(csr::RESET, self.csr.get(csr::RESET) | stopped);
        }
        if value & csr::RESET_FORCE_NMI != 0 {
            self.die();
        }
        if value == 0 {
            self.start();
        }
    }

    /// GP_CNTRL: the clock is ready as soon as power-up is asked for.
    fn power_written(&mut self, value: u32) {
        let rest = self.csr.get(csr::GP_CNTRL) & !csr::GP_MAC_CLOCK_READY;
        let ready = if value & csr::GP_INIT_DONE != 0 {
            csr::GP_MAC_CLOCK_READY
        } else {
            0
        };
        self.csr.set(csr::GP_CNTRL, rest | ready);
    }

    fn change_mailbox(&mut self, set: u32, clear: u32) {
        let old = self.csr.get(csr::UCODE_GP1);
        self.csr.set(csr::UCODE_GP1, (old | set) & !clear);
    }

    /// Releases the CPU: the microcode says that it is alive.
    fn start(&mut self) {
        if !self.microcode.go(Microcode::Running) {
            return;
        }
        self.counters.microcode_starts += 1;
        self.vmac.start();
        let alive = response::alive(self.sram.error_table());
        self.send(alive);
        self.deliver();
        self.raise(cause::ALIVE);
    }

    /// The microcode dies: the driver is told, reads the error table and starts over.
    fn die(&mut self) {
        self.stop();
        self.sram.write_error_table(NMI_ERROR);
        self.raise(cause::SOFTWARE_ERROR);
    }

    fn fh_written(&mut self, offset: u32, value: u32) {
        match offset {
            fh::RX_WPTR => {
                self.rx.post(value as u8);
                self.deliver();
            }
            fh::RX_CONFIG => self.receive_configured(value),
            fh::SERVICE_CONFIG if value & fh::ENABLE != 0 => self.load_section(),
            FIRST_DATA_CHANNEL..=LAST_DATA_CHANNEL if value == 0 && self.is_up() => self.stop(),
            _ => {}
        }
    }

    /// RCSR_CONFIG: zero, from a driver whose microcode runs, means that it goes away.
    fn receive_configured(&mut self, value: u32) {
        if value & fh::ENABLE == 0 && self.is_up() {
            self.stop();
        }
        let (base, status) = (self.fh.get(fh::RX_BASE), self.fh.get(fh::RX_STATUS));
        self.rx.configure(value, base, status);
    }

    fn load_section(&mut self) {
        if !self.microcode.go(Microcode::Loaded) {
            return;
        }
        if loader::transfer(&self.fh, &mut self.memory, &mut self.sram).is_ok() {
            self.counters.microcode_sections += 1;
            self.raise(cause::FH_TX);
        }
    }

    fn read_port(&mut self, offset: u32) -> u32 {
        match offset {
            csr::MEM_RDAT => {
                let address = self.csr.get(csr::MEM_RADDR);
                self.csr.set(csr::MEM_RADDR, address.wrapping_add(4));
                self.sram.read(address)
            }
            csr::PRPH_RDAT => self.read_peripheral(),
            _ => 0,
        }
    }

    fn write_memory_window(&mut self, value: u32) {
        let address = self.csr.get(csr::MEM_WADDR);
        self.csr.set(csr::MEM_WADDR, address.wrapping_add(4));
        self.sram.write(address, value);
    }

    fn read_peripheral(&mut self) -> u32 {
        let address = self.csr.get(csr::PRPH_RADDR) & prph::ADDRESS_MASK;
        let found = match self.scd.read(address) {
            Found::Unlisted => self.prph.read(address),
            found => found,
        };
        match found {
            Found::Value(value) => value,
            Found::Port => self.read_queue_pointer(address),
            Found::Unlisted => self.unlisted_read(address),
        }
    }

    fn read_queue_pointer(&self, address: u32) -> u32 {
        let read = queue_of(address, scd::QUEUE_RDPTR);
        if let Some(number) = read {
            let head = self.transmits.get(usize::from(number));
            return head.map_or(0, |transmits| u32::from(transmits.head()));
        }
        let write = queue_of(address, scd::QUEUE_WRPTR);
        let queue = write.and_then(|number| self.scheduler.queue(number));
        queue.map_or(0, |queue| u32::from(queue.write))
    }

    fn write_peripheral(&mut self, value: u32) {
        let address = self.csr.get(csr::PRPH_WADDR) & prph::ADDRESS_MASK;
        match self.scd.write(address, value) {
            Written::Stored => {}
            Written::Told => self.scheduler_written(address, value),
            Written::Unlisted => match self.prph.write(address, value) {
                Written::Stored => {}
                Written::Told if address == prph::SET_NMI && value & NMI != 0 => self.die(),
                Written::Told => {}
                Written::Unlisted => self.unlisted_write(address, value),
            },
        }
    }

    fn scheduler_written(&mut self, address: u32, value: u32) {
        if let Some(number) = queue_of(address, scd::QUEUE_STATUS) {
            self.queue_status_written(number, value);
        } else if let Some(number) = queue_of(address, scd::QUEUE_RDPTR) {
            self.read_pointer_written(number, value as u8);
        }
    }
}

/// Which queue's element of the register array at `base` lies at `address`.
fn queue_of(address: u32, base: u32) -> Option<u8> {
    let number = address.checked_sub(base)? / 4;
    (number < scd::QUEUES).then_some(number as u8)
}
