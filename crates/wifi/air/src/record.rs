//! What a receiver has of an A-MPDU, as its BlockAck says it (IEEE 802.11-2020 9.3.1.8).

/// What a receiver has of an A-MPDU: a compressed BlockAck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub tid: u8,
    /// Sequence number of bit 0.
    pub start: u16,
    pub bitmap: u64,
}

impl Record {
    /// Notes that `sequence` has arrived.
    pub fn note(&mut self, sequence: u16) {
        self.bitmap |= self.bit(sequence);
    }

    pub fn has(&self, sequence: u16) -> bool {
        self.bitmap & self.bit(sequence) != 0
    }

    fn bit(&self, sequence: u16) -> u64 {
        let after = sequence.wrapping_sub(self.start) & 0xfff;
        1u64.checked_shl(after.into()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_what_has_arrived_across_the_end_of_the_numbers() {
        let mut record = Record {
            tid: 0,
            start: 4_095,
            bitmap: 0,
        };
        for sequence in [4_095, 1, 62, 63, 4_094] {
            record.note(sequence);
        }
        assert_eq!(record.bitmap, 1 | 1 << 2 | 1 << 63);
        assert!(record.has(62) && !record.has(63) && !record.has(4_094));
    }
}
