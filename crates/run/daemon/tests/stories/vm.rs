//! One VM: the fake driver with its card, and above it what mac80211 and a supplicant do in a story:
//! packet and sequence numbers, duplicates, which networks were heard, what came back.
//!
//! Keys are preset: there is no four-way handshake.

use std::collections::BTreeMap;

use airlane_dot11::frame::{FrameKind, Header};
use airlane_dot11::{Channel, MacAddr};
use airlane_iwl::{Device, Identity, Model};
use airlane_iwl_driver::{FakeDriver, RxFrame, Station, TxOptions, TxResponse};
use airlane_lane::Instant;
use airlane_waist::VmId;

use crate::ccmp::{self, Key};
use crate::frames::{self, Note, Way};

/// Status word of a frame that the card has decrypted.
const DECRYPTED: u32 = 0xa43;
/// 6 Mb/s on antenna A.
const OFDM_6: u32 = 0x400d;
/// 54 Mb/s on antenna A.
pub const OFDM_54: u32 = 0x4003;
/// Best effort.
const DATA_QUEUE: u8 = 2;
/// LLC, IP, UDP and 1,472 bytes.
pub const FULL: usize = 8 + 28 + 1_472;

/// A network that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    pub ssid: String,
    pub timestamp: u64,
}

/// The BSS that the VM belongs to.
#[derive(Clone, Debug)]
pub struct Bss {
    pub bssid: MacAddr,
    pub ssid: String,
    pub channel: Channel,
    pub key: Key,
    pub group_key: Key,
}

/// Frames to keep under way.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// How many at a time.
    pub depth: usize,
    /// Bytes after the CCMP header.
    pub length: usize,
    /// How many in all.
    pub left: u32,
}

/// A machine with a card.
pub struct Vm {
    pub id: VmId,
    pub address: MacAddr,
    pub driver: FakeDriver,
    pub bss: Option<Bss>,
    pub rates: [u32; 16],
    pub load: Option<Load>,
    /// Networks heard, by BSSID.
    pub heard: BTreeMap<MacAddr, Network>,
    /// Management frames to itself, whole.
    pub management: Vec<Vec<u8>>,
    /// Notes that came back, in order, each once.
    pub echoes: Vec<Note>,
    /// Notes of group frames.
    pub group: Vec<Note>,
    /// Notes sent, in ring order.
    pub sent: Vec<Note>,
    /// Their reports, in ring order.
    pub reports: Vec<TxResponse>,
    /// Frames that should not have come: another's, or not decrypted.
    pub wrong: Vec<Vec<u8>>,
    pub duplicates: u64,
    /// Protected management frames that the card could not decrypt.
    pub unopened: usize,
    number: u32,
    packet_number: u64,
    sequence: u16,
    last_heard: BTreeMap<(MacAddr, Option<u8>), u16>,
    heard_number: BTreeMap<bool, u64>,
    heard_at: u64,
}

impl Vm {
    /// With a card that is off.
    pub fn new(number: usize) -> Self {
        let id = VmId::new(number).expect("one of sixteen");
        let address = MacAddr([2, 0, 0, 0, 0, number as u8 + 1]);
        let model = Model::Wifi5300;
        let device = Device::new(Identity { model, address });
        Self {
            id,
            address,
            driver: FakeDriver::new(device),
            bss: None,
            rates: [OFDM_54; 16],
            load: None,
            heard: BTreeMap::new(),
            management: Vec::new(),
            echoes: Vec::new(),
            group: Vec::new(),
            sent: Vec::new(),
            reports: Vec::new(),
            wrong: Vec::new(),
            duplicates: 0,
            unopened: 0,
            number: 0,
            packet_number: 0,
            sequence: 0,
            last_heard: BTreeMap::new(),
            heard_number: BTreeMap::new(),
            heard_at: 0,
        }
    }

    /// The same VM with another driver: what the old one knew is gone, what was counted stays.
    pub fn forget(&mut self) {
        self.bss = None;
        self.load = None;
        self.management.clear();
        self.heard.clear();
        self.sent.clear();
        self.reports.clear();
        self.packet_number = 0;
        self.heard_number.clear();
        self.last_heard.clear();
    }

