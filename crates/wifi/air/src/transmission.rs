//! What radios hand to the medium and what they get from it: frames to send, events, totals, and the
//! names of radios, channels and frames on the air. Uses no other part of the medium, and all use it.

use airlane_dot11::{AccessCategory, Band, Buffer, Channel, Dbm, EdcaParameters, Rate, RateTable};
use airlane_lane::{Instant, Micros};

/// Names one radio of one medium. Never used again for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RadioId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl RadioId {
    /// Below the ID of every radio, whose generations begin at 1: where a search begins.
    pub(crate) const LOWEST: Self = Self {
        index: 0,
        generation: 0,
    };
}

/// Index of a 20 MHz channel that somebody has tuned to. Channels are never taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChannelId(pub usize);

/// Index of a frame on the air or about to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PpduId(pub usize);

/// How the medium is reserved before a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protection {
    /// No frame is sent before it.
    #[default]
    None,
    /// RTS, answered by CTS. Group and unacknowledged frames go without.
    RtsCts,
    /// A CTS to the sender's own address, at 11 Mb/s in 2.4 GHz.
    CtsToSelf,
}

/// Longest HT-mixed PPDU (aPPDUMaxTime, IEEE 802.11-2020 table 19-25).
pub(crate) const LONGEST: Micros = Micros(5_484);
/// Largest HT PSDU (aPSDUMaxLength, IEEE 802.11-2020 table 19-25).
pub(crate) const LARGEST: usize = 65_535;
/// Sequence numbers that a compressed bitmap covers (IEEE 802.11-2020 9.3.1.8.2).
pub(crate) const WINDOW: u8 = 64;

/// How frames under one block-ack agreement may share PPDUs. What the standard's own limits (64
/// sequence numbers, 65,535 bytes, 5,484 µs) cut short, they cut short here too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Buffer size of the agreement: how far apart sequence numbers in one A-MPDU may lie.
    pub window: u8,
    /// Most bytes of one A-MPDU (Maximum A-MPDU Length of the receiver's HT capabilities).
    pub octets: usize,
    /// Longest PPDU, preamble included.
    pub time: Micros,
    /// Least time between the starts of two MPDUs, in nanoseconds (Minimum MPDU Start Spacing of the
    /// receiver): shorter ones are followed by empty delimiters.
    pub spacing_nanos: u32,
}

impl Aggregation {
    /// As much as the standard allows.
    pub const LARGEST: Self = Self {
        window: WINDOW,
        octets: LARGEST,
        time: LONGEST,
        spacing_nanos: 0,
    };
}

/// One frame to send: an MPDU. Those that say so share PPDUs, which the medium forms.
#[derive(Clone, Debug)]
pub struct Transmission {
    /// Comes back in [`AirEvent::Sent`], unread.
    pub token: u64,
    /// MAC header and body, without FCS, encrypted if it is to be. Sent as it is; later attempts are
    /// copies with the Retry bit.
    pub frame: Buffer,
    /// Where to send. Waits, and holds up the frames behind it, while the radio is tuned to another
    /// primary channel.
    pub channel: Channel,
    /// Which of the radio's four queues.
    pub category: AccessCategory,
    /// Channel access parameters of this frame. One frame per transmit opportunity: the limit is
    /// not used yet.
    pub edca: EdcaParameters,
    /// One attempt each, the last repeated. Empty: the slowest rate of the band. A frame that was
    /// missing in a BlockAck begins again at the first.
    pub rates: RateTable,
    /// Attempts beyond the first.
    pub retry_limit: u8,
    /// An acknowledgement is expected; never for group frames.
    pub acknowledge: bool,
    /// How the medium is reserved.
    pub protect: Protection,
    /// 9 µs slots in 2.4 GHz too.
    pub short_slot: bool,
    /// Short preamble for the CTS-to-self.
    pub short_preamble: bool,
    /// Instead of the radio's own transmit power.
    pub power: Option<Dbm>,
    /// The block-ack agreement that it is sent under, if there is one: at an HT rate it then may
    /// share an A-MPDU with what else waits in its queue with the same receiver, transmitter, TID
    /// and rate table. Ignored for all but whole QoS data frames to one station that are acknowledged.
    pub aggregation: Option<Aggregation>,
}

impl Transmission {
    /// An acknowledged best-effort frame under DCF, at one rate, with seven retries: a start from
    /// which the fields are set.
    pub fn new(token: u64, frame: Buffer, channel: Channel, rate: Rate) -> Self {
        let mut rates = RateTable::new();
        rates.push(rate);
        Self {
            token,
            frame,
            channel,
            category: AccessCategory::BestEffort,
            edca: EdcaParameters::DCF,
            rates,
            retry_limit: 7,
            acknowledge: true,
            protect: Protection::None,
            short_slot: true,
            short_preamble: true,
            power: None,
            aggregation: None,
        }
    }

    /// The rate of attempt number `attempt`, from 0.
    pub fn rate(&self, attempt: u8) -> Rate {
        let rate = self.rates.get(usize::from(attempt)).or(self.rates.last());
        rate.copied().unwrap_or(match self.channel.band() {
            Band::Ghz2 => Rate::DSSS_1,
            Band::Ghz5 => Rate::OFDM_6,
        })
    }
}

/// How a transmission ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Acknowledged by its receiver.
    Acknowledged,
    /// Given up after all attempts.
    NoAck,
    /// Sent; no acknowledgement was asked for (group frames).
    Unacknowledged,
    /// Dropped before it was sent, or before it was sent again.
    Cancelled,
}

