//! A running daemon: starts its threads, knows its sockets, ends it all.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use airlane_air::RadioConfig;
use airlane_dma::Memory;
use airlane_engine::{AccessPoints, ExternalStation, RadioStatus, Wifi};
use airlane_host_driver::HostConfig;
use airlane_iwl::Identity;
use airlane_lane::Lane;
use airlane_lane::ring::Wake;
use airlane_lane::{LaneId, Polling, Threads};
use airlane_trace::{Collector, Tracer};
use airlane_transport::{EventFd, EventWake, HwsimServer, serve_hwsim};
use airlane_waist::MAX_VMS;
use airlane_waist::stamp::Stamps;
use anyhow::Context;

use crate::access_point_vms::{AccessPointVms, HwsimEnds};
use crate::capture::{Capture, Taps};
use crate::card_port::{CardPort, LaneReport};
use crate::clock::Clock;
use crate::config::{DaemonConfig, Transport, VmCard};
use crate::control::{self, Control, ControlRequest};
use crate::handle::{ControlTx, DaemonStatus, Handle, HwsimServers};
use crate::polled_card::{PolledCard, PolledLane};
use crate::reactor::{BusyPoller, Reactor, RingLane};
use crate::threads::{eventfd, spawn};
use crate::tuning::Tuning;
use crate::uplink::{self, Uplinks};

/// Requests, and events, that one lane's rings hold.
const LANE_RING: usize = 1_024;
/// Messages that one access-point VM's rings hold.
const HWSIM_RING: usize = 4_096;

/// A running daemon. Dropping it stops it.
pub struct Daemon {
    card_sockets: Vec<PathBuf>,
    hwsim_sockets: Vec<PathBuf>,
    lanes: Vec<JoinHandle<()>>,
    hwsim: HwsimServers,
    uplinks: Vec<JoinHandle<()>>,
    engine: Option<JoinHandle<RadioStatus>>,
    handle: Arc<Handle>,
    stop: EventFd,
    capture: Option<Capture>,
    tracer: Option<Tracer>,
}

/// What starting a lane takes.
struct LaneParts {
    at: LaneOf,
    /// Of its card.
    tuning: Tuning,
    memory: Memory,
    report: LaneReport,
    stamps: Stamps,
}

/// A lane, and the VM that will attach to it.
struct LaneOf {
    lane: LaneId,
    /// Number of its card.
    card: usize,
    /// Its place among the lanes of that card.
    place: usize,
    vm: VmCard,
}

/// What all of a daemon's parts share while it is started.
struct Common {
    clock: Clock,
    run_dir: PathBuf,
    /// Wakes the reactor.
    wake: Arc<dyn Wake>,
}

impl Daemon {
    /// Opens all sockets and starts all threads.
    pub fn start(config: DaemonConfig) -> anyhow::Result<Self> {
        Self::start_among(config, Vec::new())
    }

