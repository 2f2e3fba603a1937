//! The joint between a run and the daemon: a scenario in the daemon's words, and the daemon's counters
//! in the report's.

use super::message::{Message, Sender};
use super::report::{CardRadio, Counters, Counts};
use airlane_air::{AirConfig, PathLoss, Position};
use airlane_ap::Config;
use airlane_ap::gateway::{Echoes, HostNames, Network, Probe};
use airlane_control::by_channel;
use airlane_control::{KnownVm, Names, SOCKET, Server};
use airlane_daemon::journal::VmEvent;
use airlane_daemon::uplink::{self, UserNetwork};
use airlane_daemon::{
    BuiltIn, CardConfig, CardStatus, Daemon, DaemonConfig, DaemonStatus, Delivered, Placed, Site,
    Transport, Tuning, VmCard,
};
use airlane_dot11::{Dbm, MacAddr};
use airlane_guests::external::RunFolder;
use airlane_guests::setup::Setup;
use airlane_guests::state::View;
use airlane_iwl::{Model, microcode};
use airlane_lane::{Instant, Micros};
use airlane_nic::AddressPolicy;
use airlane_scenario::{
    self as scenario, ACCESS_POINT_VM, AccessPoint, ApKind, Scenario, Uplink, Vmm,
};
use airlane_trace::{Figures, TraceFile};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Transmit power of the card and of the access points, as in most homes.
const TX_POWER: Dbm = Dbm(15.0);

/// Microseconds between the beacons of two built-in access points.
const BEACONS_APART: u64 = 7_000;

/// The daemon of one run.
pub struct Cards(Daemon, Option<TraceFile>);

/// One VM's virtual MAC.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vmac {
    /// Whether a VMM is attached.
    pub attached: bool,
    /// Whether the NIC holds anything for it: its driver has started the card.
    pub exists: bool,
    /// Its address, once its driver has set one.
    pub address: Option<String>,
    /// Whether it is a member of an IBSS, which is no association.
    pub ibss: bool,
    /// Signal of the last frame from its access point, dBm.
    pub signal: Option<i64>,
    /// VMMs that have connected, and the ranges of memory that they have mapped with a file and without one.
    pub mapped: (u64, u64, u64),
    /// Whether it is associated, as the NIC sees it.
    pub associated: bool,
    /// Its access point, once chosen.
    pub bssid: Option<String>,
    /// Bytes sent and received, where the NIC counts them.
    pub bytes: Option<(u64, u64)>,
    /// Keys that its driver has put into the card so far.
    pub keys: u64,
}

impl Cards {
    /// Opens all sockets in `folder`, those for external VMs in `shared` if there is one; the air is recorded in
    /// `capture`. `setup` knows where passt is.
    pub fn start(
        scenario: &Scenario,
        setup: &Setup,
        folder: &Path,
        shared: Option<&RunFolder>,
        capture: PathBuf,
    ) -> Result<Self> {
        let positions = scenario
            .access_points
            .iter()
            .map(|ap| position(ap.position));
        let site = Site {
            name: ACCESS_POINT_VM.to_owned(),
            positions: positions.collect(),
            bssids: scenario.hostapds().map(|ap| ap.bssid).collect(),
            tx_power: TX_POWER,
        };
        let daemon = Daemon::start(DaemonConfig {
            air: air(&scenario.air),
            run_dir: folder.to_owned(),
            capture: Some(capture),
            cards: cards(scenario, shared),
            access_point_vms: scenario
                .hostapds()
                .next()
                .map(|_| site)
                .into_iter()
                .collect(),
            built_ins: built_ins(scenario),
            uplinks: uplinks(scenario, setup)?,
        });
        let daemon = daemon.context("cannot serve the cards")?;
        let external = scenario.vms.iter().filter(|vm| vm.external);
        for (vm, folder) in external.flat_map(|vm| Some((vm, shared?))) {
            folder.open(&vm.name)?;
        }
        Ok(Self(daemon, None))
    }

    /// Where VM `index` attaches its card.
    pub fn card(&self, index: usize) -> Result<&Path> {
        self.0
            .card_socket(index)
            .context("the daemon serves no card for a VM")
    }

    /// Where the access-point VM attaches its radios.
    pub fn radios(&self) -> Result<&Path> {
        self.0
            .hwsim_socket(0)
            .context("the daemon serves no radios")
    }

