//! One VM's load: the driver's half at the card's socket, and above it what a guest's stack would send and
//! count. Its own processor time is not the daemon's.

use std::path::Path;
use std::time::{Duration, Instant};

use airlane_dot11::{Channel, MacAddr, frame::Header};
use airlane_iwl::Model;
use airlane_iwl_driver::{Driver, Station as Joined, TxOptions};
use airlane_socket_card::{SocketCard, Traffic};

use super::echoes::Echoes;
use super::far_end::{ACKNOWLEDGEMENT, SEGMENTS_PER_ACKNOWLEDGEMENT};
use super::processor;
use super::window::Window;
use super::words::{self, Word};

/// Best effort.
const QUEUE: u8 = 2;
/// 54 Mb/s on antenna A, as a rate word.
const OFDM_54: u32 = 0x4003;
/// A frame that has not come back by then is lost.
const ECHO_LIMIT: Duration = Duration::from_millis(200);
/// Quiet for this long: nothing is under way any more.
const QUIET: Duration = Duration::from_millis(20);

/// When the driver says that there is something to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doorbell {
    /// At every frame, as `iwlwifi` does.
    PerFrame,
    /// Once for all that could be written in one go.
    PerBurst,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Datagrams from the VM: so many frames of this payload in the card's queue at all times.
    Up {
        payload: usize,
        depth: u64,
        doorbell: Doorbell,
    },
    /// The same, a frame in so many microseconds.
    Paced { payload: usize, every: Duration },
    /// Datagrams to the VM.
    Down { payload: usize, depth: u32 },
    /// Segments from the VM, every second acknowledged, so many not acknowledged at a time.
    SegmentsUp { payload: usize, window: u64 },
    /// Segments to the VM.
    SegmentsDown { payload: usize, window: u32 },
    /// One frame at a time, which the other end sends back; a pause behind each.
    Echo { payload: usize, pause: Duration },
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    written: u64,
    answered: u64,
    delivered: u64,
    acknowledged: u64,
    received: u64,
    traffic: Traffic,
    processor: f64,
}

/// What has happened within a window.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Frames of the VM that the other end has acknowledged on the air.
    pub delivered: u64,
    /// Segments of the VM that the other end has acknowledged.
    pub acknowledged: u64,
    /// Frames to the VM.
    pub received: u64,
    /// Over the socket.
    pub traffic: Traffic,
    /// How long it was, in seconds.
    pub seconds: f64,
    /// Processor time of the generator itself, in seconds.
    pub processor: f64,
    /// Round trips, in microseconds.
    pub trips: Vec<f64>,
}

/// One VM.
pub struct Station {
    driver: Driver<SocketCard>,
    own: MacAddr,
    far_end: MacAddr,
    sequence: u16,
    totals: Totals,
    /// What was said last, and the body that says it.
    prepared: Option<(Word, usize, Vec<u8>)>,
    unacknowledged: u32,
    echoes: Echoes,
}

impl Station {
    /// Brings a card up by the driver's own commands, and declares it associated to `far_end`.
    pub fn join(
        socket: &Path,
        own: MacAddr,
        far_end: MacAddr,
        channel: Channel,
    ) -> anyhow::Result<Self> {
        let mut driver = Driver::of(SocketCard::attach(socket)?, Model::Wifi5300);
        driver.power_on();
        let mut joined = Joined {
            address: own,
            bssid: far_end,
            channel,
            association_id: None,
        };
        driver.configure(&joined);
        driver.add_station(0, far_end);
        driver.link_quality(0, &[OFDM_54; 16]);
        driver.set_default_edca();
        joined.association_id = Some(1);
        driver.configure(&joined);
        Ok(Self {
            driver,
            own,
            far_end,
            sequence: 0,
            totals: Totals::default(),
            prepared: None,
            unacknowledged: 0,
            echoes: Echoes::default(),
        })
    }

    /// Puts load on until the window ends; what happened within it.
    pub fn run(&mut self, load: &Load, window: &Window) -> Tally {
        let tally = match *load {
            Load::Echo { payload, pause } => self.echo(payload, pause, window),
            _ => self.busy(load, window),
        };
        self.settle();
        tally
    }

    fn busy(&mut self, load: &Load, window: &Window) -> Tally {
        self.order(load);
        let mut first = None;
        let mut next = Instant::now();
        loop {
            let now = Instant::now();
            if first.is_none() && now >= window.begin {
                first = Some((now, self.totals()));
            }
            if now >= window.end {
                let (begin, before) = first.unwrap_or((now, self.totals()));
                return self.totals().since(&before, now - begin);
            }
            let limit = self.keep_up(load, now, &mut next);
            let edge = if now < window.begin {
                window.begin
            } else {
                window.end
            };
            self.driver.card().wait_for(limit.min(edge - now));
            self.driver.handle_interrupts();
            self.collect(load);
        }
    }

    /// Asks the other end for what only it can send.
    fn order(&mut self, load: &Load) {
        match *load {
            Load::Down { payload, depth } => {
                let payload = payload as u16;
                self.say(Word::Flood { payload, depth }, 0);
            }
            Load::SegmentsDown { payload, window } => {
                let payload = payload as u16;
                let depth = window;
                self.say(Word::Stream { payload, depth }, 0);
            }
            _ => {}
        }
    }

