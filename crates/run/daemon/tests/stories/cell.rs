//! A cell: built-in access points and VMs that join them, one clock, one seed.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard};

use airlane_air::{AirConfig, PathLoss, Position, RadioConfig};
use airlane_ap::Config;
use airlane_ap::gateway::{Echoes, Network, Probe, ProbeKind};
use airlane_daemon::{AccessPoints, BuiltIn, Delivered, Tuning, Wifi};
use airlane_dot11::{Dbm, MacAddr, frame::FrameKind};
use airlane_lane::{Instant, Micros};

use crate::drive::Drive;
use crate::guest::{Guest, Wish};
use crate::story::channel;
use crate::world::World;

/// Everything.
pub struct Cell {
    pub guests: Vec<Guest>,
    world: Arc<Mutex<World>>,
    names: Vec<Wish>,
}

/// The address of access point `number`.
pub fn gateway(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(192, 168, number as u8 + 1, 1)
}

impl Cell {
    /// Access points on channel 36 with these passphrases, none connected yet.
    pub fn new(seed: u64, passphrases: &[Option<&str>]) -> Self {
        Self::with(seed, passphrases, |_| {})
    }

    /// The same, with something set otherwise.
    pub fn with(seed: u64, passphrases: &[Option<&str>], change: impl Fn(&mut BuiltIn)) -> Self {
        let radio = Wifi::with_card(air(seed), card("card"), AccessPoints::new(Vec::new()));
        Self::of(radio, passphrases, change)
    }

    /// The same with a card for each of the VMs that will come, so many at most.
    pub fn with_cards(
        seed: u64,
        cards: usize,
        passphrases: &[Option<&str>],
        change: impl Fn(&mut BuiltIn),
    ) -> Self {
        let air = AirConfig {
            path_loss: PathLoss::LogDistance { exponent: 3.0 },
            ..air(seed)
        };
        let mut radio = Wifi::new(air, AccessPoints::new(Vec::new()));
        for number in 0..cards {
            let card = radio.add_card(card(&format!("card-{number}")));
            let lane = radio.add_lane(card).expect("the card is there");
            radio
                .attach(lane)
                .expect("a card has room for its first VM");
        }
        Self::of(radio, passphrases, change)
    }

    fn of(mut radio: Wifi, passphrases: &[Option<&str>], change: impl Fn(&mut BuiltIn)) -> Self {
        let mut names = Vec::new();
        for (number, passphrase) in passphrases.iter().enumerate() {
            let mut built_in = built_in(number, *passphrase);
            change(&mut built_in);
            names.push(Wish {
                bssid: built_in.bss.bssid,
                ssid: built_in.bss.ssid.clone(),
                channel: built_in.bss.channel,
                passphrase: passphrase.map(str::to_owned),
            });
            radio.add_built_in(built_in);
        }
        Self {
            guests: Vec::new(),
            world: Arc::new(Mutex::new(World::new(radio, Tuning::default()))),
            names,
        }
    }

    /// One more VM, which wants to join this access point.
    pub fn guest(&mut self, ap: usize) -> usize {
        let wish = self.names[ap].clone();
        self.guest_with(wish)
    }

    /// What a VM must know to join this access point.
    pub fn wish(&self, ap: usize) -> Wish {
        self.names[ap].clone()
    }

    /// One more VM, which wants this.
    pub fn guest_with(&mut self, wish: Wish) -> usize {
        let number = self.guests.len();
        let mut guest = Guest::new(number, wish);
        let (world, id) = (Arc::clone(&self.world), guest.id);
        let ask = move |request| lock(&world).ask(id, request);
        guest.driver.set_radio(Some(Box::new(ask)));
        self.guests.push(guest);
        number
    }

    /// Turns cards on and authenticates and associates these VMs, all at the same time.
    pub fn associate(&mut self, guests: &[usize]) {
        for &number in guests {
            self.guests[number].begin();
        }
        self.ask(guests, FrameKind::AUTHENTICATION, Guest::ask_authentication);
        self.ask(
            guests,
            FrameKind::ASSOCIATION_RESPONSE,
            Guest::ask_association,
        );
        for &number in guests {
            self.guests[number].finish();
        }
    }

    /// Up to three times, 20 ms apart: less than any message of a handshake takes to be repeated.
    fn ask(&mut self, guests: &[usize], kind: FrameKind, ask: impl Fn(&mut Guest)) {
        for _ in 0..3 {
            for &number in guests {
                if self.guests[number].answer(kind).is_none() {
                    ask(&mut self.guests[number]);
                }
            }
            self.advance(Micros::from_millis(20));
        }
        for &number in guests {
            let answered = self.guests[number].answer(kind).is_some();
            assert!(answered, "VM {number} gets no answer {kind:?}");
        }
    }

    /// Joins, with keys where the network has any, and gets an address.
    pub fn join(&mut self, guests: &[usize]) {
        self.associate(guests);
        let all = guests.to_vec();
        self.run_until("all have keys", Micros::from_millis(3_000), move |cell| {
            let done = |g: &Guest| g.supplicant.is_none() || g.is_keyed();
            all.iter().all(|&number| done(&cell.guests[number]))
        });
        let now = self.now();
        for &number in guests {
            self.guests[number].start_host(now);
        }
        let all = guests.to_vec();
        self.run_until("all have addresses", Micros::from_millis(30_000), |cell| {
            all.iter().all(|&number| cell.ip(number).is_some())
        });
    }

