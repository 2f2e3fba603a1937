//! What moves through the device: two virtqueues on one side, two rings to the medium on the other.
//!
//! Guest memory is untrusted: chains are read through checked accesses, lengths come from our own
//! buffers, and a ring index that runs away yields no chain.

use std::collections::VecDeque;
use std::sync::Arc;

use airlane_dot11::{BufferPool, Dbm};
use airlane_lane::ring::{Receiver, Sender};
use airlane_waist::hwsim::{FromHwsim, HwsimFrame, ToHwsim};
use virtio_queue::DescriptorChain;

use super::codec::{self, FromGuest};
use super::counters::HwsimCounters;
use super::error::CodecError;
use super::netlink::message_length;
use super::waiting::Waiting;
use crate::vhost_user::{self, Event, Guest, Vring, copy_in, copy_out};

/// `HWSIM_NUM_VQS`.
const QUEUES: usize = 2;
/// Queue of what the guest transmits; the other one is of what it receives.
const TX: usize = 0;
/// A guest's buffer is 3,776 bytes with 4 KiB pages.
const MESSAGE: usize = 4096;
/// Buffers that frames of the guest travel in.
const BUFFERS: usize = 256;
/// Address changes that may wait for the medium.
const CONTROL: usize = 256;

/// The device.
pub struct Backend {
    to_radio: Sender<FromHwsim>,
    from_radio: Receiver<ToHwsim>,
    memory: Option<Arc<Guest>>,
    pool: BufferPool,
    scratch: Box<[u8; MESSAGE]>,
    waiting: Waiting,
    /// Not frames: these may wait for the medium, in order, but not be lost.
    control: VecDeque<FromHwsim>,
    /// Statuses of frames that the medium refused, for the next event: not within the guest's notification.
    refused: VecDeque<ToHwsim>,
    started: bool,
    /// The guest breaks the protocol: its connection is to be closed.
    broken: bool,
    /// What happened so far.
    pub counters: HwsimCounters,
}

impl Backend {
    /// A device between these rings.
    pub fn new(to_radio: Sender<FromHwsim>, from_radio: Receiver<ToHwsim>) -> Self {
        Self {
            to_radio,
            from_radio,
            memory: None,
            pool: BufferPool::new(BUFFERS),
            scratch: Box::new([0; MESSAGE]),
            waiting: Waiting::new(),
            control: VecDeque::with_capacity(CONTROL),
            refused: VecDeque::new(),
            started: false,
            broken: false,
            counters: HwsimCounters::default(),
        }
    }

    /// One of the virtqueues has been notified.
    fn started(&mut self) {
        if !std::mem::replace(&mut self.started, true) {
            self.tell(FromHwsim::Connected);
        }
    }

    /// Does all that there is to do: takes what the guest transmits if it has notified queue `tx`,
    /// and gives it what waits.
    fn exchange(&mut self, tx: Option<&mut Vring>, rx: &mut Vring) {
        while let Some(status) = self.refused.pop_front() {
            self.waiting.push(status, &mut self.counters);
        }
        if let Some(tx) = tx {
            self.transmit(tx);
        }
        self.flush_control();
        self.receive(rx);
    }

    fn tell(&mut self, what: FromHwsim) {
        if self.control.len() < CONTROL {
            self.control.push_back(what);
        } else {
            self.counters.addresses_lost += 1;
        }
        self.flush_control();
    }

    fn flush_control(&mut self) {
        while let Some(what) = self.control.pop_front() {
            if let Err(what) = self.to_radio.push(what) {
                self.control.push_front(what);
                return;
            }
        }
    }

    /// Takes every frame that the guest has queued, and gives its buffers back.
    fn transmit(&mut self, vring: &mut Vring) {
        let Some(memory) = self.memory.clone() else {
            return;
        };
        let mut used = false;
        loop {
            vring.silence(&memory);
            let mut progress = false;
            while let Some(chain) = vring.pop(&memory) {
                progress = true;
                let head = chain.head_index();
                match self.gather(chain, &memory) {
                    Some(length) => self.message(length),
                    None => self.counters.bad_buffers += 1,
                }
                vring.give_back(&memory, head, 0);
            }
            used |= progress;
            // A guest whose index runs away offers more, yet yields no chain: wait for its next word.
            if !progress || !vring.listen(&memory) {
                break;
            }
        }
        if used {
            vring.notify(&memory);
        }
    }

    /// Copies one message, as long as it says it is, into the scratch buffer.
    fn gather(&mut self, chain: DescriptorChain<&Guest>, memory: &Guest) -> Option<usize> {
        let first = copy_in(chain.clone(), memory, self.scratch.get_mut(..4)?)?;
        let length = message_length(first)?;
        let target = self.scratch.get_mut(..length)?;
        let copied = copy_in(chain, memory, target)?.len();
        (copied == length).then_some(length)
    }

