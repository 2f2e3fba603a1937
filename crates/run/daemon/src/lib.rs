//! The daemon: one thread for each VM's lane, one for the radio, one for each access-point VM's
//! virtqueues, one for each uplink, one for the capture file. Owns the sockets to which VMMs attach.

mod capture;
mod card_port;
pub mod clock;
mod handle;
mod listeners;
mod looker;
mod names;
pub mod outlet;
mod priority;
mod radio_thread;
#[cfg(test)]
mod traced;
mod tuning;
pub mod uplink;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use airlane_air::{AirConfig, Position, RadioConfig};
use airlane_dma::Memory;
use airlane_dot11::{Dbm, MacAddr};
use airlane_host_driver::HostConfig;
use airlane_iwl::{Identity, Model};
use airlane_lane::ring::{Wake, ring};
use airlane_lane::{Micros, VmId, stamp::Stamps};
use airlane_nic::AddressPolicy;
use airlane_transport::{EventFd, EventWake, HwsimServer, serve_hwsim};
use anyhow::Context;

use airlane_engine::radio::Radio;
pub use airlane_engine::{
    AccessPoints, BuiltIn, BuiltInStatus, BuiltIns, DataPath, ExternalStation, Placed, RadioStatus,
    Served, Site, VmacStatus, journal, radio,
};
use airlane_trace::{Collector, Tracer};
use capture::{Capture, Taps};
pub use card_port::{BAR_SIZE, CONFIG_SIZE};
use card_port::{CardPort, LaneReport};
use clock::Clock;
use handle::Ways;
pub use handle::{DaemonStatus, Handle};
use looker::Looker;
pub use priority::raise_priority;
use radio_thread::{Ask, Ends, HwsimEnds, LaneEnds, RadioThread};
pub use tuning::Tuning;
use uplink::Uplink;

/// Requests, and events, that one lane's rings hold.
const LANE_RING: usize = 1_024;
/// Messages that one access-point VM's rings hold.
const HWSIM_RING: usize = 4_096;

/// What a daemon serves.
pub struct DaemonConfig {
    /// The medium.
    pub air: AirConfig,
    /// How old what answers a scan without a look may be; zero: the radio always looks.
    pub scan_cache: Micros,
    /// How it is shared.
    pub tuning: Tuning,
    /// Where its sockets go: a directory of its own.
    pub run_dir: PathBuf,
    /// The capture file, if one is wanted.
    pub capture: Option<PathBuf>,
    /// The shared cards. VMs are numbered through all of them, in order.
    pub cards: Vec<CardConfig>,
    /// One virtio device for each access-point VM.
    pub access_point_vms: Vec<Site>,
    /// Access points without a VM.
    pub built_ins: Vec<BuiltIn>,
    /// What is behind some of those, by index.
    pub uplinks: Vec<(usize, Uplink)>,
}

/// One shared card: a radio, and the VMs each of which sees it as its own.
#[derive(Clone, Debug)]
pub struct CardConfig {
    /// Its radio's name, for reports and captures.
    pub name: String,
    /// Where it stands.
    pub position: Position,
    /// Its transmit power.
    pub tx_power: Dbm,
    /// At most [`airlane_lane::MAX_VMS`].
    pub vms: Vec<VmCard>,
}

/// How a card reaches its VM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// vfio-user: QEMU.
    #[default]
    VfioUser,
    /// PCI over virtio: User Mode Linux.
    PciDev,
}

/// One VM's card.
#[derive(Clone, Debug)]
pub struct VmCard {
    /// How it is attached.
    pub transport: Transport,
    /// The VM's name.
    pub name: String,
    /// Which card.
    pub model: Model,
    /// Its address, as its EEPROM says.
    pub address: MacAddr,
    /// Whether its driver may set another.
    pub address_policy: AddressPolicy,
    /// Its share of the airtime, relative to the others'; 1 is the usual.
    pub weight: u16,
}

