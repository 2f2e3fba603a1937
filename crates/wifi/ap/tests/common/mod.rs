//! An access point and one station of it, frame by frame, without any air: what it sends is
//! acknowledged at once.
#![allow(dead_code, reason = "each test file uses a part")]

use airlane_ap::testing::{RSN, Supplicant};
use airlane_ap::{AccessPoint, Config, Order, Outgoing, Sent};
use airlane_dot11::frame::{FrameKind, Header};
use airlane_dot11::{Band, Channel, MacAddr, ccmp::Ccmp};
use airlane_lane::{Instant, Micros};

pub const BSSID: MacAddr = MacAddr([2, 0xb, 0, 0, 0, 1]);
pub const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
pub const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
pub const PASSPHRASE: &str = "a passphrase";
const LLC: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];

/// Settings of the access point; protected if told so.
pub fn config(protected: bool) -> Config {
    let channel = Channel::new(Band::Ghz5, 36).unwrap();
    let config = Config::new(BSSID, "cell", channel);
    if protected {
        config.wpa2(PASSPHRASE)
    } else {
        config
    }
}

/// An access point, and what came out of it.
pub struct Bench {
    pub ap: AccessPoint,
    pub now: Instant,
    /// Frames sent, oldest first, beacons left out.
    pub sent: Vec<Outgoing>,
    sequence: u16,
}

impl Bench {
    pub fn new(config: Config) -> Self {
        Self {
            ap: AccessPoint::new(config),
            now: Instant(0),
            sent: Vec::new(),
            sequence: 0,
        }
    }

    /// Does what is due, and acknowledges what is sent.
    pub fn settle(&mut self) {
        self.ap.step(self.now);
        while let Some(order) = self.ap.next_order() {
            let Order::Transmit(frame) = order else {
                continue;
            };
            self.ap.sent(self.now, frame.token, Sent::Through(1));
            if !Header::parse(&frame.frame).unwrap().is_beacon() {
                self.sent.push(frame);
            }
        }
    }

    pub fn advance(&mut self, span: Micros) {
        self.now += span;
        self.settle();
    }

    /// A frame of a station.
    pub fn hear(&mut self, frame: &[u8]) {
        self.ap.receive(self.now, frame);
        self.settle();
    }

    pub fn management(&mut self, from: MacAddr, kind: FrameKind, body: &[u8]) {
        self.sequence = (self.sequence + 1) & 0xfff;
        let sequence = (self.sequence << 4).to_le_bytes();
        let control = [kind.octet(), 0, 0, 0];
        let frame = [&control[..], &BSSID.0, &from.0, &BSSID.0, &sequence, body].concat();
        self.hear(&frame);
    }

    /// Authenticates and associates; the status of the association.
    pub fn associate(&mut self, from: MacAddr, rsn: &[u8]) -> u16 {
        self.management(from, FrameKind::AUTHENTICATION, &[0, 0, 1, 0, 0, 0]);
        let fixed = [
            0x11, 0, 10, 0, 0, 4, b'c', b'e', b'l', b'l', 1, 2, 0x8c, 108,
        ];
        let body = [&fixed[..], rsn].concat();
        self.management(from, FrameKind::ASSOCIATION_REQUEST, &body);
        let answers = self.bodies(FrameKind::ASSOCIATION_RESPONSE, from);
        let answer = answers.last().expect("an answer");
        u16::from_le_bytes([answer[2], answer[3]])
    }

    /// Bodies of the frames of this kind that were sent to a station.
    pub fn bodies(&self, kind: FrameKind, to: MacAddr) -> Vec<Vec<u8>> {
        let frames = self.sent.iter().filter(|frame| frame.receiver == to);
        let wanted = frames.filter(|frame| Header::parse(&frame.frame).unwrap().is(kind));
        wanted.map(|frame| frame.frame[24..].to_vec()).collect()
    }

    /// The first two bytes of the last farewell to a station.
    pub fn reason(&self, to: MacAddr) -> Option<u16> {
        let bodies = self.bodies(FrameKind::DEAUTHENTICATION, to);
        bodies
            .last()
            .map(|body| u16::from_le_bytes([body[0], body[1]]))
    }

    /// A data frame in clear to the distribution system.
    pub fn data(&mut self, from: MacAddr, to: MacAddr, kind: [u8; 2], payload: &[u8]) {
        let frame = self.data_frame(from, to, kind, payload);
        self.hear(&frame);
    }

    pub fn data_frame(
        &mut self,
        from: MacAddr,
        to: MacAddr,
        kind: [u8; 2],
        payload: &[u8],
    ) -> Vec<u8> {
        self.sequence = (self.sequence + 1) & 0xfff;
        let sequence = (self.sequence << 4).to_le_bytes();
        let header = [&[8, 1, 0, 0][..], &BSSID.0, &from.0, &to.0, &sequence].concat();
        [&header[..], &LLC, &kind, payload].concat()
    }

    /// The same encrypted, with this packet number.
    pub fn sealed(&mut self, key: &[u8; 16], number: u64, to: MacAddr, payload: &[u8]) -> Vec<u8> {
        let clear = self.data_frame(STATION, to, [8, 0], payload);
        let mut frame = clear[..24].to_vec();
        frame[1] |= 0x40;
        frame.extend(airlane_dot11::ccmp::header(0, number));
        frame.extend(&clear[24..]);
        frame.extend([0; 8]);
        let header = Header::parse(&frame).unwrap();
        Ccmp::new(key).encrypt(&header, &mut frame).unwrap();
        frame
    }

    /// A null frame that says whether the station sleeps.
    pub fn doze(&mut self, from: MacAddr, dozes: bool) {
        self.sequence = (self.sequence + 1) & 0xfff;
        let sequence = (self.sequence << 4).to_le_bytes();
        let control = [0x48, if dozes { 0x11 } else { 0x01 }, 0, 0];
        let frame = [&control[..], &BSSID.0, &from.0, &BSSID.0, &sequence].concat();
        self.hear(&frame);
    }

    /// Payloads of the EAPOL frames sent in clear, oldest first; they are taken away.
    pub fn key_frames(&mut self) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        self.sent.retain(|frame| {
            let key = frame.frame.get(24..32) == Some(&[&LLC[..], &[0x88, 0x8e]].concat());
            if key {
                frames.push(frame.frame[32..].to_vec());
            }
            !key
        });
        frames
    }

    /// Answers key frames until there are none.
    pub fn shake_hands(&mut self, supplicant: &mut Supplicant) {
        for _ in 0..4 {
            for payload in self.key_frames() {
                if let Some(answer) = supplicant.hear(&payload) {
                    self.data(supplicant.own, BSSID, [0x88, 0x8e], &answer);
                }
            }
        }
    }

    /// A station that has joined with the right passphrase.
    pub fn joined(&mut self) -> Supplicant {
        let mut supplicant = Supplicant::new(PASSPHRASE, "cell", STATION, BSSID);
        assert_eq!(self.associate(STATION, &RSN), 0);
        self.shake_hands(&mut supplicant);
        assert_eq!(self.ap.joined().count(), 1);
        supplicant
    }

    /// What a station sent to elsewhere.
    pub fn uplink(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.ap.next_for_uplink())
            .map(|frame| frame.to_vec())
            .collect()
    }
}
