//! The built-in access points as stations of our air, each with its gateway: what they order is
//! transmitted, what they hear is delivered. No I/O, no clock.
//!
//! What their stations send to elsewhere ends here, unless the access point has an uplink; then it
//! waits to be taken ([`BuiltIns::next_for_uplink`]).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use airlane_air::{
    Air, AirEvent, Ended, Heard, Outcome, Position, RadioConfig, RadioId, Transmission,
};
use airlane_ap::gateway::{Gateway, Network, Probe, Taken};
use airlane_ap::{AccessPoint, Config, Event, Order, Outgoing, Sent};
use airlane_dot11::frame::Header;
use airlane_dot11::{Buffer, Dbm, MacAddr};
use airlane_lane::Instant;

use super::deliveries::Deliveries;
use super::hwsim_frame::access_point_edca;

/// Frames that may wait for an uplink; more are dropped and counted.
const MAX_FOR_UPLINK: usize = 1_024;

/// One built-in access point.
#[derive(Clone)]
pub struct BuiltIn {
    /// Its name, for reports.
    pub name: String,
    /// The BSS.
    pub bss: Config,
    /// What stands at its address.
    pub network: Network,
    /// Frames for elsewhere go to an uplink; otherwise they end here.
    pub has_uplink: bool,
    /// Where it stands.
    pub position: Position,
    /// Its transmit power.
    pub tx_power: Dbm,
}

/// An access point while it runs.
pub struct Served {
    /// Its name.
    pub name: String,
    /// The BSS.
    pub bss: AccessPoint,
    /// What stands at its address.
    pub gateway: Gateway,
    /// Who has tried another passphrase.
    pub wrong_keys: BTreeSet<MacAddr>,
    /// Frames of stations to elsewhere that went no further.
    pub unrouted: u64,
    /// What became of its data frames, by station.
    pub deliveries: Deliveries,
    /// Data frames on their way: to whom, and of how many bytes.
    on_air: BTreeMap<u64, (MacAddr, usize)>,
    radio: RadioId,
    has_uplink: bool,
}

/// Stations whose wrong passphrase is remembered: a flood of strangers must not fill our memory.
const MAX_WRONG_KEYS: usize = 256;

/// All built-in access points of a run.
#[derive(Default)]
pub struct BuiltIns {
    served: Vec<Served>,
    for_uplinks: VecDeque<(usize, Buffer)>,
}

impl BuiltIns {
    /// Puts one more on the air.
    pub fn add(&mut self, now: Instant, built_in: BuiltIn, air: &mut Air) {
        let radio = air.add_radio(RadioConfig {
            name: built_in.name.clone(),
            position: built_in.position,
            tx_power: built_in.tx_power,
        });
        air.set_addresses(radio, &[built_in.bss.bssid]);
        air.tune(now, radio, Some(built_in.bss.channel));
        self.served.push(Served {
            name: built_in.name,
            bss: AccessPoint::new(built_in.bss),
            gateway: Gateway::new(built_in.network),
            wrong_keys: BTreeSet::new(),
            unrouted: 0,
            deliveries: Deliveries::default(),
            on_air: BTreeMap::new(),
            radio,
            has_uplink: built_in.has_uplink,
        });
    }

    /// Puts one of them elsewhere.
    pub fn place(&mut self, index: usize, position: Position, air: &mut Air) {
        if let Some(served) = self.served.get(index) {
            air.move_radio(served.radio, position);
        }
    }

    /// All of them, for reports.
    pub fn iter(&self) -> impl Iterator<Item = &Served> {
        self.served.iter()
    }

