//! The access point's side of the four-way handshake and of the group key handshake with one station
//! (IEEE 802.11-2020 12.7.6, 12.7.7).
//!
//! Not here: sending (it says what), keys of other stations, what the keys encrypt.

use airlane_dot11::MacAddr;
use airlane_lane::{Instant, Micros};

use crate::crypto::{Nonce, Parties, Pmk, Ptk};
use crate::eapol::{KeyFrame, KeyFrameError, genuine, info};
use crate::elements;
use crate::management::Reason;

/// How often a message is sent before the station is given up (dot11RSNAConfigPairwiseUpdateCount is
/// 3; one more, because emulated stations are slow).
const TRIES: u8 = 4;
/// dot11RSNAConfigPairwiseUpdateTimeOut.
const PATIENCE: Micros = Micros::from_millis(1_000);
const CCMP_KEY_LENGTH: u16 = 16;

/// A group key, as it is handed to stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupKey {
    /// Key ID in the CCMP header: 1 or 2.
    pub id: u8,
    /// The temporal key of CCMP.
    pub bytes: [u8; 16],
    /// The last packet number used with it.
    pub sent: u64,
}

/// How far a station is. Edges: `Message1 → Message3 → Idle`, `Idle → Group → Idle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nonce sent; its nonce awaited.
    Message1,
    /// Group key sent; confirmation awaited.
    Message3,
    /// A new group key sent; confirmation awaited.
    Group,
    /// No message of the station is awaited.
    Idle,
}

/// What follows from a message of the station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It knows the passphrase: its frames are encrypted with this key from now on. Send this.
    Expanded([u8; 16], Vec<u8>),
    /// Both have all keys.
    Finished,
    /// It has the new group key.
    GroupFinished,
}

/// Why a message of the station changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No EAPOL-Key frame.
    #[error(transparent)]
    Frame(#[from] KeyFrameError),
    /// Not a message that is awaited.
    #[error("not the message that is awaited")]
    Unexpected,
    /// A replay counter that was not sent, or was answered.
    #[error("the replay counter {0} does not belong to an open message")]
    Replay(u64),
    /// Made with other keys: most often of another passphrase.
    #[error("the message integrity code does not match")]
    Mic,
    /// Message 2 has another RSN element than the association request: the station must go.
    #[error("the RSN element is another than the association request's")]
    Element,
}

/// What is to be done when a station has not answered in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// Send it again.
    Again(Vec<u8>),
    /// It must go.
    GiveUp(Reason),
}

/// The handshake with one station.
pub struct Authenticator {
    pmk: Pmk,
    addresses: (MacAddr, MacAddr),
    /// Element and content of the association request's RSN element.
    rsn: Vec<u8>,
    anonce: Nonce,
    ptk: Option<Ptk>,
    phase: Phase,
    /// Replay counter of the last message sent.
    counter: u64,
    /// Of the first try of the open message.
    open_from: u64,
    tries: u8,
    due: Option<Instant>,
}

impl Authenticator {
    /// Between an access point and a station; `rsn` is the whole element of its association request.
    pub fn new(pmk: Pmk, own: MacAddr, station: MacAddr, rsn: Vec<u8>, anonce: Nonce) -> Self {
        Self {
            pmk,
            addresses: (own, station),
            rsn,
            anonce,
            ptk: None,
            phase: Phase::Idle,
            counter: 0,
            open_from: 1,
            tries: 0,
            due: None,
        }
    }

    /// Begins; the first message.
    pub fn start(&mut self, now: Instant) -> Vec<u8> {
        self.open(now, Phase::Message1);
        self.message_1()
    }

    /// Hands out a new group key; `None` while another handshake is open or there are no keys yet.
    pub fn change_group_key(&mut self, now: Instant, group: &GroupKey) -> Option<Vec<u8>> {
        if self.phase != Phase::Idle || self.ptk.is_none() {
            return None;
        }
        self.open(now, Phase::Group);
        Some(self.group_message(group))
    }

    /// When an answer is overdue.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The open message once more, or the end. Nothing when it is not time.
    pub fn expire(&mut self, now: Instant, group: &GroupKey) -> Option<Overdue> {
        self.due.filter(|&due| due <= now)?;
        if self.tries >= TRIES {
            let group = self.phase == Phase::Group;
            self.close();
            let reason = if group {
                Reason::GroupKeyTimeout
            } else {
                Reason::FourWayTimeout
            };
            return Some(Overdue::GiveUp(reason));
        }
        self.count(now);
        Some(Overdue::Again(match self.phase {
            Phase::Message1 => self.message_1(),
            Phase::Message3 => self.message_3(group),
            Phase::Group | Phase::Idle => self.group_message(group),
        }))
    }

