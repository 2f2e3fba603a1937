//! What is answered: the daemon's facts under the names that people gave.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_dot11::{Channel, MacAddr, Rate};
use airlane_lane::Instant;
use airlane_waist::TxStatus;
use serde::{Deserialize, Serialize};

use airlane_daemon::journal::{Kind, VmEvent};
use airlane_daemon::{CardStatus, DaemonStatus, RadioStatus, VmacStatus};

/// Names of what the daemon knows by number and address.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The scenario that is run.
    pub run: String,
    /// By the daemon's numbers.
    pub vms: Vec<KnownVm>,
    /// Networks by BSSID.
    pub networks: BTreeMap<MacAddr, String>,
}

/// What the scenario says of a VM.
#[derive(Clone, Debug)]
pub struct KnownVm {
    /// Its name.
    pub name: String,
    /// The model of its card.
    pub model: String,
    /// The address that its card has at first.
    pub address: MacAddr,
    /// Its card's name, where there are several cards.
    pub card_name: Option<String>,
}

/// How things stand.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Show {
    /// The scenario that is run.
    pub run: String,
    /// Seconds since it began.
    pub seconds: f64,
    /// The only card's radio; where there are several cards, what is counted of all together.
    pub radio: Radio,
    /// The radio of each of several cards, in the scenario's order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub radios: Vec<CardRadio>,
    /// All VMs, in the scenario's order.
    pub vms: Vec<Vm>,
}

/// The radio of one of several cards.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct CardRadio {
    /// The card's name.
    pub card_name: String,
    /// As of the only one; its counters are those of its host driver and NIC.
    #[serde(flatten)]
    pub radio: Radio,
}

/// What a card's radio is tuned to, and what it has counted.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Radio {
    /// The channel that it is tuned to now, such as `36` or `36+` (40 MHz, upwards).
    pub channel: Option<String>,
    /// How its time is divided among the channels of its VMs' networks, by channel.
    #[serde(default)]
    pub channels: BTreeMap<String, BTreeMap<String, u64>>,
    /// Counters of air, host driver and NIC.
    pub counters: BTreeMap<String, u64>,
}

/// One VM, as its card and the radio see it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Vm {
    /// Its name.
    pub name: String,
    /// The model of its card.
    pub card: String,
    /// The name of its card, where there are several cards.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub card_name: Option<String>,
    /// The virtual MAC's address.
    pub mac: String,
    /// `off` (no driver), `idle` (driver up), `joining`, `ibss` or `associated`.
    pub state: String,
    /// Its network, where the scenario names it.
    pub ssid: Option<String>,
    /// Its access point.
    pub bssid: Option<String>,
    /// Its channel.
    pub channel: Option<String>,
    /// The channel's centre, MHz.
    pub frequency: Option<u32>,
    /// Signal of the last frame from the access point, dBm.
    pub signal_dbm: Option<f32>,
    /// First rate of the last frame sent, Mb/s.
    pub tx_mbps: Option<f64>,
    /// Rate of the last frame from the access point, Mb/s.
    pub rx_mbps: Option<f64>,
    /// Counters of its virtual MAC.
    pub counters: BTreeMap<String, u64>,
    /// Counters of its card and transport.
    pub card_counters: BTreeMap<String, u64>,
}

/// Something that happened.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Event {
    /// Time of day, seconds since the Unix epoch.
    pub time: f64,
    /// Seconds since the run began.
    pub seconds: f64,
    /// To this VM.
    pub vm: String,
    /// `started`, `stopped`, `refused`, `associated`, `roamed`, `disassociated`, `scan-started`, `scan-ended`,
    /// `beacons-missed`, `channel-switched`, `address-refused` or `dropped`.
    pub event: String,
    /// The network, where the scenario names it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ssid: Option<String>,
    /// The access point.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bssid: Option<String>,
    /// The access point that was left (roamed).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<String>,
    /// The channel.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub channel: Option<String>,
    /// The MAC address that the VM may not have (address-refused).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<String>,
    /// How many: channels of a scan, beacons in a row, frames dropped, times refused.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub count: Option<u64>,
    /// Why frames were dropped, an address or a VM was refused, or that a scan was aborted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

