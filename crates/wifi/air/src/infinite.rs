//! A medium without air: every frame arrives, and is acknowledged, in the moment in which it is
//! sent. For benchmarks of everything else.

use airlane_dot11::{Dbm, MacAddr};

use crate::medium::Source;
use crate::queue::Pending;
use crate::radio::Radio;
use crate::{Air, AirEvent, Outcome, RadioId};

impl Air {
    pub(crate) fn deliver_at_once(&mut self, from: RadioId, mut pending: Pending) {
        let rate = pending.next_rate();
        pending.attempts = 1;
        pending.used = Some((rate, rate));
        self.counters.frames += 1;
        self.counters.bytes +=
            (pending.transmission.frame.len() + airlane_dot11::frame::FCS) as u64;
        let reached = if pending.receiver.is_group() {
            self.hand_to_all(from, &pending)
        } else {
            self.hand_to(from, &pending)
        };
        let outcome = match (pending.expects_ack(), reached) {
            (false, _) => Outcome::Unacknowledged,
            (true, Some(_)) => Outcome::Acknowledged,
            (true, None) => Outcome::NoAck,
        };
        self.report(
            from,
            &pending,
            outcome,
            reached.filter(|_| pending.expects_ack()),
        );
    }

    fn hand_to_all(&mut self, from: RadioId, pending: &Pending) -> Option<Dbm> {
        let medium = self.medium_of(pending.transmission.channel);
        for at in 0.. {
            let tuned = self.media.get(medium.0).map(|medium| &medium.tuned);
            let Some(id) = tuned.and_then(|tuned| tuned.get(at)).copied() else {
                break;
            };
            if id != from {
                self.hand(from, id, pending);
            }
        }
        None
    }

    fn hand_to(&mut self, from: RadioId, pending: &Pending) -> Option<Dbm> {
        let mut signal = None;
        let mut next = self.next_on_channel(pending, pending.receiver, RadioId::LOWEST);
        if next.is_none() {
            self.counters.no_receiver += 1;
        }
        while let Some(id) = next {
            if id != from {
                signal = signal.or(self.hand(from, id, pending));
            }
            next = self.next_on_channel(pending, pending.receiver, id);
        }
        self.hand_to_monitors(from, pending);
        signal
    }

    fn next_on_channel(
        &self,
        pending: &Pending,
        address: MacAddr,
        after: RadioId,
    ) -> Option<RadioId> {
        let primary = pending.transmission.channel.primary();
        self.addressed(address, after).find(|id| {
            let tuned = self.radios.get(*id).and_then(|radio| radio.tuned);
            tuned.is_some_and(|(_, channel)| channel.primary() == primary)
        })
    }

    fn hand_to_monitors(&mut self, from: RadioId, pending: &Pending) {
        let medium = self.medium_of(pending.transmission.channel);
        for at in 0.. {
            let monitors = self.media.get(medium.0).map(|medium| &medium.monitors);
            let Some(id) = monitors.and_then(|list| list.get(at)).copied() else {
                return;
            };
            if id != from && !self.addresses.contains(&(pending.receiver, id)) {
                self.hand(from, id, pending);
            }
        }
    }

    fn hand(&mut self, from: RadioId, to: RadioId, pending: &Pending) -> Option<Dbm> {
        let source = self.radios.get(from).map(Radio::source)?;
        let channel = pending.transmission.channel;
        let signal = Dbm(self.signal(self.radios.get(to)?, &source, channel));
        self.counters.received += 1;
        self.events.push_back(AirEvent::Received {
            radio: to,
            frame: pending.transmission.frame.clone(),
            channel,
            rate: pending.transmission.rate(0),
            signal,
            at: self.now,
            from,
            aggregated: false,
        });
        Some(signal)
    }
}

impl Radio {
    /// This radio as a transmitter.
    pub(crate) fn source(&self) -> Source {
        Source {
            radio: self.id,
            position: self.position,
            power: self.tx_power,
        }
    }
}
