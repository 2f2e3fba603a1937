//! A fake driver: it does to a [`Device`] what `iwlwifi` and `iwldvm` do, with real rings in fake guest
//! memory. For tests, stories and benchmarks. All layouts are written here a second time, from the
//! driver's point of view, so that they check the device's.
//!
//! It panics where the real driver would complain: it is a test's conscience, never a guest's input.
//!
//! A radio answers behind it: by default [`obliging_radio`]. Put another there with
//! [`FakeDriver::set_radio`], or take it away and drive [`FakeDriver::next_request`] and
//! [`FakeDriver::event`] by hand.

mod aggregation;
mod bring_up;
mod commands;
mod layout;
mod receive;
mod transmit;

use std::collections::VecDeque;

use airlane_dma::Backing;
use airlane_wlan::{
    Command, Event, MacAddr, Rate, Reply, Request, ScanEvent, Statistics, TxReport, TxStatus,
};

use crate::{Device, Identity, Model};
pub use aggregation::Aggregation;
pub use bring_up::Image;
pub use commands::{Station, ccmp_key};
pub use receive::{Packet, RxFrame, TxResponse};
pub use transmit::TxOptions;

/// Answers requests with events.
pub type Radio = Box<dyn FnMut(Request) -> Vec<Event> + Send>;

/// The driver, and the card that it drives.
pub struct FakeDriver {
    device: Device,
    radio: Option<Radio>,
    /// Requests that no radio took.
    requests: VecDeque<Request>,
    queues: [DriverQueue; layout::QUEUES],
    rx_read: u8,
    /// Receive buffers are posted again once read.
    restocks: bool,
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

impl FakeDriver {
    /// Drives `device`, whose memory it maps.
    pub fn new(mut device: Device) -> Self {
        device
            .memory()
            .map(0, layout::MEMORY, Backing::Anonymous, true)
            .expect("fake memory can be mapped");
        Self {
            device,
            radio: Some(Box::new(obliging_radio)),
            requests: VecDeque::new(),
            queues: [DriverQueue::default(); layout::QUEUES],
            rx_read: 0,
            restocks: true,
            ict: None,
            software_mask: 0,
            packets: VecDeque::new(),
            frames: VecDeque::new(),
            tx_responses: VecDeque::new(),
            last_phy: None,
            messages: 0,
        }
    }

    /// Drives a 5300 with this address.
    pub fn with_address(address: MacAddr) -> Self {
        let model = Model::Wifi5300;
        Self::new(Device::new(Identity { model, address }))
    }

    /// The card.
    pub fn device(&mut self) -> &mut Device {
        &mut self.device
    }

    /// Puts another radio behind the card; with `None`, requests wait in [`Self::next_request`].
    pub fn set_radio(&mut self, radio: Option<Radio>) {
        self.radio = radio;
    }

    /// Reads a register.
    pub fn read(&mut self, offset: u64) -> u32 {
        let mut bytes = [0; 4];
        self.device.bar_read(offset, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    /// Writes a register.
    pub fn write(&mut self, offset: u64, value: u32) {
        self.device.bar_write(offset, &value.to_le_bytes());
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
        self.device
            .memory()
            .read(address, &mut bytes)
            .expect("the fake driver reads its own memory");
        bytes
    }

    /// Writes guest memory.
    pub fn poke(&mut self, address: u64, bytes: &[u8]) {
        self.device
            .memory()
            .write(address, bytes)
            .expect("the fake driver writes its own memory");
    }

    /// Everything that the guest's memory holds, to compare.
    pub fn snapshot(&mut self) -> Vec<u8> {
        self.peek(0, layout::MEMORY as usize)
    }

    /// The next request that no radio took.
    pub fn next_request(&mut self) -> Option<Request> {
        self.requests
            .pop_front()
            .or_else(|| self.device.next_request())
    }

    /// An event of the radio; the driver handles what follows from it.
    pub fn event(&mut self, event: Event) {
        self.device.event(event);
        self.handle_interrupts();
    }

    /// Lets the radio answer everything that the card asks, until both are quiet.
    pub fn run(&mut self) {
        while let Some(mut radio) = self.radio.take() {
            let Some(request) = self.device.next_request() else {
                self.radio = Some(radio);
                break;
            };
            let events = radio(request);
            self.radio = Some(radio);
            for event in events {
                self.device.event(event);
            }
            self.handle_interrupts();
        }
        self.handle_interrupts();
    }

    /// MSI messages that the driver has had.
    pub fn messages(&self) -> u64 {
        self.messages
    }
}

/// Does whatever it is asked, at once: every frame is acknowledged, every scan finds nothing.
pub fn obliging_radio(request: Request) -> Vec<Event> {
    let Request { tag, command } = request;
    match command {
        Command::Reset => vec![Event::ResetDone],
        Command::Transmit(transmit) => {
            let mut header = [0; 24];
            let read = transmit.frame.read(&mut header).unwrap_or(0);
            let sequence_control = if read == header.len() && !transmit.assign_sequence {
                u16::from_le_bytes([header[22], header[23]])
            } else {
                0
            };
            vec![Event::Transmitted(tag, sent(sequence_control))]
        }
        Command::Statistics { clear } => {
            let statistics = Statistics {
                cleared: clear,
                ..Statistics::default()
            };
            vec![Event::Done(tag, Reply::Statistics(Box::new(statistics)))]
        }
        Command::Scan(scan) => vec![
            Event::Done(tag, Reply::Ok),
            Event::Scan(ScanEvent::Complete {
                channels: scan.channels.len() as u8,
                last: scan.channels.last().map(|last| last.channel),
                aborted: false,
            }),
        ],
        _ => vec![Event::Done(tag, Reply::Ok)],
    }
}

/// A report on a frame that was acknowledged at the first attempt.
pub fn sent(sequence_control: u16) -> TxReport {
    TxReport {
        status: TxStatus::Success,
        retries: 0,
        rts_failures: 0,
        rate: Rate::OFDM_6,
        sequence_control,
        airtime: airlane_wlan::Micros(100),
    }
}
