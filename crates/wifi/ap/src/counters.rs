//! What is counted.

use enum_map::{Enum, EnumMap};

/// Why a frame went no further.
#[derive(Clone, Copy, Debug, Enum, PartialEq, Eq)]
pub enum Drop {
    /// Too short for what it says it is, an element cut off, or no Ethernet frame.
    Malformed,
    /// A part of a frame: stations are not asked to fragment.
    Fragment,
    /// Data that is not to the distribution system, or through two access points.
    Addressing,
    /// Of a station that is not associated.
    NotAssociated,
    /// Other than EAPOL before there are keys, or in clear although there are.
    Unprotected,
    /// Encrypted with another key.
    Undecryptable,
    /// Its packet number does not rise.
    Replayed,
    /// A retry of a frame that has been received: same sequence number.
    Duplicate,
    /// An EAPOL frame that changed nothing.
    Eapol,
    /// From the uplink to an address that is not here.
    NotHere,
    /// Too many wait already.
    QueueFull,
    /// Given up after all attempts.
    NoAck,
    /// Its station has gone.
    StationGone,
    /// The key is spent.
    KeySpent,
}

impl Drop {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 14] = [
        Self::Malformed,
        Self::Fragment,
        Self::Addressing,
        Self::NotAssociated,
        Self::Unprotected,
        Self::Undecryptable,
        Self::Replayed,
        Self::Duplicate,
        Self::Eapol,
        Self::NotHere,
        Self::QueueFull,
        Self::NoAck,
        Self::StationGone,
        Self::KeySpent,
    ];

    /// Its name in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Fragment => "fragment",
            Self::Addressing => "addressing",
            Self::NotAssociated => "not_associated",
            Self::Unprotected => "unprotected",
            Self::Undecryptable => "undecryptable",
            Self::Replayed => "replayed",
            Self::Duplicate => "duplicate",
            Self::Eapol => "eapol",
            Self::NotHere => "not_here",
            Self::QueueFull => "queue_full",
            Self::NoAck => "no_ack",
            Self::StationGone => "station_gone",
            Self::KeySpent => "key_spent",
        }
    }
}

/// Totals of one access point, from the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Beacons handed to the radio.
    pub beacons: u64,
    /// Probe requests answered.
    pub probe_responses: u64,
    /// Open System authentications accepted.
    pub authenticated: u64,
    /// Associations and reassociations accepted.
    pub associated: u64,
    /// Authentications and associations refused.
    pub refused: u64,
    /// Stations that got all keys, or need none.
    pub joined: u64,
    /// Handshakes that failed for another passphrase.
    pub wrong_keys: u64,
    /// Stations sent away.
    pub sent_away: u64,
    /// Group keys handed out after the first.
    pub group_rekeys: u64,
    /// Frames of stations that were taken in.
    pub received: u64,
    /// Bytes of those, as Ethernet frames.
    pub received_bytes: u64,
    /// Frames that stations acknowledged.
    pub sent: u64,
    /// Bytes of those, as 802.11 frames.
    pub sent_bytes: u64,
    /// Group frames sent.
    pub group_sent: u64,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Frames that came back from the medium because their station sleeps.
    pub put_back: u64,
    /// PS-Polls answered.
    pub polls: u64,
    /// Frames dropped, by reason.
    pub dropped: EnumMap<Drop, u64>,
}

impl Counters {
    /// Frames dropped for this reason.
    pub fn dropped_for(&self, reason: Drop) -> u64 {
        self.dropped[reason]
    }

    pub(crate) fn drop(&mut self, reason: Drop) {
        self.dropped[reason] += 1;
    }
}
