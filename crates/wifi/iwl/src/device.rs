//! The card: its parts, the few public operations that a transport and a lane need, and the life of the vMAC that the
//! radio has for it.
//!
//! Not here: the meaning of registers ([`crate::registers`] and `bar.rs`), of commands
//! ([`crate::commands`]), and of queue entries (`fetch.rs`).

mod bar;
mod fetch;

use airlane_dma::{Memory, Window};
use airlane_waist::stamp::{FrameId, Point, Stamps};
use airlane_waist::{Command, Event, Reply, Request, Tag};

use crate::command_ring::Outstanding;
use crate::commands::DriverState;
use crate::counters::Counters;
use crate::eeprom::Eeprom;
use crate::interrupt::{Interrupts, cause};
use crate::loader::{Microcode, Sram};
use crate::model::{self, Identity};
use crate::notification;
use crate::pci::ConfigSpace;
use crate::registers::{Bank, csr, fh, prph, scd};
use crate::response::Packet;
use crate::rx_ring::RxRing;
use crate::scheduler::{InOrder, QUEUES, Scheduler};
use crate::transmit::{Completion, InFlight};

/// One card in one guest. Pure: no clock, no I/O but guest memory.
///
/// A transport hands it what the guest reads and writes and asks for interrupts; a radio takes its requests and answers
/// them with events.
///
/// ```
/// use airlane_dot11::MacAddr;
/// use airlane_iwl::{Device, Identity, Model};
/// use airlane_iwl_driver::FakeDriver;
/// use airlane_waist::{Command, Event, Reply};
///
/// let address = MacAddr([2, 0, 0, 0, 0, 1]);
/// let card = Device::new(Identity { model: Model::Wifi5300, address });
///
/// // A driver finds the card, loads microcode and sets up rings, with a radio that agrees to everything.
/// let mut driver = FakeDriver::new(card);
/// driver.power_on();
/// driver.set_radio(None);
///
/// // It writes TX_POWER_DBM (15 dBm, in halves) into its command ring, and rings the doorbell.
/// driver.send(0x95, &[30, 0, 0, 0]);
///
/// // The card asks the radio, and writes the radio's answer into a receive buffer of the guest.
/// let card = driver.device();
/// let request = card.next_request().expect("the doorbell was rung");
/// assert!(matches!(request.command, Command::TxPower(30)));
/// card.event(Event::Done(request.tag, Reply::Ok));
/// assert!(card.take_msi());
/// ```
pub struct Device {
    identity: Identity,
    pci: ConfigSpace,
    memory: Memory,
    windows: [QueueWindows; QUEUES],
    csr: Bank,
    fh: Bank,
    prph: Bank,
    scd: Bank,
    sram: Sram,
    eeprom: Eeprom,
    interrupts: Interrupts,
    microcode: Microcode,
    vmac: Vmac,
    rx: RxRing,
    scheduler: Scheduler,
    commands: InOrder<Outstanding, Reply>,
    transmits: [InOrder<InFlight, Completion>; QUEUES],
    /// Frames that the radio has not answered, all queues.
    in_flight: usize,
    driver_state: DriverState,
    counters: Counters,
    /// Unknown command ids that the log has seen.
    reported: [u64; 4],
    stamps: Stamps,
}

/// Where a queue's last descriptor lay, and what it named.
struct QueueWindows {
    descriptors: Window,
    contents: Window,
}

impl Default for QueueWindows {
    fn default() -> Self {
        Self {
            descriptors: Window::new("transmit descriptor"),
            contents: Window::new("command or frame"),
        }
    }
}

impl Device {
    /// The card with this identity, powered on, no memory mapped.
    pub fn new(identity: Identity) -> Self {
        let facts = identity.model.facts();
        let mut device = Self {
            identity,
            pci: ConfigSpace::new(facts),
            memory: Memory::new(),
            windows: Default::default(),
            csr: Bank::new(&csr::BLOCK),
            fh: Bank::new(&fh::BLOCK),
            prph: Bank::new(&prph::BLOCK),
            scd: Bank::new(&scd::BLOCK),
            sram: Sram::new(facts),
            eeprom: Eeprom::new(&identity),
            interrupts: Interrupts::default(),
            microcode: Microcode::default(),
            vmac: Vmac::default(),
            rx: RxRing::default(),
            scheduler: Scheduler::default(),
            commands: InOrder::default(),
            transmits: std::array::from_fn(|_| InOrder::default()),
            in_flight: 0,
            driver_state: DriverState::default(),
            counters: Counters::default(),
            reported: [0; 4],
            stamps: Stamps::default(),
        };
        device.strap();
        device
    }

