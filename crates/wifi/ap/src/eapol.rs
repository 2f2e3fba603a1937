//! EAPOL-Key frames (IEEE 802.11-2020 12.7.2, IEEE 802.1X-2020 11.3), read and written.
//!
//! Read: one with the RSN descriptor; all else is refused. Not here: what they mean.

use crate::crypto::{Mic, Nonce, Ptk, equal};

/// EtherType of EAPOL (IEEE 802.1X-2020 table 11-1).
pub const ETHER_TYPE: u16 = 0x888e;

/// Bits of the key information field (IEEE 802.11-2020 figure 12-34).
pub mod info {
    /// Descriptor version 2: HMAC-SHA1-128 and AES key wrap.
    pub const VERSION: u16 = 2;
    /// Mask of the version.
    pub const VERSION_MASK: u16 = 7;
    /// Pairwise, else group.
    pub const PAIRWISE: u16 = 0x0008;
    /// The key is to be used.
    pub const INSTALL: u16 = 0x0040;
    /// An answer is wanted: the access point's frames.
    pub const ACK: u16 = 0x0080;
    /// There is a MIC.
    pub const MIC: u16 = 0x0100;
    /// The pairwise keys are in place.
    pub const SECURE: u16 = 0x0200;
    /// A station reports a MIC failure.
    pub const ERROR: u16 = 0x0400;
    /// A station wants a new handshake.
    pub const REQUEST: u16 = 0x0800;
    /// The key data is wrapped.
    pub const ENCRYPTED: u16 = 0x1000;
}

const EAPOL_VERSION: u8 = 2;
const TYPE_KEY: u8 = 3;
const DESCRIPTOR_RSN: u8 = 2;
const HEADER: usize = 4;
const MIC_AT: usize = 81;
const MIC_END: usize = 97;
/// Bytes between the EAPOL header and the key data.
const FIXED: u16 = 95;
const DATA_AT: usize = HEADER + FIXED as usize;

/// What an EAPOL-Key frame says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyFrame {
    /// Key Information field, as on the air (IEEE 802.11-2020 12.7.2).
    pub info: u16,
    /// Length of the key that it is about.
    pub key_length: u16,
    /// Rises from frame to frame.
    pub replay_counter: u64,
    /// Of the sender, where the message carries one.
    pub nonce: Nonce,
    /// Last packet number used with the group key, low byte first.
    pub receive_sequence: [u8; 8],
    /// Elements and encapsulated keys, perhaps wrapped.
    pub data: Vec<u8>,
}

/// Why bytes are no EAPOL-Key frame of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFrameError {
    /// Ends too early.
    #[error("an EAPOL-Key frame of {0} bytes ends before it says it does")]
    Truncated(usize),
    /// Not EAPOL-Key, or not with the RSN descriptor.
    #[error("EAPOL type {0} with descriptor {1} is no EAPOL-Key frame of RSN")]
    Kind(u8, u8),
    /// Not HMAC-SHA1-128 with AES key wrap.
    #[error("key descriptor version {0} is not the one of CCMP")]
    Version(u16),
}

impl KeyFrame {
    /// Reads the payload of an EAPOL frame. Bytes after it are ignored: short frames are padded.
    pub fn parse(bytes: &[u8]) -> Result<Self, KeyFrameError> {
        let truncated = KeyFrameError::Truncated(bytes.len());
        let &[_, kind, high, low, descriptor, ..] = bytes else {
            return Err(truncated);
        };
        if kind != TYPE_KEY || descriptor != DESCRIPTOR_RSN {
            return Err(KeyFrameError::Kind(kind, descriptor));
        }
        let end = HEADER + usize::from(u16::from_be_bytes([high, low]));
        let body = bytes.get(..end).ok_or(truncated)?;
        let data_length = u16::from_be_bytes(field(body, MIC_END).ok_or(truncated)?);
        let data_end = DATA_AT + usize::from(data_length);
        let frame = Self {
            info: u16::from_be_bytes(field(body, 5).ok_or(truncated)?),
            key_length: u16::from_be_bytes(field(body, 7).ok_or(truncated)?),
            replay_counter: u64::from_be_bytes(field(body, 9).ok_or(truncated)?),
            nonce: field(body, 17).ok_or(truncated)?,
            receive_sequence: field(body, 65).ok_or(truncated)?,
            data: body.get(DATA_AT..data_end).ok_or(truncated)?.to_vec(),
        };
        match frame.info & info::VERSION_MASK {
            info::VERSION => Ok(frame),
            other => Err(KeyFrameError::Version(other)),
        }
    }

    /// True when all of `bits` are set.
    pub fn has(&self, bits: u16) -> bool {
        self.info & bits == bits
    }

