//! What bounds an A-MPDU: what the peer can receive, and what the driver wants sent.
//!
//! Not here: agreements ([`crate::BlockAck`] for what we receive; for what we send, the frames of an
//! agreement carry [`crate::Transmit::aggregate`]).

use crate::Micros;

/// What a peer can receive (IEEE 802.11-2020 9.4.2.55.3, A-MPDU Parameters; 9.4.2.55.2, Supported
/// Channel Width Set). The default is what a station without 802.11n can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerHt {
    /// Maximum A-MPDU Length Exponent, 0 to 3.
    pub ampdu_exponent: u8,
    /// Minimum MPDU Start Spacing, as the standard codes it, 0 to 7.
    pub ampdu_spacing: u8,
    /// 40 MHz frames may be sent to it.
    pub wide: bool,
}

impl PeerHt {
    /// Longest A-MPDU that it receives, in bytes: 8,191 to 65,535.
    pub fn max_ampdu(self) -> usize {
        (1 << (13 + self.ampdu_exponent.min(3))) - 1
    }

    /// Least time between the starts of two MPDUs of one A-MPDU, in nanoseconds: 0, or 250 to 16,000.
    pub fn ampdu_spacing_nanos(self) -> u32 {
        match self.ampdu_spacing.min(7) {
            0 => 0,
            code => 125 << code,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_standard() {
        let peer = |ampdu_exponent, ampdu_spacing| PeerHt {
            ampdu_exponent,
            ampdu_spacing,
            wide: true,
        };
        let lengths = [0, 1, 2, 3, 200].map(|exponent| peer(exponent, 0).max_ampdu());
        assert_eq!(lengths, [8_191, 16_383, 32_767, 65_535, 65_535]);
        let spacings = [0, 1, 5, 7, 200].map(|code| peer(0, code).ampdu_spacing_nanos());
        assert_eq!(spacings, [0, 250, 4_000, 16_000, 16_000]);
    }
}
