//! A-MPDUs: which waiting frames share a PPDU, and how many bytes that makes
//! (IEEE 802.11-2020 9.7, 10.12, 10.25.6).
//!
//! An A-MPDU is formed at the last moment, when the queue has won the medium, as hardware does it:
//! what an earlier BlockAck left out goes first, then what has come since, up to the window. So a
//! NIC that queues frames never rebuilds anything; each frame has its own token and its own end.
//!
//! Not here: BlockAckReq, A-MSDU (a frame like any other).

use airlane_dot11::Rate;
use airlane_dot11::airtime::{block_ack_nav, duration};
use airlane_lane::Micros;

use crate::block_ack::BaSession;
use crate::queue::{Pending, Queue};
use crate::transmission::{LARGEST, LONGEST, WINDOW};

/// Bytes before each MPDU of an A-MPDU (IEEE 802.11-2020 9.7.1).
const DELIMITER: usize = 4;

/// The PPDU that a queue sends next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PpduPlan {
    pub rate: Rate,
    /// MPDUs: more than one is an A-MPDU.
    pub frames: u8,
    /// Bytes of the PSDU.
    pub octets: usize,
    /// Where in it the last MPDU's delimiter stands.
    last_at: usize,
}

/// What a waiting frame does to an A-MPDU in the making.
enum Meets {
    Joins,
    /// It is for another receiver or session: passed over.
    Passed,
    /// It follows the others, but not in this PPDU.
    Ends,
}

impl Queue {
    /// Chooses and marks what goes on the air next: the head, and what may share its PPDU.
    /// `in_20_mhz`: the secondary channel is busy, whatever the rate table says.
    pub fn plan(&mut self, in_20_mhz: bool) -> Option<PpduPlan> {
        let mut waiting = self.pending.iter_mut();
        let head = waiting.next()?;
        head.in_ppdu = true;
        let mut plan = PpduPlan {
            rate: at_width(head.next_rate(), in_20_mhz),
            frames: 1,
            octets: head.octets(),
            last_at: 0,
        };
        let Some(first) = head
            .session
            .filter(|_| matches!(plan.rate, Rate::Ht { .. }))
        else {
            return Some(plan);
        };
        let limits = Limits::of(head, plan.rate, first);
        let mut last = 0;
        for pending in waiting {
            match limits.meets(head, pending, &plan, last) {
                Meets::Passed => continue,
                Meets::Ends => break,
                Meets::Joins => {}
            }
            last = pending.session.map_or(last, |session| session.after(first));
            pending.in_ppdu = true;
            plan = limits.joined(&plan, pending);
        }
        Some(plan)
    }
}

struct Limits {
    first: BaSession,
    window: u16,
    octets: usize,
    time: Micros,
    /// Bytes from one delimiter to the next, at least.
    spacing: usize,
    rate: Rate,
}

impl Limits {
    fn of(head: &Pending, rate: Rate, first: BaSession) -> Self {
        let allowed = first.aggregation;
        Self {
            first,
            window: allowed.window.min(WINDOW).into(),
            octets: allowed.octets.min(LARGEST),
            time: allowed.time.min(LONGEST).min(opportunity(head, rate)),
            spacing: octets_in(allowed.spacing_nanos, rate),
            rate,
        }
    }

    fn meets(&self, head: &Pending, pending: &Pending, plan: &PpduPlan, last: u16) -> Meets {
        let (Some(transmitter), same) = (head.transmitter, pending.receiver == head.receiver)
        else {
            return Meets::Ends;
        };
        if !same || pending.transmitter != Some(transmitter) {
            return Meets::Passed;
        }
        let Some(session) = pending.session else {
            return Meets::Ends;
        };
        if session.tid != self.first.tid {
            return Meets::Passed;
        }
        let after = session.after(self.first);
        if after > last && after < self.window && self.fits(head, pending, plan) {
            Meets::Joins
        } else {
            Meets::Ends
        }
    }

