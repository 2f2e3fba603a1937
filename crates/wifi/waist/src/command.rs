//! What a card's driver asks of a radio.

use airlane_dma::Frame;
use airlane_dot11::{AccessCategory, Channel, EdcaParameters, MacAddr, PeerHt, Rate, RateTable};
use airlane_lane::Micros;

use crate::stamp::FrameId;

/// What the front end recognises an answer by. The radio gives it back unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub u16);

/// A command and its tag.
#[derive(Debug)]
pub struct Request {
    /// Comes back in the answer.
    pub tag: Tag,
    /// What is asked.
    pub command: Command,
}

impl Request {
    /// The frame that it is about, for stamps.
    pub fn frame(&self) -> Option<FrameId> {
        matches!(self.command, Command::Transmit(_)).then_some(FrameId::sent(self.tag.0))
    }
}

/// One thing that a driver asks for.
#[derive(Debug)]
pub enum Command {
    /// The device was reset or its microcode stopped: the vMAC, its queues, keys, stations and scan go.
    Reset,
    /// The driver has started microcode: the vMAC comes into being, unconfigured.
    Initialize,
    /// Address, BSS, channel, filter, association of the vMAC.
    Configure(Box<VifConfig>),
    /// Beacon timing of the BSS.
    Timing(Timing),
    /// Channel access parameters, indexed by [`AccessCategory`].
    Edca([EdcaParameters; 4]),
    /// A peer station enters the table (or is replaced).
    AddStation(StationIndex, MacAddr, PeerHt),
    /// A peer station leaves the table.
    RemoveStation(MacAddr),
    /// A known station changes: this is what it can now. The NIC checks that it exists.
    ModifyStation(StationIndex, PeerHt),
    /// A key of a station.
    SetKey(Box<Key>),
    /// The key in this slot of this station goes.
    RemoveKey(StationIndex, u8),
    /// A block-ack agreement for frames that we receive.
    BlockAck(BlockAck),
    /// The rates to try for a station's data, first to last, and the bounds of its A-MPDUs.
    RateTable(StationIndex, Box<RateTable>, AggregationLimits),
    /// Scan for access points.
    Scan(Box<ScanRequest>),
    /// End the scan.
    AbortScan,
    /// How the radio may sleep.
    PowerSave(PowerSave),
    /// Upper bound of the transmit power, in half dBm.
    TxPower(i8),
    /// Transmit antennas, bit 0 = A.
    TxAntennas(u8),
    /// Report, and if so told then clear, the vMAC's statistics.
    Statistics {
        /// Start again from zero.
        clear: bool,
    },
    /// Follow the access point to another channel.
    SwitchChannel(ChannelSwitch),
    /// Drop all frames of these transmit queues (bit 0 = queue 0), then answer.
    Flush(u32),
    /// Send a frame.
    Transmit(Transmit),
    /// Radio calibration request or result: of no effect on an emulated radio.
    Calibrate,
    /// Receiver sensitivity.
    Sensitivity,
    /// How the card's LED blinks.
    Led,
    /// Priorities between radios in one machine.
    Coexistence,
    /// Temperature limits.
    Thermal,
}

/// A peer's place in the station table of its vMAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationIndex(pub u8);

/// Stations that one vMAC's table holds.
pub const STATIONS: usize = 16;

/// Operating mode of a vMAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Member of an infrastructure BSS.
    #[default]
    Station,
    /// Member of an independent BSS.
    Adhoc,
    /// Receives everything, sends nothing.
    Monitor,
    /// Any other: accepted and treated as a station that is never associated.
    Other,
}

bitflags::bitflags! {
    /// What a vMAC wants to receive beyond frames to its own address.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ReceiveFilter: u8 {
        /// Every frame on the channel.
        const PROMISCUOUS = 1;
        /// Control frames.
        const CONTROL = 2;
        /// Group-addressed frames (of its own BSS when associated).
        const GROUP = 4;
        /// Beacons and probe responses of every BSS.
        const FOREIGN_BEACONS = 8;
        /// Leave unicast frames encrypted: the driver decrypts.
        const NO_DECRYPTION = 16;
        /// Leave group frames encrypted.
        const NO_GROUP_DECRYPTION = 32;
    }
}

/// The whole configuration of a vMAC.
#[derive(Clone, Debug, PartialEq)]
pub struct VifConfig {
    /// Its own address; zero when no interface is up.
    pub address: MacAddr,
    /// The BSS that it belongs or will belong to; zero when none.
    pub bssid: MacAddr,
    /// Operating mode.
    pub mode: Mode,
    /// Operating channel, with its width.
    pub channel: Channel,
    /// True once associated.
    pub associated: bool,
    /// Association ID, when associated.
    pub association_id: u16,
    /// What to receive.
    pub filter: ReceiveFilter,
    /// Short slot time (2.4 GHz).
    pub short_slot: bool,
    /// Short preamble allowed (2.4 GHz).
    pub short_preamble: bool,
    /// Protect OFDM frames with CTS-to-self (2.4 GHz).
    pub protect: bool,
    /// Stations and keys known so far are forgotten.
    pub forget_stations: bool,
}