    /// The key that this VM's story has for its BSS: no two are the same.
    pub fn key(&self) -> Key {
        [0x10 + self.id.index() as u8; 16]
    }

    /// Serves what the card has written, and keeps its load up.
    pub fn step(&mut self, now: Instant) {
        for frame in self.driver.received() {
            self.hear(now, &frame);
        }
        let responses = self.driver.tx_responses().into_iter();
        self.reports
            .extend(responses.filter(|response| response.queue == DATA_QUEUE));
        self.keep_busy();
    }

    fn keep_busy(&mut self) {
        let Some(mut load) = self.load else {
            return;
        };
        let to = self.bss.as_ref().map(|bss| bss.bssid).unwrap_or_default();
        let before = load.left;
        while load.left > 0 && self.under_way() < load.depth {
            self.write(to, load.length);
            load.left -= 1;
        }
        self.load = Some(load);
        if load.left < before {
            self.driver.ring(DATA_QUEUE);
        }
    }

    /// Data frames that the card has not answered.
    pub fn under_way(&self) -> usize {
        self.sent.len() - self.reports.len()
    }

    /// Sends one note to `to` by way of the access point.
    pub fn send(&mut self, to: MacAddr, length: usize) -> Note {
        let note = self.write(to, length);
        self.driver.ring(DATA_QUEUE);
        note
    }

    fn write(&mut self, to: MacAddr, length: usize) -> Note {
        let from = self.address;
        self.write_as(from, to, length)
    }

    /// Puts a note into the ring, under any address.
    pub fn write_as(&mut self, from: MacAddr, to: MacAddr, length: usize) -> Note {
        let bss = self.bss.as_ref().expect("associated");
        let note = Note {
            vm: self.id.index() as u8,
            number: self.number,
        };
        self.number += 1;
        self.packet_number += 1;
        self.sequence = (self.sequence + 1) & 0xfff;
        let mut frame = frames::qos_header(Way::Up, bss.bssid, from, to, self.sequence);
        frame.extend(ccmp::ccmp_header(0, self.packet_number));
        frame.extend(note.encode(length));
        let options = TxOptions {
            ccmp: Some(bss.key),
            ..TxOptions::DATA
        };
        self.driver.transmit_quietly(&frame, &options);
        self.sent.push(note);
        note
    }

    /// Sends a management frame at 6 Mb/s.
    pub fn send_management(&mut self, frame: &[u8]) {
        let options = TxOptions {
            rate: OFDM_6,
            ..TxOptions::MANAGEMENT
        };
        self.driver.transmit(frame, &options);
    }

    /// Sends a management frame that the card encrypts.
    pub fn send_protected(&mut self, kind: FrameKind, body: &[u8]) {
        let bss = self.bss.as_ref().expect("associated");
        let (to, key) = (bss.bssid, bss.key);
        let mut frame = frames::management(kind, to, self.address, to, &[]);
        frame[1] |= frames::PROTECTED;
        self.packet_number += 1;
        frame.extend(ccmp::ccmp_header(0, self.packet_number));
        frame.extend(body);
        let options = TxOptions {
            rate: OFDM_6,
            ccmp: Some(key),
            ..TxOptions::MANAGEMENT
        };
        self.driver.transmit(&frame, &options);
    }

    /// An interface without a network, on this channel.
    pub fn bring_interface_up(&mut self, channel: Channel) {
        self.driver.configure(&Station {
            address: self.address,
            bssid: MacAddr::ZERO,
            channel,
            association_id: None,
        });
    }

    /// Tunes to a BSS that it wants to join.
    pub fn begin_joining(&mut self, bss: &Bss) {
        self.driver.configure(&Station {
            address: self.address,
            bssid: bss.bssid,
            channel: bss.channel,
            association_id: None,
        });
        assert_eq!(self.driver.add_station(0, bss.bssid), 1, "added");
        self.driver.link_quality(0, &self.rates);
    }

    /// Asks to be authenticated.
    pub fn ask_authentication(&mut self, bss: &Bss) {
        let frame = frames::authentication(bss.bssid, self.address, bss.bssid, 1);
        self.send_management(&frame);
    }