impl Names {
    /// The address of the VM of this name.
    pub fn address(&self, vm: &str) -> Option<MacAddr> {
        let known = self.vms.iter().find(|known| known.name == vm);
        known.map(|known| known.address)
    }

    /// All VMs' names.
    pub fn vm_names(&self) -> Vec<String> {
        self.vms.iter().map(|vm| vm.name.clone()).collect()
    }

    /// How things stand, by name.
    pub fn show(&self, status: &DaemonStatus) -> Show {
        let numbered = self.vms.iter().enumerate();
        let (radio, radios) = radios(&status.radio);
        Show {
            run: self.run.clone(),
            seconds: seconds(status.radio.at),
            radio,
            radios,
            vms: numbered
                .map(|(index, vm)| self.vm(index, vm, status))
                .collect(),
        }
    }

    fn vm(&self, index: usize, known: &KnownVm, status: &DaemonStatus) -> Vm {
        let vmac = status.radio.vmacs.get(&index);
        let there = vmac.cloned().unwrap_or_default();
        Vm {
            name: known.name.clone(),
            card: known.model.clone(),
            card_name: known.card_name.clone(),
            mac: there.address.unwrap_or(known.address).to_string(),
            state: state(vmac).to_owned(),
            ssid: there.bssid.and_then(|bssid| self.ssid(bssid)),
            bssid: there.bssid.map(|bssid| bssid.to_string()),
            channel: there.channel.map(channel_name),
            frequency: there.channel.map(Channel::frequency),
            signal_dbm: there.link.signal.map(|signal| signal.0),
            tx_mbps: there.link.tx_rate.map(mbps),
            rx_mbps: there.link.rx_rate.map(mbps),
            counters: there.counters,
            card_counters: status.cards.get(index).cloned().unwrap_or_default(),
        }
    }

    fn ssid(&self, bssid: MacAddr) -> Option<String> {
        self.networks.get(&bssid).cloned()
    }

    /// What happened, by name. `epoch` is the time of day when the run's clock read zero.
    pub fn event(&self, happened: &VmEvent, epoch: Duration) -> Event {
        let vm = self.vms.get(happened.lane.index());
        let event = Event {
            time: epoch.as_secs_f64() + seconds(happened.at),
            seconds: seconds(happened.at),
            vm: vm.map_or_else(|| happened.lane.to_string(), |known| known.name.clone()),
            ..Event::default()
        };
        self.describe(event, happened.kind)
    }

    fn describe(&self, event: Event, kind: Kind) -> Event {
        let named = |name: &str| Event {
            event: name.to_owned(),
            ..event.clone()
        };
        match kind {
            Kind::Started => named("started"),
            Kind::Stopped => named("stopped"),
            Kind::Refused { times } => Event {
                count: Some(times),
                reason: Some("all VM-IDs of its card are given out".to_owned()),
                ..named("refused")
            },
            Kind::Associated {
                bssid,
                channel,
                previous,
            } => self.association(&event, bssid, channel, previous),
            Kind::Disassociated { bssid } => Event {
                ssid: self.ssid(bssid),
                bssid: Some(bssid.to_string()),
                ..named("disassociated")
            },
            Kind::ScanStarted => named("scan-started"),
            Kind::ScanEnded { channels, aborted } => Event {
                count: Some(channels.into()),
                reason: aborted.then(|| "aborted".to_owned()),
                ..named("scan-ended")
            },
            Kind::BeaconsMissed { consecutive } => Event {
                count: Some(consecutive.into()),
                ..named("beacons-missed")
            },
            Kind::ChannelSwitched { channel } => Event {
                channel: Some(channel_name(channel)),
                ..named("channel-switched")
            },
            Kind::AddressRefused {
                address,
                why,
                times,
            } => Event {
                address: Some(address.to_string()),
                count: Some(times),
                reason: Some(why.to_string()),
                ..named("address-refused")
            },
            Kind::Dropped { status, frames } => Event {
                count: Some(frames),
                reason: Some(drop_reason(status).to_owned()),
                ..named("dropped")
            },
        }
    }