    /// The same card, looking at this memory: before anything is mapped.
    pub fn with_memory(self, memory: Memory) -> Self {
        Self { memory, ..self }
    }

    /// The guest's memory: the transport maps and unmaps here, live.
    pub fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Its thread's stamps, to put them in and for the thread's own.
    pub fn stamps(&mut self) -> &mut Stamps {
        &mut self.stamps
    }

    /// Reads PCI configuration space. Bytes beyond its 256 are zero.
    pub fn config_read(&mut self, offset: u64, data: &mut [u8]) {
        self.pci.read(offset, data);
    }

    /// Writes PCI configuration space; a function reset asked for there is done at once. Asleep, the card
    /// keeps its registers and touches no guest memory.
    pub fn config_write(&mut self, offset: u64, data: &[u8]) {
        if self.pci.write(offset, data) {
            self.reset();
        } else if self.pci.sleeps() && self.is_up() {
            self.stop();
        }
    }

    /// A function reset: configuration space, registers, everything in flight.
    pub fn reset(&mut self) {
        self.pci.reset(self.identity.model.facts());
        self.software_reset();
    }

    /// The next thing for the radio, in order. Descriptors are fetched here and not before: ask when
    /// there is room to pass a request on. May write into the guest and raise an interrupt.
    pub fn next_request(&mut self) -> Option<Request> {
        self.fetch()
    }

    /// What the radio says. Written into the guest, or held until there is room; ignored when it is
    /// about the time before the last reset.
    pub fn event(&mut self, event: Event) {
        self.accept(event);
        self.deliver();
    }

    /// The same, of which more comes at once: what it leads to is written by [`Self::deliver`].
    pub fn accept(&mut self, event: Event) {
        if matches!(event, Event::ResetDone) {
            return self.vmac.reset_done();
        }
        if !self.vmac.listens() {
            self.counters.stale_events += 1;
            return;
        }
        match event {
            Event::ResetDone => {}
            Event::Done(tag, reply) => self.command_done(tag, reply),
            Event::Transmitted(tag, report) => self.frame_done(tag, &report),
            Event::Received(received) => {
                self.stamps
                    .own(Point::Answered, FrameId::received(&received.frame));
                if !self.rx.push_frame(received) {
                    self.counters.rx_dropped += 1;
                }
            }
            Event::Scan(step) => self.send(notification::scan(&step)),
            Event::MissedBeacons(missed) => self.send(notification::missed_beacons(&missed)),
            Event::ChannelSwitched(channel) => self.send(notification::channel_switched(channel)),
        }
    }

    /// True, once, when an MSI message is due.
    pub fn take_msi(&mut self) -> bool {
        let due = self.interrupts.take_message();
        if due {
            self.stamps.mark(Point::Interrupt);
        }
        due
    }

    /// The level of the INTx line, for a transport whose guest has not enabled MSI.
    pub fn intx_level(&self) -> bool {
        self.interrupts.level()
    }

    /// True while microcode runs.
    pub fn is_up(&self) -> bool {
        self.microcode == Microcode::Running
    }

    /// How many entries are outstanding of the queue that the request with this tag was taken from.
    pub fn outstanding(&self, tag: Tag) -> usize {
        let queue = self.scheduler.entry(tag).map(|(number, _)| number);
        let transmits = queue.and_then(|number| self.transmits.get(usize::from(number)));
        transmits.map_or(0, InOrder::len)
    }

    /// True while the radio owes an answer: to a frame or to a command.
    pub fn awaits_answers(&self) -> bool {
        self.in_flight > 0 || self.commands.waiting().next().is_some()
    }

    /// Model and address, as given to [`Self::new`].
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Counters since [`Self::new`]; a reset keeps them.
    pub fn counters(&self) -> Counters {
        Counters {
            interrupts: self.interrupts.rises(),
            dma_faults: self.memory.faults(),
            ..self.counters
        }
    }

    /// Queues a packet for the guest; [`Self::deliver`] writes it.
    fn send(&mut self, packet: Packet) {
        if !self.rx.push(packet) {
            self.counters.packets_dropped += 1;
        }
    }

