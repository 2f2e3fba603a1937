//! CCMP with a 128-bit key, in place (IEEE 802.11-2020 12.5.3).
//!
//! The CCMP header stands in the frame already, written by whoever counts the packet numbers. Their
//! replay is not checked here: who holds the key does it, per key and TID, from the header that stays
//! in the frame.

use crate::frame::{CCMP_HEADER, CCMP_MIC, FrameControl, FrameType, Header};
use aes::Aes128;
use arrayvec::ArrayVec;
use ccm::aead::AeadInPlace;
use ccm::consts::{U8, U13};
use ccm::{Ccm, KeyInit};

/// An expanded key.
#[derive(Clone)]
pub struct Ccmp(Ccm<Aes128, U8, U13>);

/// The frame cannot be encrypted or decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CcmpError {
    /// Too short for its CCMP header and MIC, or without the Protected bit.
    #[error("the frame has no room for CCMP header and MIC, or is not marked as protected")]
    Shape,
    /// The MIC does not match.
    #[error("the message integrity code does not match")]
    Integrity,
}

/// Flags that may change from one transmission of a frame to the next: the AAD masks them.
const VOLATILE: FrameControl = FrameControl::RETRY
    .union(FrameControl::POWER_MANAGEMENT)
    .union(FrameControl::MORE_DATA);
/// Bits of the data subtype that the AAD masks; the QoS bit stays.
const DATA_SUBTYPE: FrameControl = FrameControl::from_bits_retain(0x0070);
/// Byte 3 of the CCMP header: an extended IV follows.
const EXTENDED_IV: u8 = 0x20;
/// Nonce flags: a management frame (IEEE 802.11-2020 figure 12-21).
const NONCE_MANAGEMENT: u8 = 0x10;

impl Ccmp {
    /// Expands `key`.
    pub fn new(key: &[u8; 16]) -> Self {
        Self(Ccm::new(key.into()))
    }

    /// Encrypts the body of `frame`, whose last [`CCMP_MIC`] bytes are room for the MIC.
    pub fn encrypt(&self, header: &Header, frame: &mut [u8]) -> Result<(), CcmpError> {
        let Parts {
            aad,
            nonce,
            body,
            mic,
        } = split(header, frame)?;
        let tag = self
            .0
            .encrypt_in_place_detached(&nonce.into(), &aad, body)
            .map_err(|_| CcmpError::Shape)?;
        mic.copy_from_slice(&tag);
        Ok(())
    }

    /// Decrypts the body of `frame` and checks its MIC. The content is unusable on an error.
    pub fn decrypt(&self, header: &Header, frame: &mut [u8]) -> Result<(), CcmpError> {
        let Parts {
            aad,
            nonce,
            body,
            mic,
        } = split(header, frame)?;
        let tag: &[u8] = mic;
        self.0
            .decrypt_in_place_detached(&nonce.into(), &aad, body, tag.into())
            .map_err(|_| CcmpError::Integrity)
    }
}

/// The key ID in the CCMP header of a protected frame; `None` when that is no CCMP header.
pub fn key_id(header: &Header, frame: &[u8]) -> Option<u8> {
    let byte = *frame.get(header.length.checked_add(3)?)?;
    (byte & EXTENDED_IV != 0).then_some(byte >> 6)
}

/// The packet number in the CCMP header of a protected frame; `None` when the frame ends before it.
pub fn packet_number(header: &Header, frame: &[u8]) -> Option<u64> {
    let cipher = frame.get(header.length..header.length.checked_add(CCMP_HEADER)?)?;
    let &[pn0, pn1, _, _, pn2, pn3, pn4, pn5] = cipher else {
        return None;
    };
    Some(u64::from_le_bytes([pn0, pn1, pn2, pn3, pn4, pn5, 0, 0]))
}

/// A CCMP header (IEEE 802.11-2020 figure 12-16): of `number` the low 48 bits, of `key_id` the low two.
pub fn header(key_id: u8, number: u64) -> [u8; CCMP_HEADER] {
    let [pn0, pn1, pn2, pn3, pn4, pn5, _, _] = number.to_le_bytes();
    [
        pn0,
        pn1,
        0,
        EXTENDED_IV | (key_id & 3) << 6,
        pn2,
        pn3,
        pn4,
        pn5,
    ]
}

