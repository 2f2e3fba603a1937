//! Block-ack sessions: where a frame stands in one, and what a receiver has of an A-MPDU, as its
//! compressed BlockAck says it (IEEE 802.11-2020 9.3.1.8, 10.25.6).

use airlane_dot11::frame::Header;

use crate::{Aggregation, Transmission};

/// Sequence numbers are 12 bits wide (IEEE 802.11-2020 9.2.4.4.2).
const SEQUENCE_NUMBERS: u16 = 0xfff;

/// The block-ack session that a frame is sent under, and its number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BaSession {
    pub aggregation: Aggregation,
    pub tid: u8,
    pub sequence: u16,
}

impl BaSession {
    /// Of whole QoS data frames to one station that are acknowledged.
    pub fn of(transmission: &Transmission, header: &Header) -> Option<Self> {
        let aggregation = transmission.aggregation?;
        let whole = header.fragment_number() == Some(0);
        let eligible = whole && transmission.acknowledge && !header.receiver.is_group();
        Some(Self {
            aggregation,
            tid: header.tid.filter(|_| eligible)?,
            sequence: header.sequence_number()?,
        })
    }

    /// How many sequence numbers behind `first`.
    pub fn after(&self, first: Self) -> u16 {
        self.sequence.wrapping_sub(first.sequence) & SEQUENCE_NUMBERS
    }
}

/// Which frames of an A-MPDU have arrived. A receiver that keeps none longer than an exchange
/// ("partial state", IEEE 802.11-2020 10.25.6.4) begins it anew with each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BaBitmap {
    pub tid: u8,
    /// Sequence number of bit 0.
    pub start: u16,
    pub bits: u64,
}

impl BaBitmap {
    /// None has arrived of an A-MPDU whose first frame is this one.
    pub fn starting_at(first: Option<BaSession>) -> Self {
        Self {
            tid: first.map_or(0, |session| session.tid),
            start: first.map_or(0, |session| session.sequence),
            bits: 0,
        }
    }

    /// This sequence number has arrived.
    pub fn set(&mut self, sequence: u16) {
        self.bits |= self.bit(sequence);
    }

    /// True when this sequence number has arrived.
    pub fn has(&self, sequence: u16) -> bool {
        self.bits & self.bit(sequence) != 0
    }

    fn bit(&self, sequence: u16) -> u64 {
        let after = sequence.wrapping_sub(self.start) & SEQUENCE_NUMBERS;
        1u64.checked_shl(after.into()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_says_what_has_arrived_across_the_end_of_the_numbers() {
        let mut bitmap = BaBitmap {
            tid: 0,
            start: 4_095,
            bits: 0,
        };
        for sequence in [4_095, 1, 62, 63, 4_094] {
            bitmap.set(sequence);
        }
        assert_eq!(bitmap.bits, 1 | 1 << 2 | 1 << 63);
        assert!(bitmap.has(62) && !bitmap.has(63) && !bitmap.has(4_094));
    }
}
