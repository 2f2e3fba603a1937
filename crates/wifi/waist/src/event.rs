//! What a radio tells a card's driver.

use airlane_dot11::{Buffer, Channel, Dbm, MacAddr, Rate};
use airlane_lane::{Instant, Micros};

use crate::Tag;
use crate::stamp::FrameId;

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The reset is done; what follows belongs to the time after it.
    ResetDone,
    /// The command with this tag is done.
    Done(Tag, Reply),
    /// The frame with this tag has been sent, or given up.
    Transmitted(Tag, TxReport),
    /// A frame was received.
    Received(Received),
    /// How the scan goes on.
    Scan(ScanEvent),
    /// Beacons of the access point fail to come.
    MissedBeacons(MissedBeacons),
    /// The channel switch is done.
    ChannelSwitched(Channel),
}

impl Event {
    /// The frame that it is about, for stamps.
    pub fn frame(&self) -> Option<FrameId> {
        match self {
            Self::Transmitted(tag, _) => Some(FrameId::sent(tag.0)),
            Self::Received(received) => Some(FrameId::received(&received.frame)),
            _ => None,
        }
    }
}

/// The answer to a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Done.
    Ok,
    /// Not done.
    Refused(Refusal),
    /// The statistics asked for.
    Statistics(Box<Statistics>),
}

/// Why a command was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The station table is full, or the index lies outside it.
    #[error("no room in the station table")]
    StationTableFull,
    /// No such station.
    #[error("no such station")]
    UnknownStation,
    /// There is no vMAC: the driver has not started its microcode.
    #[error("the vMAC is not initialized")]
    NotInitialized,
    /// Another station has this address, or it is kept for one: for another VM or an access point.
    #[error("{0} is another station's address, or kept for one")]
    AddressTaken(MacAddr),
    /// The VM may bear the address that is assigned to it, and this is another.
    #[error("{0} is not the VM's own address, and the VM may have no other")]
    AddressFixed(MacAddr),
    /// No station can have this address.
    #[error("{0} is the address of a group")]
    AddressOfGroup(MacAddr),
    /// No scan is running.
    #[error("no scan is running")]
    NoScan,
    /// A scan is running already.
    #[error("a scan is running already")]
    Busy,
    /// The NIC scans in another way; see `Capabilities`.
    #[error("the NIC does not scan in this way")]
    NotSupported,
}

/// How a transmission ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxStatus {
    /// Sent, and acknowledged where that was asked.
    Success,
    /// No acknowledgement after all attempts.
    NoAck,
    /// Dropped by a flush or reset before it was sent.
    Flushed,
    /// The vMAC may not send this: not its own address, or not configured.
    Refused,
    /// The station is not in the table.
    UnknownStation,
    /// The frame was malformed or no longer mapped.
    Malformed,
}

/// The report on one transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxReport {
    /// How it ended.
    pub status: TxStatus,
    /// Attempts beyond the first.
    pub retries: u8,
    /// RTS frames without an answer.
    pub rts_failures: u8,
    /// The rate of the first attempt.
    pub rate: Rate,
    /// Sequence control as sent.
    pub sequence_control: u16,
    /// Time spent on the medium, all attempts.
    pub airtime: Micros,
}

/// What the NIC did about a received frame's encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RxCipher {
    /// The frame was not encrypted.
    Clear,
    /// CCMP, decrypted in place and genuine; cipher header and MIC are still there.
    Ccmp,
    /// CCMP, the key did not match; content unusable.
    CcmpBad,
    /// Left encrypted: no key, or not ours to decrypt.
    Encrypted,
}

/// A received frame.
#[derive(Clone, Debug)]
pub struct Received {
    /// The frame, without FCS.
    pub frame: Buffer,
    /// What was done about its encryption.
    pub cipher: RxCipher,
    /// The channel that it was received on.
    pub channel: Channel,
    /// At what rate it was sent.
    pub rate: Rate,
    /// How strong it arrived, in dBm.
    pub signal: Dbm,
    /// When its reception ended.
    pub at: Instant,
    /// Part of an A-MPDU.
    pub aggregated: bool,
}

/// How a scan goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanEvent {
    /// Tuned to a channel.
    Started(Channel),
    /// Done with a channel.
    Left(Channel),
    /// The scan is over.
    Complete {
        /// Channels visited.
        channels: u8,
        /// The last one, if any.
        last: Option<Channel>,
        /// Ended early, on request.
        aborted: bool,
    },
}

/// Missed beacons, as the 5000 series counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissedBeacons {
    /// In a row, up to now.
    pub consecutive: u32,
    /// Since association.
    pub total: u32,
    /// Expected since association.
    pub expected: u32,
    /// Received since association.
    pub received: u32,
}

/// Statistics of one vMAC since it was initialized or last cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The counters were cleared by this request.
    pub cleared: bool,
    /// The channel at the time of the report.
    pub channel: Option<Channel>,
    /// Frames received for this vMAC.
    pub received: u32,
    /// Frames that failed authentication or decryption.
    pub undecryptable: u32,
    /// Frames sent.
    pub transmitted: u32,
    /// Frames given up.
    pub failed: u32,
    /// Attempts beyond the first.
    pub retries: u32,
    /// Beacons of the own BSS received.
    pub beacons: u32,
    /// Signal of the last beacon, rounded dBm.
    pub beacon_signal: i8,
    /// Time on the medium.
    pub airtime: Micros,
}