    /// Authenticated: asks to be associated.
    pub fn ask_association(&mut self, bss: &Bss) {
        let frame = frames::association_request(bss.bssid, self.address, &bss.ssid);
        self.send_management(&frame);
    }

    /// Associated: says so to the card, with channel access parameters and keys.
    pub fn finish_joining(&mut self, bss: &Bss, id: u16) {
        self.driver.set_default_edca();
        self.driver.configure(&Station {
            address: self.address,
            bssid: bss.bssid,
            channel: bss.channel,
            association_id: Some(id),
        });
        assert_eq!(self.driver.set_key(0, 0, None, bss.key), 1);
        assert_eq!(self.driver.set_key(0, 1, Some(1), bss.group_key), 1);
        self.bss = Some(bss.clone());
        // Another access point counts its packets from one.
        self.heard_number.clear();
    }

    /// The answer of this kind, if it has come.
    pub fn answer(&self, kind: FrameKind, bssid: MacAddr) -> Option<&[u8]> {
        let frames = self.management.iter();
        let mut parsed = frames.filter_map(|frame| Some((Header::parse(frame).ok()?, frame)));
        let found = parsed.find(|(header, _)| header.is(kind) && header.transmitter == Some(bssid));
        found.map(|(header, frame)| &frame[header.length..])
    }

    fn hear(&mut self, now: Instant, frame: &RxFrame) {
        let header = Header::parse(&frame.bytes).expect("whole frames");
        let body = &frame.bytes[header.length..];
        let announces = header.is_beacon() || header.is(FrameKind::PROBE_RESPONSE);
        let own = self.bss.as_ref().map(|bss| bss.bssid);
        assert!(frame.at <= now.0, "nothing comes before it was sent");
        // What a scan tells of other networks may be some seconds old.
        if !announces || header.address3 == own {
            assert!(self.heard_at <= frame.at, "time rises");
            self.heard_at = frame.at;
        }
        if announces {
            self.hear_network(&header, body);
        } else if header.receiver != self.address && !header.receiver.is_group() {
            self.wrong.push(frame.bytes.clone());
        } else if self.is_duplicate(&header) {
            self.duplicates += 1;
        } else if header.is_data() {
            self.hear_data(&header, frame);
        } else if header.receiver == self.address {
            self.unopened += usize::from(header.is_protected() && frame.status != DECRYPTED);
            self.management.push(frame.bytes.clone());
        }
    }

    fn is_duplicate(&mut self, header: &Header) -> bool {
        let (Some(from), Some(sequence)) = (header.transmitter, header.sequence_control) else {
            return false;
        };
        let last = self.last_heard.insert((from, header.tid), sequence);
        header.is_retry() && last == Some(sequence)
    }

    /// A BSS's time rises from beacon to beacon.
    fn hear_network(&mut self, header: &Header, body: &[u8]) {
        let bssid = header.address3.unwrap_or_default();
        let timestamp = body[..8].try_into().map_or(0, u64::from_le_bytes);
        let ssid = frames::ssid(&body[12..]).unwrap_or_default();
        let own = self.bss.as_ref().is_some_and(|bss| bss.bssid == bssid);
        if let Some(before) = self.heard.get(&bssid).filter(|_| own) {
            let same = header.is_retry() || !header.is_beacon();
            assert!(same || before.timestamp < timestamp, "beacons in order");
        }
        self.heard.insert(bssid, Network { ssid, timestamp });
    }

    fn hear_data(&mut self, header: &Header, frame: &RxFrame) {
        let bytes = &frame.bytes;
        let body = bytes.get(header.length + 8..bytes.len().saturating_sub(8));
        let note = body.and_then(Note::decode);
        let (Some(note), DECRYPTED) = (note, frame.status) else {
            return self.wrong.push(bytes.clone());
        };
        let group = header.receiver.is_group();
        let number = ccmp::packet_number(&bytes[header.length..]);
        let last = self.heard_number.insert(group, number);
        assert!(last.is_none_or(|last| last < number), "no replay");
        match group {
            true => self.group.push(note),
            false => self.echoes.push(note),
        }
    }
}