/// A running daemon. Dropping it stops it.
pub struct Daemon {
    card_sockets: Vec<PathBuf>,
    hwsim_sockets: Vec<PathBuf>,
    tuning: Tuning,
    lanes: Vec<JoinHandle<()>>,
    hwsim: Vec<HwsimServer>,
    uplinks: Vec<JoinHandle<()>>,
    radio: Option<JoinHandle<RadioStatus>>,
    handle: Arc<Handle>,
    stop: EventFd,
    capture: Option<Capture>,
    tracer: Option<Tracer>,
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
        anyhow::ensure!(
            config.cards.len() <= 1,
            "a run has one card, not {}",
            config.cards.len()
        );
        let card = config.cards.into_iter().next().unwrap_or(CardConfig {
            name: "card".to_owned(),
            position: Position::default(),
            tx_power: Dbm(0.0),
            vms: Vec::new(),
        });
        anyhow::ensure!(
            card.vms.len() <= airlane_lane::MAX_VMS,
            "one card serves {} VMs, not {}",
            airlane_lane::MAX_VMS,
            card.vms.len()
        );
        let vms = card.vms;
        let clock = Clock::start();
        let wake = EventFd::new(libc_nonblock())?;
        let (asks, asked) = channel();
        let (sinks, joining) = channel();
        let reports: Vec<LaneReport> = vms.iter().map(|_| LaneReport::default()).collect();
        let (collector, recorders) = Collector::new(vms.len());
        let tracer = Tracer::start(collector).context("cannot start the thread trace")?;
        let ways = Ways {
            asks,
            sinks,
            traces: tracer.tap().clone(),
        };
        let handle = Handle::new(clock, ways, wake.try_clone()?, reports.clone());
        let mut daemon = Self {
            card_sockets: Vec::new(),
            hwsim_sockets: Vec::new(),
            tuning: config.tuning,
            lanes: Vec::new(),
            hwsim: Vec::new(),
            uplinks: Vec::new(),
            radio: None,
            handle: Arc::new(handle),
            stop: EventFd::new(libc_nonblock())?,
            capture: None,
            tracer: Some(tracer),
        };
        let radio_wake: Arc<dyn Wake> = Arc::new(EventWake(wake.try_clone()?));
        let card = RadioConfig {
            name: card.name,
            position: card.position,
            tx_power: card.tx_power,
        };
        let sites = AccessPoints::new(config.access_point_vms.clone());
        let mut radio = Radio::new(config.air, card, sites);
        *radio.stamps() = recorders.radio;
        radio.set_host_config(HostConfig {
            scan_cache: config.scan_cache,
            ..HostConfig::default()
        });
        radio.set_data_path(config.tuning.data_path);
        for (vm, card) in VmId::all().zip(&vms) {
            radio.assign(vm, card.address, card.address_policy);
            radio.set_weight(vm, card.weight);
        }
        for built_in in config.built_ins {
            radio.add_built_in(built_in);
        }
        for station in external {
            radio.add_external(station);
        }
        radio.air_mut().set_tap(Box::new(Taps::new(joining)));
        if let Some(path) = &config.capture {
            let tapped = daemon.handle.capture(None)?;
            daemon.capture = Some(Capture::create(path, tapped)?);
        }
        let mut lanes = Vec::new();
        let cards = vms.into_iter().zip(reports);
        for (index, ((card, report), stamps)) in cards.zip(recorders.lanes).enumerate() {
            let watched = (report, stamps);
            let looker = Looker::new(clock, config.tuning.polling);
            lanes.push(daemon.start_lane(
                &config.run_dir,
                index,
                card,
                watched,
                looker,
                &radio_wake,
            )?);
        }
        let mut hwsim = Vec::new();
        for (index, _) in config.access_point_vms.iter().enumerate() {
            hwsim.push(daemon.start_hwsim(&config.run_dir, index, &radio_wake)?);
        }
        let mut uplinks = Vec::new();
        for (built_in, uplink) in config.uplinks {
            let stop = daemon.stop.try_clone()?;
            let (ends, thread) = uplink::start(built_in, uplink, &radio_wake, stop)?;
            uplinks.push(ends);
            daemon.uplinks.push(thread);
        }
        let ends = Ends {
            lanes,
            hwsim,
            uplinks,
        };
        let thread = RadioThread::new(radio, clock, ends, asked, wake, config.tuning);
        daemon.radio = Some(spawn("radio".to_owned(), move || thread.run())?);
        Ok(daemon)
    }

    fn start_lane(
        &mut self,
        run_dir: &Path,
        index: usize,
        card: VmCard,
        (report, stamps): (LaneReport, Stamps),
        looker: Looker,
        radio_wake: &Arc<dyn Wake>,
    ) -> anyhow::Result<LaneEnds> {
        let vm = VmId::new(index)?;
        let wake = EventFd::new(libc_nonblock())?;
        let lane_wake: Arc<dyn Wake> = Arc::new(EventWake(wake.try_clone()?));
        let (to_radio, requests) = ring(LANE_RING, Arc::clone(radio_wake));
        let (events, from_radio) = ring(LANE_RING, lane_wake);
        let identity = Identity {
            model: card.model,
            address: card.address,
        };
        let memory = Memory::translated(self.tuning.translation, vm, &card.name);
        let port = CardPort::new(
            identity, memory, to_radio, from_radio, report, stamps, looker,
        );
        let socket = run_dir.join(format!("card{index}.sock"));
        let stop = self.stop.try_clone()?;
        let server = port.bind(card.transport, &socket, wake)?;
        let name = card.name;
        self.lanes.push(spawn(format!("lane-{index}"), move || {
            server.serve(&name, &stop);
        })?);
        self.card_sockets.push(socket);
        Ok(LaneEnds {
            vm,
            requests,
            events,
        })
    }

    fn start_hwsim(
        &mut self,
        run_dir: &Path,
        index: usize,
        radio_wake: &Arc<dyn Wake>,
    ) -> anyhow::Result<HwsimEnds> {
        let wake = EventFd::new(libc_nonblock())?;
        let hwsim_wake: Arc<dyn Wake> = Arc::new(EventWake(wake.try_clone()?));
        let (to_radio, from_vm) = ring(HWSIM_RING, Arc::clone(radio_wake));
        let (to_vm, from_radio) = ring(HWSIM_RING, hwsim_wake);
        let socket = run_dir.join(format!("hwsim{index}.sock"));
        let server = serve_hwsim(&socket, to_radio, from_radio, wake)?;
        self.hwsim.push(server);
        self.hwsim_sockets.push(socket);
        Ok(HwsimEnds { from_vm, to_vm })
    }

    /// Where the VMM of VM `index` attaches its card.
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
        let Some(radio) = self.radio.take() else {
            self.stop.write(1)?;
            return Ok(DaemonStatus::default());
        };
        self.stop.write(1)?;
        for thread in self.lanes.drain(..).chain(self.uplinks.drain(..)) {
            let _ = thread.join();
        }
        self.hwsim.clear();
        self.handle.ask(Ask::Stop)?;
        let radio = radio
            .join()
            .map_err(|_| anyhow::anyhow!("the radio thread has stopped unexpectedly"))?;
        if let Some(tracer) = self.tracer.take() {
            tracer.stop();
        }
        let mut status = self.handle.with_cards(radio);
        if let Some(capture) = self.capture.take() {
            let count = capture.finish()?;
            let counters = &mut status.radio.counters;
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

fn spawn<T: Send + 'static>(
    name: String,
    run: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<JoinHandle<T>> {
    let context = format!("cannot start the thread {name}");
    std::thread::Builder::new()
        .name(name)
        .spawn(run)
        .context(context)
}

fn libc_nonblock() -> i32 {
    i32::try_from(rustix::event::EventfdFlags::NONBLOCK.bits()).unwrap_or(0)
}
