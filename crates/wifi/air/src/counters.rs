//! What the medium counts.

use airlane_dot11::Channel;
use airlane_lane::Micros;

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
