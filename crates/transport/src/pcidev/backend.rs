//! The device: takes commands off one virtqueue, does them on the card, and puts interrupts on the other.
//!
//! Everything in the queues is untrusted. A command that is none, or that reaches beyond the card, is counted, its buffer
//! comes back unchanged and its sender goes on, as on a bus where nobody answers.

use std::sync::Arc;
use std::time::Duration;

use virtio_queue::DescriptorChain;
use vm_memory::{Address, GuestMemoryBackend, GuestMemoryRegion};

use airlane_dma::Backing;

use super::message::{Access, Command, HEADER, MAX_DATA, interrupt};
use super::{message::Space, msi};
use crate::pci::{LaneEnd, PciDevice};
use crate::served::Counters;
use crate::vhost_user::{self, Event, Guest, Vring, copy_in, copy_out};

/// Commands, and interrupts.
const QUEUES: usize = 2;

/// The device.
pub struct Backend<P> {
    /// The card behind it.
    pub card: P,
    /// What happened so far.
    pub counters: Counters,
    memory: Option<Arc<Guest>>,
    /// A message of the guest.
    scratch: Box<[u8; HEADER + MAX_DATA]>,
    /// What the card answers to a read.
    answer: Box<[u8; MAX_DATA]>,
    /// An interrupt that found no buffer: the guest has not taken those before it.
    interrupt_waits: bool,
}

impl<P: LaneEnd> Backend<P> {
    /// A device in front of `card`.
    pub fn new(card: P) -> Self {
        Self {
            card,
            counters: Counters::default(),
            memory: None,
            scratch: Box::new([0; HEADER + MAX_DATA]),
            answer: Box::new([0; MAX_DATA]),
            interrupt_waits: false,
        }
    }

    /// Does every command that the guest has queued.
    fn commands(&mut self, vring: &mut Vring, memory: &Guest) {
        if !vring.is_running() {
            return;
        }
        let mut used = false;
        loop {
            vring.silence(memory);
            let mut progress = false;
            while let Some(chain) = vring.pop(memory) {
                if !std::mem::replace(&mut progress, true) {
                    self.card.messages_read();
                }
                let head = chain.head_index();
                let length = self.command(chain, memory);
                self.counters.refused += u64::from(length.is_none());
                vring.give_back(memory, head, length.unwrap_or(0));
            }
            used |= progress;
            // A guest whose index runs away offers more, yet yields no chain: wait for its next word.
            if !progress || !vring.listen(memory) {
                break;
            }
        }
        if used {
            self.counters.batches += 1;
            vring.notify(memory);
        }
    }

    /// Does one command; how many bytes it gave the guest, none when it was refused.
    fn command(&mut self, chain: DescriptorChain<&Guest>, memory: &Guest) -> Option<u32> {
        self.counters.messages += 1;
        let message = copy_in(chain.clone(), memory, self.scratch.as_mut_slice())?;
        let command = Command::parse(message);
        let command = command
            .inspect_err(|error| tracing::debug!(%error, "PCI over virtio"))
            .ok()?;
        if !within(&self.card, &command) {
            return None;
        }
        match command.access {
            Access::Read(length) => {
                let answer = self.answer.get_mut(..length)?;
                self.counters.reads += 1;
                read(&mut self.card, command.space, command.offset, answer);
                copy_out(chain, memory, answer)?;
                u32::try_from(length).ok()
            }
            Access::Write(data) => {
                self.counters.writes += 1;
                write(&mut self.card, command.space, command.offset, data);
                Some(0)
            }
            Access::Fill(byte, length) => {
                let data = self.answer.get_mut(..length)?;
                data.fill(byte);
                self.counters.writes += 1;
                write(&mut self.card, command.space, command.offset, data);
                Some(0)
            }
        }
    }

    /// Does what the guest says, exchanges with the radio and tells the guest, for as long as the card wants to look again.
    fn exchange(&mut self, commands: &mut Vring, interrupts: &mut Vring, memory: &Guest) {
        loop {
            self.commands(commands, memory);
            self.card.poll();
            match self.card.take_interrupt() {
                Some(0) => self.interrupt_waits = true,
                // The guest has MSI only, which has one vector.
                Some(_) => self.counters.interrupts_lost += 1,
                None => {}
            }
            if self.interrupt_waits {
                self.interrupt(interrupts, memory);
            }
            self.card.counted(&self.counters);
            if !self.card.wants_poll_before_sleep() {
                return;
            }
        }
    }