    fn fits(&self, head: &Pending, pending: &Pending, plan: &PpduPlan) -> bool {
        let (one, other) = (&head.transmission, &pending.transmission);
        let octets = self.joined(plan, pending).octets;
        one.rates == other.rates
            && one.channel == other.channel
            && octets <= self.octets
            && duration(one.channel.band(), self.rate, octets) <= self.time
    }

    /// The same with one MPDU more: all but the last are padded to whole words.
    fn joined(&self, plan: &PpduPlan, pending: &Pending) -> PpduPlan {
        let end = match plan.frames {
            1 => DELIMITER + plan.octets,
            _ => plan.octets,
        };
        let at = end.max(plan.last_at + self.spacing);
        let last_at = at.next_multiple_of(DELIMITER);
        PpduPlan {
            frames: plan.frames.saturating_add(1),
            octets: last_at + DELIMITER + pending.octets(),
            last_at,
            ..*plan
        }
    }
}

fn at_width(rate: Rate, in_20_mhz: bool) -> Rate {
    match rate {
        Rate::Ht {
            mcs,
            ht40,
            short_guard,
            greenfield,
        } => Rate::Ht {
            mcs,
            ht40: ht40 && !in_20_mhz,
            short_guard,
            greenfield,
        },
        other => other,
    }
}

/// Bytes that pass at `rate` in a span, rounded up.
fn octets_in(nanos: u32, rate: Rate) -> usize {
    let tenths_of_bits = u64::from(nanos) * u64::from(rate.hundred_kbps()) / 1_000;
    usize::try_from(tenths_of_bits.div_ceil(80)).unwrap_or(LARGEST)
}

/// How long a PPDU may last in the head's transmit opportunity, its BlockAck included (IEEE
/// 802.11-2020 10.23.2.9).
fn opportunity(head: &Pending, rate: Rate) -> Micros {
    match head.transmission.edca.txop {
        Micros(0) => LONGEST,
        txop => txop.saturating_sub(block_ack_nav(head.transmission.channel.band(), rate)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Aggregation, Transmission};
    use airlane_dot11::frame::Header;
    use airlane_dot11::{Band, Buffer, Channel};

    /// The plan for `frames` QoS frames of `length` bytes, FCS included, at 300 Mb/s.
    fn plan(frames: u16, length: usize, spacing_nanos: u32) -> PpduPlan {
        let channel = Channel::new(Band::Ghz5, 36).unwrap();
        let rate = Rate::Ht {
            mcs: 15,
            ht40: true,
            short_guard: true,
            greenfield: false,
        };
        let mut queue = Queue::default();
        for number in 0..frames {
            let mut bytes = vec![0; length - 4];
            bytes[0] = 0x88;
            bytes[4] = 2;
            airlane_dot11::frame::set_sequence_number(&mut bytes, number);
            let header = Header::parse(&bytes).unwrap();
            let frame = Buffer::from_slice(&bytes).unwrap();
            let mut transmission = Transmission::new(0, frame, channel, rate);
            transmission.aggregation = Some(Aggregation {
                spacing_nanos,
                ..Aggregation::LARGEST
            });
            queue
                .pending
                .push_back(Pending::new(transmission, Some(header)));
        }
        queue.plan(false).unwrap()
    }

    #[test]
    fn all_mpdus_but_the_last_are_padded_to_whole_words() {
        assert_eq!(plan(1, 101, 0).octets, 101);
        assert_eq!(plan(2, 101, 0).octets, 108 + 105);
        assert_eq!(plan(3, 104, 0).octets, 3 * 108);
    }

    #[test]
    fn short_mpdus_keep_their_distance() {
        // 4 us at 300 Mb/s are 150 bytes, 152 in whole words.
        assert_eq!(plan(3, 60, 4_000).octets, 2 * 152 + 64);
        assert_eq!(plan(3, 200, 4_000).octets, 2 * 204 + 204);
    }
}
