//! The hwsim radios of access-point VMs as stations of our air: what they send is transmitted, what
//! they hear is delivered, and every frame gets its true transmit status.
//!
//! A radio comes into being with the first message that names it, and goes when its VM does. hwsim
//! does not tell its channel access parameters; the defaults for access points are used
//! (IEEE 802.11-2020 table 9-156 as hostapd sets them).

use std::collections::BTreeMap;

use airlane_air::{
    Aggregation, Air, AirEvent, Ended, Heard, Outcome, Position, RadioConfig, RadioId, Transmission,
};
use airlane_dot11::frame::{FrameControl, Header};
use airlane_dot11::{Channel, Dbm, MacAddr};
use airlane_lane::Instant;
use airlane_waist::hwsim::{FromHwsim, HwsimFrame, ToHwsim, TxInfo};

use super::deliveries::Deliveries;
use super::hwsim_frame::{Tries, beacon_width, category, spent, transmission};

/// Radios that one access-point VM may have.
pub const MAX_RADIOS: usize = 16;

/// Frames of one category that may wait in one radio: more than twice what mac80211_hwsim keeps for their status.
const MAX_QUEUED: usize = 512;

/// Where the radios of one access-point VM stand.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its name, for reports.
    pub name: String,
    /// By hwsim's number of the radio; further radios stand where the last one does.
    pub positions: Vec<Position>,
    /// The BSSIDs of its access points, which no VM may bear, whether this VM is up or not.
    pub bssids: Vec<MacAddr>,
    /// Transmit power of each.
    pub tx_power: Dbm,
}

/// All hwsim radios of all access-point VMs.
pub struct AccessPoints {
    sites: Vec<Site>,
    radios: Vec<HwsimRadio>,
    pending: BTreeMap<u64, Pending>,
    next_token: u64,
    deliveries: Deliveries,
    counters: ApCounters,
}

/// What was refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct ApCounters {
    /// Frames from a VM that names more than [`MAX_RADIOS`] radios.
    pub too_many_radios: u64,
    /// Frames shorter than their own header.
    pub malformed_frames: u64,
    /// Frames that came faster than the air could take them.
    pub queue_full: u64,
}

struct HwsimRadio {
    port: usize,
    /// hwsim's hardware address, which names the radio on the virtqueue.
    hardware: MacAddr,
    id: RadioId,
    /// Each as often as hwsim has added it: a scan adds and removes the interface's own once more.
    addresses: Vec<MacAddr>,
    channel: Option<Channel>,
    /// Its primary channel and width, as its beacons say. hwsim tells the frequency of a frame only.
    operating: Option<Channel>,
}

/// A frame on its way, without its bytes.
struct Pending {
    port: usize,
    radio: MacAddr,
    receiver: MacAddr,
    /// Bytes of a frame that carries data.
    data: Option<usize>,
    cookie: u64,
    flags: u32,
    tx_info: TxInfo,
    tries: Tries,
}

impl AccessPoints {
    /// Access-point VMs at these sites, none connected yet. A site's index is its port.
    pub fn new(sites: Vec<Site>) -> Self {
        Self {
            sites,
            radios: Vec::new(),
            pending: BTreeMap::new(),
            next_token: 0,
            deliveries: Deliveries::default(),
            counters: ApCounters::default(),
        }
    }

    /// The BSSIDs of all sites.
    pub(crate) fn bssids(&self) -> impl Iterator<Item = MacAddr> {
        let sites = self.sites.iter();
        sites.flat_map(|site| site.bssids.iter().copied())
    }

    /// What was refused so far.
    pub fn counters(&self) -> ApCounters {
        self.counters
    }

    /// What became of their data frames, by station.
    pub fn deliveries(&self) -> &Deliveries {
        &self.deliveries
    }

    /// A message of the VM behind `port`. Gives the status of a frame that is not even tried.
    /// `agreed` knows how frames with a header may be aggregated by the agreement that its receiver
    /// has made. hwsim hands over each MPDU by itself and does not tell of agreements; those of our
    /// card's drivers are known, also where management frame protection hides their negotiation.
    pub fn message(
        &mut self,
        now: Instant,
        port: usize,
        message: FromHwsim,
        air: &mut Air,
        agreed: impl Fn(&Header) -> Option<Aggregation>,
    ) -> Option<ToHwsim> {
        match message {
            FromHwsim::Connected => {}
            FromHwsim::Closed => self.close(port, air),
            FromHwsim::AddAddress { radio, address } => {
                self.change_addresses(port, radio, air, |list| list.push(address));
            }
            FromHwsim::RemoveAddress { radio, address } => {
                self.change_addresses(port, radio, air, |list| {
                    let known = list.iter().position(|&known| known == address);
                    known.map(|at| list.swap_remove(at));
                });
            }
            FromHwsim::Frame(frame) => return self.transmit(now, port, frame, air, agreed),
        }
        None
    }