struct Parts<'a> {
    aad: Aad,
    nonce: [u8; 13],
    body: &'a mut [u8],
    mic: &'a mut [u8],
}

/// 22 bytes, and 6 for address 4, and 2 for QoS control.
type Aad = ArrayVec<u8, 30>;

fn split<'a>(header: &Header, frame: &'a mut [u8]) -> Result<Parts<'a>, CcmpError> {
    if !header.is_protected() || frame.len() < header.length + CCMP_HEADER + CCMP_MIC {
        return Err(CcmpError::Shape);
    }
    let (mac, rest) = frame.split_at_mut(header.length);
    let (cipher, rest) = rest.split_at_mut(CCMP_HEADER);
    let (body, mic) = rest.split_at_mut(rest.len() - CCMP_MIC);
    Ok(Parts {
        aad: aad(header, mac).ok_or(CcmpError::Shape)?,
        nonce: nonce(header, cipher).ok_or(CcmpError::Shape)?,
        body,
        mic,
    })
}

/// IEEE 802.11-2020 12.5.3.3.3.
fn aad(header: &Header, mac: &[u8]) -> Option<Aad> {
    let mut control = (header.control - VOLATILE) | FrameControl::PROTECTED;
    if header.is_data() {
        control -= DATA_SUBTYPE;
    }
    if header.tid.is_some() {
        control -= FrameControl::HT_CONTROL;
    }
    let mut aad = Aad::new();
    aad.try_extend_from_slice(&control.bits().to_le_bytes())
        .ok()?;
    aad.try_extend_from_slice(mac.get(4..22)?).ok()?;
    aad.try_extend_from_slice(&[header.fragment_number()?, 0])
        .ok()?;
    if header.is_data() && header.control.contains(FrameControl::DS) {
        aad.try_extend_from_slice(mac.get(24..30)?).ok()?;
    }
    if let Some(tid) = header.tid {
        aad.try_extend_from_slice(&[tid, 0]).ok()?;
    }
    Some(aad)
}