    /// Lets others look at the run, by the run's name and a socket in `folder`, until what is returned is dropped. What they want done in it
    /// goes to `sender`.
    pub fn control(
        &self,
        run: &str,
        scenario: &Scenario,
        folder: &Path,
        sender: Sender,
    ) -> Result<Server> {
        let handle = Arc::clone(self.0.handle());
        let asks = Box::new(move |ask| sender.send(Message::Asked(ask)).is_ok());
        Server::for_run(&folder.join(SOCKET), handle, names(run, scenario), asks)
    }

    /// Records the ways of all frames from now on.
    pub fn trace(&mut self, run: &str, scenario: &Scenario, file: &Path) -> Result<()> {
        let (names, traces) = (names(run, scenario), self.0.handle().trace()?);
        self.1 = Some(TraceFile::start(
            file,
            &names.run,
            &names.vm_names(),
            traces,
        )?);
        Ok(())
    }

    /// Puts a card, by its number in the scenario, and with it all VMs on it, elsewhere.
    pub fn place_card(&self, card: usize, at: scenario::Position) -> Result<()> {
        self.0.handle().place(Placed::Card(card), position(at))
    }

    /// Has the gateway of a built-in access point, by its number among them, send a series of frames.
    pub fn probe(&self, access_point: usize, probe: Probe) -> Result<()> {
        self.0.handle().probe(access_point, probe)
    }

    /// What became of such echo requests to a station.
    pub fn echoes(&self, access_point: usize, station: MacAddr) -> Result<Echoes> {
        let status = self.0.status()?;
        let access_point = status.radio.built_ins.get(access_point);
        let echoes = access_point.and_then(|ap| ap.echoes.get(&station)).copied();
        Ok(echoes.unwrap_or_default())
    }

    /// What became of the access points' data frames to a station.
    pub fn delivered(&self, station: MacAddr) -> Result<Delivered> {
        let deliveries = self.0.status()?.radio.deliveries;
        Ok(deliveries.get(&station).copied().unwrap_or_default())
    }

    /// Puts an access point, by its number in the scenario, elsewhere.
    pub fn place_access_point(
        &self,
        scenario: &Scenario,
        number: usize,
        at: scenario::Position,
    ) -> Result<()> {
        let built_in = own(scenario).position(|(index, ..)| index == number);
        let placed = match built_in {
            Some(built_in) => Placed::BuiltIn(built_in),
            None => Placed::AccessPoint { port: 0, number },
        };
        self.0.handle().place(placed, position(at))
    }

    /// What has happened to the VMs lately, and then what happens.
    pub fn events(&self) -> Result<Receiver<VmEvent>> {
        self.0.handle().events()
    }

    /// How each of `count` VMs stands, and what the built-in access points see.
    pub fn look(&self, count: usize) -> Result<(Vec<Vmac>, View)> {
        let status = self.0.status()?;
        let vmacs = (0..count).map(|index| vmac(&status, index));
        Ok((vmacs.collect(), view(&status)))
    }

    /// All counters now, by the names of `scenario`.
    pub fn counters(&self, scenario: &Scenario) -> Result<Counters> {
        Ok(counters(self.0.status()?, scenario))
    }

    /// Ends the daemon; its last counters, by the names of `scenario`, and what was traced.
    pub fn stop(self, scenario: &Scenario) -> Result<(Counters, Option<Figures>)> {
        let counters = counters(self.0.stop()?, scenario);
        let traced = self.1.map(TraceFile::finish).transpose()?;
        Ok((counters, traced))
    }
}

/// The name under which the guest's driver looks for its microcode, and the microcode.
pub fn firmware(model: Model) -> (String, Vec<u8>) {
    (
        format!("lib/firmware/{}", microcode::file_name(model)),
        microcode::image(model),
    )
}

/// The scenario's names of what the daemon knows by number and address.
fn names(run: &str, scenario: &Scenario) -> Names {
    let vms = scenario.vms.iter();
    let networks = scenario.access_points.iter();
    Names {
        run: run.to_owned(),
        vms: vms
            .map(|vm| KnownVm {
                name: vm.name.clone(),
                model: vm.model.to_string(),
                address: vm.mac,
                card_name: scenario.card_name(vm).map(str::to_owned),
            })
            .collect(),
        networks: networks.map(|ap| (ap.bssid, ap.ssid.clone())).collect(),
    }
}