    fn message(&mut self, length: usize) {
        let message = self.scratch.get(..length).unwrap_or_default();
        match codec::parse(message) {
            Ok(FromGuest::Frame(frame)) => {
                let length = frame.frame.len();
                let copy = |target: &mut [u8]| {
                    let fits = target.len() == length;
                    fits.then(|| target.copy_from_slice(frame.frame)).ok_or(())
                };
                let Ok(buffer) = self.pool.fill(length, copy) else {
                    self.counters.malformed += 1;
                    return;
                };
                let frame = HwsimFrame {
                    radio: frame.radio,
                    frame: buffer,
                    channel: frame.channel,
                    flags: frame.flags,
                    rates: frame.rates,
                    tx_info: frame.tx_info,
                    cookie: frame.cookie,
                };
                self.frame(frame);
            }
            Ok(FromGuest::AddAddress { radio, address }) => {
                self.tell(FromHwsim::AddAddress { radio, address });
            }
            Ok(FromGuest::RemoveAddress { radio, address }) => {
                self.tell(FromHwsim::RemoveAddress { radio, address });
            }
            Err(error) => self.malformed(error),
        }
    }

    fn malformed(&mut self, error: CodecError) {
        self.counters.malformed += 1;
        if error.breaks_protocol() {
            tracing::warn!(%error, "malformed hwsim message, the connection is closed");
            self.broken = true;
        } else {
            tracing::debug!(%error, "hwsim message that no medium serves");
        }
    }

    fn frame(&mut self, frame: HwsimFrame) {
        self.flush_control();
        // A frame must not overtake the addresses that its answer depends on.
        let pushed = match self.control.is_empty() {
            true => self.to_radio.push(FromHwsim::Frame(frame)),
            false => Err(FromHwsim::Frame(frame)),
        };
        match pushed {
            Ok(()) => self.counters.transmitted += 1,
            Err(FromHwsim::Frame(frame)) => {
                self.counters.refused += 1;
                let status = frame.status(false, Dbm(-100.0), &[0]);
                self.refused.push_back(status);
            }
            Err(_) => {}
        }
    }

    /// Moves what the medium says to the guest, as far as it has posted buffers.
    fn receive(&mut self, vring: &mut Vring) {
        let Some(memory) = self.memory.clone() else {
            return;
        };
        let ready = vring.is_running();
        let mut used = false;
        loop {
            while let Some(message) = self.from_radio.pop() {
                self.waiting.push(message, &mut self.counters);
                if ready {
                    used |= self.deliver(vring, &memory);
                }
            }
            if ready {
                used |= self.deliver(vring, &memory);
            }
            if self.from_radio.announce_sleep() || self.from_radio.is_abandoned() {
                break;
            }
        }
        if used {
            vring.notify(&memory);
        }
    }

    /// Fills posted buffers with waiting messages; says whether it did.
    fn deliver(&mut self, vring: &mut Vring, memory: &Guest) -> bool {
        let mut used = false;
        while let Some(message) = self.waiting.front() {
            let Ok(length) = codec::encode(message, self.scratch.as_mut_slice()) else {
                self.counters.unsendable += 1;
                self.waiting.pop();
                continue;
            };
            let Some(chain) = vring.pop(memory) else {
                break;
            };
            let head = chain.head_index();
            let bytes = self.scratch.get(..length).unwrap_or_default();
            let written = copy_out(chain, memory, bytes);
            let count = match (written, message) {
                (None, _) => &mut self.counters.bad_buffers,
                (_, ToHwsim::Status { .. }) => &mut self.counters.statuses,
                (_, ToHwsim::Receive { .. }) => &mut self.counters.received,
            };
            *count += 1;
            // A buffer that could not take the message is given back empty; the message tries the next.
            let length = u32::try_from(length).unwrap_or(0);
            vring.give_back(memory, head, written.map_or(0, |()| length));
            used = true;
            if written.is_some() {
                self.waiting.pop();
            }
        }
        used
    }
}

impl vhost_user::Backend for Backend {
    fn queues(&self) -> usize {
        QUEUES
    }

    fn idle(&mut self) {
        loop {
            while self.from_radio.pop().is_some() {
                self.counters.without_guest += 1;
            }
            self.flush_control();
            if self.from_radio.announce_sleep() || self.from_radio.is_abandoned() {
                return;
            }
        }
    }

    fn stopped(&mut self) {
        if std::mem::take(&mut self.started) {
            // What the guest said before is void with it, and must not keep this from being heard.
            self.control.clear();
            self.tell(FromHwsim::Closed);
        }
        self.waiting.clear();
        self.refused.clear();
    }

    fn disconnected(&mut self) {
        self.stopped();
        self.memory = None;
        self.broken = false;
    }

    fn memory(&mut self, memory: Arc<Guest>) {
        self.memory = Some(memory);
    }

    fn event(&mut self, event: Event, queues: &mut [Vring]) {
        let [tx, rx] = queues else {
            return;
        };
        if event != Event::Woken {
            self.started();
        }
        self.exchange((event == Event::Notified(TX)).then_some(tx), rx);
    }

    fn memory_refused(&mut self) {
        self.counters.memory_refused += 1;
    }

    fn connected(&mut self) {
        self.counters.connections += 1;
    }

    fn is_broken(&self) -> bool {
        self.broken
    }
}
