//! The driver's half of an Intel 5000/6000 card, for tests and for load: [`Driver`] does to a card what `iwlwifi` and
//! `iwldvm` do, with real rings in the memory of a fake guest. All layouts are written here a second time, from the
//! driver's point of view, so that they check those of `airlane-iwl`.
//!
//! It panics where the real driver would complain: a test fails there. The product does not link it. How it reaches its
//! card is not here: whoever uses it implements [`Card`]; [`FakeDriver`] has its card in the same thread.

mod aggregation;
mod bring_up;
mod commands;
mod in_thread;
mod layout;
mod receive;
mod transmit;

use std::collections::VecDeque;

use airlane_dma::Memory;
use airlane_iwl::Model;

pub use aggregation::Aggregation;
pub use bring_up::Image;
pub use commands::{Station, ccmp_key};
pub use in_thread::{FakeCard, FakeDriver, Radio, obliging_radio, sent};
pub use layout::MEMORY;
pub use receive::{Packet, RxFrame, TxResponse};
pub use transmit::TxOptions;

/// The way from a driver to its card: in the same thread, or behind a socket.
pub trait Card {
    /// An interrupt may arrive when what it announces has been handled already.
    const LATE_INTERRUPTS: bool = false;
    /// Reads registers of BAR 0.
    fn read(&mut self, offset: u64, bytes: &mut [u8]);
    /// Writes registers of BAR 0.
    fn write(&mut self, offset: u64, bytes: &[u8]);
    /// The guest's memory: [`MEMORY`] bytes at address 0, which the card can reach.
    fn memory(&mut self) -> &mut Memory;
    /// True once for each interrupt message that has arrived.
    fn take_interrupt(&mut self) -> bool;
    /// Lets what is behind the card do something; false when it is quiet, or works by itself.
    fn work(&mut self) -> bool {
        false
    }
    /// Waits for an interrupt; false when none will come.
    fn wait(&mut self) -> bool {
        false
    }
}

/// The driver, and the card that it drives.
pub struct Driver<C> {
    pub(crate) card: C,
    model: Model,
    queues: [DriverQueue; layout::QUEUES],
    rx_read: u8,
    /// Receive buffers are posted again once read.
    restocks: bool,
    /// The receive ring's write pointer, as the card knows it.
    rx_write: u8,
    ict: Option<u32>,
    software_mask: u32,
    packets: VecDeque<Packet>,
    frames: VecDeque<RxFrame>,
    tx_responses: VecDeque<TxResponse>,
    last_phy: Option<Vec<u8>>,
    messages: u64,
}

/// The driver's view of one queue.
#[derive(Clone, Copy, Debug, Default)]
struct DriverQueue {
    write: u8,
    /// Next entry that will be reclaimed.
    read: u8,
}

impl<C: Card> Driver<C> {
    /// Drives a card of this model, which is off.
    pub fn of(card: C, model: Model) -> Self {
        Self {
            card,
            model,
            queues: [DriverQueue::default(); layout::QUEUES],
            rx_read: 0,
            restocks: true,
            rx_write: 0,
            ict: None,
            software_mask: 0,
            packets: VecDeque::new(),
            frames: VecDeque::new(),
            tx_responses: VecDeque::new(),
            last_phy: None,
            messages: 0,
        }
    }

    /// The transport to the card, as it was given to [`Self::of`].
    pub fn card(&mut self) -> &mut C {
        &mut self.card
    }

    /// Reads a register.
    pub fn read(&mut self, offset: u64) -> u32 {
        let mut bytes = [0; 4];
        self.card.read(offset, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    /// Writes a register.
    pub fn write(&mut self, offset: u64, value: u32) {
        self.card.write(offset, &value.to_le_bytes());
    }

    /// Reads, sets bits, writes back.
    pub fn set_bits(&mut self, offset: u64, bits: u32) {
        let old = self.read(offset);
        self.write(offset, old | bits);
    }

    /// Reads, clears bits, writes back.
    pub fn clear_bits(&mut self, offset: u64, bits: u32) {
        let old = self.read(offset);
        self.write(offset, old & !bits);
    }

    /// Reads a peripheral register, as the driver encodes its address.
    pub fn read_peripheral(&mut self, address: u32) -> u32 {
        self.write(0x448, (address & 0xf_ffff) | 0x0300_0000);
        self.read(0x450)
    }

    /// Writes a peripheral register.
    pub fn write_peripheral(&mut self, address: u32, value: u32) {
        self.write(0x444, (address & 0xf_ffff) | 0x0300_0000);
        self.write(0x44c, value);
    }

    /// Bytes of guest memory.
    pub fn peek(&mut self, address: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.card
            .memory()
            .read(address, &mut bytes)
            .expect("the driver reads its own memory");
        bytes
    }

    /// Writes guest memory.
    pub fn poke(&mut self, address: u64, bytes: &[u8]) {
        self.card
            .memory()
            .write(address, bytes)
            .expect("the driver writes its own memory");
    }

    /// Everything that the guest's memory holds, to compare.
    pub fn snapshot(&mut self) -> Vec<u8> {
        self.peek(0, layout::MEMORY as usize)
    }

    /// Lets everything behind the card work until it is quiet, and handles what follows from it.
    pub fn run(&mut self) {
        while self.card.work() {
            self.handle_interrupts();
        }
        self.handle_interrupts();
    }

    /// Handles interrupts until `look` finds what it waits for; nothing when it will not come any more.
    fn until<T>(&mut self, mut look: impl FnMut(&mut Self) -> Option<T>) -> Option<T> {
        loop {
            let found = look(self);
            if found.is_some() || !self.card.wait() {
                return found;
            }
            self.run();
        }
    }

    /// The oldest notification with this id, once it is there.
    pub fn until_notified(&mut self, id: u8) -> Option<Packet> {
        self.run();
        self.until(|driver| driver.take_notification(id))
    }

    /// MSI messages that the driver has had.
    pub fn messages(&self) -> u64 {
        self.messages
    }
}