    /// Puts the interrupt that is due into the guest's next buffer, if it has posted one.
    fn interrupt(&mut self, vring: &mut Vring, memory: &Guest) {
        let Some((address, data)) = msi::vector(&mut self.card) else {
            self.counters.interrupts_lost += 1;
            self.interrupt_waits = false;
            return;
        };
        if !vring.is_running() {
            return;
        }
        while self.interrupt_waits {
            match deliver(vring, memory, &interrupt(address, data)) {
                Some(true) => {
                    self.counters.interrupts += 1;
                    self.interrupt_waits = false;
                }
                Some(false) => self.counters.refused += 1,
                None => return,
            }
        }
        vring.notify(memory);
    }
}

impl<P: LaneEnd + Send + 'static> vhost_user::Backend for Backend<P> {
    fn queues(&self) -> usize {
        QUEUES
    }

    fn memory(&mut self, memory: Arc<Guest>) {
        let target = self.card.memory();
        target.unmap_all();
        for region in memory.iter() {
            let Some(file) = region.file_offset() else {
                continue;
            };
            let mapped = file.file().try_clone().map(|copy| {
                let backing = Backing::File(copy, file.start());
                target.map(region.start_addr().raw_value(), region.len(), backing, true)
            });
            match mapped {
                Ok(Ok(())) => self.counters.maps += 1,
                Ok(Err(error)) => tracing::error!(%error, "cannot map guest memory"),
                Err(error) => tracing::error!(%error, "cannot map guest memory"),
            }
        }
        self.memory = Some(memory);
    }

    fn event(&mut self, _event: Event, queues: &mut [Vring]) {
        let (Some(memory), [commands, interrupts]) = (self.memory.clone(), queues) else {
            return self.idle();
        };
        self.counters.waits += 1;
        self.exchange(commands, interrupts, &memory);
    }

    fn stopped(&mut self) {
        self.interrupt_waits = false;
    }

    fn sleep_limit(&mut self) -> Option<Duration> {
        self.card.sleep_limit()
    }

    fn memory_refused(&mut self) {
        self.counters.refused += 1;
    }

    fn connected(&mut self) {
        self.counters.connections += 1;
        self.card.attached();
        self.idle();
    }

    fn disconnected(&mut self) {
        self.stopped();
        self.memory = None;
        self.card.memory().unmap_all();
    }

    fn idle(&mut self) {
        loop {
            self.card.poll();
            if !self.card.wants_poll_before_sleep() {
                return;
            }
        }
    }

    fn is_broken(&self) -> bool {
        false
    }
}

/// Fills the guest's next buffer; true when the message fits there, none when no buffer is there.
fn deliver(vring: &mut Vring, memory: &Guest, message: &[u8]) -> Option<bool> {
    let chain = vring.pop(memory)?;
    let head = chain.head_index();
    let fits = copy_out(chain, memory, message).is_some();
    let length = if fits { message.len() } else { 0 };
    vring.give_back(memory, head, u32::try_from(length).unwrap_or(0));
    Some(fits)
}

/// Whether a command stays within the space that it names.
fn within(card: &dyn PciDevice, command: &Command<'_>) -> bool {
    let size = match command.space {
        Space::Config => card.config_size(),
        Space::Bar(bar) => card.bar_size(bar),
    };
    let end = command.offset.checked_add(command.length() as u64);
    end.is_some_and(|end| end <= size)
}

fn read(card: &mut dyn PciDevice, space: Space, offset: u64, data: &mut [u8]) {
    match space {
        Space::Config => card.config_read(offset, data),
        Space::Bar(bar) => card.bar_read(bar, offset, data),
    }
}

fn write(card: &mut dyn PciDevice, space: Space, offset: u64, data: &[u8]) {
    match space {
        Space::Config => card.config_write(offset, data),
        Space::Bar(bar) => card.bar_write(bar, offset, data),
    }
}
