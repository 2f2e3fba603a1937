//! A card in the thread of its driver, in fake guest memory: for tests, stories and benchmarks.
//!
//! A radio answers behind it: by default [`obliging_radio`]. Put another there with
//! [`FakeDriver::set_radio`], or take it away and drive [`FakeDriver::next_request`] and
//! [`FakeDriver::event`] by hand.

use airlane_dma::{Backing, Memory};
use airlane_dot11::{MacAddr, Rate};
use airlane_iwl::{Device, Identity, Model};
use airlane_waist::{Command, Event, Reply, Request, ScanEvent, Statistics, TxReport, TxStatus};

use crate::{Card, Driver, MEMORY};

/// Answers requests with events.
pub type Radio = Box<dyn FnMut(Request) -> Vec<Event> + Send>;

/// The driver of a card in its own thread.
pub type FakeDriver = Driver<FakeCard>;

/// A card without a transport, and what is behind it.
pub struct FakeCard {
    device: Device,
    radio: Option<Radio>,
}

impl Card for FakeCard {
    fn read(&mut self, offset: u64, bytes: &mut [u8]) {
        self.device.bar_read(offset, bytes);
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.device.bar_write(offset, bytes);
    }

    fn memory(&mut self) -> &mut Memory {
        self.device.memory()
    }

    fn take_interrupt(&mut self) -> bool {
        self.device.take_msi()
    }

    /// Has the radio answer one request.
    fn work(&mut self) -> bool {
        let Some(radio) = &mut self.radio else {
            return false;
        };
        let Some(request) = self.device.next_request() else {
            return false;
        };
        for event in radio(request) {
            self.device.event(event);
        }
        true
    }
}

impl FakeDriver {
    /// Drives `device`, whose memory it maps.
    pub fn new(mut device: Device) -> Self {
        device
            .memory()
            .map(0, MEMORY, Backing::Anonymous, true)
            .expect("fake memory can be mapped");
        let model = device.identity().model;
        let card = FakeCard {
            device,
            radio: Some(Box::new(obliging_radio)),
        };
        Self::of(card, model)
    }

    /// Drives a 5300 with this address.
    pub fn with_address(address: MacAddr) -> Self {
        let model = Model::Wifi5300;
        Self::new(Device::new(Identity { model, address }))
    }

    /// The card itself, for what a transport or a lane would do.
    pub fn device(&mut self) -> &mut Device {
        &mut self.card.device
    }

    /// Puts another radio behind the card; with `None`, requests wait in [`Self::next_request`].
    pub fn set_radio(&mut self, radio: Option<Radio>) {
        self.card.radio = radio;
    }

    /// The next request that no radio took.
    pub fn next_request(&mut self) -> Option<Request> {
        self.card.device.next_request()
    }

    /// An event of the radio; the driver handles what follows from it.
    pub fn event(&mut self, event: Event) {
        self.card.device.event(event);
        self.handle_interrupts();
    }

    /// Events of the radio that come at once.
    pub fn events(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.card.device.accept(event);
        }
        self.card.device.deliver();
        self.handle_interrupts();
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
        airtime: airlane_lane::Micros(100),
    }
}