/// The scenario's cards, each as it is written, with its own VMs.
fn cards(scenario: &Scenario, shared: Option<&RunFolder>) -> Vec<CardConfig> {
    let cards = scenario.cards.iter().enumerate();
    let config = |(index, card): (usize, &scenario::Card)| CardConfig {
        name: card.name.clone(),
        position: position(card.position),
        tx_power: TX_POWER,
        scan_cache: Micros((card.scan_cache * 1e6) as u64),
        tuning: tuning(card),
        vms: vm_cards(scenario, index, shared),
    };
    cards.map(config).collect()
}

/// What the VMs on one card have of it. The scenario lists VMs card by card, as the daemon numbers them.
fn vm_cards(scenario: &Scenario, card: usize, shared: Option<&RunFolder>) -> Vec<VmCard> {
    let vms = scenario.vms.iter().enumerate();
    let own = vms.filter(|(_, vm)| vm.on == card);
    own.map(|(index, vm)| VmCard {
        transport: match scenario.vmm_of(index) {
            Vmm::Qemu => Transport::VfioUser,
            Vmm::Uml => Transport::PciDev,
        },
        socket: shared
            .filter(|_| vm.external)
            .map(|folder| folder.socket(&vm.name)),
        name: vm.name.clone(),
        model: vm.model,
        address: vm.mac,
        address_policy: policy(vm),
        weight: vm.weight,
    })
    .collect()
}

fn tuning(card: &scenario::Card) -> Tuning {
    Tuning {
        translation: card.translation,
        interrupts: card.interrupts,
        polling: card.polling,
        data_path: card.data_path,
        threads: card.threads,
    }
}

fn policy(vm: &scenario::Vm) -> AddressPolicy {
    if vm.change_mac {
        AddressPolicy::Free
    } else {
        AddressPolicy::Fixed
    }
}

/// The access points that the daemon runs itself, each with its place in the scenario.
fn own(scenario: &Scenario) -> impl Iterator<Item = (usize, &AccessPoint, &Uplink)> {
    let numbered = scenario.access_points.iter().enumerate();
    numbered.filter_map(|(index, ap)| match &ap.kind {
        ApKind::Hostapd => None,
        ApKind::BuiltIn(uplink) => Some((index, ap, uplink)),
    })
}

fn built_ins(scenario: &Scenario) -> Vec<BuiltIn> {
    let own = own(scenario);
    own.map(|(index, ap, uplink)| built_in(scenario, index, ap, uplink))
        .collect()
}

/// What is behind them, by their number among themselves.
fn uplinks(scenario: &Scenario, setup: &Setup) -> Result<Vec<(usize, uplink::Uplink)>> {
    let mut uplinks = Vec::new();
    for (number, (index, ap, uplink)) in own(scenario).enumerate() {
        let behind = match uplink {
            Uplink::Isolated => continue,
            Uplink::Tap(name) => uplink::Uplink::Tap {
                name: name.clone(),
                address: ap.subnet.address,
                prefix: ap.subnet.prefix,
            },
            Uplink::User => uplink::Uplink::User(UserNetwork {
                program: setup.passt()?,
                hardware: ap.bssid,
                gateway: ap.subnet.address,
                prefix: ap.subnet.prefix,
                name_server: name_server(ap),
                stations: scenario.leases(index).into_iter().collect(),
            }),
        };
        uplinks.push((number, behind));
    }
    Ok(uplinks)
}

/// An address that no VM gets: passt hands what is sent there to the host's own name server.
fn name_server(ap: &AccessPoint) -> Ipv4Addr {
    let [a, b, c, own] = ap.subnet.address.octets();
    Ipv4Addr::new(a, b, c, if own == 3 { 4 } else { 3 })
}

