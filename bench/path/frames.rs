//! The frames that are sent: QoS data with UDP inside, open or under CCMP.

use aes::Aes128;
use airlane_dot11::MacAddr;
use ccm::aead::AeadInPlace;
use ccm::consts::{U8, U13};
use ccm::{Ccm, KeyInit};

/// The key of every VM. That all have the same one saves no work: the tables are by VM.
pub const KEY: [u8; 16] = [0x2b; 16];

/// MAC header with QoS control.
const HEADER: usize = 26;
const CCMP_HEADER: [u8; 8] = [1, 0, 0, 0x20, 0, 0, 0, 0];
const MIC: usize = 8;
/// LLC/SNAP, IPv4 and UDP headers.
const HEADERS_ABOVE: usize = 8 + 20 + 8;
/// Of the second frame control byte.
const PROTECTED: u8 = 0x40;

/// A frame without its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// UDP payload in bytes.
    pub payload: usize,
    /// Under CCMP.
    pub ccmp: bool,
}

impl Shape {
    /// What a guest's driver hands to its card: a CCMP header when it is to be encrypted, no MIC.
    pub fn uplink(self, own: MacAddr, ap: MacAddr) -> Vec<u8> {
        self.clear(1, [ap, own, ap])
    }

    /// What an access point puts on the air: encrypted.
    pub fn downlink(self, own: MacAddr, ap: MacAddr) -> Vec<u8> {
        let mut frame = self.clear(2, [own, ap, ap]);
        if self.ccmp {
            seal(&mut frame);
        }
        frame
    }

    /// Length of the encrypted part.
    pub fn body(self) -> usize {
        HEADERS_ABOVE + self.payload
    }

    fn clear(self, direction: u8, addresses: [MacAddr; 3]) -> Vec<u8> {
        let protected = if self.ccmp { PROTECTED } else { 0 };
        let mut frame = vec![0x88, direction | protected, 0, 0];
        frame.extend(addresses.iter().flat_map(|address| address.0));
        frame.extend([0; 4]);
        if self.ccmp {
            frame.extend(CCMP_HEADER);
        }
        frame.extend((0..self.body()).map(|at| at as u8));
        frame
    }
}

/// AES-CCM as CCMP uses it, alone: the baseline.
pub struct Cipher(Ccm<Aes128, U8, U13>);

impl Cipher {
    /// With [`KEY`].
    pub fn new() -> Self {
        Self(Ccm::new(&KEY.into()))
    }

    /// Encrypts `body`; its MIC.
    pub fn seal(&self, aad: &[u8], nonce: [u8; 13], body: &mut [u8]) -> [u8; MIC] {
        let tag = self
            .0
            .encrypt_in_place_detached(&nonce.into(), aad, body)
            .expect("a frame is not too long for CCM");
        tag.into()
    }
}

/// Encrypts a QoS data frame and appends its MIC (IEEE 802.11-2020 12.5.3.3).
fn seal(frame: &mut Vec<u8>) {
    let mut aad = frame[..2].to_vec();
    aad[0] &= !0x70;
    aad.extend(&frame[4..22]);
    aad.extend([0; 4]);
    let mut nonce = [0; 13];
    nonce[1..7].copy_from_slice(&frame[10..16]);
    nonce[12] = CCMP_HEADER[0];
    let body = &mut frame[HEADER + CCMP_HEADER.len()..];
    let mic = Cipher::new().seal(&aad, nonce, body);
    frame.extend(mic);
}
