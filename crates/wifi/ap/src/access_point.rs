//! One BSS as a state machine: what its radio heard goes in, what its radio is to send comes out.
//! Its parts build on each other, none on a later one: `sending`, `membership`, `keying`, `joining`,
//! `receiving`; `progress` has what time brings.

use std::collections::{BTreeMap, VecDeque};

use airlane_dot11::{AccessCategory, Buffer, BufferPool, MacAddr, Rate, RateTable, frame::Header};
use airlane_lane::Instant;
use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};

use crate::config::{Config, Security};
use crate::counters::{Counters, Drop};
use crate::keys::Group;
use crate::management::Reason;
use crate::msdu::Msdu;
use crate::station::Stations;

/// Frames in use at a time without a new allocation.
const BUFFERS: usize = 256;

/// What the radio is to do.
#[derive(Clone, Debug)]
pub enum Order {
    /// Send this. Its end comes back through [`AccessPoint::sent`].
    Transmit(Outgoing),
    /// Drop what waits for this station; each frame comes back as [`Sent::Cancelled`].
    Recall(MacAddr),
}

/// A frame to send.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Comes back, unread.
    pub token: u64,
    /// Without FCS; encrypted if it is to be.
    pub frame: Buffer,
    /// Address of a station, or of a group.
    pub receiver: MacAddr,
    /// The queue of the radio in which it waits for the medium.
    pub category: AccessCategory,
    /// One attempt each.
    pub rates: RateTable,
}

/// How a frame ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Acknowledged, after this many attempts; of a group frame: sent.
    Through(u8),
    /// Given up after this many attempts.
    Lost(u8),
    /// Taken back by the access point before it was sent.
    Cancelled,
}

/// What people want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A station has all its keys, or needs none.
    Joined(MacAddr),
    /// A station that had joined is gone.
    Left(MacAddr, Reason),
    /// A station does not know the passphrase.
    WrongKey(MacAddr),
}

/// What the medium has of us.
pub(crate) enum OnAir {
    /// A management frame or a null frame: nobody misses it.
    Passing,
    /// Whether a silent station is still there.
    Probe(MacAddr),
    /// Data for a station.
    Data(MacAddr, Msdu),
    /// Data for all.
    Group,
}

/// An access point with its stations.
pub struct AccessPoint {
    pub(crate) config: Config,
    pub(crate) stations: Stations,
    pub(crate) rng: StdRng,
    /// The group key in use, in a protected BSS.
    pub(crate) group: Option<Group>,
    /// The next one, while stations are told.
    pub(crate) next_group: Option<Group>,
    pub(crate) next_rekey: Option<Instant>,
    /// Group frames, as Ethernet frames, that wait for the next DTIM beacon.
    pub(crate) group_waiting: VecDeque<Buffer>,
    pub(crate) next_beacon: Instant,
    pub(crate) beacons_to_dtim: u8,
    /// Of management, null and group frames.
    pub(crate) sequence: u16,
    pub(crate) next_token: u64,
    pub(crate) on_air: BTreeMap<u64, OnAir>,
    pub(crate) orders: VecDeque<Order>,
    pub(crate) uplink: VecDeque<Buffer>,
    pub(crate) events: VecDeque<Event>,
    pub(crate) pool: BufferPool,
    /// The frame that is being decrypted.
    pub(crate) scratch: Vec<u8>,
    pub(crate) counters: Counters,
}

impl AccessPoint {
    /// One that has not beaconed yet.
    pub fn new(config: Config) -> Self {
        let mut rng = StdRng::seed_from_u64(config.seed);
        let protected = matches!(config.security, Security::Wpa2Psk(_));
        let group_rekey = config.group_rekey.filter(|_| protected);
        let group = protected.then(|| Group::new(1, random(&mut rng)));
        Self {
            stations: Stations::default(),
            group,
            next_group: None,
            next_rekey: group_rekey.map(|span| Instant(0) + span),
            group_waiting: VecDeque::new(),
            next_beacon: config.first_beacon,
            beacons_to_dtim: 0,
            sequence: 0,
            next_token: 0,
            on_air: BTreeMap::new(),
            orders: VecDeque::new(),
            uplink: VecDeque::new(),
            events: VecDeque::new(),
            pool: BufferPool::new(BUFFERS),
            scratch: Vec::new(),
            counters: Counters::default(),
            rng,
            config,
        }
    }

    /// What its radio is to do next.
    pub fn next_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// The next frame of a station for the uplink, as an Ethernet frame.
    pub fn next_for_uplink(&mut self) -> Option<Buffer> {
        self.uplink.pop_front()
    }

    /// What has happened since.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// What it is.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Totals so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Stations that have all their keys, or need none, and the rate at which each is sent to.
    pub fn joined(&self) -> impl Iterator<Item = (MacAddr, Rate)> {
        let stations = self.stations.iter().filter(|s| s.is_authorized());
        stations.map(|station| (station.address, station.rate.rate()))
    }

    /// True for a frame that [`Order::Recall`] of this station means.
    pub fn is_for(&self, token: u64, station: MacAddr) -> bool {
        match self.on_air.get(&token) {
            Some(OnAir::Data(to, _) | OnAir::Probe(to)) => *to == station,
            Some(OnAir::Passing | OnAir::Group) | None => false,
        }
    }

    /// Frames that wait or that the medium has.
    pub fn pending(&self) -> usize {
        let waiting = self.stations.iter().map(|station| station.waiting.len());
        waiting.sum::<usize>() + self.group_waiting.len() + self.on_air.len()
    }

    /// The header of a frame, if it is whole.
    pub(crate) fn parse(&mut self, frame: &[u8]) -> Option<Header> {
        let header = Header::parse(frame).ok();
        if header.is_none() {
            self.counters.drop(Drop::Malformed);
        }
        header
    }
}

/// As many random bytes.
pub(crate) fn random<const N: usize>(rng: &mut StdRng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill_bytes(&mut bytes);
    bytes
}
