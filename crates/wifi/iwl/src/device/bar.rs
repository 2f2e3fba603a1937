//! Register accesses: which block, which width, and what each doorbell and port does.

use super::Device;
use crate::interrupt::cause;
use crate::loader::{self, Microcode};
use crate::registers::{Doorbell, Found, Port, Written, csr, fh, prph};
use crate::response;

/// SET_NMI: the bit.
const NMI: u32 = 1 << 7;
/// The error that the driver's log shows after an NMI.
const NMI_ERROR: u32 = 0x84;
/// Transmit channels up to this one carry queues.
const LAST_DATA_CHANNEL: u32 = 7;
/// The transmit channel that loads microcode.
const SERVICE_CHANNEL: u32 = 9;

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
        if let ([value], Some(shift)) = (data, byte_register(offset)) {
            return self.write_byte(shift, *value);
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

    fn write_byte(&mut self, shift: u32, value: u8) {
        let old = self.csr.get(csr::INT_TIMERS) & !(0xff << shift);
        let new = old | u32::from(value) << shift;
        self.csr.write(csr::INT_TIMERS, new);
    }

    fn read_register(&mut self, offset: u64) -> u32 {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        let found = if offset < csr::END {
            self.csr.read(offset)
        } else {
            self.fh.read(offset)
        };
        self.found(found, offset)
    }

    fn found(&mut self, found: Found, offset: u32) -> u32 {
        match found {
            Found::Value(value) => value,
            Found::Port(port, element) => self.read_port(port, element),
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
        self.written(written, offset, value);
    }

    fn written(&mut self, written: Written, offset: u32, value: u32) {
        match written {
            Written::Stored => {}
            Written::Rings(doorbell, element) => self.ring(doorbell, element, value),
            Written::Port(port, element) => self.write_port(port, element, value),
            Written::Unlisted => self.unlisted_write(offset, value),
        }
    }

    fn ring(&mut self, doorbell: Doorbell, element: u32, value: u32) {
        match doorbell {
            Doorbell::Acknowledge => {
                self.interrupts
                    .acknowledged(&mut self.csr, &mut self.memory, value);
            }
            Doorbell::InterruptMask => self.interrupts.update(&self.csr, &mut self.memory),
            Doorbell::Reset => self.reset_written(value),
            Doorbell::Power => self.power_written(value),
            Doorbell::EepromWord => self.csr.set(csr::EEPROM_REG, self.eeprom.answer(value)),
            Doorbell::InterruptTable => self.interrupts.set_table(value),
            Doorbell::Transmit => self.doorbell(value),
            Doorbell::Receive => self.buffers_posted(value),
            Doorbell::ReceiveConfig => self.receive_configured(value),
            Doorbell::TransmitConfig => self.transmit_configured(element, value),
            Doorbell::Nmi if value & NMI != 0 => self.die(),
            Doorbell::Nmi => {}
            Doorbell::QueueStatus => self.queue_status_written(queue(element), value),
        }
    }

    fn write_port(&mut self, port: Port, element: u32, value: u32) {
        match port {
            Port::MailboxSet => self.change_mailbox(value, 0),
            Port::MailboxClear => self.change_mailbox(0, value),
            Port::MemoryWrite => self.write_memory_window(value),
            Port::PeripheralWrite => self.write_peripheral(value),
            Port::QueueReadPointer => {
                let [index, ..] = value.to_le_bytes();
                self.read_pointer_written(queue(element), index);
            }
            Port::MemoryRead | Port::PeripheralRead | Port::QueueWritePointer => {}
        }
    }

    fn read_port(&mut self, port: Port, element: u32) -> u32 {
        match port {
            Port::MemoryRead => self.read_memory_window(),
            Port::PeripheralRead => self.read_peripheral(),
            Port::QueueReadPointer => {
                let transmits = self.transmits.get(usize::from(queue(element)));
                transmits.map_or(0, |transmits| u32::from(transmits.head()))
            }
            Port::QueueWritePointer => {
                let queue = self.scheduler.queue(queue(element));
                queue.map_or(0, |queue| u32::from(queue.write))
            }
            Port::MailboxSet | Port::MailboxClear | Port::MemoryWrite | Port::PeripheralWrite => 0,
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

    /// RSCSR_RBDCB_WPTR: one byte is the index.
    fn buffers_posted(&mut self, value: u32) {
        let [index, ..] = value.to_le_bytes();
        self.rx.post(index);
        self.deliver();
    }

    /// TCSR_CONFIG: the service channel is started; any of the data channels is stopped by a driver that goes away.
    fn transmit_configured(&mut self, channel: u32, value: u32) {
        match channel {
            SERVICE_CHANNEL if value & fh::ENABLE != 0 => self.load_section(),
            0..=LAST_DATA_CHANNEL if value == 0 && self.is_up() => self.stop(),
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

    fn read_memory_window(&mut self) -> u32 {
        let address = self.csr.get(csr::MEM_RADDR);
        self.csr.set(csr::MEM_RADDR, address.wrapping_add(4));
        self.sram.read(address)
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
        self.found(found, address)
    }

    fn write_peripheral(&mut self, value: u32) {
        let address = self.csr.get(csr::PRPH_WADDR) & prph::ADDRESS_MASK;
        let written = match self.scd.write(address, value) {
            Written::Unlisted => self.prph.write(address, value),
            written => written,
        };
        self.written(written, address, value);
    }
}

/// Where the bits of a byte-wide register lie in [`csr::INT_TIMERS`]: interrupt coalescing, then periodic interrupts.
const fn byte_register(offset: u64) -> Option<u32> {
    match offset {
        0x004 => Some(0),
        0x005 => Some(8),
        _ => None,
    }
}

/// The queue of an element of the scheduler's arrays, which have [`scd::QUEUES`] each.
fn queue(element: u32) -> u8 {
    u8::try_from(element).unwrap_or(u8::MAX)
}
