//! A VM's card whose vfio-user socket the engine's reactor polls itself: device and engine work in one turn, without
//! rings, threads and wake-ups between them.
//!
//! One VM cannot hold the thread: a turn handles at most [`MESSAGES`] of its messages and [`BATCH`] of its requests,
//! no reply blocks, and an interrupt is a write to an eventfd.

use std::os::fd::BorrowedFd;
use std::path::Path;

use airlane_dma::Memory;
use airlane_engine::Wifi;
use airlane_iwl::{Device, Identity};
use airlane_lane::{Coalescing, Engine, EventCoalescer, EventKind, Instant, LaneId};
use airlane_transport::{Ready, Turn, VfioUserServer};
use airlane_waist::Event;
use airlane_waist::stamp::{FrameId, Point, Stamps};
use rustix::event::PollFlags;

use crate::card_port::{DELIVERY, LaneReport};
use crate::reactor::{Attachment, BATCH, Report, Source, Took};

/// Messages of one VM that are handled in one turn.
const MESSAGES: usize = 256;
/// Arrivals that wait for a card; more are dropped and counted.
const MAX_WAITING: usize = 384;

/// One VM's card at its socket.
pub struct PolledCard {
    name: String,
    attachment: Attachment,
    server: VfioUserServer,
    card: Face,
    coalescer: EventCoalescer<Wifi>,
    /// What the last poll has found.
    ready: Ready,
    /// Messages beyond the last turn's budget wait.
    more: bool,
    /// Something has happened since the counters were published.
    changed: bool,
    dropped: u64,
    report: LaneReport,
}

/// What a lane's card is made of.
pub struct PolledLane {
    /// The VM's name, for the log.
    pub name: String,
    /// Its lane at the engine.
    pub lane: LaneId,
    /// Which card the guest sees.
    pub identity: Identity,
    /// The guest's memory, nothing mapped yet.
    pub memory: Memory,
    /// When events are handed over.
    pub coalescing: Coalescing,
    /// Where its counters go.
    pub report: LaneReport,
    /// Where its stamps go.
    pub stamps: Stamps,
}

impl PolledCard {
    /// Opens the socket to which the VMM attaches.
    pub fn bind(lane: PolledLane, socket: &Path) -> anyhow::Result<Self> {
        let mut device = Device::new(lane.identity).with_memory(lane.memory);
        *device.stamps() = lane.stamps;
        Ok(Self {
            attachment: Attachment::new(lane.lane, &lane.name),
            name: lane.name,
            server: VfioUserServer::bind(socket)?,
            card: Face(device),
            coalescer: EventCoalescer::new(lane.coalescing),
            ready: Ready::default(),
            more: false,
            changed: false,
            dropped: 0,
            report: lane.report,
        })
    }

    /// Handles messages of the socket; true when there were any.
    fn serve(&mut self, now: Instant, engine: &mut Wifi) -> bool {
        let ready = std::mem::take(&mut self.ready);
        if !(self.more || ready.socket || ready.unmask) {
            return false;
        }
        let vm = &self.name;
        let was_connected = self.server.is_connected();
        let turn = self.server.turn(&mut self.card, ready, MESSAGES);
        self.more = matches!(turn, Ok(Turn::More));
        match turn {
            Ok(Turn::More | Turn::Idle) => {}
            Ok(Turn::Disconnected) => tracing::info!(vm, "the VM has detached its card"),
            Err(error) => tracing::warn!(vm, %error, "the card's connection was closed"),
        }
        match (was_connected, self.server.is_connected()) {
            (false, true) => self.attachment.come(),
            (true, false) => self.detach(now, engine),
            _ => {}
        }
        self.changed = true;
        true
    }

    /// The VMM is gone: the card forgets what it was asked for, and tells the engine.
    fn detach(&mut self, now: Instant, engine: &mut Wifi) {
        self.card.0.reset();
        // The reset is all that it has left to ask for.
        self.pass_on(now, engine);
        self.attachment.go(now, engine);
    }

