//! What the radio is to send: beacons, frames for stations that are awake, what waited for those who
//! wake, group frames after the DTIM (IEEE 802.11-2020 11.2.3.6).

use airlane_dot11::elements::Tim;
use airlane_dot11::{AccessCategory, Band, Buffer, MacAddr, Rate, RateTable, frame::Header};
use airlane_lane::Instant;

use crate::access_point::{AccessPoint, OnAir, Order, Outgoing};
use crate::counters::Drop;
use crate::eapol;
use crate::management::{self, DTIM_PERIOD};
use crate::msdu::Msdu;
use crate::msdu::{self, Down, Ethernet};
use crate::power_save::MAX_WAITING;

/// Frames for one station that the medium may have at a time.
const WINDOW: usize = 32;
/// Frames that the medium may have in all: nobody can make us queue more answers.
const MAX_ON_AIR: usize = 1_024;
/// Attempts for frames that are not data.
const TRIES: usize = 8;

impl AccessPoint {
    /// A frame from the uplink.
    pub fn from_uplink(&mut self, ethernet: &[u8]) {
        let header = Ethernet::parse(ethernet);
        let frame = Buffer::from_slice(ethernet);
        let (Some(header), Some(frame)) = (header, frame) else {
            return self.counters.drop(Drop::Malformed);
        };
        if header.to.is_group() {
            self.send_to_group(frame);
        } else if self.is_here(header.to) {
            self.send_data(header.to, frame);
        } else {
            self.counters.drop(Drop::NotHere);
        }
    }

    /// A frame of a station: to another one, to all, or to whoever is behind the uplink.
    pub(crate) fn pass_on(&mut self, to: MacAddr, ethernet: Buffer) {
        if to.is_group() {
            self.uplink.push_back(ethernet.clone());
            self.send_to_group(ethernet);
        } else if self.is_here(to) {
            self.send_data(to, ethernet);
        } else {
            self.uplink.push_back(ethernet);
        }
    }

    fn is_here(&self, address: MacAddr) -> bool {
        let station = self.stations.get(address);
        station.is_some_and(|station| station.is_authorized())
    }

    fn send_data(&mut self, to: MacAddr, ethernet: Buffer) {
        let msdu = Msdu {
            priority: msdu::priority(&ethernet),
            ethernet,
        };
        self.queue(to, msdu);
    }

    fn queue(&mut self, to: MacAddr, msdu: Msdu) {
        let Some(station) = self.stations.get_mut(to) else {
            return self.counters.drop(Drop::StationGone);
        };
        if station.waiting.push(msdu).is_err() {
            self.counters.drop(Drop::QueueFull);
        }
        self.release(to);
    }

    /// Gives the medium what waits for a station that is awake, as much as it may have.
    pub(crate) fn release(&mut self, to: MacAddr) {
        loop {
            let station = self.stations.get_mut(to);
            let ready = station.filter(|s| !s.waiting.asleep && s.on_air < WINDOW);
            let Some(msdu) = ready.and_then(|station| station.waiting.pop()) else {
                return;
            };
            self.dispatch(to, msdu, false);
        }
    }

    /// A sleeper asks for one frame (11.2.3.7).
    pub(crate) fn answer_poll(&mut self, from: MacAddr, id: u16) {
        let station = self.stations.get_mut(from);
        let Some(station) = station.filter(|s| s.id == id && s.is_authorized()) else {
            return self.counters.drop(Drop::NotAssociated);
        };
        self.counters.polls += 1;
        let msdu = station.waiting.pop();
        let more = !station.waiting.is_empty();
        match msdu {
            Some(msdu) => self.dispatch(from, msdu, more),
            None => {
                let null = self.down(from, None).null();
                self.send_plain(from, &null, OnAir::Passing);
            }
        }
    }

    fn dispatch(&mut self, to: MacAddr, msdu: Msdu, more: bool) {
        let Some(frame) = self.encode(to, &msdu, more) else {
            return;
        };
        let Some(station) = self.stations.get_mut(to) else {
            return;
        };
        station.on_air += 1;
        let rates = station.rate.ladder();
        let category = category(msdu.priority);
        self.transmit(to, frame, category, rates, OnAir::Data(to, msdu));
    }

    /// The frame on the air: encrypted as soon as both ends have confirmed the key.
    fn encode(&mut self, to: MacAddr, msdu: &Msdu, more: bool) -> Option<Buffer> {
        let bssid = self.config.bssid;
        let station = self.stations.get_mut(to)?;
        let protect = station.is_authorized();
        let tid = station.wmm.then_some(msdu.priority);
        let key = station.pairwise.as_mut().filter(|_| protect);
        let number = match key {
            None => None,
            Some(key) => match key.next_number() {
                Some(number) => Some((0, number)),
                None => {
                    self.counters.drop(Drop::KeySpent);
                    return None;
                }
            },
        };
        let down = Down {
            receiver: to,
            bssid,
            tid,
            ccmp: number,
            more,
            sequence: station.sequence(tid),
        };
        let cipher = station.pairwise.as_ref().map(|key| &key.cipher);
        let frame = seal(&mut self.pool, &down, &msdu.ethernet, cipher);
        if frame.is_none() {
            self.counters.drop(Drop::Malformed);
        }
        frame
    }

    /// At once, or behind the next DTIM beacon while somebody sleeps.
    fn send_to_group(&mut self, ethernet: Buffer) {
        if !self.stations.iter().any(|station| station.waiting.asleep) {
            return self.dispatch_to_group(&ethernet, false);
        }
        if self.group_waiting.len() >= MAX_WAITING {
            return self.counters.drop(Drop::QueueFull);
        }
        self.group_waiting.push_back(ethernet);
    }