    /// Another access point of the same network, a moment later: it has roamed.
    fn association(
        &self,
        event: &Event,
        bssid: MacAddr,
        channel: Channel,
        previous: Option<MacAddr>,
    ) -> Event {
        let ssid = self.ssid(bssid);
        let from = previous.filter(|&left| ssid.is_some() && self.ssid(left) == ssid);
        let name = from.map_or("associated", |_| "roamed");
        Event {
            event: name.to_owned(),
            ssid,
            bssid: Some(bssid.to_string()),
            from: from.map(|left| left.to_string()),
            channel: Some(channel_name(channel)),
            ..event.clone()
        }
    }
}

fn state(vmac: Option<&VmacStatus>) -> &'static str {
    match vmac {
        None => "off",
        Some(vmac) if vmac.associated => "associated",
        Some(vmac) if vmac.ibss && vmac.bssid.is_some() => "ibss",
        Some(vmac) if vmac.bssid.is_some() => "joining",
        Some(_) => "idle",
    }
}

fn drop_reason(status: TxStatus) -> &'static str {
    match status {
        TxStatus::Refused => "not its own address or association",
        TxStatus::UnknownStation => "unknown station",
        TxStatus::Malformed => "malformed",
        TxStatus::Success | TxStatus::NoAck | TxStatus::Flushed => "sent",
    }
}

/// The only card's radio with all counters; or all counters, and the radio of each of several cards. What a card is
/// tuned to, and how it divides its time, is its own: there is no sum of it.
fn radios(status: &RadioStatus) -> (Radio, Vec<CardRadio>) {
    let counters = status.counters.clone();
    if let [only] = &status.cards[..] {
        let radio = Radio {
            counters,
            ..radio(only)
        };
        return (radio, Vec::new());
    }
    let all = Radio {
        counters,
        ..Radio::default()
    };
    let cards = status.cards.iter().map(|card| CardRadio {
        card_name: card.name.clone(),
        radio: radio(card),
    });
    (all, cards.collect())
}

fn radio(card: &CardStatus) -> Radio {
    Radio {
        channel: card.channel.map(channel_name),
        channels: by_channel(card),
        counters: card.counters.clone(),
    }
}

/// What is known of each channel that the networks of a card's VMs have used, by the channel's name.
pub fn by_channel(card: &CardStatus) -> BTreeMap<String, BTreeMap<String, u64>> {
    let channels = card.channels.iter();
    channels
        .map(|(channel, facts)| (channel_name(*channel), facts.clone()))
        .collect()
}

/// The number alone, with the side on which a 40 MHz channel goes on.
fn channel_name(channel: Channel) -> String {
    let text = channel.to_string();
    text.split_once(' ')
        .map_or(text.clone(), |(name, _)| name.to_owned())
}

fn mbps(rate: Rate) -> f64 {
    f64::from(rate.hundred_kbps()) / 10.0
}

