//! A stand-in for hostapd on mac80211_hwsim, which cannot run in virtual time. It speaks what a
//! hwsim radio speaks on its virtqueue, so the daemon cannot tell the two apart.
//!
//! It beacons, answers probe requests, open-system authentication and association, keeps frames
//! for stations that sleep (power management bit, and frames that fail while a station sleeps, as
//! mac80211 keeps them), encrypts with CCMP under preset keys, and sends every data frame back to
//! where it came from. Not here: PS-Poll, U-APSD, EAPOL, leaving.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use airlane_dot11::frame::{FrameControl, FrameKind, Header, set_sequence_number};
use airlane_dot11::{Buffer, Channel, MacAddr, OfdmRate, Rate, time_units};
use airlane_lane::{Instant, Micros};
use airlane_waist::hwsim::{FromHwsim, HwsimFrame, ToHwsim, TxInfo, TxRate};

use crate::ccmp::{self, Key};
use crate::frames::{self, Note, Way};

/// 100 time units.
const BEACON_INTERVAL: Micros = time_units(100);
const WANTS_STATUS: u32 = 1;
const NO_ACK: u32 = 2;

/// What an access point has seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Notes received, in order, each once.
    pub notes: Vec<Note>,
    /// Frames received a second time.
    pub duplicates: u64,
    /// Protected frames that did not decrypt.
    pub bad_integrity: u64,
    /// Protected frames whose packet number did not rise.
    pub replays: u64,
    /// Data frames of strangers.
    pub strangers: u64,
    /// Notes of echoes whose status says acknowledged, in the order of the statuses.
    pub acknowledged: Vec<Note>,
    /// Notes of echoes whose status says not acknowledged and that were given up.
    pub given_up: Vec<Note>,
    /// Attempts that the statuses tell of.
    pub attempts: u64,
    /// Frames kept since their station slept.
    pub kept: u64,
    /// Bodies of protected action frames.
    pub actions: Vec<Vec<u8>>,
    /// Who has sent a probe request.
    pub probed_by: BTreeSet<MacAddr>,
}

/// A station that has begun to join.
#[derive(Default)]
struct Member {
    id: Option<u16>,
    key: Key,
    dozes: bool,
    sent_number: u64,
    heard_number: u64,
    sequence: u16,
    /// Failed while the station slept: these go first.
    failed: VecDeque<Outgoing>,
    waiting: VecDeque<Outgoing>,
}

#[derive(Clone)]
struct Outgoing {
    to: MacAddr,
    frame: Vec<u8>,
    note: Option<Note>,
}

/// One access point: one BSS on one hwsim radio.
pub struct AccessPoint {
    pub port: usize,
    pub bssid: MacAddr,
    pub ssid: String,
    pub channel: Channel,
    pub group_key: Key,
    /// Data frames go back to their sender.
    pub echoes: bool,
    /// Rates of its data frames, and how often each is tried.
    pub rates: Vec<(Rate, u8)>,
    pub seen: Seen,
    pub out: VecDeque<FromHwsim>,
    keys: BTreeMap<MacAddr, Key>,
    members: BTreeMap<MacAddr, Member>,
    last_heard: BTreeMap<(MacAddr, Option<u8>), u16>,
    group: VecDeque<Outgoing>,
    group_number: u64,
    group_sequence: u16,
    management_number: u16,
    next_beacon: Option<Instant>,
    next_id: u16,
    cookie: u64,
    on_air: BTreeMap<u64, Outgoing>,
}

impl AccessPoint {
    /// The BSSID of the access point on the virtqueue of `port`.
    pub const fn bssid_of(port: usize) -> MacAddr {
        MacAddr([2, 0xa, 0, 0, 0, port as u8 + 1])
    }

    /// On the virtqueue of `port`; its first beacon comes at a time of its own.
    pub fn new(port: usize, channel: Channel) -> Self {
        let bssid = Self::bssid_of(port);
        let address = FromHwsim::AddAddress {
            radio: bssid,
            address: bssid,
        };
        Self {
            port,
            bssid,
            ssid: format!("story-{port}"),
            channel,
            group_key: [0xa0 | port as u8; 16],
            echoes: true,
            rates: [
                (OfdmRate::M54, 4),
                (OfdmRate::M24, 4),
                (OfdmRate::M12, 3),
                (OfdmRate::M6, 3),
            ]
            .map(|(rate, tries)| (Rate::Ofdm(rate), tries))
            .to_vec(),
            seen: Seen::default(),
            out: VecDeque::from([FromHwsim::Connected, address]),
            keys: BTreeMap::new(),
            members: BTreeMap::new(),
            last_heard: BTreeMap::new(),
            group: VecDeque::new(),
            group_number: 0,
            group_sequence: 0,
            management_number: 0,
            next_beacon: Some(Instant(1_000 + 7_000 * port as u64)),
            next_id: 1,
            cookie: 0,
            on_air: BTreeMap::new(),
        }
    }

    /// The pairwise key that this station will have.
    pub fn preset(&mut self, station: MacAddr, key: Key) {
        self.keys.insert(station, key);
    }