    /// The IP address of a VM, once it has one.
    pub fn ip(&self, number: usize) -> Option<Ipv4Addr> {
        let host = self.guests[number].host.as_ref()?;
        Some(host.address?.0)
    }

    /// Sends this many echo requests, 20 ms apart, and gives the sequence numbers that came back.
    pub fn ping(&mut self, number: usize, to: Ipv4Addr, count: u16, length: usize) -> Vec<u16> {
        let host = |cell: &mut Self| cell.guests[number].host.take().expect("a host");
        let mut own = host(self);
        own.replies.clear();
        self.guests[number].host = Some(own);
        for sequence in 0..count {
            let host = self.guests[number].host.as_mut().expect("a host");
            host.ping(to, sequence, length);
            self.guests[number].due = Some(self.now() + Micros(1));
            self.advance(Micros::from_millis(20));
        }
        self.advance(Micros::from_millis(100));
        let replies = &self.guests[number].host.as_ref().expect("a host").replies;
        assert!(replies.iter().all(|(from, _)| *from == to));
        replies.iter().map(|(_, sequence)| *sequence).collect()
    }

    /// Has the gateway of an access point send so many frames to a VM, 5 ms apart, and waits for what becomes of them.
    pub fn probe(&mut self, ap: usize, number: usize, kind: ProbeKind, count: u16) {
        let probe = Probe {
            station: self.guests[number].address,
            kind,
            count,
            interval: Micros::from_millis(5),
        };
        let now = self.now();
        self.world().radio.built_ins_mut().probe(now, ap, probe);
        self.advance(Micros::from_millis(u64::from(count) * 5 + 200));
    }

    /// What became of the gateway's echo requests to a VM.
    pub fn echoes(&self, ap: usize, number: usize) -> Option<Echoes> {
        let world = self.world();
        let served = world.radio.built_ins().iter().nth(ap)?;
        let own = |(station, echoes)| (station == self.guests[number].address).then_some(echoes);
        served.gateway.echoes().find_map(own)
    }

    /// What became of an access point's data frames to a VM.
    pub fn delivered(&self, ap: usize, number: usize) -> Delivered {
        let world = self.world();
        let served = world.radio.built_ins().iter().nth(ap);
        let own = |(station, count)| (station == self.guests[number].address).then_some(count);
        let mut all = served.expect("an access point").deliveries.iter();
        all.find_map(own).unwrap_or_default()
    }

    /// The counters of an access point.
    pub fn counters(&self, ap: usize) -> airlane_ap::Counters {
        let world = self.world();
        let served = world.radio.built_ins().iter().nth(ap);
        *served.expect("an access point").bss.counters()
    }

    /// The stations that have joined an access point, as it sees them.
    pub fn joined(&self, ap: usize) -> Vec<MacAddr> {
        let world = self.world();
        let served = world.radio.built_ins().iter().nth(ap);
        let bss = &served.expect("an access point").bss;
        let mut joined: Vec<_> = bss.joined().map(|(address, _)| address).collect();
        joined.sort();
        joined
    }
}

impl Drive for Cell {
    fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }

    fn turn(&mut self) {
        let now = self.now();
        self.world().step();
        for guest in &mut self.guests {
            let events = lock(&self.world).take_for_vm(guest.id);
            guest.driver.events(events);
            guest.step(now);
            guest.driver.run();
            guest.step(now);
        }
    }

    fn due(&self) -> Option<Instant> {
        self.guests.iter().filter_map(|guest| guest.due).min()
    }
}

fn air(seed: u64) -> AirConfig {
    AirConfig {
        seed,
        ..AirConfig::default()
    }
}

fn card(name: &str) -> RadioConfig {
    RadioConfig {
        name: name.to_owned(),
        position: Position::default(),
        tx_power: Dbm(15.0),
    }
}

fn built_in(number: usize, passphrase: Option<&str>) -> BuiltIn {
    let bssid = MacAddr([2, 0xb, 0, 0, 0, number as u8 + 1]);
    let mut bss = Config::new(bssid, &format!("cell-{number}"), channel(36));
    bss.first_beacon = Instant(1_000 + 7_000 * number as u64);
    bss.seed = number as u64;
    if let Some(passphrase) = passphrase {
        bss = bss.wpa2(passphrase);
    }
    BuiltIn {
        name: format!("ap{number}"),
        network: Network {
            hardware: bssid,
            address: gateway(number),
            prefix: 24,
            known: BTreeMap::new(),
            answers: true,
            name_servers: Vec::new(),
            host_names: Default::default(),
            captive_portal: None,
        },
        bss,
        has_uplink: false,
        position: Position {
            x: 1.0,
            y: 0.0,
            z: 0.0,
        },
        tx_power: Dbm(15.0),
    }
}

fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().expect("one thread")
}
