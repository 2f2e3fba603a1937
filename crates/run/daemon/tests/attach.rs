//! VMs that come and go at the sockets of a running daemon, with either kind of threads: each has one of its card's
//! 16 VM-IDs while its VMM is connected, and no longer.

use std::collections::BTreeSet;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use airlane_air::{AirConfig, Position};
use airlane_daemon::journal::{Kind, VmEvent};
use airlane_daemon::{CardConfig, Daemon, DaemonConfig, Transport, Tuning, VmCard};
use airlane_dot11::{Band, Channel, Dbm, MacAddr};
use airlane_iwl::Model;
use airlane_iwl_driver::{Driver, Station};
use airlane_lane::{Micros, Threads};
use airlane_nic::AddressPolicy;
use airlane_socket_card::SocketCard;
use airlane_waist::MAX_VMS;

const PATIENCE: Duration = Duration::from_secs(20);

/// One card that more VMs may use than it serves at once.
struct Bench {
    daemon: Daemon,
    events: Receiver<VmEvent>,
    _folder: tempfile::TempDir,
}

fn address(vm: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, vm as u8 + 1])
}

impl Bench {
    fn new(threads: Threads, vms: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let vm = |number| VmCard {
            transport: Transport::VfioUser,
            socket: None,
            name: format!("vm{number}"),
            model: Model::Wifi5300,
            address: address(number),
            address_policy: AddressPolicy::Fixed,
            weight: 1,
        };
        let tuning = Tuning {
            threads,
            ..Tuning::default()
        };
        let card = CardConfig {
            name: "card".to_owned(),
            position: Position::default(),
            tx_power: Dbm(15.0),
            scan_cache: Micros(0),
            tuning,
            vms: (0..vms).map(vm).collect(),
        };
        let daemon = Daemon::start(DaemonConfig {
            air: AirConfig::default(),
            run_dir: folder.path().to_owned(),
            capture: None,
            cards: vec![card],
            access_point_vms: Vec::new(),
            built_ins: Vec::new(),
            uplinks: Vec::new(),
        });
        let daemon = daemon.unwrap();
        Self {
            events: daemon.handle().events().unwrap(),
            daemon,
            _folder: folder,
        }
    }

    /// The VMM of this VM connects.
    fn connect(&self, vm: usize) -> SocketCard {
        SocketCard::attach(self.daemon.card_socket(vm).unwrap()).unwrap()
    }

    /// The VM connects and its driver brings up its interface.
    fn start(&self, vm: usize) -> Driver<SocketCard> {
        let mut driver = Driver::of(self.connect(vm), Model::Wifi5300);
        driver.power_on();
        configure(&mut driver, vm);
        driver
    }

    /// The VMs that have a vMAC, by number, each under its own address.
    fn vmacs(&self) -> BTreeSet<usize> {
        let vmacs = self.daemon.status().unwrap().radio.vmacs.into_iter();
        let own = vmacs.inspect(|(vm, vmac)| assert_eq!(vmac.address, Some(address(*vm))));
        own.map(|(vm, _)| vm).collect()
    }

    fn wait_until_gone(&self, vm: usize) {
        for _ in 0..20_000 {
            if !self.daemon.status().unwrap().radio.vmacs.contains_key(&vm) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("VM {vm} is still there");
    }

    /// What happens next to any VM.
    fn next_event(&self) -> (usize, Kind) {
        let event = self.events.recv_timeout(PATIENCE).unwrap();
        (event.lane.index(), event.kind)
    }

    /// All that has happened by now.
    fn drain_events(&self) {
        // The answer comes behind all events of what was done before.
        self.daemon.status().unwrap();
        while self.events.try_recv().is_ok() {}
    }
}

/// The engine knows the VM: it answers.
fn configure(driver: &mut Driver<SocketCard>, vm: usize) {
    driver.configure(&Station {
        address: address(vm),
        bssid: MacAddr::ZERO,
        channel: Channel::new(Band::Ghz5, 36).unwrap(),
        association_id: None,
    });
}

fn all_but(gone: usize, count: usize) -> BTreeSet<usize> {
    (0..count).filter(|&vm| vm != gone).collect()
}

#[test]
fn a_vm_that_comes_again_has_its_card_at_once_though_all_vm_ids_are_given_out() {
    for threads in Threads::ALL {
        let bench = Bench::new(threads, MAX_VMS);
        let mut drivers: Vec<_> = (0..MAX_VMS).map(|vm| bench.start(vm)).collect();
        for vm in [0, 7, MAX_VMS - 1, 7, 7] {
            // The old VMM goes in the same moment in which the new one comes.
            drivers.remove(vm);
            drivers.insert(vm, bench.start(vm));
        }
        for (vm, driver) in drivers.iter_mut().enumerate() {
            configure(driver, vm);
        }
        assert_eq!(bench.vmacs(), (0..MAX_VMS).collect(), "{threads}");
    }
}

#[test]
fn one_vm_too_many_is_refused_and_gets_the_vm_id_of_one_that_has_gone() {
    for threads in Threads::ALL {
        let late = MAX_VMS;
        let bench = Bench::new(threads, MAX_VMS + 1);
        let mut drivers: Vec<_> = (0..MAX_VMS).map(|vm| bench.start(vm)).collect();
        bench.drain_events();
        let refused = bench.connect(late);
        assert_eq!(
            bench.next_event(),
            (late, Kind::Refused { times: 1 }),
            "{threads}"
        );
        for (vm, driver) in drivers.iter_mut().enumerate() {
            configure(driver, vm);
        }
        assert_eq!(bench.vmacs(), (0..MAX_VMS).collect(), "{threads}");
        drop((refused, drivers.remove(3)));
        bench.wait_until_gone(3);
        let mut driver = bench.start(late);
        assert_eq!(bench.vmacs(), all_but(3, MAX_VMS + 1), "{threads}");
        bench.drain_events();
        let _refused = bench.connect(3);
        assert_eq!(
            bench.next_event(),
            (3, Kind::Refused { times: 1 }),
            "{threads}"
        );
        configure(&mut driver, late);
    }
}