    /// From now on its key for this member is another.
    pub fn preset_for_member(&mut self, station: MacAddr, key: Key) {
        self.members.get_mut(&station).expect("a member").key = key;
    }

    /// Beacons no more.
    pub fn fall_silent(&mut self) {
        self.next_beacon = None;
    }

    /// Frames whose status has not come.
    pub fn unreported(&self) -> usize {
        self.on_air.len()
    }

    /// When it has something to do of its own.
    pub fn due(&self) -> Option<Instant> {
        self.next_beacon
    }

    /// Beacons, when it is time; group frames that waited follow.
    pub fn step(&mut self, now: Instant) {
        let Some(at) = self.next_beacon.filter(|&at| at <= now) else {
            return;
        };
        self.next_beacon = Some(at + BEACON_INTERVAL);
        let sleepers = self.members.values().filter(|member| member.dozes);
        let waits = sleepers.filter(|member| !member.waiting.is_empty());
        let map = frames::traffic_map(!self.group.is_empty(), waits.filter_map(|m| m.id));
        let body = frames::announcement(now.0, &self.ssid, &map);
        let (all, own) = (MacAddr::BROADCAST, self.bssid);
        self.send(
            all,
            frames::management(FrameKind::BEACON, all, own, own, &body),
        );
        for frame in std::mem::take(&mut self.group) {
            self.launch(frame);
        }
    }

    /// A message of the medium.
    pub fn take(&mut self, now: Instant, message: ToHwsim) {
        match message {
            ToHwsim::Receive { radio, frame, .. } => {
                assert_eq!(radio, self.bssid, "its own radio");
                self.hear(now, &frame);
            }
            ToHwsim::Status {
                cookie,
                acknowledged,
                used,
                ..
            } => self.report(cookie, acknowledged, &used),
        }
    }

    fn hear(&mut self, now: Instant, frame: &[u8]) {
        let Ok(header) = Header::parse(frame) else {
            panic!("the medium delivers whole frames");
        };
        let Some(from) = header.transmitter else {
            return;
        };
        if header.is(FrameKind::PROBE_REQUEST) {
            self.seen.probed_by.insert(from);
            return self.answer_probe(now, from, &frame[header.length..]);
        }
        if header.receiver != self.bssid || self.is_duplicate(from, &header) {
            return;
        }
        if header.is(FrameKind::AUTHENTICATION) {
            self.authenticate(from);
        } else if header.is(FrameKind::ASSOCIATION_REQUEST) {
            self.associate(from, &frame[header.length + 4..]);
        } else if header.is(FrameKind::ACTION) && header.is_protected() {
            self.hear_action(from, &header, frame);
        } else if header.is_data() {
            self.hear_data(from, &header, frame);
        }
    }

    fn hear_action(&mut self, from: MacAddr, header: &Header, frame: &[u8]) {
        let key = self.members.get(&from).map(|member| member.key);
        let opened = ccmp::open(&key.unwrap_or_default(), frame, header.length);
        self.seen.actions.extend(opened.map(|(_, body)| body));
    }

    fn is_duplicate(&mut self, from: MacAddr, header: &Header) -> bool {
        let Some(sequence) = header.sequence_control else {
            return false;
        };
        let last = self.last_heard.insert((from, header.tid), sequence);
        let duplicate = header.is_retry() && last == Some(sequence);
        self.seen.duplicates += u64::from(duplicate);
        duplicate
    }

    fn answer_probe(&mut self, now: Instant, from: MacAddr, elements: &[u8]) {
        let wanted = frames::ssid(elements).unwrap_or_default();
        if wanted.is_empty() || wanted == self.ssid {
            let body = frames::announcement(now.0, &self.ssid, &[]);
            let own = self.bssid;
            let answer = frames::management(FrameKind::PROBE_RESPONSE, from, own, own, &body);
            self.send(from, answer);
        }
    }

    fn authenticate(&mut self, from: MacAddr) {
        let key = self.keys.get(&from).copied().unwrap_or_default();
        let member = Member {
            key,
            ..Member::default()
        };
        self.members.insert(from, member);
        let answer = frames::authentication(from, self.bssid, self.bssid, 2);
        self.send(from, answer);
    }

    fn associate(&mut self, from: MacAddr, elements: &[u8]) {
        assert_eq!(frames::ssid(elements).as_ref(), Some(&self.ssid));
        let Some(member) = self.members.get_mut(&from) else {
            return;
        };
        let id = *member.id.get_or_insert(self.next_id);
        self.next_id = self.next_id.max(id + 1);
        let answer = frames::association_response(from, self.bssid, id);
        self.send(from, answer);
    }