    /// Passes on what the card asks for, once the engine has admitted its VM.
    fn pass_on(&mut self, now: Instant, engine: &mut Wifi) -> Took {
        if !self.attachment.settle(now, engine) {
            return Took::Batch;
        }
        let mut took = Took::Nothing;
        for _ in 0..BATCH {
            let Some(request) = self.card.0.next_request() else {
                return took;
            };
            self.card.stamp(Point::Queued, request.frame());
            // What is not done is never reported, either.
            if self.attachment.is_admitted() {
                self.coalescer.request(&request);
            }
            engine.request(now, self.attachment.lane(), request);
            took = Took::All;
        }
        Took::Batch
    }

    fn offer(&mut self, now: Instant, event: Event) {
        let is_arrival = Wifi::kind(&event) == EventKind::Arrival;
        if is_arrival && self.coalescer.waiting() >= MAX_WAITING {
            self.dropped += 1;
            return;
        }
        self.coalescer.event(now, event);
    }

    /// Hands over what need not wait, a delivery's worth at a time.
    fn deliver(&mut self) {
        let mut accepted = 0;
        while let Some(event) = self.coalescer.next_released() {
            self.card.stamp(Point::Returned, event.frame());
            self.card.0.accept(event);
            accepted += 1;
            if accepted % DELIVERY == 0 {
                self.card.0.deliver();
            }
        }
        if accepted % DELIVERY != 0 {
            self.card.0.deliver();
        }
        self.changed |= accepted > 0;
    }

    fn publish(&self) {
        // Never waits: whoever reads the report must not hold up the thread.
        if let Ok(mut report) = self.report.try_lock() {
            report.card = self.card.0.counters();
            report.transport = *self.server.counters();
        }
    }
}

impl Source<Wifi> for PolledCard {
    fn take(&mut self, now: Instant, engine: &mut Wifi) -> Took {
        let served = match self.serve(now, engine) {
            true => Took::All,
            false => Took::Nothing,
        };
        let left = match self.more {
            true => Took::Batch,
            false => Took::Nothing,
        };
        served.max(left).max(self.pass_on(now, engine))
    }

    fn give(&mut self, now: Instant, engine: &mut Wifi) -> Option<Instant> {
        while let Some(event) = engine.next_event(self.attachment.lane()) {
            self.offer(now, event);
        }
        let due = self.coalescer.settle(now);
        self.deliver();
        // A card that has room again may have more to ask, which the engine has not seen yet.
        let asked = self.pass_on(now, engine) != Took::Nothing;
        self.server.interrupt(&mut self.card);
        if asked { Some(now) } else { due }
    }

    fn is_in_flight(&self) -> bool {
        self.coalescer.in_flight() > 0
    }

    fn announce_sleep(&mut self) -> bool {
        if std::mem::take(&mut self.changed) {
            self.publish();
        }
        !self.more
    }

    fn poll_fds<'a>(&'a self, wait_for: &mut dyn FnMut(BorrowedFd<'a>, PollFlags)) {
        let interest = self.server.interest();
        wait_for(interest.socket, interest.flags);
        if let Some(unmask) = interest.unmask {
            wait_for(unmask, PollFlags::IN);
        }
    }

    fn ready(&mut self, ready: &mut dyn Iterator<Item = bool>) {
        let has_unmask = self.server.interest().unmask.is_some();
        self.ready.socket |= ready.next() == Some(true);
        self.ready.unmask |= has_unmask && ready.next() == Some(true);
    }

    fn count(&self, report: &mut Report) {
        self.publish();
        let counts = [
            ("received_dropped_lane_full", self.dropped),
            ("holds", self.coalescer.holds()),
            ("deliveries", self.coalescer.deliveries()),
        ];
        report.lanes.push((self.attachment.lane(), counts));
    }
}

/// A device as its server sees it. Its exchange with the engine is the reactor's.
struct Face(Device);

impl Face {
    fn stamp(&mut self, point: Point, frame: Option<FrameId>) {
        if let Some(frame) = frame {
            self.0.stamps().own(point, frame);
        }
    }
}

crate::pci_device!(Face, 0, messages_read: |card| card.0.stamps().mark(Point::Read));
