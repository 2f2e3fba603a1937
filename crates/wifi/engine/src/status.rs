//! How things stand behind the lanes, as reports and live tables show it.

use std::collections::{BTreeMap, BTreeSet};

use airlane_dot11::{Channel, MacAddr};
use airlane_lane::{Instant, LaneId, Micros};
use airlane_waist::Mode;

use airlane_ap::gateway::Echoes;

use super::built_in::Served;
use super::card::Card;
use super::counters as named;
use super::deliveries::Delivered;
use super::journal::Link;
use super::wifi::Wifi;

/// One VM's vMAC, as the NIC sees it.
#[derive(Clone, Debug, Default)]
pub struct VmacStatus {
    /// Its address, once the driver has set one.
    pub address: Option<MacAddr>,
    /// Its BSS, once it has chosen one.
    pub bssid: Option<MacAddr>,
    /// Its channel.
    pub channel: Option<Channel>,
    /// Associated to that BSS; never so in an IBSS, which nobody admits it to.
    pub associated: bool,
    /// That BSS is an IBSS.
    pub ibss: bool,
    /// What its link is like.
    pub link: Link,
    /// Counters, by name.
    pub counters: BTreeMap<String, u64>,
}

/// One built-in access point.
#[derive(Clone, Debug, Default)]
pub struct BuiltInStatus {
    /// Its name.
    pub name: String,
    /// Stations that have joined.
    pub joined: Vec<MacAddr>,
    /// Stations that have tried another passphrase.
    pub wrong_keys: Vec<MacAddr>,
    /// What became of the last echo requests that its gateway has sent to each station.
    pub echoes: BTreeMap<MacAddr, Echoes>,
}

/// One card's radio.
#[derive(Clone, Debug, Default)]
pub struct CardStatus {
    /// Its name.
    pub name: String,
    /// Where it is tuned to.
    pub channel: Option<Channel>,
    /// How its time is divided: what is known of each channel that its VMs' networks have used, by name.
    pub channels: Vec<(Channel, BTreeMap<String, u64>)>,
    /// Counters of its NIC and host driver, by name.
    pub counters: BTreeMap<String, u64>,
}

/// The engine as a whole.
#[derive(Clone, Debug, Default)]
pub struct RadioStatus {
    /// When this was taken.
    pub at: Instant,
    /// The cards, by number.
    pub cards: Vec<CardStatus>,
    /// The numbers of the lanes to which VMs are attached, whether their drivers run or not.
    pub attached: BTreeSet<usize>,
    /// vMACs by the number of their lane, those that exist.
    pub vmacs: BTreeMap<usize, VmacStatus>,
    /// The built-in access points.
    pub built_ins: Vec<BuiltInStatus>,
    /// What became of the access points' data frames, by station.
    pub deliveries: BTreeMap<MacAddr, Delivered>,
    /// Counters of air, host drivers, NICs and built-in access points, by name; those of all cards together.
    pub counters: BTreeMap<String, u64>,
}

impl RadioStatus {
    /// The status of `wifi`. `lag`: how much later than due it was run, at most; `lanes`: what is counted
    /// of each lane outside of it.
    pub fn of(
        wifi: &Wifi,
        at: Instant,
        lag: Micros,
        lanes: impl Iterator<Item = (LaneId, [(&'static str, u64); 3])>,
    ) -> Self {
        let mut vmacs: BTreeMap<usize, VmacStatus> = wifi
            .cards()
            .iter()
            .flat_map(|card| vmacs_of(wifi, card))
            .collect();
        for (lane, counts) in lanes {
            if let Some(vmac) = vmacs.get_mut(&lane.index()) {
                let counts = counts.map(|(name, count)| (name.to_owned(), count));
                vmac.counters.extend(counts);
            }
        }
        Self {
            at,
            cards: wifi
                .cards()
                .iter()
                .map(|card| self::card(card, at))
                .collect(),
            attached: wifi.attached().collect(),
            vmacs,
            built_ins: wifi.built_ins().iter().map(built_in).collect(),
            deliveries: deliveries(wifi),
            counters: counters(wifi, at, lag),
        }
    }
}

/// Of all access points, whoever runs them.
fn deliveries(wifi: &Wifi) -> BTreeMap<MacAddr, Delivered> {
    let mut all: BTreeMap<MacAddr, Delivered> = BTreeMap::new();
    let built_ins = wifi.built_ins().iter();
    let built_ins = built_ins.flat_map(|served| served.deliveries.iter());
    for (station, delivered) in wifi.access_points().deliveries().iter().chain(built_ins) {
        all.entry(station).or_default().add(delivered);
    }
    all
}

fn counters(wifi: &Wifi, at: Instant, lag: Micros) -> BTreeMap<String, u64> {
    let mut counters = BTreeMap::new();
    counters.insert("radio_lag_max_us".to_owned(), lag.0);
    add(&mut counters, "air", named::air(wifi.air().counters()));
    for card in wifi.cards() {
        add_card(&mut counters, card, at);
    }
    let hwsim = named::access_points(&wifi.access_points().counters());
    add(&mut counters, "hwsim", hwsim);
    for served in wifi.built_ins().iter() {
        let prefix = format!("ap_{}", served.name);
        add(&mut counters, &prefix, named::built_in(served));
    }
    counters
}

fn add_card(counters: &mut BTreeMap<String, u64>, card: &Card, at: Instant) {
    add(counters, "nic", named::nic(&card.nic().counters()));
    add(counters, "nic", named::awake(&card.nic().awake_time(at)));
    add(counters, "host", named::host(&card.host().counters()));
}

fn add(counters: &mut BTreeMap<String, u64>, prefix: &str, named: named::Named) {
    for (name, value) in named {
        *counters.entry(format!("{prefix}_{name}")).or_default() += value;
    }
}

fn card(card: &Card, at: Instant) -> CardStatus {
    let homes = card.nic().contexts(at);
    let mut counters = BTreeMap::new();
    add_card(&mut counters, card, at);
    CardStatus {
        counters,
        name: card.name().to_owned(),
        channel: card.nic().channel(),
        channels: homes
            .map(|home| (home.channel, named::home(&home)))
            .collect(),
    }
}

fn vmacs_of(wifi: &Wifi, card: &Card) -> impl Iterator<Item = (usize, VmacStatus)> {
    card.nic().vmacs().filter_map(|view| {
        let lane = card.lane(view.vm)?;
        let mut counters = view.counters;
        counters.add(&wifi.counted_before(lane));
        let status = VmacStatus {
            address: Some(view.address).filter(|address| address.is_station()),
            bssid: Some(view.bssid).filter(|bssid| bssid.is_station()),
            channel: view.channel,
            associated: view.associated && view.mode == Mode::Station,
            ibss: view.mode == Mode::Adhoc,
            link: wifi.journal().link(lane),
            counters: named::vmac(&counters),
        };
        Some((lane.index(), status))
    })
}

fn built_in(served: &Served) -> BuiltInStatus {
    BuiltInStatus {
        name: served.name.clone(),
        joined: served.bss.joined().map(|(station, _)| station).collect(),
        wrong_keys: served.wrong_keys.iter().copied().collect(),
        echoes: served.gateway.echoes().collect(),
    }
}
