//! CCMP as the access points' side has it (IEEE 802.11-2020 12.5.3), written apart from the NIC's
//! so that one checks the other. AES-CCM itself is the same library's.

use aes::Aes128;
use ccm::aead::{Aead, KeyInit, Payload};
use ccm::consts::{U8, U13};
use ccm::{Ccm, aead::generic_array::GenericArray};

/// A 128-bit key.
pub type Key = [u8; 16];

/// A whole frame: this header, a CCMP header with this packet number, the body encrypted, its MIC.
pub fn seal(key: &Key, key_id: u8, number: u64, header: &[u8], body: &[u8]) -> Vec<u8> {
    let body = Payload {
        msg: body,
        aad: &aad(header),
    };
    let cipher = Ccm::<Aes128, U8, U13>::new(key.into());
    let nonce = nonce(header, number);
    let sealed = cipher
        .encrypt(GenericArray::from_slice(&nonce), body)
        .expect("a frame is short enough");
    [header, &ccmp_header(key_id, number), &sealed].concat()
}

/// Packet number and body of a frame with a header of `length` bytes; `None` when not genuine.
pub fn open(key: &Key, frame: &[u8], length: usize) -> Option<(u64, Vec<u8>)> {
    let (header, rest) = frame.split_at_checked(length)?;
    let (ccmp, sealed) = rest.split_at_checked(8)?;
    let number = packet_number(ccmp);
    let cipher = Ccm::<Aes128, U8, U13>::new(key.into());
    let sealed = Payload {
        msg: sealed,
        aad: &aad(header),
    };
    let nonce = nonce(header, number);
    let body = cipher.decrypt(GenericArray::from_slice(&nonce), sealed);
    Some((number, body.ok()?))
}

/// PN0 PN1 0 (key ID, ExtIV) PN2..PN5.
pub fn ccmp_header(key_id: u8, number: u64) -> [u8; 8] {
    let n = number.to_le_bytes();
    [n[0], n[1], 0, 0x20 | key_id << 6, n[2], n[3], n[4], n[5]]
}

/// The packet number of a CCMP header.
pub fn packet_number(ccmp: &[u8]) -> u64 {
    let order = [0, 1, 4, 5, 6, 7].into_iter().enumerate();
    order.fold(0, |number, (place, at)| {
        number | u64::from(ccmp[at]) << (8 * place)
    })
}

/// Frames with three addresses only (12.5.3.3.3). Of data frames three bits of the subtype are left out.
fn aad(header: &[u8]) -> Vec<u8> {
    let qos = header.len() == 26;
    let kept = if is_management(header) { 0xff } else { 0x8f };
    let mut aad = vec![header[0] & kept, (header[1] & 0xc7) | 0x40];
    if qos {
        aad[1] &= 0x7f;
    }
    aad.extend(&header[4..22]);
    aad.extend([header[22] & 0x0f, 0]);
    if qos {
        aad.extend([header[24] & 0x0f, 0]);
    }
    aad
}

fn is_management(header: &[u8]) -> bool {
    header[0] & 0x0c == 0
}

/// Priority, whether a management frame, transmitter, packet number (12.5.3.3.4).
fn nonce(header: &[u8], number: u64) -> [u8; 13] {
    let mut nonce = [0; 13];
    nonce[0] = header.get(24).map_or(0, |qos| qos & 0x0f);
    if is_management(header) {
        nonce[0] |= 0x10;
    }
    nonce[1..7].copy_from_slice(&header[10..16]);
    nonce[7..].copy_from_slice(&number.to_be_bytes()[2..]);
    nonce
}