    fn dispatch_to_group(&mut self, ethernet: &Buffer, more: bool) {
        let Some(to) = Ethernet::parse(ethernet).map(|header| header.to) else {
            return;
        };
        let mut down = self.down(to, None);
        down.more = more;
        if let Some(group) = &mut self.group {
            let Some(number) = group.next_number() else {
                return self.counters.drop(Drop::KeySpent);
            };
            down.ccmp = Some((group.key.id, number));
        }
        let cipher = self.group.as_ref().map(|group| &group.cipher);
        match seal(&mut self.pool, &down, ethernet, cipher) {
            Some(frame) => {
                let rates = self.basic_rates();
                self.counters.group_sent += 1;
                self.transmit(to, frame, AccessCategory::BestEffort, rates, OnAir::Group);
            }
            None => self.counters.drop(Drop::Malformed),
        }
    }

    /// The header of a frame from here, with the next sequence number.
    pub(crate) fn down(&mut self, receiver: MacAddr, tid: Option<u8>) -> Down {
        Down {
            receiver,
            bssid: self.config.bssid,
            tid,
            ccmp: None,
            more: false,
            sequence: self.next_sequence(),
        }
    }

    fn next_sequence(&mut self) -> u16 {
        let now = self.sequence;
        self.sequence = (now + 1) & 0xfff;
        now
    }

    pub(crate) fn beacon(&mut self, now: Instant) {
        let waiting = self
            .stations
            .iter()
            .filter(|s| s.waiting.asleep && !s.waiting.is_empty());
        let ids = waiting.map(|station| station.id);
        let group = !self.group_waiting.is_empty();
        let tim = Tim::body(self.beacons_to_dtim, DTIM_PERIOD, group, ids);
        let frame = management::beacon(&self.config, now.0, &tim);
        self.counters.beacons += 1;
        self.send_management(MacAddr::BROADCAST, frame);
        let dtim = self.beacons_to_dtim == 0;
        self.beacons_to_dtim = if dtim {
            DTIM_PERIOD - 1
        } else {
            self.beacons_to_dtim - 1
        };
        if dtim {
            while let Some(frame) = self.group_waiting.pop_front() {
                let more = !self.group_waiting.is_empty();
                self.dispatch_to_group(&frame, more);
            }
        }
    }

    pub(crate) fn send_management(&mut self, to: MacAddr, mut frame: Vec<u8>) {
        let number = self.next_sequence();
        airlane_dot11::frame::set_sequence_number(&mut frame, number);
        self.send_plain(to, &frame, OnAir::Passing);
    }

    /// A key frame of a handshake, behind what waits for the station.
    pub(crate) fn send_key_frame(&mut self, to: MacAddr, payload: &[u8]) {
        let header = Ethernet {
            to,
            from: self.config.bssid,
            kind: eapol::ETHER_TYPE,
        };
        let frame = header.with(payload);
        if let Some(ethernet) = Buffer::from_slice(&frame) {
            self.send_data(to, ethernet);
        }
    }

    /// A frame that is neither encrypted nor kept.
    pub(crate) fn send_plain(&mut self, to: MacAddr, frame: &[u8], what: OnAir) {
        if self.on_air.len() >= MAX_ON_AIR {
            return self.counters.drop(Drop::QueueFull);
        }
        let write = |out: &mut [u8]| {
            out.copy_from_slice(frame);
            Ok::<(), ()>(())
        };
        if let Ok(frame) = self.pool.fill(frame.len(), write) {
            let rates = self.basic_rates();
            self.transmit(to, frame, AccessCategory::Voice, rates, what);
        }
    }

    fn basic_rates(&self) -> RateTable {
        let rate = match self.config.channel.band() {
            Band::Ghz2 => Rate::DSSS_1,
            Band::Ghz5 => Rate::OFDM_6,
        };
        std::iter::repeat_n(rate, TRIES).collect()
    }

    fn transmit(
        &mut self,
        receiver: MacAddr,
        frame: Buffer,
        category: AccessCategory,
        rates: RateTable,
        what: OnAir,
    ) {
        let token = self.next_token;
        self.next_token += 1;
        self.on_air.insert(token, what);
        self.orders.push_back(Order::Transmit(Outgoing {
            token,
            frame,
            receiver,
            category,
            rates,
        }));
    }
}

/// Puts an Ethernet frame into an 802.11 frame, encrypted if `down` says so.
fn seal(
    pool: &mut airlane_dot11::BufferPool,
    down: &Down,
    ethernet: &[u8],
    cipher: Option<&airlane_dot11::ccmp::Ccmp>,
) -> Option<Buffer> {
    let length = down.length(ethernet)?;
    let write = |out: &mut [u8]| {
        down.write(ethernet, out).ok_or(())?;
        match (down.ccmp, cipher) {
            (Some(_), Some(cipher)) => {
                let header = Header::parse(out).map_err(|_| ())?;
                cipher.encrypt(&header, out).map_err(|_| ())
            }
            _ => Ok(()),
        }
    };
    // A longer frame than a buffer holds does not fit into its room.
    pool.fill(length, write).ok()
}

/// IEEE 802.11-2020 table 10-1.
fn category(priority: u8) -> AccessCategory {
    match priority {
        1 | 2 => AccessCategory::Background,
        4 | 5 => AccessCategory::Video,
        6 | 7 => AccessCategory::Voice,
        _ => AccessCategory::BestEffort,
    }
}
