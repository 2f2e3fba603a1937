//! One thing to be measured, set up and kept up: a daemon with its VMs, or the baseline with its one.
//! Several stand side by side, idle but for the one whose turn it is, so that turns can follow each other at
//! once.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_air::{AirConfig, AirMode, Position, RadioConfig};
use airlane_dot11::{Band, Channel, Dbm, MacAddr};
use airlane_iwl::{Identity, Model};
use airlane_lane::Micros;
use airlane_nic::AddressPolicy;
use anyhow::Context;

use super::far_end::FarEnd;
use super::processor::{self, Threads, Used};
use super::station::{Load, Station, Tally};
use super::window::Window;
use crate::baseline::Baseline;
use crate::configuration::Configuration;
use airlane_daemon::{CardConfig, Daemon, DaemonConfig, ExternalStation, Transport, VmCard};
use airlane_trace::Traces;

const FAR_END: MacAddr = MacAddr([2, 0, 0, 0, 1, 0]);
/// The key of every VM. That all have the same one saves no work: tables are by VM.
const POWER: Dbm = Dbm(15.0);

/// How a rig is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Which path, and how it is tuned.
    pub configuration: Configuration,
    /// How many VMs.
    pub vms: usize,
    /// With airtime; or every frame arrives at once.
    pub air: bool,
}

impl Setting {
    /// One VM, alone on a medium with airtime.
    pub const fn alone(configuration: Configuration) -> Self {
        Self {
            configuration,
            vms: 1,
            air: true,
        }
    }
}

/// What one turn has brought, over all VMs.
#[derive(Clone, Debug, Default)]
pub struct Measurement {
    /// The VMs' counts, added.
    pub tally: Tally,
    /// What the daemon's threads have used, by kind.
    pub processor: BTreeMap<String, Used>,
}

/// Something that can be measured.
pub struct Rig {
    /// How it is set up.
    pub setting: Setting,
    stations: Vec<Station>,
    threads: Threads,
    // Behind the stations: they detach before their daemon ends.
    served: Served,
    _folder: tempfile::TempDir,
}

enum Served {
    Shared(Box<Daemon>),
    Baseline(#[expect(dead_code, reason = "held until the rig goes")] Baseline),
}

impl Rig {
    /// Starts the daemon and brings all VMs up.
    pub fn new(setting: Setting) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let before = processor::of_process();
        let channel = Channel::new(Band::Ghz5, 36).context("channel 36 exists")?;
        let far_end = FarEnd::new(FAR_END, channel, radio("far end"));
        let others: Vec<Box<dyn ExternalStation>> = vec![Box::new(far_end)];
        let mut sockets = Vec::new();
        let served = match setting.configuration {
            Configuration::Native => {
                let socket = folder.path().join("card0.sock");
                let identity = Identity {
                    model: Model::Wifi5300,
                    address: address(0),
                };
                let air = air(setting.air);
                let card = Baseline::start(&socket, identity, air, radio("card"), others)?;
                sockets.push(socket);
                Served::Baseline(card)
            }
            _ => {
                let config = daemon(&setting, folder.path());
                let daemon = Daemon::start_among(config, others)?;
                let all = (0..setting.vms).filter_map(|vm| daemon.card_socket(vm));
                sockets.extend(all.map(std::path::Path::to_owned));
                Served::Shared(Box::new(daemon))
            }
        };
        let threads = Threads::since(&before);
        let mut stations = Vec::new();
        for (number, socket) in sockets.iter().enumerate() {
            let join = || Station::join(socket, address(number), FAR_END, channel);
            stations.push(guarded(join)??);
        }
        Ok(Self {
            setting,
            stations,
            threads,
            served,
            _folder: folder,
        })
    }

    /// The stamps of each stage of frames' ways, from now on; none where nothing is shared.
    pub fn trace(&self) -> anyhow::Result<Option<Traces>> {
        match &self.served {
            Served::Shared(daemon) => daemon.handle().trace().map(Some),
            Served::Baseline(_) => Ok(None),
        }
    }

    /// Puts load on every VM, and counts for `span`.
    pub fn measure(&mut self, load: &Load, span: Duration) -> anyhow::Result<Measurement> {
        let window = Window::of(span);
        let threads = &self.threads;
        let stations = &mut self.stations;
        std::thread::scope(|scope| {
            let mut generators = Vec::new();
            for (number, station) in stations.iter_mut().enumerate() {
                let thread = std::thread::Builder::new().name(format!("load-{number}"));
                let run = move || station.run(load, &window);
                generators.push(thread.spawn_scoped(scope, run)?);
            }
            sleep_until(window.begin);
            let before = threads.used();
            sleep_until(window.end);
            let mut measurement = Measurement::default();
            for (name, used) in threads.used() {
                let earlier = before.get(&name).copied().unwrap_or_default();
                let used = Used {
                    seconds: used.seconds - earlier.seconds,
                    turns: used.turns - earlier.turns,
                };
                measurement.processor.insert(name, used);
            }
            for generator in generators {
                let tally = generator.join().map_err(complaint)?;
                measurement.add(tally);
            }
            anyhow::ensure!(
                measurement.frames() > 0.0,
                "the path stands still: no frame has gone either way in {span:?} under {load:?}"
            );
            Ok(measurement)
        })
    }
}