/// Beacon timing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Beacon interval, in time units of 1,024 µs.
    pub beacon_interval: u16,
    /// Listen interval, in beacon intervals.
    pub listen_interval: u16,
    /// DTIM period, in beacon intervals.
    pub dtim_period: u8,
}

/// What a key is for, as far as the NIC uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// CCMP with a 128-bit key.
    Ccmp,
    /// Any other: the key is kept so that it can be removed, and never used; the driver decrypts.
    Software,
}

/// A key of a station.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// The peer station that it is shared with.
    pub station: StationIndex,
    /// Where the driver keeps it; replaces what was there.
    pub slot: u8,
    /// Key ID, 0 to 3.
    pub index: u8,
    /// For group frames that this station sends.
    pub group: bool,
    /// The cipher that uses it.
    pub cipher: Cipher,
    /// The 128 bits of the key.
    pub bytes: [u8; 16],
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            station,
            slot,
            index,
            group,
            cipher,
            ..
        } = self;
        write!(
            f,
            "Key({station:?} slot {slot} index {index} group {group} {cipher:?})"
        )
    }
}

/// A receive block-ack agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAck {
    /// The peer station that sends the frames.
    pub station: StationIndex,
    /// Traffic identifier, 0 to 15.
    pub tid: u8,
    /// First sequence number; `None` ends the agreement.
    pub start: Option<u16>,
}

/// What the driver wants of A-MPDUs to one station (`dvm/commands.h`, `iwl_link_qual_agg_params`). The
/// default is what that structure means when it is zero: as many frames as fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AggregationLimits {
    /// Most frames in one A-MPDU: 0 no limit, 1 no aggregation.
    pub frames: u8,
    /// Longest time that one A-MPDU may take; 0 no limit.
    pub time: Micros,
    /// A frame sent in vain this often starts no A-MPDU any more; 0 no limit.
    pub no_start_after: u8,
}

/// One VM's scan.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanRequest {
    /// The channels to scan, in order.
    pub channels: Vec<ScanChannel>,
    /// Probe request (24-byte header included) without FCS; sequence number and SSID are filled in.
    pub probe: Vec<u8>,
    /// Networks to ask for by name, besides what the template itself names.
    pub ssids: Vec<Vec<u8>>,
    /// Rate of the probe requests.
    pub rate: Rate,
    /// Longest time away from the operating channel at a stretch; zero when not associated.
    pub max_away: Micros,
    /// What to receive while scanning.
    pub filter: ReceiveFilter,
}

/// One channel of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanChannel {
    /// The channel; its width plays no part.
    pub channel: Channel,
    /// Send probe requests.
    pub active: bool,
    /// How long to stay: as the driver asked for an active or passive channel.
    pub dwell: Micros,
}

/// A sleep schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerSave {
    /// May the radio sleep at all.
    pub enabled: bool,
    /// Stay awake this long after a received frame.
    pub receive_timeout: Micros,
    /// Stay awake this long after a transmitted frame.
    pub transmit_timeout: Micros,
    /// Longest sleep, in beacon intervals.
    pub sleep_interval: u32,
}

/// A channel switch that the access point announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelSwitch {
    /// The new channel.
    pub channel: Channel,
    /// How long from now the switch takes place.
    pub after: Micros,
}

/// How a frame is encrypted on its way out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TxCipher {
    /// Not by the NIC: the frame is clear, or the driver has encrypted it.
    None,
    /// CCMP; the CCMP header stands in the frame, the NIC encrypts and appends the MIC.
    Ccmp([u8; 16]),
}

impl std::fmt::Debug for TxCipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Ccmp(_) => "Ccmp",
        })
    }
}

/// At what rate a frame is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxRate {
    /// By the rate table of its station.
    Table,
    /// At this one.
    Fixed(Rate),
}

/// A frame to send.
#[derive(Clone, Debug)]
pub struct Transmit {
    /// The frame, in the guest's memory: MAC header, cipher header if any, payload.
    pub frame: Frame,
    /// The card's transmit queue, for [`Command::Flush`].
    pub queue: u8,
    /// Channel access category.
    pub category: AccessCategory,
    /// To which station of the table.
    pub station: StationIndex,
    /// An acknowledgement is expected.
    pub acknowledge: bool,
    /// The NIC gives the sequence number.
    pub assign_sequence: bool,
    /// Protect with RTS/CTS.
    pub protect: bool,
    /// Its queue belongs to a block-ack agreement: it may travel in an A-MPDU.
    pub aggregate: bool,
    /// The rate of its attempts.
    pub rate: TxRate,
    /// What the NIC does about its encryption.
    pub cipher: TxCipher,
    /// Attempts beyond the first.
    pub retry_limit: u8,
}