    /// One of them, to ask something of it.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Served> {
        self.served.get_mut(index)
    }

    /// Does what is due, and says when to come back.
    pub fn step(&mut self, now: Instant, air: &mut Air) -> Option<Instant> {
        let served = self.served.iter_mut().enumerate();
        let due = served.map(|(index, served)| {
            served.send_probes(now);
            let due = served.bss.step(now);
            served.pass_on(index, &mut self.for_uplinks);
            served.obey(now, air);
            Instant::earlier(Some(due), served.gateway.probe_due()).unwrap_or(due)
        });
        due.min()
    }

    /// What the air says; `false` when it was not to one of these.
    pub fn air_event(&mut self, now: Instant, event: &AirEvent) -> bool {
        let radio = event.radio();
        let Some(served) = self.served.iter_mut().find(|s| s.radio == radio) else {
            return false;
        };
        match event {
            AirEvent::Received(Heard { frame, .. }) => served.bss.receive(now, frame),
            AirEvent::Sent(Ended {
                token,
                outcome,
                attempts,
                ..
            }) => {
                if let Some((station, bytes)) = served.on_air.remove(token) {
                    served.deliveries.count(station, bytes, *outcome);
                }
                served.bss.sent(now, *token, end(*outcome, *attempts));
            }
            // It has no 802.11n: nothing of its own goes in one.
            AirEvent::Aggregated { .. } => {}
        }
        true
    }

    /// Has the gateway of access point `index` send a series of frames to a station.
    pub fn probe(&mut self, now: Instant, index: usize, probe: Probe) {
        if let Some(served) = self.served.get_mut(index) {
            served.gateway.probe(now, probe);
        }
    }

    /// A frame from the uplink of access point `index`.
    pub fn from_uplink(&mut self, index: usize, ethernet: &[u8]) {
        if let Some(served) = self.served.get_mut(index) {
            served.bss.from_uplink(ethernet);
        }
    }

    /// The next frame for an uplink: of which access point, and the Ethernet frame.
    pub fn next_for_uplink(&mut self) -> Option<(usize, Buffer)> {
        self.for_uplinks.pop_front()
    }
}

impl Served {
    fn send_probes(&mut self, now: Instant) {
        while let Some(frame) = self.gateway.next_probe(now) {
            self.bss.from_uplink(&frame);
        }
    }

    /// Remembers a data frame to a station until its end.
    fn note(&mut self, outgoing: &Outgoing) {
        let header = Header::parse(&outgoing.frame);
        let data = header.is_ok_and(|header| header.has_payload());
        if data && !outgoing.receiver.is_group() {
            let frame = (outgoing.receiver, outgoing.frame.len());
            self.on_air.insert(outgoing.token, frame);
        }
    }

    /// What stations send to elsewhere: to the gateway, else to the uplink.
    fn pass_on(&mut self, index: usize, uplinks: &mut VecDeque<(usize, Buffer)>) {
        while let Some(frame) = self.bss.next_for_uplink() {
            match self.gateway.take(&frame) {
                Taken::Answered(answer) => self.bss.from_uplink(&answer),
                Taken::Silent => {}
                Taken::NotHere if self.has_uplink && uplinks.len() < MAX_FOR_UPLINK => {
                    uplinks.push_back((index, frame));
                }
                Taken::NotHere => self.unrouted += 1,
            }
        }
        while let Some(event) = self.bss.next_event() {
            if let Event::WrongKey(station) = event
                && self.wrong_keys.len() < MAX_WRONG_KEYS
            {
                self.wrong_keys.insert(station);
            }
        }
    }

    fn obey(&mut self, now: Instant, air: &mut Air) {
        while let Some(order) = self.bss.next_order() {
            match order {
                Order::Transmit(outgoing) => {
                    self.note(&outgoing);
                    let channel = self.bss.config().channel;
                    air.transmit(now, self.radio, transmission(outgoing, channel));
                }
                Order::Recall(station) => {
                    let bss = &self.bss;
                    air.cancel(now, self.radio, |token| bss.is_for(token, station));
                }
            }
        }
    }
}

fn transmission(outgoing: Outgoing, channel: airlane_dot11::Channel) -> Transmission {
    let slowest = outgoing.rates.last().copied();
    let slowest = slowest.unwrap_or(airlane_dot11::Rate::OFDM_6);
    Transmission {
        category: outgoing.category,
        edca: access_point_edca(outgoing.category),
        retry_limit: u8::try_from(outgoing.rates.len().saturating_sub(1)).unwrap_or(u8::MAX),
        rates: outgoing.rates,
        acknowledge: !outgoing.receiver.is_group(),
        ..Transmission::new(outgoing.token, outgoing.frame, channel, slowest)
    }
}

fn end(outcome: Outcome, attempts: u8) -> Sent {
    match outcome {
        Outcome::Acknowledged | Outcome::Unacknowledged => Sent::Through(attempts),
        Outcome::NoAck => Sent::Lost(attempts),
        Outcome::Cancelled => Sent::Cancelled,
    }
}
