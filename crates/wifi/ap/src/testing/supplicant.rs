//! A station's side of the handshakes, for stories: what wpa_supplicant does with EAPOL-Key frames.
//! Written apart from the authenticator, so that one checks the other.

use airlane_dot11::MacAddr;
use airlane_dot11::elements::{Elements, id};

use crate::crypto::{Nonce, Parties, Pmk, Ptk};
use crate::eapol::{KeyFrame, genuine, info};

/// The RSN element that it asks for: CCMP, CCMP, PSK.
pub const RSN: [u8; 22] = [
    0x30, 0x14, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 2, 0, 0,
];

/// One station that knows a passphrase.
pub struct Supplicant {
    /// What passphrase and SSID come to.
    pub pmk: Pmk,
    /// The station's address.
    pub own: MacAddr,
    /// Its access point.
    pub bssid: MacAddr,
    /// The nonce of its messages (SNonce).
    pub nonce: Nonce,
    /// The RSN element that it puts into message 2.
    pub rsn: Vec<u8>,
    ptk: Option<Ptk>,
    /// The pairwise key, once message 3 has come.
    pub pairwise: Option<[u8; 16]>,
    /// Group keys with their IDs, in the order in which they came.
    pub group: Vec<(u8, [u8; 16])>,
    last_counter: Option<u64>,
}

impl Supplicant {
    /// One that has heard nothing yet.
    pub fn new(passphrase: &str, ssid: &str, own: MacAddr, bssid: MacAddr) -> Self {
        Self {
            pmk: Pmk::from_passphrase(passphrase, ssid),
            own,
            bssid,
            nonce: [own.0[5] ^ 0x5a; 32],
            rsn: RSN.to_vec(),
            ptk: None,
            pairwise: None,
            group: Vec::new(),
            last_counter: None,
        }
    }

    /// The answer to an EAPOL frame's payload; `None` where it would not answer.
    pub fn hear(&mut self, payload: &[u8]) -> Option<Vec<u8>> {
        let frame = KeyFrame::parse(payload).ok()?;
        let rises = self
            .last_counter
            .is_none_or(|last| frame.replay_counter > last);
        if !frame.has(info::ACK) || !rises {
            return None;
        }
        if frame.has(info::PAIRWISE) && !frame.has(info::MIC) {
            return Some(self.message_2(&frame));
        }
        let ptk = self.ptk.clone().filter(|ptk| genuine(payload, ptk))?;
        self.last_counter = Some(frame.replay_counter);
        self.take_group_key(&ptk.unwrap(&frame.data)?)?;
        if frame.has(info::PAIRWISE) {
            self.pairwise = Some(ptk.tk);
        }
        Some(self.confirmation(&frame, &ptk))
    }

    fn message_2(&mut self, frame: &KeyFrame) -> Vec<u8> {
        let ptk = self.pmk.expand(&Parties {
            authenticator: self.bssid,
            supplicant: self.own,
            anonce: frame.nonce,
            snonce: self.nonce,
        });
        let answer = KeyFrame {
            info: info::VERSION | info::PAIRWISE | info::MIC,
            replay_counter: frame.replay_counter,
            nonce: self.nonce,
            data: self.rsn.clone(),
            ..KeyFrame::default()
        };
        let bytes = answer.encode(Some(&ptk));
        self.ptk = Some(ptk);
        bytes
    }

    fn confirmation(&self, frame: &KeyFrame, ptk: &Ptk) -> Vec<u8> {
        let answer = KeyFrame {
            info: info::VERSION | info::MIC | info::SECURE | (frame.info & info::PAIRWISE),
            replay_counter: frame.replay_counter,
            ..KeyFrame::default()
        };
        answer.encode(Some(ptk))
    }

    /// The first group key among elements and encapsulations.
    fn take_group_key(&mut self, data: &[u8]) -> Option<()> {
        let mut encapsulated = Elements::new(data).all(id::VENDOR);
        let key = encapsulated.find_map(|body| match body {
            [0, 0x0f, 0xac, 1, key, _, bytes @ ..] => Some((key & 3, bytes)),
            _ => None,
        });
        let (number, bytes) = key?;
        self.group.push((number, bytes.try_into().ok()?));
        Some(())
    }
}