    fn close(&mut self, port: usize, air: &mut Air) {
        self.pending.retain(|_, pending| pending.port != port);
        self.radios.retain(|radio| {
            if radio.port == port {
                air.remove_radio(radio.id);
            }
            radio.port != port
        });
    }

    fn change_addresses(
        &mut self,
        port: usize,
        hardware: MacAddr,
        air: &mut Air,
        change: impl FnOnce(&mut Vec<MacAddr>),
    ) {
        if let Some(radio) = self.radio(port, hardware, air) {
            change(&mut radio.addresses);
            radio.addresses.truncate(MAX_RADIOS);
            air.set_addresses(radio.id, &radio.addresses);
        }
    }

    /// The radio of this name, made when new; `None` when the VM has too many.
    fn radio(&mut self, port: usize, hardware: MacAddr, air: &mut Air) -> Option<&mut HwsimRadio> {
        let same = |radio: &HwsimRadio| radio.port == port && radio.hardware == hardware;
        if let Some(at) = self.radios.iter().position(same) {
            return self.radios.get_mut(at);
        }
        let many = self
            .radios
            .iter()
            .filter(|radio| radio.port == port)
            .count();
        if many >= MAX_RADIOS {
            self.counters.too_many_radios += 1;
            return None;
        }
        let id = air.add_radio(self.sites.get(port)?.radio_config(number(hardware)));
        self.radios.push(HwsimRadio {
            port,
            hardware,
            id,
            addresses: Vec::new(),
            channel: None,
            operating: None,
        });
        self.radios.last_mut()
    }

    /// Puts radio `number` of the VM behind `port` elsewhere, now or when it comes into being.
    pub fn place(&mut self, port: usize, number: usize, position: Position, air: &mut Air) {
        if let Some(site) = self.sites.get_mut(port) {
            site.place(number, position);
        }
        let same =
            |radio: &&HwsimRadio| radio.port == port && self::number(radio.hardware) == number;
        if let Some(radio) = self.radios.iter().find(same) {
            air.move_radio(radio.id, position);
        }
    }

    fn transmit(
        &mut self,
        now: Instant,
        port: usize,
        frame: HwsimFrame,
        air: &mut Air,
        agreed: impl Fn(&Header) -> Option<Aggregation>,
    ) -> Option<ToHwsim> {
        let refused = frame.status(false, Dbm(0.0), &[]);
        let Ok(header) = Header::parse(&frame.frame) else {
            self.counters.malformed_frames += 1;
            return Some(refused);
        };
        let token = self.next_token;
        let Some(radio) = self.radio(port, frame.radio, air) else {
            return Some(refused);
        };
        radio.note_width(&header, &frame);
        let channel = radio.tune(now, frame.channel, air);
        let id = radio.id;
        if air.queued(id, category(&header)) >= MAX_QUEUED {
            self.counters.queue_full += 1;
            return Some(refused);
        }
        self.next_token += 1;
        self.pending.insert(
            token,
            Pending {
                port,
                radio: frame.radio,
                receiver: header.receiver,
                data: header.has_payload().then_some(frame.frame.len()),
                cookie: frame.cookie,
                flags: frame.flags,
                tx_info: frame.tx_info,
                tries: frame.rates.iter().map(|&(_, tries)| tries).collect(),
            },
        );
        let transmission = Transmission {
            channel,
            aggregation: agreed(&header),
            ..transmission(token, frame, &header)
        };
        air.transmit(now, id, transmission);
        None
    }