    /// Writes what the load allows; how long there is nothing more to write, whatever happens.
    fn keep_up(&mut self, load: &Load, now: Instant, next: &mut Instant) -> Duration {
        let forever = Duration::from_secs(1);
        match *load {
            Load::Up {
                payload,
                depth,
                doorbell,
            } => {
                let room = depth.saturating_sub(self.under_way());
                self.burst(Word::Sink, payload, room, doorbell);
                forever
            }
            Load::SegmentsUp { payload, window } => {
                let open = self.totals.written.saturating_sub(self.totals.acknowledged);
                let room = window.saturating_sub(open);
                self.burst(Word::Segment, payload, room, Doorbell::PerFrame);
                forever
            }
            Load::Paced { payload, every } => {
                while *next <= now && self.under_way() < 200 {
                    self.say(Word::Sink, payload);
                    *next += every;
                }
                next.saturating_duration_since(now)
            }
            Load::Down { .. } | Load::SegmentsDown { .. } | Load::Echo { .. } => forever,
        }
    }

    fn burst(&mut self, word: Word, payload: usize, frames: u64, doorbell: Doorbell) {
        for _ in 0..frames {
            self.write(word, payload);
            if doorbell == Doorbell::PerFrame {
                self.driver.ring(QUEUE);
            }
        }
        if doorbell == Doorbell::PerBurst && frames > 0 {
            self.driver.ring(QUEUE);
        }
    }

    fn echo(&mut self, payload: usize, pause: Duration, window: &Window) -> Tally {
        let mut trips = Vec::new();
        let mut first = None;
        loop {
            let began = Instant::now();
            if first.is_none() && began >= window.begin {
                first = Some((began, self.totals()));
            }
            if began >= window.end {
                let (begin, before) = first.unwrap_or((began, self.totals()));
                let mut tally = self.totals().since(&before, began - begin);
                tally.trips = trips;
                return tally;
            }
            let trip = self.round_trip(payload, began);
            trips.extend(trip.filter(|_| first.is_some()));
            std::thread::sleep(pause);
        }
    }

    /// Microseconds until this very frame is back; none when it is lost.
    fn round_trip(&mut self, payload: usize, began: Instant) -> Option<f64> {
        let word = self.echoes.next();
        self.say(word, payload);
        while !self.echoes.is_back() {
            let rest = ECHO_LIMIT.checked_sub(began.elapsed())?;
            self.driver.card().wait_for(rest);
            self.driver.handle_interrupts();
            self.collect(&Load::Echo {
                payload,
                pause: Duration::ZERO,
            });
        }
        Some(began.elapsed().as_secs_f64() * 1e6)
    }

    /// Ends what the other end sends, and waits until nothing is under way.
    fn settle(&mut self) {
        self.say(Word::Stop, 0);
        let mut last = self.totals();
        loop {
            self.driver.card().wait_for(QUIET);
            self.driver.handle_interrupts();
            self.collect(&Load::Echo {
                payload: 0,
                pause: Duration::ZERO,
            });
            let now = self.totals();
            if (now.answered, now.received) == (last.answered, last.received) {
                break;
            }
            last = now;
        }
        self.totals.acknowledged = self.totals.written;
        self.unacknowledged = 0;
    }

    /// What has come back since the last call.
    fn collect(&mut self, load: &Load) {
        for response in self.driver.tx_responses() {
            if response.queue == QUEUE {
                self.totals.answered += 1;
                self.totals.delivered += u64::from(response.status == 1);
            }
        }
        for frame in self.driver.received() {
            self.hear(&frame.bytes);
        }
        if matches!(load, Load::SegmentsDown { .. }) {
            self.acknowledge();
        }
    }

    fn hear(&mut self, frame: &[u8]) {
        let Ok(header) = Header::parse(frame) else {
            return;
        };
        let body = frame.get(header.length..).unwrap_or_default();
        match Word::parse(body) {
            Some(Word::Acknowledge { frames }) => {
                self.totals.acknowledged += u64::from(frames);
            }
            Some(word) => {
                if let Word::Echo { number } = word {
                    self.echoes.heard(number);
                }
                self.totals.received += 1;
                self.unacknowledged += 1;
            }
            None => {}
        }
    }

    fn acknowledge(&mut self) {
        let frames = SEGMENTS_PER_ACKNOWLEDGEMENT;
        while self.unacknowledged >= frames {
            self.unacknowledged -= frames;
            self.say(Word::Acknowledge { frames }, ACKNOWLEDGEMENT);
        }
    }

    fn say(&mut self, word: Word, payload: usize) {
        self.write(word, payload);
        self.driver.ring(QUEUE);
    }

    fn write(&mut self, word: Word, payload: usize) {
        self.sequence = (self.sequence + 1) & 0xfff;
        let addresses = [self.far_end, self.own, self.far_end];
        let mut header = words::header(1, addresses, self.sequence).to_vec();
        let prepared = self.prepared.take();
        let known = prepared.filter(|(said, length, _)| (*said, *length) == (word, payload));
        let (.., body) = known.unwrap_or_else(|| (word, payload, word.body(payload)));
        header.extend(&body);
        self.prepared = Some((word, payload, body));
        self.driver.transmit_quietly(&header, &TxOptions::DATA);
        self.totals.written += 1;
    }

    fn under_way(&self) -> u64 {
        self.totals.written - self.totals.answered
    }

    fn totals(&mut self) -> Totals {
        self.totals.traffic = self.driver.card().traffic();
        self.totals.processor = processor::of_this_thread();
        self.totals
    }
}

impl Totals {
    fn since(&self, before: &Self, span: Duration) -> Tally {
        Tally {
            delivered: self.delivered - before.delivered,
            acknowledged: self.acknowledged - before.acknowledged,
            received: self.received - before.received,
            traffic: self.traffic.since(before.traffic),
            seconds: span.as_secs_f64(),
            processor: self.processor - before.processor,
            trips: Vec::new(),
        }
    }
}
