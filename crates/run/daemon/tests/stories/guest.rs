//! A VM that joins a built-in access point: the fake driver with its card, a supplicant, an IP host.
//! Unlike [`crate::vm::Vm`] it has no preset keys and talks real protocols.

use airlane_ap::testing::{Host, Supplicant};
use airlane_dot11::frame::{FrameKind, Header};
use airlane_dot11::{Channel, MacAddr};
use airlane_iwl::{Device, Identity, Model};
use airlane_iwl_driver::{FakeDriver, Station, TxOptions};
use airlane_lane::Instant;
use airlane_waist::VmId;

use crate::ccmp;
use crate::frames;

/// 6 Mb/s on antenna A.
const OFDM_6: u32 = 0x400d;
/// 54 Mb/s on antenna A.
const OFDM_54: u32 = 0x4003;
const RFC_1042: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
const EAPOL: [u8; 2] = [0x88, 0x8e];
const POWER_MANAGEMENT: u8 = 0x10;

/// Which network it wants, and what it believes the passphrase to be.
#[derive(Clone)]
pub struct Wish {
    pub bssid: MacAddr,
    pub ssid: String,
    pub channel: Channel,
    pub passphrase: Option<String>,
}

/// A machine with a card.
pub struct Guest {
    pub id: VmId,
    pub address: MacAddr,
    pub driver: FakeDriver,
    pub wish: Wish,
    pub supplicant: Option<Supplicant>,
    pub host: Option<Host>,
    /// Management frames to itself, whole.
    pub management: Vec<Vec<u8>>,
    /// Elements of the last beacon.
    pub beacon: Vec<u8>,
    /// Data frames that are encrypted with another key than its own.
    pub undecryptable: u64,
    /// Data frames received.
    pub data: u64,
    /// Packet numbers of group frames, by key.
    pub group_numbers: Vec<(u8, u64)>,
    pub associated: bool,
    pub due: Option<Instant>,
    installed: Option<[u8; 16]>,
    groups: usize,
    packet_number: u64,
    sequence: u16,
}

impl Guest {
    /// With a card that is off.
    pub fn new(number: usize, wish: Wish) -> Self {
        let id = VmId::new(number).expect("one of sixteen");
        let address = MacAddr([2, 0, 0, 0, 0, number as u8 + 1]);
        let model = Model::Wifi5300;
        let supplicant = wish
            .passphrase
            .as_ref()
            .map(|passphrase| Supplicant::new(passphrase, &wish.ssid, address, wish.bssid));
        Self {
            id,
            address,
            driver: FakeDriver::new(Device::new(Identity { model, address })),
            wish,
            supplicant,
            host: None,
            management: Vec::new(),
            beacon: Vec::new(),
            undecryptable: 0,
            data: 0,
            group_numbers: Vec::new(),
            associated: false,
            due: None,
            installed: None,
            groups: 0,
            packet_number: 0,
            sequence: 0,
        }
    }

    /// Powers the card and tunes it to the BSS.
    pub fn begin(&mut self) {
        self.driver.power_on();
        self.configure(None);
        assert_eq!(self.driver.add_station(0, self.wish.bssid), 1, "added");
        self.driver.link_quality(0, &[OFDM_54; 16]);
    }

    fn configure(&mut self, association_id: Option<u16>) {
        self.driver.configure(&Station {
            address: self.address,
            bssid: self.wish.bssid,
            channel: self.wish.channel,
            association_id,
        });
    }

    /// Asks to be authenticated.
    pub fn ask_authentication(&mut self) {
        let bssid = self.wish.bssid;
        let frame = frames::authentication(bssid, self.address, bssid, 1);
        self.send_management(&frame);
    }

    /// Asks to be associated.
    pub fn ask_association(&mut self) {
        let bssid = self.wish.bssid;
        let mut frame = frames::association_request(bssid, self.address, &self.wish.ssid);
        if let Some(supplicant) = &self.supplicant {
            frame.extend(&supplicant.rsn);
        }
        frame.extend([221, 7, 0x00, 0x50, 0xf2, 2, 0, 1, 0]);
        self.send_management(&frame);
    }

    pub fn send_management(&mut self, frame: &[u8]) {
        let options = TxOptions {
            rate: OFDM_6,
            ..TxOptions::MANAGEMENT
        };
        self.driver.transmit(frame, &options);
    }

    /// The body of the answer of this kind, if it has come.
    pub fn answer(&self, kind: FrameKind) -> Option<&[u8]> {
        let frames = self.management.iter();
        let mut parsed = frames.filter_map(|frame| Some((Header::parse(frame).ok()?, frame)));
        let found = parsed.find(|(header, _)| header.is(kind));
        found.map(|(header, frame)| &frame[header.length..])
    }

