//! A medium without air: every frame arrives, and is acknowledged, in the moment in which it is
//! sent. For benchmarks of everything else.

use airlane_dot11::Dbm;
use airlane_lane::Instant;

use crate::medium::{Medium, Space};
use crate::queue::Pending;
use crate::radio::Radio;
use crate::{Heard, Outcome, RadioId};

/// Sends a frame, and tells how it ended.
pub(crate) fn deliver_at_once(medium: &mut Medium, from: RadioId, mut pending: Pending) {
    pending.note_attempt(pending.next_rate());
    medium.output.counters.frames += 1;
    medium.output.counters.bytes += pending.octets() as u64;
    let reached = if pending.receiver.is_group() {
        to_group(medium, from, &pending);
        None
    } else {
        to_station(medium, from, &pending)
    };
    let outcome = match (pending.expects_ack(), reached) {
        (false, _) => Outcome::Unacknowledged,
        (true, Some(_)) => Outcome::Acknowledged,
        (true, None) => Outcome::NoAck,
    };
    let signal = reached.filter(|_| pending.expects_ack());
    let now = medium.now;
    medium.output.sent(now, from, &pending, outcome, signal);
}

fn to_group(medium: &mut Medium, from: RadioId, pending: &Pending) {
    let channel = medium.channel_of(pending.transmission.channel);
    let Medium {
        space, output, now, ..
    } = medium;
    let sender = &space.radios[from];
    for radio in space.others_on(channel, from) {
        let signal = signal(space, sender, radio, pending);
        output.received(arrival(*now, sender, radio, pending, signal));
    }
}

/// Signal at the first receiver, if there is one.
fn to_station(medium: &mut Medium, from: RadioId, pending: &Pending) -> Option<Dbm> {
    let channel = medium.channel_of(pending.transmission.channel);
    let Medium {
        space, output, now, ..
    } = medium;
    let sender = &space.radios[from];
    let owners = space.owners(pending.receiver);
    let mut owners = owners
        .filter(|radio| radio.channel() == Some(channel))
        .peekable();
    if owners.peek().is_none() {
        output.counters.no_receiver += 1;
    }
    let mut reached = None;
    for radio in owners.filter(|radio| radio.id != from) {
        let signal = signal(space, sender, radio, pending);
        output.received(arrival(*now, sender, radio, pending, signal));
        reached = reached.or(Some(signal));
    }
    for radio in space.monitors(channel, pending.receiver, from) {
        let signal = signal(space, sender, radio, pending);
        output.received(arrival(*now, sender, radio, pending, signal));
    }
    reached
}

fn signal(space: &Space, sender: &Radio, receiver: &Radio, pending: &Pending) -> Dbm {
    let (source, channel) = (sender.source(), pending.transmission.channel);
    Dbm(space.signals.strength(receiver, &source, channel))
}

fn arrival(at: Instant, sender: &Radio, receiver: &Radio, pending: &Pending, signal: Dbm) -> Heard {
    Heard {
        radio: receiver.id,
        frame: pending.transmission.frame.clone(),
        channel: pending.transmission.channel,
        rate: pending.transmission.rate(0),
        signal,
        at,
        from: sender.id,
        aggregated: false,
    }
}
