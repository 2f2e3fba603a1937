//! What comes out of the medium: events, and totals.

use std::collections::VecDeque;

use airlane_dot11::{Channel, Dbm};
use airlane_lane::{Instant, Micros};

use crate::queue::Pending;
use crate::signal::Lost;
use crate::{AirEvent, Ended, Heard, Outcome, RadioId};

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

/// Events that nobody has taken yet, and totals.
#[derive(Default)]
pub(crate) struct Output {
    pub events: VecDeque<AirEvent>,
    pub counters: AirCounters,
}

impl Output {
    /// Counts a reception that failed.
    pub fn lost(&mut self, lost: Lost) {
        let counter = match lost {
            Lost::Deaf => &mut self.counters.no_receiver,
            Lost::Sending => &mut self.counters.receiver_sending,
            Lost::TooWide => &mut self.counters.too_wide,
            Lost::Collision => &mut self.counters.collisions,
            Lost::Noise => &mut self.counters.noise_errors,
        };
        *counter += 1;
    }

    /// Counts and tells an [`AirEvent::Received`].
    pub fn received(&mut self, heard: Heard) {
        self.counters.received += 1;
        self.events.push_back(AirEvent::Received(heard));
    }

    /// Counts and tells how a transmission ended.
    pub fn sent(
        &mut self,
        at: Instant,
        radio: RadioId,
        pending: &Pending,
        outcome: Outcome,
        ack_signal: Option<Dbm>,
    ) {
        let counter = match outcome {
            Outcome::Acknowledged => &mut self.counters.acknowledged,
            Outcome::NoAck => &mut self.counters.given_up,
            Outcome::Unacknowledged => &mut self.counters.unacknowledged,
            Outcome::Cancelled => &mut self.counters.cancelled,
        };
        *counter += 1;
        let (first, last) = pending.first_and_last_rate();
        self.events.push_back(AirEvent::Sent(Ended {
            radio,
            token: pending.transmission.token,
            outcome,
            attempts: pending.attempts,
            rts_failures: pending.rts_failures,
            rate: first,
            last_rate: last,
            airtime: pending.airtime,
            ack_signal,
            at,
        }));
    }
}