fn seconds(at: Instant) -> f64 {
    at.0 as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_daemon::journal::AddressRefusal;
    use airlane_dot11::Band;
    use airlane_lane::LaneId;
    use serde_json::json;

    const CORP: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 1, 1]), MacAddr([2, 0, 0, 0, 1, 2])];
    const HOME: MacAddr = MacAddr([2, 0, 0, 0, 1, 3]);

    fn names() -> Names {
        let corp = CORP.map(|bssid| (bssid, "corp".to_owned()));
        let home = (HOME, "home".to_owned());
        Names {
            run: "two".to_owned(),
            vms: vec![KnownVm {
                name: "it".to_owned(),
                model: "5300".to_owned(),
                address: MacAddr([2; 6]),
                card_name: None,
            }],
            networks: corp.into_iter().chain([home]).collect(),
        }
    }

    fn told(bssid: MacAddr, previous: Option<MacAddr>) -> Event {
        let happened = VmEvent {
            at: Instant(1_500_000),
            lane: LaneId::new(0),
            kind: Kind::Associated {
                bssid,
                channel: Channel::new(Band::Ghz5, 36).unwrap(),
                previous,
            },
        };
        names().event(&happened, Duration::from_secs(100))
    }

    #[test]
    fn another_access_point_of_the_same_network_is_a_roam() {
        let event = told(CORP[1], Some(CORP[0]));
        assert_eq!((event.event.as_str(), event.vm.as_str()), ("roamed", "it"));
        assert_eq!(event.from, Some(CORP[0].to_string()));
        assert_eq!((event.time, event.seconds), (101.5, 1.5));
    }

    #[test]
    fn a_refused_address_is_told_with_the_key_that_allows_it() {
        let happened = VmEvent {
            at: Instant(0),
            lane: LaneId::new(0),
            kind: Kind::AddressRefused {
                address: HOME,
                why: AddressRefusal::Fixed,
                times: 4,
            },
        };
        let event = names().event(&happened, Duration::ZERO);
        assert_eq!(event.event, "address-refused");
        assert_eq!(
            (event.address, event.count),
            (Some(HOME.to_string()), Some(4))
        );
        assert!(event.reason.unwrap().contains("change_mac = false"));
    }

    #[test]
    fn another_network_is_none() {
        let event = told(HOME, Some(CORP[0]));
        assert_eq!((event.event.as_str(), event.from), ("associated", None));
        assert_eq!(event.ssid.as_deref(), Some("home"));
    }

    #[test]
    fn a_vm_without_a_driver_is_off_and_keeps_its_assigned_address() {
        let show = names().show(&DaemonStatus::default());
        assert_eq!(show.vms.len(), 1);
        assert_eq!(show.vms[0].state, "off");
        assert_eq!(show.vms[0].mac, MacAddr([2; 6]).to_string());
    }

    fn card(name: &str, number: u16) -> CardStatus {
        let channel = Channel::new(Band::Ghz5, number).unwrap();
        CardStatus {
            name: name.to_owned(),
            channel: Some(channel),
            channels: vec![(channel, [("visits".to_owned(), 3)].into())],
            counters: [("nic_heard".to_owned(), 7)].into(),
        }
    }

    fn status(cards: Vec<CardStatus>) -> DaemonStatus {
        let counters = [("nic_heard".to_owned(), 14)];
        DaemonStatus {
            radio: RadioStatus {
                cards,
                counters: counters.into(),
                ..RadioStatus::default()
            },
            ..DaemonStatus::default()
        }
    }

    #[test]
    fn the_only_card_s_radio_has_no_name() {
        let show = names().show(&status(vec![card("card", 36)]));
        let json = serde_json::to_value(show).unwrap();
        let expected = json!({
            "channel": "36",
            "channels": {"36": {"visits": 3}},
            "counters": {"nic_heard": 14},
        });
        assert_eq!(json["radio"], expected);
        assert_eq!(json.get("radios"), None);
    }

    #[test]
    fn each_of_several_cards_has_a_radio_of_its_own() {
        let show = names().show(&status(vec![card("attic", 36), card("cellar", 36)]));
        let json = serde_json::to_value(&show).unwrap();
        let expected = json!({"channel": null, "channels": {}, "counters": {"nic_heard": 14}});
        assert_eq!(json["radio"], expected);
        let expected = json!({
            "card_name": "cellar",
            "channel": "36",
            "channels": {"36": {"visits": 3}},
            "counters": {"nic_heard": 7},
        });
        assert_eq!(json["radios"][1], expected);
        let again: Show = serde_json::from_value(json).unwrap();
        assert_eq!(again.radios.len(), 2, "who asks can read it");
    }

    #[test]
    fn absent_facts_are_left_out_of_an_event() {
        let text = serde_json::to_string(&told(HOME, None)).unwrap();
        assert!(!text.contains("reason") && !text.contains("null"), "{text}");
    }
}
