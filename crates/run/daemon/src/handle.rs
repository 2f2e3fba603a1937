//! What other threads may ask of a running daemon: how things stand, what happens, what is on the air;
//! and to put a radio elsewhere.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, sync_channel};
use std::time::Duration;

use airlane_air::Position;
use airlane_transport::EventFd;
use anyhow::Context;

use airlane_engine::journal::Notice;
use airlane_engine::{Placed, RadioStatus};
use airlane_trace::{Tap, Traces};

use super::capture::{Sink, Tapped};
use super::card_port::LaneReport;
use super::clock::Clock;
use super::names;
use super::radio_thread::Ask;

use airlane_dot11::MacAddr;

/// Notices that may wait for a slow listener.
const NOTICES: usize = 4_096;

/// Counters of the whole daemon.
#[derive(Clone, Debug, Default)]
pub struct DaemonStatus {
    /// Behind the lanes.
    pub radio: RadioStatus,
    /// Each lane's card, by VM.
    pub cards: Vec<BTreeMap<String, u64>>,
}

/// The way to a daemon's threads.
pub struct Handle {
    clock: Clock,
    ways: Ways,
    wake: EventFd,
    reports: Vec<LaneReport>,
}

/// What others may ask for.
pub struct Ways {
    /// Of the radio's thread.
    pub asks: Sender<Ask>,
    /// To be told what is on the air.
    pub sinks: Sender<Sink>,
    /// To be told what the stages of a frame's way take.
    pub traces: Tap,
}

impl Handle {
    pub(super) fn new(clock: Clock, ways: Ways, wake: EventFd, reports: Vec<LaneReport>) -> Self {
        Self {
            clock,
            ways,
            wake,
            reports,
        }
    }

    /// How things stand.
    pub fn status(&self) -> anyhow::Result<DaemonStatus> {
        let (reply, answer) = sync_channel(1);
        self.ask(Ask::Status(reply))?;
        let radio = answer
            .recv_timeout(Duration::from_secs(2))
            .context("the radio thread does not answer")?;
        Ok(self.with_cards(radio))
    }

    /// Puts a radio elsewhere: signals follow from the next frame on.
    pub fn place(&self, what: Placed, position: Position) -> anyhow::Result<()> {
        self.ask(Ask::Place(what, position))
    }

    /// What has happened lately, and then what happens, until the daemon ends. A listener that is
    /// too slow misses notices.
    pub fn notices(&self) -> anyhow::Result<Receiver<Notice>> {
        let (notices, receiver) = sync_channel(NOTICES);
        self.ask(Ask::Listen(notices))?;
        Ok(receiver)
    }

    /// The frames on the air from now on; only those that carry `address`, if one is named.
    pub fn capture(&self, address: Option<MacAddr>) -> anyhow::Result<Tapped> {
        let (sink, tapped) = super::capture::pair(self.clock.epoch(), address);
        self.ways
            .sinks
            .send(sink)
            .map_err(|_| anyhow::anyhow!("the radio thread has ended"))?;
        Ok(tapped)
    }

    /// When each frame passes each stage of its way, from now on.
    pub fn trace(&self) -> anyhow::Result<Traces> {
        self.ways.traces.listen()
    }

    /// The time of day when the run's clock read zero, since the Unix epoch.
    pub fn epoch(&self) -> Duration {
        self.clock.epoch()
    }

    pub(super) fn ask(&self, ask: Ask) -> anyhow::Result<()> {
        self.ways
            .asks
            .send(ask)
            .map_err(|_| anyhow::anyhow!("the radio thread has ended"))?;
        Ok(self.wake.write(1)?)
    }

    pub(super) fn with_cards(&self, radio: RadioStatus) -> DaemonStatus {
        let cards = self.reports.iter().map(card_counters).collect();
        DaemonStatus { radio, cards }
    }
}

fn card_counters(report: &LaneReport) -> BTreeMap<String, u64> {
    let counters = report.lock().map(|counters| *counters).unwrap_or_default();
    let card = names::card(&counters.card).into_iter();
    let card = card.map(|(name, value)| (name.to_owned(), value));
    let transport = names::transport(&counters.transport).into_iter();
    let transport = transport.map(|(name, value)| (format!("vfio_{name}"), value));
    let polling = names::polling(&counters.polling).into_iter();
    let polling = polling.chain([("wakes", counters.wakes)]);
    let polling = polling.map(|(name, value)| (format!("lane_{name}"), value));
    card.chain(transport).chain(polling).collect()
}
