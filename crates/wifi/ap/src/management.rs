//! The management frames that an access point sends (IEEE 802.11-2020 9.3.3), byte by byte.

use airlane_dot11::frame::{FrameControl, FrameKind, three_address_header};
use airlane_dot11::{Band, MacAddr};

use crate::config::Config;
use crate::elements;

/// Time units between two beacons.
pub const BEACON_INTERVAL: u16 = 100;
/// Beacons from one DTIM to the next.
pub const DTIM_PERIOD: u8 = 2;

/// Reason codes (IEEE 802.11-2020 table 9-49).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Reason {
    /// The station said so itself.
    Left = 3,
    /// Not heard for too long.
    Inactive = 4,
    /// A class 2 frame of a station that is not authenticated.
    Class2 = 6,
    /// A class 3 frame of a station that is not associated.
    Class3 = 7,
    /// No valid answer in the four-way handshake: most often a wrong passphrase.
    FourWayTimeout = 15,
    /// No answer in the group key handshake.
    GroupKeyTimeout = 16,
    /// The handshake's RSN element is another than the association request's.
    ElementMismatch = 17,
}

/// Status codes (IEEE 802.11-2020 table 9-50).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[allow(missing_docs)]
pub enum Status {
    Success = 0,
    UnknownAlgorithm = 13,
    OutOfSequence = 14,
    Full = 17,
    InvalidElement = 40,
    InvalidGroupCipher = 41,
    InvalidPairwiseCipher = 42,
    InvalidKeyManagement = 43,
}

impl From<elements::RsnError> for Status {
    fn from(error: elements::RsnError) -> Self {
        match error {
            elements::RsnError::Element => Self::InvalidElement,
            elements::RsnError::GroupCipher => Self::InvalidGroupCipher,
            elements::RsnError::PairwiseCipher => Self::InvalidPairwiseCipher,
            elements::RsnError::KeyManagement => Self::InvalidKeyManagement,
        }
    }
}

const ESS: u16 = 0x0001;
const PRIVACY: u16 = 0x0010;
const SHORT_PREAMBLE: u16 = 0x0020;
const SHORT_SLOT: u16 = 0x0400;

/// A beacon at time `now` of the BSS; `tim` is the body of the traffic indication map.
pub fn beacon(config: &Config, now: u64, tim: &[u8]) -> Vec<u8> {
    announcement(FrameKind::BEACON, MacAddr::BROADCAST, config, now, tim)
}

/// The answer to a probe request.
pub fn probe_response(config: &Config, now: u64, to: MacAddr) -> Vec<u8> {
    announcement(FrameKind::PROBE_RESPONSE, to, config, now, &[])
}

fn announcement(kind: FrameKind, to: MacAddr, config: &Config, now: u64, tim: &[u8]) -> Vec<u8> {
    let mut frame = header(kind, to, config.bssid);
    frame.extend(now.to_le_bytes());
    frame.extend(BEACON_INTERVAL.to_le_bytes());
    frame.extend(capabilities(config).to_le_bytes());
    elements::announce(config, tim, &mut frame);
    frame
}

/// Step 2 of open-system authentication, or a refusal of any other.
pub fn authentication(config: &Config, to: MacAddr, algorithm: u16, status: Status) -> Vec<u8> {
    let mut frame = header(FrameKind::AUTHENTICATION, to, config.bssid);
    for field in [algorithm, 2, status as u16] {
        frame.extend(field.to_le_bytes());
    }
    frame
}

/// The answer to an association request.
pub struct AssociationResponse {
    /// To a reassociation request.
    pub again: bool,
    /// Whether it may.
    pub status: Status,
    /// Its association ID, if it may.
    pub association_id: u16,
    /// The station knows WMM.
    pub wmm: bool,
}

impl AssociationResponse {
    /// The whole MAC frame for this station, without FCS.
    pub fn encode(&self, config: &Config, to: MacAddr) -> Vec<u8> {
        let kind = if self.again {
            FrameKind::REASSOCIATION_RESPONSE
        } else {
            FrameKind::ASSOCIATION_RESPONSE
        };
        let mut frame = header(kind, to, config.bssid);
        let id = self.association_id | 0xc000;
        for field in [capabilities(config), self.status as u16, id] {
            frame.extend(field.to_le_bytes());
        }
        elements::welcome(config, self.wmm, &mut frame);
        frame
    }
}

/// Ends association and authentication.
pub fn deauthentication(config: &Config, to: MacAddr, reason: Reason) -> Vec<u8> {
    farewell(FrameKind::DEAUTHENTICATION, config, to, reason)
}

/// Ends an association that there is not.
pub fn disassociation(config: &Config, to: MacAddr, reason: Reason) -> Vec<u8> {
    farewell(FrameKind::DISASSOCIATION, config, to, reason)
}

fn farewell(kind: FrameKind, config: &Config, to: MacAddr, reason: Reason) -> Vec<u8> {
    let mut frame = header(kind, to, config.bssid);
    frame.extend((reason as u16).to_le_bytes());
    frame
}

/// Its sequence number is written when it is queued.
fn header(kind: FrameKind, to: MacAddr, bssid: MacAddr) -> Vec<u8> {
    let control = kind.with(FrameControl::empty());
    three_address_header(control, [to, bssid, bssid], 0).to_vec()
}

fn capabilities(config: &Config) -> u16 {
    let privacy = if config.is_protected() { PRIVACY } else { 0 };
    match config.channel.band() {
        Band::Ghz2 => ESS | SHORT_PREAMBLE | SHORT_SLOT | privacy,
        Band::Ghz5 => ESS | privacy,
    }
}