/// A frame that reached a radio without error.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The radio that received it.
    pub radio: RadioId,
    /// The frame, without FCS.
    pub frame: Buffer,
    /// The channel that it was sent on.
    pub channel: Channel,
    /// At what rate it was sent.
    pub rate: Rate,
    /// How strong it arrived, in dBm.
    pub signal: Dbm,
    /// When its reception ended.
    pub at: Instant,
    /// The radio that sent it.
    pub from: RadioId,
    /// It came in an A-MPDU.
    pub aggregated: bool,
}

/// How a transmission ended: the medium's report to the radio that sent it.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The radio that sent it.
    pub radio: RadioId,
    /// The token of [`Transmission`].
    pub token: u64,
    /// Whether it was acknowledged, given up, or dropped.
    pub outcome: Outcome,
    /// Times the frame itself was on the air.
    pub attempts: u8,
    /// RTS frames that no CTS answered.
    pub rts_failures: u8,
    /// Rate of the first attempt.
    pub rate: Rate,
    /// Rate of the last attempt.
    pub last_rate: Rate,
    /// Time on the medium: all attempts with their protection, gaps and answers. Frames of one
    /// A-MPDU share its time equally.
    pub airtime: Micros,
    /// How strong the ACK or BlockAck arrived.
    pub ack_signal: Option<Dbm>,
    /// When its last exchange ended, or it was dropped.
    pub at: Instant,
}

impl Ended {
    /// Attempts beyond the first.
    pub fn retries(&self) -> u8 {
        self.attempts.saturating_sub(1)
    }
}

/// What happened on the medium.
#[derive(Clone, Debug)]
pub enum AirEvent {
    /// A frame reached a radio. Duplicates of frames whose ACK was lost come too.
    Received(Heard),
    /// An A-MPDU's exchange ended. Comes right before [`AirEvent::Sent`] of each of its frames that
    /// ended with it; the others are sent again.
    Aggregated {
        /// The radio that sent it.
        radio: RadioId,
        /// Token of its first frame.
        first: u64,
        /// Frames in it, 2 to 64.
        frames: u8,
        /// Sequence number of the first.
        start: u16,
        /// Which arrived, as the BlockAck says: bit n is sequence number `start` + n. `None`
        /// without a BlockAck.
        bitmap: Option<u64>,
        /// The rate of its PPDU.
        rate: Rate,
        /// How strong the BlockAck arrived.
        ack_signal: Option<Dbm>,
        /// When its BlockAck ended, or should have begun.
        at: Instant,
    },
    /// A transmission ended.
    Sent(Ended),
}

impl AirEvent {
    /// The radio that it happened to: the receiver of a frame, or the sender whose transmission ended.
    pub fn radio(&self) -> RadioId {
        match self {
            Self::Received(heard) => heard.radio,
            Self::Aggregated { radio, .. } => *radio,
            Self::Sent(ended) => ended.radio,
        }
    }

    /// When it happened, on the clock of the calls.
    pub fn at(&self) -> Instant {
        match self {
            Self::Received(heard) => heard.at,
            Self::Aggregated { at, .. } => *at,
            Self::Sent(ended) => ended.at,
        }
    }
}

/// Totals since the medium began. `offered = acknowledged + given_up + unacknowledged + cancelled`
/// plus what is still queued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AirCounters {
    /// Transmissions handed over.
    pub offered: u64,
    /// Transmissions that ended with an ACK.
    pub acknowledged: u64,
    /// Transmissions that ended without one.
    pub given_up: u64,
    /// Transmissions that wanted none.
    pub unacknowledged: u64,
    /// Transmissions dropped; includes those of `malformed`.
    pub cancelled: u64,
    /// Cancelled since the frame ends within its MAC header.
    pub malformed: u64,
    /// Transmissions of a radio that does not exist: neither offered nor reported.
    pub removed_radio: u64,
    /// Data and management frames put on the air, each attempt.
    pub frames: u64,
    /// A-MPDUs put on the air.
    pub aggregates: u64,
    /// Bytes of frames, with FCS.
    pub bytes: u64,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Frames handed to radios.
    pub received: u64,
    /// RTS frames sent.
    pub rts: u64,
    /// CTS frames sent, those to self included.
    pub cts: u64,
    /// ACK frames sent.
    pub acks: u64,
    /// BlockAck frames sent.
    pub block_acks: u64,
    /// Receptions lost to an overlapping frame, counted once a PPDU where the frame was meant to arrive.
    pub collisions: u64,
    /// Receptions lost to noise.
    pub noise_errors: u64,
    /// Receptions lost since the receiver was sending itself.
    pub receiver_sending: u64,
    /// Receptions lost since the receiver is tuned more narrowly than the frame is wide.
    pub too_wide: u64,
    /// Unicast frames whose receiver is on no radio of the channel.
    pub no_receiver: u64,
    /// Frames received but not answered, the receiver being in an exchange of its own.
    pub answer_withheld: u64,
    /// Back-offs that ended in the same slot in two queues of one radio.
    pub internal_collisions: u64,
    /// Longest that [`crate::Air::step`] came after an event's own time.
    pub lag_max: Micros,
    /// Time on the air by primary channel; a 40 MHz frame's other half is not counted.
    pub channels: Vec<ChannelAirtime>,
}

/// How busy one channel was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelAirtime {
    /// The 20 MHz channel, by its number and band.
    pub channel: Channel,
    /// Time with at least one frame on the air, up to the end of the last one.
    pub busy: Micros,
}

impl AirCounters {
    /// Transmissions that have ended, however.
    pub fn ended(&self) -> u64 {
        self.acknowledged + self.given_up + self.unacknowledged + self.cancelled
    }
}
