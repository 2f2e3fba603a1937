//! A story: some VMs on one card, some access points, one clock, one seed.

use std::sync::{Arc, Mutex, MutexGuard};

use airlane_air::{AirConfig, PathLoss, Position, RadioConfig};
use airlane_daemon::{AccessPoints, DataPath, Site, Tuning, Wifi};
use airlane_dot11::{Band, Channel, Dbm, MacAddr, frame::FrameKind};
use airlane_lane::{Instant, Micros};
use airlane_nic::VmCounters;

use crate::access_point::AccessPoint;
use crate::drive::Drive;
use crate::vm::{Bss, Load, Vm};
use crate::world::{Told, World};

/// How often, and how long apart, a station asks (mac80211: IEEE80211_AUTH_MAX_TRIES and _TIMEOUT).
const TRIES: usize = 3;
const ANSWER: Micros = Micros::from_millis(200);

/// A channel of the 5 GHz band.
pub fn channel(number: u16) -> Channel {
    Channel::new(Band::Ghz5, number).expect("a channel")
}

/// Tells a story once for each way that frames may go between card and NIC.
pub fn on_both_paths(tell: impl Fn(Tuning)) {
    for data_path in DataPath::ALL {
        println!("{data_path}");
        tell(Tuning {
            data_path,
            ..Tuning::default()
        });
    }
}

/// Where what stands.
pub struct Plan {
    pub seed: u64,
    pub path_loss: PathLoss,
    /// Each access point's channel, and its distance from the card in metres.
    pub access_points: Vec<(u16, f32)>,
    pub vms: usize,
    pub tuning: Tuning,
}

impl Plan {
    /// An ideal medium: access points on these channels, this many VMs.
    fn ideal(seed: u64, channels: &[u16], vms: usize) -> Self {
        Self {
            seed,
            path_loss: PathLoss::Ideal { loss_db: 65.0 },
            access_points: channels.iter().map(|&channel| (channel, 1.0)).collect(),
            vms,
            tuning: Tuning::default(),
        }
    }
}

/// Everything.
pub struct Story {
    pub vms: Vec<Vm>,
    pub aps: Vec<AccessPoint>,
    /// Authentication and association requests so far.
    pub asked: usize,
    world: Arc<Mutex<World>>,
}

impl Story {
    /// An ideal medium: access points on these channels, this many VMs whose cards are off.
    pub fn new(seed: u64, channels: &[u16], vms: usize) -> Self {
        Self::of(Plan::ideal(seed, channels, vms))
    }

    /// The same with another tuning.
    pub fn tuned(tuning: Tuning, seed: u64, channels: &[u16], vms: usize) -> Self {
        Self::of(Plan {
            tuning,
            ..Plan::ideal(seed, channels, vms)
        })
    }

    pub fn of(plan: Plan) -> Self {
        let sites = plan.access_points.iter().enumerate();
        let sites = sites.map(|(port, &(_, x))| Site {
            name: format!("ap{port}"),
            positions: vec![Position { x, y: 0.0, z: 0.0 }],
            bssids: vec![AccessPoint::bssid_of(port)],
            tx_power: Dbm(15.0),
        });
        let air = AirConfig {
            seed: plan.seed,
            path_loss: plan.path_loss,
            ..AirConfig::default()
        };
        let card = RadioConfig {
            name: "card".to_owned(),
            position: Position::default(),
            tx_power: Dbm(15.0),
        };
        let mut radio = Wifi::with_card(air, card, AccessPoints::new(sites.collect()));
        let card = radio.card_mut(0).expect("the one card");
        card.set_data_path(plan.tuning.data_path);
        let mut story = Self {
            vms: (0..plan.vms).map(Vm::new).collect(),
            aps: Vec::new(),
            asked: 0,
            world: Arc::new(Mutex::new(World::new(radio, plan.tuning))),
        };
        for (port, &(number, _)) in plan.access_points.iter().enumerate() {
            story.aps.push(AccessPoint::new(port, channel(number)));
        }
        for number in 0..plan.vms {
            story.connect(number);
        }
        // Every access point is on its channel, where its first beacon has taken it.
        story.advance(Micros::from_millis(50));
        story
    }

    /// Puts the radio behind a VM's card.
    pub fn connect(&mut self, number: usize) {
        let vm = &mut self.vms[number];
        let (world, id) = (Arc::clone(&self.world), vm.id);
        for ap in &mut self.aps {
            ap.preset(vm.address, vm.key());
        }
        let ask = move |request| lock(&world).ask(id, request);
        vm.driver.set_radio(Some(Box::new(ask)));
    }

    /// Everything that anybody was told so far.
    pub fn log(&self) -> Vec<Told> {
        self.world().log.clone()
    }

    /// What the NIC counts of a VM.
    pub fn counters(&self, number: usize) -> VmCounters {
        let id = self.vms[number].id;
        self.world().nic().vm_counters(id)
    }

