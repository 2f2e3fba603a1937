//! What other threads may ask of a running daemon: how things stand, what happens, what is on the air;
//! and to put a radio elsewhere.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use airlane_air::Position;
use airlane_ap::gateway::Probe;
use airlane_transport::{EventFd, HwsimServer};
use anyhow::Context;

use airlane_engine::journal::VmEvent;
use airlane_engine::{Placed, RadioStatus};
use airlane_trace::{Tap, Traces};

use super::capture::{Sink, Tapped};
use super::card_port::LaneReport;
use super::clock::Clock;
use super::control::ControlRequest;
use super::names;

use airlane_dot11::MacAddr;

/// Events that may wait for a slow listener.
const EVENTS: usize = 4_096;

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
    tx: ControlTx,
    wake: EventFd,
    reports: Vec<LaneReport>,
    hwsim: HwsimServers,
}

/// The servers of the access-point VMs' virtqueues, by port.
pub type HwsimServers = Arc<Mutex<Vec<HwsimServer>>>;

/// The ends of the channels over which others ask.
pub struct ControlTx {
    /// The engine's thread.
    pub requests: Sender<ControlRequest>,
    /// To be told what is on the air.
    pub sinks: Sender<Sink>,
    /// To be told what the stages of a frame's way take.
    pub traces: Tap,
}

impl Handle {
    pub(super) fn new(
        clock: Clock,
        tx: ControlTx,
        wake: EventFd,
        reports: Vec<LaneReport>,
        hwsim: HwsimServers,
    ) -> Self {
        Self {
            clock,
            tx,
            wake,
            reports,
            hwsim,
        }
    }

    /// How things stand.
    pub fn status(&self) -> anyhow::Result<DaemonStatus> {
        let (reply, answer) = sync_channel(1);
        self.ask(ControlRequest::Status(reply))?;
        let radio = answer
            .recv_timeout(Duration::from_secs(2))
            .context("the radio thread does not answer")?;
        let mut status = self.with_cards(radio);
        status.radio.counters.extend(self.hwsim_counters());
        Ok(status)
    }

    /// Puts a radio elsewhere: signals follow from the next frame on.
    pub fn place(&self, what: Placed, position: Position) -> anyhow::Result<()> {
        self.ask(ControlRequest::Place(what, position))
    }

    /// Has the gateway of built-in access point `index` send a series of frames to a station; what becomes of them stands
    /// in the status.
    pub fn probe(&self, index: usize, probe: Probe) -> anyhow::Result<()> {
        self.ask(ControlRequest::Probe(index, probe))
    }

    /// What has happened lately, and then what happens, until the daemon ends. A listener that is
    /// too slow misses some.
    pub fn events(&self) -> anyhow::Result<Receiver<VmEvent>> {
        let (events, receiver) = sync_channel(EVENTS);
        self.ask(ControlRequest::Listen(events))?;
        Ok(receiver)
    }

    /// The frames on the air from now on; only those that carry `address`, if one is named.
    pub fn capture(&self, address: Option<MacAddr>) -> anyhow::Result<Tapped> {
        let (sink, tapped) = super::capture::pair(self.clock.epoch(), address);
        self.tx
            .sinks
            .send(sink)
            .map_err(|_| anyhow::anyhow!("the radio thread has ended"))?;
        Ok(tapped)
    }

    /// When each frame passes each stage of its way, from now on.
    pub fn trace(&self) -> anyhow::Result<Traces> {
        self.tx.traces.listen()
    }

    /// The time of day when the run's clock read zero, since the Unix epoch.
    pub fn epoch(&self) -> Duration {
        self.clock.epoch()
    }

    pub(super) fn ask(&self, request: ControlRequest) -> anyhow::Result<()> {
        self.tx
            .requests
            .send(request)
            .map_err(|_| anyhow::anyhow!("the radio thread has ended"))?;
        Ok(self.wake.write(1)?)
    }

    /// Counters of all access-point VMs' virtqueues together.
    pub(super) fn hwsim_counters(&self) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        let servers = self.hwsim.lock();
        let servers = servers.unwrap_or_else(|poisoned| poisoned.into_inner());
        let all = servers.iter().map(HwsimServer::counters);
        for (name, value) in all.flat_map(|counters| names::hwsim(&counters)) {
            *sums.entry(format!("hwsim_{name}")).or_default() += value;
        }
        sums
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