impl Measurement {
    fn add(&mut self, tally: Tally) {
        let sum = &mut self.tally;
        sum.delivered += tally.delivered;
        sum.acknowledged += tally.acknowledged;
        sum.received += tally.received;
        sum.traffic.messages += tally.traffic.messages;
        sum.traffic.reads += tally.traffic.reads;
        sum.traffic.interrupts += tally.traffic.interrupts;
        sum.seconds = sum.seconds.max(tally.seconds);
        sum.processor += tally.processor;
        sum.trips.extend(tally.trips);
    }

    /// Processor time of all threads of the daemon, in seconds.
    pub fn processor(&self) -> f64 {
        self.processor.values().map(|used| used.seconds).sum()
    }

    /// How often one of the daemon's threads was put on a core.
    pub fn turns(&self) -> f64 {
        self.processor.values().map(|used| used.turns).sum()
    }

    /// Of one core, while it was measured.
    pub fn share(&self) -> f64 {
        self.processor() / self.tally.seconds
    }

    /// Frames that have gone either way and count: acknowledgements do not.
    pub fn frames(&self) -> f64 {
        (self.tally.delivered + self.tally.received) as f64
    }

    /// Megabits of payload in a second, of that many frames.
    pub fn mbps(&self, frames: u64, payload: usize) -> f64 {
        frames as f64 * payload as f64 * 8.0 / self.tally.seconds / 1e6
    }
}

fn daemon(setting: &Setting, folder: &std::path::Path) -> DaemonConfig {
    let card = |number| VmCard {
        transport: Transport::default(),
        socket: None,
        name: format!("vm{number}"),
        model: Model::Wifi5300,
        address: address(number),
        address_policy: AddressPolicy::default(),
        weight: 1,
    };
    DaemonConfig {
        air: air(setting.air),
        run_dir: folder.to_owned(),
        capture: None,
        cards: vec![CardConfig {
            name: "card".to_owned(),
            position: Position::default(),
            tx_power: POWER,
            scan_cache: Micros(0),
            tuning: setting.configuration.tuning(),
            vms: (0..setting.vms).map(card).collect(),
        }],
        access_point_vms: Vec::new(),
        built_ins: Vec::new(),
        uplinks: Vec::new(),
    }
}

fn air(real: bool) -> AirConfig {
    let mode = if real {
        AirMode::default()
    } else {
        AirMode::Infinite
    };
    AirConfig {
        mode,
        ..AirConfig::default()
    }
}

fn radio(name: &str) -> RadioConfig {
    RadioConfig {
        name: name.to_owned(),
        position: Position::default(),
        tx_power: POWER,
    }
}

fn address(number: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, number as u8 + 1])
}

fn sleep_until(when: std::time::Instant) {
    std::thread::sleep(when.saturating_duration_since(std::time::Instant::now()));
}

/// The driver's half complains by panics; here they become errors.
fn guarded<T: Send>(work: impl FnOnce() -> T + Send) -> anyhow::Result<T> {
    std::thread::scope(|scope| scope.spawn(work).join().map_err(complaint))
}

fn complaint(panic: Box<dyn std::any::Any + Send>) -> anyhow::Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let what = text.unwrap_or("a panic without words");
    anyhow::anyhow!("the load's driver complains about its card: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// Threads are found by their names in this process: one rig at a time.
    fn alone() -> MutexGuard<'static, ()> {
        static RIG: Mutex<()> = Mutex::new(());
        RIG.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn the_medium_runs_with_the_same_slack_and_priority_on_both_paths() {
        let _alone = alone();
        let baseline = Rig::new(Setting::alone(Configuration::Native)).unwrap();
        let shared = Rig::new(Setting::alone(Configuration::Default)).unwrap();
        let of = |rig: &Rig, kind| rig.threads.scheduling(kind);
        let baseline = of(&baseline, "native");
        assert_eq!(baseline.len(), 1, "one thread does it all");
        assert_eq!(of(&shared, "radio"), baseline);
    }

    /// Three VMs join and carry frames both ways over their sockets, all served by one thread.
    #[test]
    fn the_engines_own_thread_serves_every_vm() {
        let _alone = alone();
        let setting = Setting {
            vms: 3,
            ..Setting::alone(Configuration::EngineThread)
        };
        let mut rig = Rig::new(setting).unwrap();
        let of = |rig: &Rig, kind| rig.threads.scheduling(kind).len();
        assert_eq!((of(&rig, "radio"), of(&rig, "lane")), (1, 0));
        let (payload, span) = (200, Duration::from_millis(500));
        let echo = Load::Echo {
            payload,
            pause: Duration::ZERO,
        };
        let measured = rig.measure(&echo, span).unwrap();
        assert!(measured.tally.trips.len() > 20, "{measured:?}");
        let down = Load::Down { payload, depth: 8 };
        let measured = rig.measure(&down, span).unwrap();
        assert!(measured.tally.received > 100, "{measured:?}");
    }
}