    /// Associated: says so to the card.
    pub fn finish(&mut self) {
        let body = self
            .answer(FrameKind::ASSOCIATION_RESPONSE)
            .expect("it has come");
        assert_eq!(body[2..4], [0, 0], "accepted");
        let id = u16::from_le_bytes([body[4], body[5]]) & 0x3fff;
        self.configure(Some(id));
        self.associated = true;
    }

    /// An IP host comes up.
    pub fn start_host(&mut self, now: Instant) {
        self.host = Some(Host::new(now, self.address));
    }

    /// Serves what the card has written.
    pub fn step(&mut self, now: Instant) {
        for frame in self.driver.received() {
            self.hear(&frame.bytes);
        }
        self.driver.tx_responses();
        let frames = self.host.as_mut().map(|host| host.step(now));
        if let Some((frames, due)) = frames {
            self.due = due;
            for frame in frames {
                self.send(&frame);
            }
        }
    }

    fn hear(&mut self, frame: &[u8]) {
        let header = Header::parse(frame).expect("whole frames");
        if header.is_beacon() && header.transmitter == Some(self.wish.bssid) {
            self.beacon = frame[header.length + 12..].to_vec();
        } else if header.is_data() && header.has_payload() {
            self.hear_data(&header, frame);
        } else if header.receiver == self.address {
            self.management.push(frame.to_vec());
        }
    }

    fn hear_data(&mut self, header: &Header, frame: &[u8]) {
        let mut body = &frame[header.length..];
        if header.is_protected() {
            let key = body[3] >> 6;
            if header.receiver.is_group() {
                self.group_numbers.push((key, ccmp::packet_number(body)));
            }
            // Decrypted by the card, or it would not read as what it should be.
            body = &body[8..body.len() - 8];
        }
        let Some(rest) = body.strip_prefix(&RFC_1042) else {
            self.undecryptable += 1;
            return;
        };
        self.data += 1;
        if let Some(payload) = rest.strip_prefix(&EAPOL) {
            return self.hear_key_frame(payload);
        }
        let source = header.address3.expect("three addresses");
        let ethernet = [&header.receiver.0[..], &source.0, rest].concat();
        if let Some(host) = &mut self.host
            && source != self.address
        {
            host.take(ethernet);
        }
    }

    fn hear_key_frame(&mut self, payload: &[u8]) {
        let Some(supplicant) = &mut self.supplicant else {
            return;
        };
        if let Some(answer) = supplicant.hear(payload) {
            let to = self.wish.bssid;
            let frame = [&to.0[..], &self.address.0, &EAPOL, &answer].concat();
            self.send(&frame);
        }
        self.install_keys();
    }

    fn install_keys(&mut self) {
        let supplicant = self.supplicant.as_ref().expect("it has just spoken");
        let (pairwise, groups) = (supplicant.pairwise, supplicant.group.clone());
        if self.installed.is_none()
            && let Some(key) = pairwise
        {
            assert_eq!(self.driver.set_key(0, 0, None, key), 1);
            self.installed = Some(key);
        }
        for (id, key) in groups.into_iter().skip(self.groups) {
            assert_eq!(self.driver.set_key(0, id, Some(id), key), 1);
            self.groups += 1;
        }
    }

    /// True once all keys are in place.
    pub fn is_keyed(&self) -> bool {
        self.installed.is_some()
    }

    /// Sends an Ethernet frame.
    pub fn send(&mut self, ethernet: &[u8]) {
        let (to, rest) = (&ethernet[..6], &ethernet[12..]);
        let to = MacAddr(to.try_into().expect("six bytes"));
        let body = [&RFC_1042, rest].concat();
        self.send_body(to, &body, 0);
    }

    /// Sends a body as QoS data, with these further bits of the frame control's second octet.
    pub fn send_body(&mut self, to: MacAddr, body: &[u8], bits: u8) {
        self.sequence = (self.sequence + 1) & 0xfff;
        let own = self.address;
        let mut frame =
            frames::qos_header(frames::Way::Up, self.wish.bssid, own, to, self.sequence);
        frame[1] |= bits;
        if self.installed.is_some() {
            self.packet_number += 1;
            frame.extend(ccmp::ccmp_header(0, self.packet_number));
        } else {
            frame[1] &= !0x40;
        }
        frame.extend(body);
        let options = TxOptions {
            ccmp: self.installed,
            ..TxOptions::DATA
        };
        self.driver.transmit(&frame, &options);
    }

    /// Says that it sleeps, or that it is awake.
    pub fn doze(&mut self, dozes: bool) {
        let own = self.address;
        let mut frame =
            frames::qos_header(frames::Way::Up, self.wish.bssid, own, self.wish.bssid, 0);
        frame.truncate(24);
        frame[0] = 0x48;
        frame[1] = 0x01 | if dozes { POWER_MANAGEMENT } else { 0 };
        self.driver.transmit(&frame, &TxOptions::DATA);
    }
}