    /// The same, with these others on the medium.
    pub fn start_among(
        config: DaemonConfig,
        external: Vec<Box<dyn ExternalStation>>,
    ) -> anyhow::Result<Self> {
        let wake = eventfd()?;
        let common = Common {
            clock: Clock::start(),
            run_dir: config.run_dir.clone(),
            wake: Arc::new(EventWake(wake.try_clone()?)),
        };
        let count = config.cards.iter().map(|card| card.vms.len()).sum();
        let (requests, requested) = channel();
        let (sinks, joining) = channel();
        let reports: Vec<LaneReport> = (0..count).map(|_| LaneReport::default()).collect();
        let (collector, recorders) = Collector::new(count, config.cards.len());
        let tracer = Tracer::start(collector).context("cannot start the thread trace")?;
        let tx = ControlTx {
            requests,
            sinks,
            traces: tracer.tap().clone(),
        };
        let hwsim = HwsimServers::default();
        let handle = Handle::new(
            common.clock,
            tx,
            wake.try_clone()?,
            reports.clone(),
            Arc::clone(&hwsim),
        );
        let mut daemon = Self {
            card_sockets: Vec::new(),
            hwsim_sockets: Vec::new(),
            lanes: Vec::new(),
            hwsim,
            uplinks: Vec::new(),
            engine: None,
            handle: Arc::new(handle),
            stop: eventfd()?,
            capture: None,
            tracer: Some(tracer),
        };
        let (mut engine, lanes) = engine(&config, external)?;
        for (card, stamps) in recorders.radios.into_iter().enumerate() {
            *engine.stamps(card).context("its card is there")? = stamps;
        }
        engine.air_mut().set_tap(Box::new(Taps::new(joining)));
        if let Some(path) = &config.capture {
            let tapped = daemon.handle.capture(None)?;
            daemon.capture = Some(Capture::create(path, tapped)?);
        }
        let vms = lanes.iter().map(|at| at.vm.name.clone()).collect();
        let mut parts = Vec::new();
        let recorders = reports.into_iter().zip(recorders.lanes);
        for (at, (report, stamps)) in lanes.into_iter().zip(recorders) {
            let card = config.cards.get(at.card).context("its card is there")?;
            let tuning = card.tuning;
            // A merged table is its lane's own, so two lanes may have the same chunk: no frame leaves its table.
            let chunk = at.place % MAX_VMS;
            let memory = Memory::translated(tuning.translation, chunk, &at.vm.name);
            parts.push(LaneParts {
                at,
                tuning,
                memory,
                report,
                stamps,
            });
        }
        let first = config.cards.first();
        let polling = first.map_or(Polling::default(), |card| card.tuning.polling);
        let mut reactor = Reactor::new(engine, common.clock, wake, polling);
        for part in parts {
            daemon.start_lane(&common, part, &mut reactor)?;
        }
        let count = config.access_point_vms.len();
        let ends = (0..count).map(|index| daemon.start_hwsim(&common, index));
        reactor.add(AccessPointVms::new(ends.collect::<anyhow::Result<_>>()?));
        let mut uplinks = Vec::new();
        for (built_in, uplink) in config.uplinks {
            let stop = daemon.stop.try_clone()?;
            let (ends, thread) = uplink::start(built_in, uplink, &common.wake, stop)?;
            uplinks.push(ends);
            daemon.uplinks.push(thread);
        }
        reactor.add(Uplinks(uplinks));
        reactor.add(Control::new(requested, vms));
        daemon.engine = Some(spawn("radio".to_owned(), move || {
            let (engine, report) = reactor.run();
            control::status(&engine, &report)
        })?);
        Ok(daemon)
    }

    /// Opens a VM's socket, to be served by a thread of its own or by the reactor.
    fn start_lane(
        &mut self,
        common: &Common,
        parts: LaneParts,
        reactor: &mut Reactor<Wifi>,
    ) -> anyhow::Result<()> {
        let index = parts.at.lane.index();
        let own = || common.run_dir.join(format!("card{index}.sock"));
        let socket = parts.at.vm.socket.clone().unwrap_or_else(own);
        let polled = parts.tuning.threads == Threads::Engine;
        if polled && parts.at.vm.transport == Transport::VfioUser {
            reactor.add(polled_card(parts, &socket)?);
        } else {
            let lane = self.start_lane_thread(common, parts, &socket)?;
            reactor.add(lane);
        }
        self.card_sockets.push(socket);
        Ok(())
    }

    fn start_lane_thread(
        &mut self,
        common: &Common,
        parts: LaneParts,
        socket: &Path,
    ) -> anyhow::Result<RingLane<Wifi>> {
        let wake = eventfd()?;
        let lane_wake: Arc<dyn Wake> = Arc::new(EventWake(wake.try_clone()?));
        let rings = Lane::new(LANE_RING, Arc::clone(&common.wake), lane_wake);
        let port = CardPort::new(
            identity(&parts.at.vm),
            parts.memory,
            rings.device,
            parts.report,
            parts.stamps,
            BusyPoller::new(common.clock, parts.tuning.polling),
        );
        let stop = self.stop.try_clone()?;
        let server = port.bind(parts.at.vm.transport, socket, wake)?;
        let (name, lane) = (parts.at.vm.name, parts.at.lane);
        let coalescing = parts.tuning.interrupts;
        let ring_lane = RingLane::new(lane, &name, rings.engine, coalescing);
        self.lanes.push(spawn(format!("lane-{lane}"), move || {
            server.serve(&name, &stop);
        })?);
        Ok(ring_lane)
    }

    fn start_hwsim(&mut self, common: &Common, index: usize) -> anyhow::Result<HwsimEnds> {
        let wake = eventfd()?;
        let hwsim_wake: Arc<dyn Wake> = Arc::new(EventWake(wake.try_clone()?));
        let Lane { device, engine } = Lane::new(HWSIM_RING, Arc::clone(&common.wake), hwsim_wake);
        let socket = common.run_dir.join(format!("hwsim{index}.sock"));
        let server = serve_hwsim(&socket, device.requests, device.events, wake)?;
        locked(&self.hwsim).push(server);
        self.hwsim_sockets.push(socket);
        Ok(HwsimEnds {
            from_vm: engine.requests,
            to_vm: engine.events,
        })
    }