    /// Writes what waits into as few of the guest's receive buffers as it fits into, and interrupts once for
    /// all of it.
    pub fn deliver(&mut self) {
        let delivery = self.rx.deliver(&mut self.memory);
        self.counters.receive_buffers += delivery.buffers;
        self.counters.rx_frames += delivery.frames;
        self.counters.packets_dropped += delivery.lost;
        if delivery.buffers > 0 {
            self.note_written();
            self.raise(cause::FH_RX);
        }
    }

    fn note_written(&mut self) {
        if self.rx.waiting() == 0 {
            self.stamps.mark(Point::Written);
        }
    }

    fn raise(&mut self, causes: u32) {
        self.interrupts
            .raise(&mut self.csr, &mut self.memory, causes);
    }

    /// What the board says: nothing that a reset changes.
    fn strap(&mut self) {
        let revision = self.identity.model.facts().hardware_revision;
        self.csr.set(csr::HW_REV, revision);
        if self.identity.model.facts().memory == model::Memory::Otp {
            self.csr.set(csr::OTP_GP, csr::OTP_SELECTED);
            self.csr.set(csr::EEPROM_GP, csr::SIGNATURE_OTP);
        }
    }

    /// Stops the microcode: no access to guest memory from here on, and the vMAC goes.
    fn stop(&mut self) {
        self.microcode.go(Microcode::Halted);
        self.vmac.stop();
        self.rx.stop();
        self.scheduler.reset();
        self.commands.clear(0);
        for transmits in &mut self.transmits {
            transmits.clear(0);
        }
        self.in_flight = 0;
        self.driver_state = DriverState::default();
    }

    /// Everything back to how it was at power-on, but EEPROM, radio switch and counters.
    fn software_reset(&mut self) {
        self.stop();
        self.counters.resets += 1;
        self.microcode = Microcode::Absent;
        for bank in [&mut self.csr, &mut self.fh, &mut self.prph, &mut self.scd] {
            bank.reset();
        }
        self.interrupts.reset();
        self.strap();
    }
}

/// When the vMAC behind the card comes and goes: one `Initialize` per start, one `Reset` per stop, and silence for
/// everything that the radio says about the time before.
#[derive(Debug, Default)]
struct Vmac {
    /// The radio has been told to initialize, or is about to be.
    up: bool,
    initialize_due: bool,
    reset_due: bool,
    /// Resets sent whose answer has not come.
    resets_outstanding: u32,
}

impl Vmac {
    /// The microcode has started.
    fn start(&mut self) {
        self.up = true;
        self.initialize_due = true;
    }

    /// The microcode has stopped. A start that the radio has not heard of is taken back instead.
    fn stop(&mut self) {
        if std::mem::take(&mut self.up) && !std::mem::take(&mut self.initialize_due) {
            self.reset_due = true;
        }
    }

    /// The next thing to tell the radio.
    fn take_command(&mut self) -> Option<Command> {
        if std::mem::take(&mut self.reset_due) {
            self.resets_outstanding = self.resets_outstanding.saturating_add(1);
            return Some(Command::Reset);
        }
        std::mem::take(&mut self.initialize_due).then_some(Command::Initialize)
    }

    /// A reset was answered.
    fn reset_done(&mut self) {
        self.resets_outstanding = self.resets_outstanding.saturating_sub(1);
    }

    /// True when the radio's events are about the present.
    fn listens(&self) -> bool {
        self.up && !self.initialize_due && !self.reset_due && self.resets_outstanding == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reset_per_stop_and_deaf_until_it_is_answered() {
        let mut vmac = Vmac::default();
        vmac.stop();
        assert!(vmac.take_command().is_none(), "nothing was initialized");
        vmac.start();
        assert!(matches!(vmac.take_command(), Some(Command::Initialize)));
        assert!(vmac.listens());
        vmac.stop();
        vmac.stop();
        vmac.start();
        assert!(matches!(vmac.take_command(), Some(Command::Reset)));
        assert!(matches!(vmac.take_command(), Some(Command::Initialize)));
        assert!(vmac.take_command().is_none() && !vmac.listens());
        vmac.reset_done();
        assert!(vmac.listens());
    }

    #[test]
    fn a_start_that_nobody_heard_of_is_taken_back() {
        let mut vmac = Vmac::default();
        vmac.start();
        vmac.stop();
        assert!(vmac.take_command().is_none());
    }
}
