//! What bounds an A-MPDU towards a peer: what it can receive.

/// What a peer can receive (IEEE 802.11-2020 9.4.2.55.3, A-MPDU Parameters; 9.4.2.55.2, Supported
/// Channel Width Set). The default is what a station without 802.11n can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerHt {
    /// Maximum A-MPDU Length Exponent, 0 to 3.
    pub ampdu_exponent: u8,
    /// Minimum MPDU Start Spacing, as the standard codes it, 0 to 7.
    pub ampdu_spacing: u8,
    /// 40 MHz frames may be sent to it.
    pub ht40: bool,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_standard() {
        let peer = |ampdu_exponent, ampdu_spacing| PeerHt {
            ampdu_exponent,
            ampdu_spacing,
            ht40: true,
        };
        let lengths = [0, 1, 2, 3, 200].map(|exponent| peer(exponent, 0).max_ampdu());
        assert_eq!(lengths, [8_191, 16_383, 32_767, 65_535, 65_535]);
        let spacings = [0, 1, 5, 7, 200].map(|code| peer(0, code).ampdu_spacing_nanos());
        assert_eq!(spacings, [0, 250, 4_000, 16_000, 16_000]);
    }
}