    /// The frame's bytes, with its MIC if `ptk` is given.
    pub fn encode(&self, ptk: Option<&Ptk>) -> Vec<u8> {
        let data_length = u16::try_from(self.data.len()).unwrap_or(u16::MAX);
        let length = data_length.saturating_add(FIXED);
        let mut bytes = vec![EAPOL_VERSION, TYPE_KEY];
        bytes.extend(length.to_be_bytes());
        bytes.push(DESCRIPTOR_RSN);
        bytes.extend(self.info.to_be_bytes());
        bytes.extend(self.key_length.to_be_bytes());
        bytes.extend(self.replay_counter.to_be_bytes());
        bytes.extend(self.nonce);
        bytes.extend([0; 16]); // IV: none with key wrap.
        bytes.extend(self.receive_sequence);
        bytes.extend([0; 8]);
        bytes.extend(Mic::default());
        bytes.extend(data_length.to_be_bytes());
        bytes.extend(&self.data);
        let mic = ptk.map_or(Mic::default(), |ptk| ptk.mic(&[&bytes]));
        if let Some(room) = bytes.get_mut(MIC_AT..MIC_END) {
            room.copy_from_slice(&mic);
        }
        bytes
    }
}

/// True when the MIC of the EAPOL-Key frame in `bytes` was made with `ptk`.
pub fn genuine(bytes: &[u8], ptk: &Ptk) -> bool {
    let parts = || {
        let &[_, _, high, low, ..] = bytes else {
            return None;
        };
        let end = HEADER + usize::from(u16::from_be_bytes([high, low]));
        let after = bytes.get(MIC_END..end)?;
        Some((bytes.get(..MIC_AT)?, field(bytes, MIC_AT)?, after))
    };
    let Some((before, mic, after)) = parts() else {
        return false;
    };
    equal(&ptk.mic(&[before, &Mic::default(), after]), &mic)
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Parties, Pmk};
    use airlane_dot11::MacAddr;
    use proptest::prelude::*;

    fn ptk(seed: u8) -> Ptk {
        Pmk::from_passphrase("a passphrase", "ssid").expand(&Parties {
            authenticator: MacAddr([2, 0, 0, 0, 0, 1]),
            supplicant: MacAddr([2, 0, 0, 0, 0, 2]),
            anonce: [seed; 32],
            snonce: [9; 32],
        })
    }

    fn frame() -> KeyFrame {
        KeyFrame {
            info: info::VERSION | info::PAIRWISE | info::MIC,
            key_length: 16,
            replay_counter: 7,
            nonce: [3; 32],
            receive_sequence: [1, 2, 3, 4, 5, 6, 0, 0],
            data: vec![0x30, 2, 1, 0],
        }
    }

    #[test]
    fn what_is_written_is_read_and_padding_is_ignored() {
        let mut bytes = frame().encode(Some(&ptk(1)));
        assert_eq!(bytes.len(), DATA_AT + 4);
        bytes.extend([0; 20]);
        assert_eq!(KeyFrame::parse(&bytes), Ok(frame()));
        assert!(genuine(&bytes, &ptk(1)));
        assert!(!genuine(&bytes, &ptk(2)));
    }

    #[test]
    fn a_flipped_bit_breaks_the_mic() {
        let bytes = frame().encode(Some(&ptk(1)));
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 0x10;
            assert!(!genuine(&broken, &ptk(1)), "byte {at}");
        }
    }

    #[test]
    fn no_proper_prefix_is_accepted() {
        let bytes = frame().encode(None);
        for length in 0..bytes.len() {
            let refused = KeyFrame::parse(&bytes[..length]);
            assert_eq!(refused, Err(KeyFrameError::Truncated(length)));
            assert!(!genuine(&bytes[..length], &ptk(1)));
        }
    }

    #[test]
    fn another_kind_or_version_is_refused() {
        let mut start = frame().encode(None);
        start[1] = 1;
        assert_eq!(KeyFrame::parse(&start), Err(KeyFrameError::Kind(1, 2)));
        let mut wpa = frame().encode(None);
        wpa[4] = 254;
        assert_eq!(KeyFrame::parse(&wpa), Err(KeyFrameError::Kind(3, 254)));
        let mut tkip = frame();
        tkip.info = tkip.info & !info::VERSION_MASK | 1;
        let refused = KeyFrame::parse(&tkip.encode(None));
        assert_eq!(refused, Err(KeyFrameError::Version(1)));
    }

    #[test]
    fn data_that_reaches_beyond_the_frame_is_refused() {
        let mut bytes = frame().encode(None);
        bytes[MIC_END + 1] = 5;
        let length = bytes.len();
        assert_eq!(
            KeyFrame::parse(&bytes),
            Err(KeyFrameError::Truncated(length))
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..160)) {
            let _ = KeyFrame::parse(&bytes);
            let _ = genuine(&bytes, &ptk(1));
        }
    }
}
