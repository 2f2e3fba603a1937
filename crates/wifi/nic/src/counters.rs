//! What is counted. Every frame that a VM offers ends in exactly one of these:
//! `offered = sent + failed + dropped + queued`, across resets.

use airlane_lane::Micros;
use enum_map::{Enum, EnumMap};

/// Why a frame that a VM offered never went on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum DropReason {
    /// There is no vMAC, or it has no address, or its mode never sends.
    NotConfigured,
    /// The card has as many frames of the vMAC as it may, from request to report.
    QueueFull,
    /// Too short for its own header, too long, no longer mapped, or not shaped for its cipher.
    Malformed,
    /// The transmitter address is not the vMAC's own.
    Identity,
    /// Data to another BSS than the vMAC's own.
    ForeignBss,
    /// The station is not in the table.
    UnknownStation,
    /// The driver flushed the frame's ring.
    Flushed,
    /// The vMAC was reset while the frame waited or was on the air.
    Reset,
}

impl DropReason {
    /// All reasons, in the order of declaration.
    pub const ALL: [Self; 8] = [
        Self::NotConfigured,
        Self::QueueFull,
        Self::Malformed,
        Self::Identity,
        Self::ForeignBss,
        Self::UnknownStation,
        Self::Flushed,
        Self::Reset,
    ];
}

/// Counters of one VM, from the beginning; a reset of its vMAC does not clear them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VmCounters {
    /// Frames that the VM asked to send.
    pub offered: u64,
    /// Frames that were sent, and acknowledged where that was asked.
    pub sent: u64,
    /// Bytes of those, MAC header and cipher included, FCS not.
    pub sent_bytes: u64,
    /// Frames that were given up after all attempts without an acknowledgement.
    pub failed: u64,
    /// Frames that were dropped before they were sent, by reason.
    pub dropped: EnumMap<DropReason, u64>,
    /// Configurations refused, since the address was not the VM's to bear.
    pub addresses_refused: u64,
    /// Frames that wait or are on the air now.
    pub queued: u64,
    /// Attempts beyond the first of each frame.
    pub retries: u64,
    /// Time that its frames took on the medium, with all attempts.
    pub airtime: Micros,
    /// Time that its frames are taken to have waited for the medium: what it pays for besides its airtime.
    pub contention: Micros,
    /// Frames delivered to the VM.
    pub received: u64,
    /// Bytes of those, MAC header and cipher included, FCS not.
    pub received_bytes: u64,
    /// Frames delivered to the VM that the NIC decrypted.
    pub decrypted: u64,
    /// Frames delivered to the VM whose message integrity code was wrong.
    pub undecryptable: u64,
    /// Keys that its driver has put into the card.
    pub keys_set: u64,
}

impl VmCounters {
    pub(crate) fn drop_frame(&mut self, reason: DropReason) {
        self.dropped[reason] += 1;
    }

    /// A frame that was queued is dropped.
    pub(crate) fn drop_queued(&mut self, reason: DropReason) {
        self.drop_frame(reason);
        self.queued = self.queued.saturating_sub(1);
    }

    /// How many frames were dropped for this reason.
    pub fn dropped_for(&self, reason: DropReason) -> u64 {
        self.dropped[reason]
    }

    /// Adds what was counted at another time.
    pub fn add(&mut self, other: &Self) {
        let Self {
            offered,
            sent,
            sent_bytes,
            failed,
            dropped,
            addresses_refused,
            queued,
            retries,
            airtime,
            contention,
            received,
            received_bytes,
            decrypted,
            undecryptable,
            keys_set,
        } = other;
        self.offered += offered;
        self.sent += sent;
        self.sent_bytes += sent_bytes;
        self.failed += failed;
        for (reason, count) in dropped {
            self.dropped[reason] += count;
        }
        self.addresses_refused += addresses_refused;
        self.queued += queued;
        self.retries += retries;
        self.airtime.0 += airtime.0;
        self.contention.0 += contention.0;
        self.received += received;
        self.received_bytes += received_bytes;
        self.decrypted += decrypted;
        self.undecryptable += undecryptable;
        self.keys_set += keys_set;
    }

    /// True when every offered frame is accounted for.
    pub fn conserved(&self) -> bool {
        let dropped: u64 = self.dropped.values().sum();
        self.offered == self.sent + self.failed + dropped + self.queued
    }
}

/// Counters of the card as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that the radio has heard.
    pub heard: u64,
    /// Frames heard that were too short for their own header.
    pub malformed: u64,
    /// Frames heard that were for no vMAC.
    pub unwanted: u64,
    /// Copies of frames delivered to vMACs.
    pub delivered: u64,
    /// Null frames that told an access point of absence or presence.
    pub announcements: u64,
    /// Null frames of those that were not acknowledged.
    pub unheard_announcements: u64,
    /// Probe requests sent for scans.
    pub probes: u64,
    /// Probe requests left out since too many wait already.
    pub probes_skipped: u64,
    /// A-MPDUs that the air has sent for the card.
    pub aggregates: u64,
    /// Frames in those A-MPDUs; a frame that is sent again is counted again.
    pub aggregated_frames: u64,
    /// Times that the channel scheduler tuned the radio.
    pub tunes: u64,
    /// Ends of transmissions whose vMAC was reset meanwhile.
    pub orphans: u64,
    /// Buffers made because a pool was in use.
    pub pool_misses: u64,
    /// Times that the card found its own state at odds with itself: a defect.
    pub broken_invariants: u64,
}