fn built_in(scenario: &Scenario, index: usize, ap: &AccessPoint, uplink: &Uplink) -> BuiltIn {
    let number = index as u64;
    let mut bss = Config::new(ap.bssid, &ap.ssid, ap.channel);
    bss.seed = scenario.air.seed.wrapping_add(number);
    bss.first_beacon = Instant(BEACONS_APART * number);
    bss.group_rekey = ap
        .group_rekey
        .map(|seconds| Micros::from_millis(seconds * 1_000));
    if let Some(passphrase) = &ap.passphrase {
        bss = bss.wpa2(passphrase);
    }
    BuiltIn {
        name: ap.name.clone(),
        bss,
        network: Network {
            hardware: ap.bssid,
            address: ap.subnet.address,
            prefix: ap.subnet.prefix,
            known: scenario.leases(index).into_iter().collect(),
            // The host has the address on its side of a TAP device.
            answers: !matches!(uplink, Uplink::Tap(_)),
            name_servers: match uplink {
                Uplink::User => vec![name_server(ap)],
                Uplink::Isolated | Uplink::Tap(_) => Vec::new(),
            },
            host_names: host_names(ap),
            captive_portal: ap.captive.portal.clone(),
        },
        has_uplink: *uplink != Uplink::Isolated,
        position: position(ap.position),
        tx_power: TX_POWER,
    }
}

fn host_names(ap: &AccessPoint) -> HostNames {
    let mut names = HostNames::default();
    for (name, address) in &ap.captive.names {
        names.insert(name, *address);
    }
    names
}

/// What the built-in access points see, as the access-point VM would tell it.
fn view(status: &DaemonStatus) -> View {
    let mut view = View::default();
    for ap in &status.radio.built_ins {
        let named = |station: &MacAddr| (ap.name.clone(), station.to_string());
        view.stations.extend(ap.joined.iter().map(named));
        view.wrong_keys.extend(ap.wrong_keys.iter().map(named));
    }
    view
}

fn air(air: &scenario::Air) -> AirConfig {
    let default = AirConfig::default();
    let loss = |exponent| PathLoss::LogDistance {
        exponent: exponent as f32,
    };
    AirConfig {
        seed: air.seed,
        path_loss: air.path_loss_exponent.map_or(default.path_loss, loss),
        ..default
    }
}

fn position(scenario::Position([x, y, z]): scenario::Position) -> Position {
    Position {
        x: x as f32,
        y: y as f32,
        z: z as f32,
    }
}

fn vmac(status: &DaemonStatus, index: usize) -> Vmac {
    let card = status.cards.get(index);
    let of_card = |name| card.and_then(|counts| counts.get(name)).copied();
    let of_card = |name| of_card(name).unwrap_or(0);
    let attached = Vmac {
        attached: status.radio.attached.contains(&index),
        mapped: (
            of_card("vfio_connections"),
            of_card("vfio_maps"),
            of_card("vfio_maps_without_file"),
        ),
        ..Vmac::default()
    };
    let Some(known) = status.radio.vmacs.get(&index) else {
        return attached;
    };
    let count = |name| known.counters.get(name).copied();
    Vmac {
        exists: true,
        address: known.address.map(|address| address.to_string()),
        ibss: known.ibss,
        signal: known.link.signal.map(|signal| signal.0.round() as i64),
        associated: known.associated,
        bssid: known.bssid.map(|bssid| bssid.to_string()),
        bytes: count("sent_bytes").zip(count("received_bytes")),
        keys: count("keys_set").unwrap_or_default(),
        ..attached
    }
}

fn counters(status: DaemonStatus, scenario: &Scenario) -> Counters {
    let name = |index: usize| scenario.vms.get(index).map(|vm| vm.name.clone());
    let cards = status.cards.into_iter().enumerate();
    let (channels, radios) = report_of_radios(&status.radio.cards);
    let vmacs = status.radio.vmacs.into_iter();
    Counters {
        channels,
        radios,
        radio: status.radio.counters,
        cards: cards
            .filter_map(|(index, counts)| Some((name(index)?, counts)))
            .collect(),
        vmacs: vmacs
            .filter_map(|(index, vmac)| Some((name(index)?, vmac.counters)))
            .collect(),
    }
}