/// IEEE 802.11-2020 12.5.3.3.4.
fn nonce(header: &Header, cipher: &[u8]) -> Option<[u8; 13]> {
    let &[pn0, pn1, _, _, pn2, pn3, pn4, pn5] = cipher else {
        return None;
    };
    let mut flags = header.tid.unwrap_or(0);
    if header.frame_type() == FrameType::Management {
        flags |= NONCE_MANAGEMENT;
    }
    let [a, b, c, d, e, f] = header.transmitter?.0;
    Some([flags, a, b, c, d, e, f, pn5, pn4, pn3, pn2, pn1, pn0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hex(text: &str) -> Vec<u8> {
        text.split_whitespace()
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect()
    }

    const KEY: &str = "c9 7c 1f 67 ce 37 11 85 51 4a 8a 19 f2 bd d5 2f";
    const CLEAR: &str = "08 48 c3 2c 0f d2 e1 28 a5 7c 50 30 f1 84 44 08 ab ae a5 b8 fc ba 80 33 \
        0c e7 00 20 76 97 03 b5 \
        f8 ba 1a 55 d0 2f 85 ae 96 7b b6 2f b6 cd a8 eb 7e 78 a0 50";
    const SEALED: &str = "08 48 c3 2c 0f d2 e1 28 a5 7c 50 30 f1 84 44 08 ab ae a5 b8 fc ba 80 33 \
        0c e7 00 20 76 97 03 b5 \
        f3 d0 a2 fe 9a 3d bf 23 42 a6 43 e4 32 46 e8 0c 3c 04 d0 19 \
        78 45 ce 0b 16 f9 76 23";

    fn key() -> Ccmp {
        Ccmp::new(&hex(KEY).try_into().unwrap())
    }

    #[test]
    fn the_vector_of_the_standard_annex_j_6_4() {
        let mut frame = hex(CLEAR);
        frame.extend([0; CCMP_MIC]);
        let header = Header::parse(&frame).unwrap();
        key().encrypt(&header, &mut frame).unwrap();
        assert_eq!(frame, hex(SEALED));
        key().decrypt(&header, &mut frame).unwrap();
        assert_eq!(frame[..52], hex(CLEAR)[..]);
    }

    #[test]
    fn the_vector_of_the_standard_annex_j_9_2_for_a_management_frame() {
        let clear = "c0 40 00 00 02 00 00 00 01 00 02 00 00 00 00 00 02 00 00 00 00 00 60 00 \
            01 00 00 20 00 00 00 00 02 00";
        let sealed = "1d 07 ca fd 04 09 bb 8b af ef";
        let key = Ccmp::new(
            &hex("66 ed 21 04 2f 9f 26 d7 11 57 06 e4 04 14 cf 2e")
                .try_into()
                .unwrap(),
        );
        let mut frame = hex(clear);
        frame.extend([0; CCMP_MIC]);
        let header = Header::parse(&frame).unwrap();
        key.encrypt(&header, &mut frame).unwrap();
        assert_eq!(frame[32..], hex(sealed)[..]);
        key.decrypt(&header, &mut frame).unwrap();
        assert_eq!(frame[32..34], [2, 0]);
    }

    #[test]
    fn any_flipped_bit_that_is_not_masked_is_found() {
        let sealed = hex(SEALED);
        let masked = |at: usize, bit: u32| match at {
            0 => (4..7).contains(&bit),
            1 => (3..6).contains(&bit),
            2 | 3 | 23 => true,
            22 => bit >= 4,
            26 | 27 => true,
            _ => false,
        };
        for at in 0..sealed.len() {
            for bit in 0..8 {
                let mut frame = sealed.clone();
                frame[at] ^= 1 << bit;
                let genuine = Header::parse(&frame)
                    .is_ok_and(|header| key().decrypt(&header, &mut frame).is_ok());
                assert_eq!(genuine, masked(at, bit), "byte {at} bit {bit}");
            }
        }
    }

    #[test]
    fn the_header_carries_key_id_and_packet_number() {
        let mut frame = hex(CLEAR);
        let parsed = Header::parse(&frame).unwrap();
        assert_eq!(packet_number(&parsed, &frame), Some(0xb503_9776_e70c));
        frame[24..32].copy_from_slice(&header(2, 0x0605_0403_0201));
        assert_eq!(frame[24..32], [1, 2, 0, 0xa0, 3, 4, 5, 6]);
        assert_eq!(key_id(&parsed, &frame), Some(2));
        assert_eq!(packet_number(&parsed, &frame), Some(0x0605_0403_0201));
        assert_eq!(packet_number(&parsed, &frame[..31]), None);
    }

    #[test]
    fn another_key_is_refused() {
        let mut frame = hex(SEALED);
        let header = Header::parse(&frame).unwrap();
        let other = Ccmp::new(&[7; 16]);
        assert_eq!(
            other.decrypt(&header, &mut frame),
            Err(CcmpError::Integrity)
        );
    }

    #[test]
    fn a_frame_without_room_for_the_mic_is_refused() {
        let mut frame = hex(SEALED);
        frame.truncate(24 + CCMP_HEADER + CCMP_MIC - 1);
        let header = Header::parse(&frame).unwrap();
        assert_eq!(key().decrypt(&header, &mut frame), Err(CcmpError::Shape));
    }

    proptest! {
        #[test]
        fn what_is_encrypted_decrypts(
            qos in any::<bool>(), both in any::<bool>(), tid in 0u8..16,
            body in proptest::collection::vec(any::<u8>(), 0..200), bytes in any::<[u8; 16]>(),
        ) {
            let mut clear = vec![if qos { 0x88 } else { 0x08 }, if both { 0x43 } else { 0x41 }];
            clear.resize(if both { 30 } else { 24 }, 0x5a);
            if qos { clear.extend([tid, 0]); }
            clear.extend([1, 2, 0, 0x20, 3, 4, 5, 6]);
            clear.extend(&body);
            let mut frame = clear.clone();
            frame.extend([0; CCMP_MIC]);
            let header = Header::parse(&frame).unwrap();
            let key = Ccmp::new(&bytes);
            prop_assert_eq!(key.encrypt(&header, &mut frame), Ok(()));
            prop_assert_eq!(key.decrypt(&header, &mut frame), Ok(()));
            prop_assert_eq!(&frame[..clear.len()], &clear[..]);
        }

        #[test]
        fn no_bytes_panic(mut frame in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(header) = Header::parse(&frame) {
                let _ = key_id(&header, &frame);
                let _ = packet_number(&header, &frame);
                let _ = key().decrypt(&header, &mut frame);
                let _ = key().encrypt(&header, &mut frame);
            }
        }
    }
}