    fn hear_data(&mut self, from: MacAddr, header: &Header, frame: &[u8]) {
        let known = self.members.get_mut(&from);
        let Some(member) = known.filter(|member| member.id.is_some()) else {
            self.seen.strangers += 1;
            return;
        };
        member.dozes = header.control.contains(FrameControl::POWER_MANAGEMENT);
        if header.has_payload() {
            let Some((number, body)) = ccmp::open(&member.key, frame, header.length) else {
                self.seen.bad_integrity += 1;
                return;
            };
            if number <= member.heard_number {
                self.seen.replays += 1;
                return;
            }
            member.heard_number = number;
            let note = Note::decode(&body).expect("what decrypts is what was written");
            self.seen.notes.push(note);
            let to = header.address3.unwrap_or_default();
            if to.is_group() {
                self.send_to_group(from, &body);
            } else if self.echoes {
                self.send_data(from, note, &body);
            }
        }
        self.release(from);
    }

    /// Encrypts a note for a station.
    pub fn send_data(&mut self, to: MacAddr, note: Note, body: &[u8]) {
        let bssid = self.bssid;
        let Some(member) = self.members.get_mut(&to) else {
            return;
        };
        member.sent_number += 1;
        member.sequence = (member.sequence + 1) & 0xfff;
        let header = frames::qos_header(Way::Down, to, bssid, bssid, member.sequence);
        member.waiting.push_back(Outgoing {
            to,
            frame: ccmp::seal(&member.key, 0, member.sent_number, &header, body),
            note: Some(note),
        });
        if member.dozes {
            self.seen.kept += 1;
        }
        self.release(to);
    }

    /// Encrypts a management frame for a station.
    pub fn send_protected(&mut self, to: MacAddr, kind: FrameKind, body: &[u8]) {
        let own = self.bssid;
        let mut header = frames::management(kind, to, own, own, &[]);
        header[1] |= frames::PROTECTED;
        let member = self.members.get_mut(&to).expect("a member");
        member.sent_number += 1;
        let frame = ccmp::seal(&member.key, 0, member.sent_number, &header, body);
        self.send(to, frame);
    }

    /// A group frame: at once, or behind the next beacon when somebody sleeps.
    pub fn send_to_group(&mut self, source: MacAddr, body: &[u8]) {
        let to = MacAddr::BROADCAST;
        self.group_number += 1;
        self.group_sequence = (self.group_sequence + 1) & 0xfff;
        let header = frames::group_header(to, self.bssid, source, self.group_sequence);
        let outgoing = Outgoing {
            to,
            frame: ccmp::seal(&self.group_key, 1, self.group_number, &header, body),
            note: None,
        };
        if self.members.values().any(|member| member.dozes) {
            self.group.push_back(outgoing);
        } else {
            self.launch(outgoing);
        }
    }

    /// Sends what waits for a station that is awake.
    fn release(&mut self, to: MacAddr) {
        let Some(member) = self.members.get_mut(&to).filter(|member| !member.dozes) else {
            return;
        };
        let failed = std::mem::take(&mut member.failed);
        for frame in failed
            .into_iter()
            .chain(std::mem::take(&mut member.waiting))
        {
            self.launch(frame);
        }
    }

    /// Sends a management frame under a number of its own: a retry that bears the number of the frame before
    /// would pass for a duplicate of it.
    fn send(&mut self, to: MacAddr, mut frame: Vec<u8>) {
        self.management_number = (self.management_number + 1) & 0xfff;
        set_sequence_number(&mut frame, self.management_number);
        let note = None;
        self.launch(Outgoing { to, frame, note });
    }

    fn launch(&mut self, outgoing: Outgoing) {
        let data = outgoing.note.is_some();
        let rates = match data {
            true => self.rates.clone(),
            false => vec![(Rate::OFDM_6, 8)],
        };
        self.cookie += 1;
        let mut tx_info = TxInfo::default();
        for (entry, &(rate, tries)) in tx_info.0.iter_mut().zip(&rates) {
            let index = match rate {
                Rate::Ht { mcs, .. } => Some(mcs.into()),
                _ => OfdmRate::ALL
                    .iter()
                    .position(|&known| Rate::Ofdm(known) == rate),
            };
            *entry = TxRate {
                index: index.map_or(-1, |index| index as i8),
                tries,
            };
        }
        let group = outgoing.to.is_group();
        self.out.push_back(FromHwsim::Frame(HwsimFrame {
            radio: self.bssid,
            frame: Buffer::from_slice(&outgoing.frame).expect("the frame fits a buffer"),
            channel: self.channel,
            flags: WANTS_STATUS | if group { NO_ACK } else { 0 },
            rates: rates.into_iter().collect(),
            tx_info,
            cookie: self.cookie,
        }));
        self.on_air.insert(self.cookie, outgoing);
    }

    fn report(&mut self, cookie: u64, acknowledged: bool, used: &TxInfo) {
        let outgoing = self.on_air.remove(&cookie);
        let outgoing = outgoing.expect("one status for each frame");
        let Some(note) = outgoing.note else {
            return;
        };
        let spent = used.0.iter().filter(|rate| rate.index >= 0);
        self.seen.attempts += spent.map(|rate| u64::from(rate.tries)).sum::<u64>();
        if acknowledged {
            return self.seen.acknowledged.push(note);
        }
        match self.members.get_mut(&outgoing.to) {
            Some(member) if member.dozes => {
                self.seen.kept += 1;
                member.failed.push_back(outgoing);
            }
            _ => self.seen.given_up.push(note),
        }
    }
}