    /// Where the VMM of VM `index` attaches its card; VMs are counted through all cards.
    pub fn card_socket(&self, index: usize) -> Option<&Path> {
        self.card_sockets.get(index).map(PathBuf::as_path)
    }

    /// Where the VMM of access-point VM `index` attaches its radios.
    pub fn hwsim_socket(&self, index: usize) -> Option<&Path> {
        self.hwsim_sockets.get(index).map(PathBuf::as_path)
    }

    /// How things stand.
    pub fn status(&self) -> anyhow::Result<DaemonStatus> {
        self.handle.status()
    }

    /// The way to its threads.
    pub fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// Ends all threads, removes all sockets, and gives the last counters.
    pub fn stop(mut self) -> anyhow::Result<DaemonStatus> {
        self.shut_down()
    }

    fn shut_down(&mut self) -> anyhow::Result<DaemonStatus> {
        let Some(engine) = self.engine.take() else {
            self.stop.write(1)?;
            return Ok(DaemonStatus::default());
        };
        self.stop.write(1)?;
        for thread in self.lanes.drain(..).chain(self.uplinks.drain(..)) {
            let _ = thread.join();
        }
        let hwsim = self.handle.hwsim_counters();
        locked(&self.hwsim).clear();
        self.handle.ask(ControlRequest::Stop)?;
        let radio = engine
            .join()
            .map_err(|_| anyhow::anyhow!("the engine's thread has stopped unexpectedly"))?;
        if let Some(tracer) = self.tracer.take() {
            tracer.stop();
        }
        let mut status = self.handle.with_cards(radio);
        let counters = &mut status.radio.counters;
        counters.extend(hwsim);
        if let Some(capture) = self.capture.take() {
            let count = capture.finish()?;
            counters.insert("capture_written".to_owned(), count.written);
            counters.insert("capture_dropped".to_owned(), count.dropped);
        }
        Ok(status)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Err(error) = self.shut_down() {
            tracing::error!(%error, "the daemon did not stop cleanly");
        }
    }
}

/// The engine of a run, and the lanes of all VMs. A VM gets its VM-ID when its VMM connects.
fn engine(
    config: &DaemonConfig,
    external: Vec<Box<dyn ExternalStation>>,
) -> anyhow::Result<(Wifi, Vec<LaneOf>)> {
    let sites = AccessPoints::new(config.access_point_vms.clone());
    let mut wifi = Wifi::new(config.air, sites);
    let mut lanes = Vec::new();
    for card in &config.cards {
        let number = wifi.add_card(RadioConfig {
            name: card.name.clone(),
            position: card.position,
            tx_power: card.tx_power,
        });
        let added = wifi.card_mut(number).context("the card was just added")?;
        added.set_host_config(HostConfig {
            scan_cache: card.scan_cache,
            ..HostConfig::default()
        });
        added.set_data_path(card.tuning.data_path);
        for (place, vm) in card.vms.iter().enumerate() {
            let lane = wifi.add_lane(number)?;
            wifi.assign(lane, vm.address, vm.address_policy);
            wifi.set_weight(lane, vm.weight);
            lanes.push(LaneOf {
                lane,
                card: number,
                place,
                vm: vm.clone(),
            });
        }
    }
    for built_in in &config.built_ins {
        wifi.add_built_in(built_in.clone());
    }
    for station in external {
        wifi.add_external(station);
    }
    Ok((wifi, lanes))
}

fn identity(vm: &VmCard) -> Identity {
    Identity {
        model: vm.model,
        address: vm.address,
    }
}

fn polled_card(parts: LaneParts, socket: &Path) -> anyhow::Result<PolledCard> {
    let lane = PolledLane {
        identity: identity(&parts.at.vm),
        name: parts.at.vm.name,
        lane: parts.at.lane,
        memory: parts.memory,
        coalescing: parts.tuning.interrupts,
        report: parts.report,
        stamps: parts.stamps,
    };
    PolledCard::bind(lane, socket)
}

/// Nobody leaves the list half changed: a panic elsewhere does not spoil it.
fn locked(servers: &Mutex<Vec<HwsimServer>>) -> std::sync::MutexGuard<'_, Vec<HwsimServer>> {
    servers
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