    /// Takes in the payload of an EAPOL frame of the station.
    pub fn hear(&mut self, now: Instant, bytes: &[u8], group: &GroupKey) -> Result<Step, Refusal> {
        let frame = KeyFrame::parse(bytes)?;
        if !frame.has(info::MIC) || frame.info & (info::ACK | info::ERROR | info::REQUEST) != 0 {
            return Err(Refusal::Unexpected);
        }
        if !(self.open_from..=self.counter).contains(&frame.replay_counter) {
            return Err(Refusal::Replay(frame.replay_counter));
        }
        let pairwise = frame.has(info::PAIRWISE);
        match (self.phase, pairwise) {
            (Phase::Message1, true) => self.message_2(now, &frame, bytes, group),
            (Phase::Message3, true) => self.confirmed(bytes, Step::Finished),
            (Phase::Group, false) => self.confirmed(bytes, Step::GroupFinished),
            _ => Err(Refusal::Unexpected),
        }
    }

    fn message_2(
        &mut self,
        now: Instant,
        frame: &KeyFrame,
        bytes: &[u8],
        group: &GroupKey,
    ) -> Result<Step, Refusal> {
        let (authenticator, supplicant) = self.addresses;
        let ptk = self.pmk.expand(&Parties {
            authenticator,
            supplicant,
            anonce: self.anonce,
            snonce: frame.nonce,
        });
        if !genuine(bytes, &ptk) {
            return Err(Refusal::Mic);
        }
        if !frame.data.starts_with(&self.rsn) {
            return Err(Refusal::Element);
        }
        let key = ptk.tk;
        self.ptk = Some(ptk);
        self.open(now, Phase::Message3);
        Ok(Step::Expanded(key, self.message_3(group)))
    }

    fn confirmed(&mut self, bytes: &[u8], step: Step) -> Result<Step, Refusal> {
        let genuine = self.ptk.as_ref().is_some_and(|ptk| genuine(bytes, ptk));
        if !genuine {
            return Err(Refusal::Mic);
        }
        self.close();
        Ok(step)
    }

    fn open(&mut self, now: Instant, phase: Phase) {
        self.phase = phase;
        self.tries = 0;
        self.count(now);
        self.open_from = self.counter;
    }

    fn count(&mut self, now: Instant) {
        self.counter = self.counter.saturating_add(1);
        self.tries = self.tries.saturating_add(1);
        self.due = Some(now + PATIENCE);
    }

    fn close(&mut self) {
        self.phase = Phase::Idle;
        self.due = None;
        // What was answered cannot be answered again.
        self.open_from = self.counter.saturating_add(1);
    }

    fn message_1(&self) -> Vec<u8> {
        let frame = KeyFrame {
            info: info::VERSION | info::PAIRWISE | info::ACK,
            key_length: CCMP_KEY_LENGTH,
            replay_counter: self.counter,
            nonce: self.anonce,
            ..KeyFrame::default()
        };
        frame.encode(None)
    }

    fn message_3(&self, group: &GroupKey) -> Vec<u8> {
        let data = [&elements::RSN[..], &encapsulated(group)].concat();
        self.with_keys(group, info::PAIRWISE | info::INSTALL, self.anonce, &data)
    }

    fn group_message(&self, group: &GroupKey) -> Vec<u8> {
        self.with_keys(group, 0, Nonce::default(), &encapsulated(group))
    }

    fn with_keys(&self, group: &GroupKey, bits: u16, nonce: Nonce, data: &[u8]) -> Vec<u8> {
        let ptk = self.ptk.as_ref();
        let common = info::VERSION | info::ACK | info::MIC | info::SECURE | info::ENCRYPTED;
        let frame = KeyFrame {
            info: common | bits,
            key_length: if bits & info::PAIRWISE == 0 {
                0
            } else {
                CCMP_KEY_LENGTH
            },
            replay_counter: self.counter,
            nonce,
            receive_sequence: group.sent.to_le_bytes(),
            data: ptk.and_then(|ptk| ptk.wrap(data)).unwrap_or_default(),
        };
        frame.encode(ptk)
    }
}

/// The group key's encapsulation (IEEE 802.11-2020 figures 12-36 and 12-37).
fn encapsulated(group: &GroupKey) -> [u8; 24] {
    let mut bytes = [0xdd, 22, 0x00, 0x0f, 0xac, 1, group.id & 3, 0]
        .into_iter()
        .chain(group.bytes);
    std::array::from_fn(|_| bytes.next().unwrap_or_default())
}