/// What is known of the channels of the only card; or of the radio of each of several, by the card's name.
fn report_of_radios(
    cards: &[CardStatus],
) -> (BTreeMap<String, Counts>, BTreeMap<String, CardRadio>) {
    if let [only] = cards {
        return (by_channel(only), BTreeMap::new());
    }
    let radio = |card: &CardStatus| CardRadio {
        counters: card.counters.clone(),
        channels: by_channel(card),
    };
    let radios = cards.iter().map(|card| (card.name.clone(), radio(card)));
    (BTreeMap::new(), radios.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_daemon::DataPath;
    use airlane_dot11::{Band, Channel};
    use airlane_lane::{Coalescing, Threads};
    use std::time::Duration;

    const TWO: &str = r#"
        [[card]]
        name = "attic"
        position = [0, 0, 3]
        scan_cache = 1.5
        interrupts = "off"

        [[card]]
        name = "cellar"
        position = [30, 0]
        data_path = "emulated"
        threads = "engine"
        translation = "merged"

        [[access_point]]
        name = "cafe"
        channel = 36
        kind = "built-in"
        address = "192.168.1.1/24"

        [[vm]]
        name = "guest"
        card_name = "cellar"

        [[vm]]
        name = "it"
    "#;

    fn two() -> Scenario {
        Scenario::parse(Path::new("two.toml"), TWO).unwrap()
    }

    #[test]
    fn each_card_has_its_own_place_vms_and_tuning() {
        let [attic, cellar] = &cards(&two(), None)[..] else {
            panic!("two cards");
        };
        assert_eq!((attic.position.z, cellar.position.x), (3.0, 30.0));
        let names = |card: &CardConfig| -> Vec<String> {
            card.vms.iter().map(|vm| vm.name.clone()).collect()
        };
        assert_eq!(
            (names(attic), names(cellar)),
            (vec!["it".to_owned()], vec!["guest".to_owned()])
        );
        assert_eq!(attic.scan_cache, Micros(1_500_000));
        assert_eq!(cellar.scan_cache, Micros(5_000_000));
        let default = Tuning::default();
        let expected = Tuning {
            interrupts: Coalescing::Off,
            ..default
        };
        assert_eq!(attic.tuning, expected);
        let expected = Tuning {
            data_path: DataPath::Emulated,
            threads: Threads::Engine,
            translation: "merged".parse().unwrap(),
            ..default
        };
        assert_eq!(cellar.tuning, expected);
    }

    /// The names of this process's threads, as Linux knows them.
    fn threads() -> Vec<String> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let comm = |task: std::io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
        };
        tasks
            .filter_map(comm)
            .map(|name| name.trim().to_owned())
            .collect()
    }

    #[test]
    fn the_engine_s_thread_serves_the_vms_of_a_card_whose_scenario_says_so() {
        let mut scenario = two();
        scenario.cards[0].threads = Threads::Engine;
        scenario.cards[1].threads = Threads::PerVm;
        let folder = tempfile::tempdir().unwrap();
        let daemon = Daemon::start(DaemonConfig {
            air: AirConfig::default(),
            run_dir: folder.path().to_owned(),
            capture: None,
            cards: cards(&scenario, None),
            access_point_vms: Vec::new(),
            built_ins: Vec::new(),
            uplinks: Vec::new(),
        });
        let daemon = daemon.unwrap();
        // A thread takes its name when it begins to run.
        while !threads().contains(&"lane-1".to_owned()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!threads().contains(&"lane-0".to_owned()), "{:?}", threads());
        assert!(daemon.card_socket(0).unwrap().exists());
    }

    fn card(name: &str, number: u16, beacons: u64) -> CardStatus {
        let channel = Channel::new(Band::Ghz5, number).unwrap();
        let beacons = [("beacons_heard".to_owned(), beacons)];
        CardStatus {
            name: name.to_owned(),
            channel: Some(channel),
            channels: vec![(channel, beacons.into())],
            counters: [("nic_tunes".to_owned(), 1)].into(),
        }
    }

    #[test]
    fn the_radio_of_each_of_several_cards_is_reported_under_its_name() {
        let (channels, radios) = report_of_radios(&[card("attic", 36, 5), card("cellar", 36, 7)]);
        assert_eq!(channels, BTreeMap::new());
        assert_eq!(radios["attic"].channels["36"]["beacons_heard"], 5);
        assert_eq!(radios["cellar"].channels["36"]["beacons_heard"], 7);
        assert_eq!(radios["cellar"].counters["nic_tunes"], 1);
    }

    #[test]
    fn the_radio_of_the_only_card_is_reported_without_a_name() {
        let (channels, radios) = report_of_radios(&[card("card", 36, 5)]);
        assert_eq!((channels["36"]["beacons_heard"], radios.len()), (5, 0));
    }
}
