//! What comes out of the medium: events, and totals.

use std::collections::VecDeque;

use airlane_dot11::Dbm;
use airlane_lane::Instant;

use crate::pending::Pending;
use crate::signal::Lost;
use crate::{AirCounters, AirEvent, Outcome, RadioId};

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
    pub fn received(&mut self, event: AirEvent) {
        self.counters.received += 1;
        self.events.push_back(event);
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
        self.events.push_back(AirEvent::Sent {
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
        });
    }
}