    /// What a VM must know to join the network of an access point.
    pub fn bss(&self, number: usize, ap: usize) -> Bss {
        let ap = &self.aps[ap];
        Bss {
            bssid: ap.bssid,
            ssid: ap.ssid.clone(),
            channel: ap.channel,
            key: self.vms[number].key(),
            group_key: ap.group_key,
        }
    }

    /// Turns on VMs and has each join its access point, all at the same time.
    pub fn join(&mut self, pairs: &[(usize, usize)]) {
        for &(number, _) in pairs {
            self.vms[number].driver.power_on();
        }
        self.associate(pairs);
    }

    /// Authenticates and associates VMs whose cards are on.
    pub fn associate(&mut self, pairs: &[(usize, usize)]) {
        for &(number, ap) in pairs {
            let bss = self.bss(number, ap);
            self.vms[number].begin_joining(&bss);
        }
        self.ask_until_answered(pairs, FrameKind::AUTHENTICATION, Vm::ask_authentication);
        self.ask_until_answered(pairs, FrameKind::ASSOCIATION_RESPONSE, Vm::ask_association);
        for &(number, ap) in pairs {
            let bss = self.bss(number, ap);
            let vm = &mut self.vms[number];
            let body = vm.answer(FrameKind::ASSOCIATION_RESPONSE, bss.bssid);
            let body = body.expect("it has come");
            let id = u16::from_le_bytes([body[4], body[5]]) & 0x3fff;
            vm.finish_joining(&bss, id);
        }
    }

    /// As mac80211 does: up to three times, 200 ms apart.
    fn ask_until_answered(
        &mut self,
        pairs: &[(usize, usize)],
        kind: FrameKind,
        ask: impl Fn(&mut Vm, &Bss),
    ) {
        for _ in 0..TRIES {
            for &(number, ap) in pairs {
                let bss = self.bss(number, ap);
                if self.vms[number].answer(kind, bss.bssid).is_none() {
                    self.asked += 1;
                    ask(&mut self.vms[number], &bss);
                }
            }
            self.advance(ANSWER);
        }
        for &(number, ap) in pairs {
            let bssid = self.aps[ap].bssid;
            let answered = self.vms[number].answer(kind, bssid).is_some();
            assert!(answered, "VM {number} gets no answer {kind:?} of {bssid:?}");
        }
    }

    /// Gives a VM so many frames of this length to send, so many at a time.
    pub fn load(&mut self, number: usize, left: u32, depth: usize, length: usize) {
        self.vms[number].load = Some(Load {
            depth,
            length,
            left,
        });
    }

    /// Until every frame of these VMs is answered and every echo that was sent has ended.
    pub fn run_dry(&mut self, limit: Micros) {
        self.run_until("all loads end", limit, |story| {
            let idle = |vm: &Vm| vm.load.is_none_or(|load| load.left == 0) && vm.under_way() == 0;
            story.vms.iter().all(idle)
        });
        self.advance(Micros::from_millis(300));
    }

    /// True for a BSSID of this VM's view after a scan.
    pub fn has_heard(&self, number: usize, ap: usize) -> bool {
        let bssid: MacAddr = self.aps[ap].bssid;
        self.vms[number].heard.contains_key(&bssid)
    }

    /// Nothing is lost, nothing is left: holds after every story.
    fn close(&mut self) {
        for ap in &mut self.aps {
            ap.fall_silent();
        }
        for vm in &mut self.vms {
            vm.load = None;
        }
        self.advance(Micros::from_millis(2_000));
        for number in 0..self.vms.len() {
            let counters = self.counters(number);
            assert!(counters.conserved(), "VM {number}: {counters:?}");
            assert_eq!(counters.queued, 0, "VM {number}");
            let vm = &mut self.vms[number];
            assert!(vm.wrong.is_empty(), "VM {number}: {:02x?}", vm.wrong[0]);
            let empty = !vm.driver.device().is_up() || (0..4).all(|q| vm.driver.is_empty(q));
            assert!(empty, "VM {number} has all its descriptors back");
        }
        for ap in &self.aps {
            assert_eq!(
                ap.unreported(),
                0,
                "every frame of {} has a status",
                ap.ssid
            );
            assert_eq!((ap.seen.bad_integrity, ap.seen.replays), (0, 0));
        }
        let world = self.world();
        let air = world.radio.air().counters();
        assert_eq!(air.offered, air.ended(), "the air is empty");
    }
}

impl Drive for Story {
    fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }

    fn turn(&mut self) {
        let now = self.now();
        self.world().step();
        for ap in &mut self.aps {
            ap.step(now);
            for message in ap.out.drain(..) {
                lock(&self.world).say(ap.port, message);
            }
        }
        let messages = self.world().take_for_access_points();
        for (port, message) in messages {
            self.aps[port].take(now, message);
        }
        for vm in &mut self.vms {
            let events = lock(&self.world).take_for_vm(vm.id);
            vm.driver.events(events);
            vm.step(now);
            vm.driver.run();
            vm.step(now);
        }
    }

    fn due(&self) -> Option<Instant> {
        self.aps.iter().filter_map(AccessPoint::due).min()
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.close();
        }
    }
}

fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().expect("one thread")
}