    /// A station tells one of these radios that it sleeps: what waits for it goes back at once, not
    /// acknowledged, and mac80211 keeps it. Were it tried in vain and given up frame by frame, the
    /// station would wake in the middle of it, get the rest first, and drop as replayed (IEEE
    /// 802.11-2020 12.5.3.4.4) what the access point kept. Cards filter in the same way.
    pub fn hold_for_sleeper(&mut self, now: Instant, event: &AirEvent, air: &mut Air) {
        let AirEvent::Received(Heard { radio, frame, .. }) = event else {
            return;
        };
        let Some(sleeper) = Header::parse(frame)
            .ok()
            .and_then(|header| sleeper(&header))
        else {
            return;
        };
        let pending = &self.pending;
        let waits = |token| {
            let frame = pending.get(&token);
            frame.is_some_and(|frame| frame.receiver == sleeper)
        };
        air.cancel(now, *radio, waits);
    }

    /// What the air says to one of these radios, as a message for its VM.
    pub fn air_event(&mut self, event: AirEvent) -> Option<(usize, ToHwsim)> {
        match event {
            AirEvent::Received(Heard {
                radio,
                frame,
                channel,
                rate,
                signal,
                ..
            }) => {
                let radio = self.radios.iter().find(|known| known.id == radio)?;
                let message = ToHwsim::Receive {
                    radio: radio.hardware,
                    frame,
                    rate,
                    signal,
                    channel,
                };
                Some((radio.port, message))
            }
            AirEvent::Aggregated { .. } => None,
            AirEvent::Sent(Ended {
                token,
                outcome,
                attempts,
                rate,
                last_rate,
                ack_signal,
                ..
            }) => {
                let pending = self.pending.remove(&token)?;
                if let Some(bytes) = pending.data {
                    self.deliveries.count(pending.receiver, bytes, outcome);
                }
                let message = ToHwsim::Status {
                    radio: pending.radio,
                    cookie: pending.cookie,
                    flags: pending.flags,
                    acknowledged: outcome == Outcome::Acknowledged,
                    signal: ack_signal.unwrap_or(Dbm(0.0)),
                    used: pending
                        .tx_info
                        .used(&spent(&pending.tries, attempts, rate == last_rate)),
                };
                Some((pending.port, message))
            }
        }
    }
}

/// Who says with this frame that it sleeps. Null frames only: what a station sends in its sleep says
/// nothing new, and asks for what waits when it is a PS-Poll.
fn sleeper(header: &Header) -> Option<MacAddr> {
    let null = header.is_data() && !header.has_payload();
    let sleeps = null && header.control.contains(FrameControl::POWER_MANAGEMENT);
    header.transmitter.filter(|_| sleeps)
}

impl HwsimRadio {
    fn note_width(&mut self, header: &Header, frame: &HwsimFrame) {
        if header.is_beacon() {
            let width = beacon_width(&frame.frame, frame.channel);
            self.operating = Some(frame.channel.with_width(width));
        }
    }

    /// Follows a frame to its channel; as wide as the radio works there.
    fn tune(&mut self, now: Instant, channel: Channel, air: &mut Air) -> Channel {
        let same = |other: &Channel| other.primary() == channel.primary();
        let channel = self.operating.filter(same).unwrap_or(channel);
        if self.channel != Some(channel) {
            if !self.channel.as_ref().is_some_and(same) {
                // What waits for the old channel would hold up everything behind it.
                air.cancel(now, self.id, |_| true);
            }
            self.channel = Some(channel);
            air.tune(now, self.id, Some(channel));
        }
        channel
    }
}

/// hwsim's number of a radio: the fourth and fifth byte of its hardware address, most significant
/// first (`mac80211_hwsim`: `addr[3] = idx >> 8; addr[4] = idx`).
fn number(MacAddr([.., high, low, _]): MacAddr) -> usize {
    usize::from(u16::from_be_bytes([high, low]))
}

impl Site {
    /// Radios without a place of their own stand where the last one does.
    fn place(&mut self, number: usize, position: Position) {
        if number < MAX_RADIOS {
            let last = self.positions.last().copied().unwrap_or_default();
            let length = self.positions.len().max(number + 1);
            self.positions.resize(length, last);
        }
        if let Some(place) = self.positions.get_mut(number) {
            *place = position;
        }
    }

    fn radio_config(&self, index: usize) -> RadioConfig {
        let last = self.positions.last();
        RadioConfig {
            name: format!("{}:{index}", self.name),
            position: self
                .positions
                .get(index)
                .or(last)
                .copied()
                .unwrap_or_default(),
            tx_power: self.tx_power,
        }
    }
}
