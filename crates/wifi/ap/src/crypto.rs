//! The key hierarchy of WPA2-PSK (IEEE 802.11-2020 12.7.1): from passphrase to pairwise keys, and what
//! is done with them in EAPOL-Key frames. AES, SHA-1, HMAC, PBKDF2 and key wrap are libraries'.

use aes_kw::KekAes128;
use airlane_dot11::MacAddr;
use hmac::{Hmac, Mac};
use sha1::Sha1;

type HmacSha1 = Hmac<Sha1>;

/// A nonce of the four-way handshake.
pub type Nonce = [u8; 32];
/// A message integrity code.
pub type Mic = [u8; 16];

/// Pairwise master key: what passphrase and SSID come to (IEEE 802.11-2020 J.4.1).
#[derive(Clone, PartialEq, Eq)]
pub struct Pmk([u8; 32]);

/// Keys made by one four-way handshake (IEEE 802.11-2020 12.7.1.3).
#[derive(Clone, PartialEq, Eq)]
pub struct Ptk {
    /// Key confirmation key: makes MICs.
    kck: [u8; 16],
    /// Key encryption key: wraps key data.
    kek: [u8; 16],
    /// Temporal key: encrypts frames.
    pub tk: [u8; 16],
}

/// Who takes part in a handshake, and the nonce of each.
#[derive(Clone, Copy, Debug)]
pub struct Parties {
    /// The access point's address.
    pub authenticator: MacAddr,
    /// The station's address.
    pub supplicant: MacAddr,
    /// The access point's nonce.
    pub anonce: Nonce,
    /// The station's nonce.
    pub snonce: Nonce,
}

/// IEEE 802.11-2020 J.4.1: 4,096 iterations.
const ITERATIONS: u32 = 4_096;
const LABEL: &[u8] = b"Pairwise key expansion";
/// Key data is padded to at least this before it is wrapped (IEEE 802.11-2020 12.7.2).
const SHORTEST_WRAPPED: usize = 16;
/// RFC 3394: a wrapped key is longer by this.
const WRAP_OVERHEAD: usize = 8;

impl Pmk {
    /// Of a passphrase. Takes milliseconds, as it is meant to.
    pub fn from_passphrase(passphrase: &str, ssid: &str) -> Self {
        let mut key = [0; 32];
        pbkdf2::pbkdf2_hmac::<Sha1>(passphrase.as_bytes(), ssid.as_bytes(), ITERATIONS, &mut key);
        Self(key)
    }

    /// The keys that these two come to.
    pub fn expand(&self, parties: &Parties) -> Ptk {
        let (a, b) = ordered(parties.authenticator.0, parties.supplicant.0);
        let (x, y) = ordered(parties.anonce, parties.snonce);
        let block = |number: u8| {
            let context: [&[u8]; 4] = [&a, &b, &x, &y];
            let parts = [LABEL, &[0]].into_iter().chain(context);
            hmac_sha1(&self.0, parts.chain([&[number][..]]))
        };
        // PRF-384 (IEEE 802.11-2020 12.7.1.2).
        let blocks = [block(0), block(1), block(2)];
        let mut bytes = blocks.as_flattened().iter().copied();
        let mut key = || std::array::from_fn(|_| bytes.next().unwrap_or_default());
        Ptk {
            kck: key(),
            kek: key(),
            tk: key(),
        }
    }
}

impl Ptk {
    /// The MIC of a whole EAPOL frame in which the MIC's own place is zero (HMAC-SHA1-128).
    pub fn mic(&self, parts: &[&[u8]]) -> Mic {
        let whole = hmac_sha1(&self.kck, parts.iter().copied());
        std::array::from_fn(|at| whole.get(at).copied().unwrap_or_default())
    }

    /// Key data as it travels: padded, wrapped (RFC 3394). `None` when there is none.
    pub fn wrap(&self, data: &[u8]) -> Option<Vec<u8>> {
        let mut padded = data.to_vec();
        if padded.len() < SHORTEST_WRAPPED || !padded.len().is_multiple_of(8) {
            padded.push(0xdd);
            let length = padded.len().next_multiple_of(8).max(SHORTEST_WRAPPED);
            padded.resize(length, 0);
        }
        let mut wrapped = vec![0; padded.len().checked_add(WRAP_OVERHEAD)?];
        let kek = KekAes128::from(self.kek);
        kek.wrap(&padded, &mut wrapped).ok()?;
        Some(wrapped)
    }

    /// The other way; `None` when it was wrapped with another key, or is no multiple of eight bytes.
    pub fn unwrap(&self, wrapped: &[u8]) -> Option<Vec<u8>> {
        let length = wrapped.len().checked_sub(WRAP_OVERHEAD)?;
        if length < SHORTEST_WRAPPED || !length.is_multiple_of(8) {
            return None;
        }
        let mut data = vec![0; length];
        let kek = KekAes128::from(self.kek);
        kek.unwrap(wrapped, &mut data).ok()?;
        Some(data)
    }
}

/// Same or not, in the same time for any content.
pub fn equal(a: &Mic, b: &Mic) -> bool {
    let difference = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    difference == 0
}

fn ordered<T: Ord>(a: T, b: T) -> (T, T) {
    if a < b { (a, b) } else { (b, a) }
}

fn hmac_sha1<'a>(key: &[u8], parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 20] {
    // HMAC takes keys of every length (RFC 2104): there is no other case.
    let Ok(mut mac) = HmacSha1::new_from_slice(key) else {
        return [0; 20];
    };
    parts.into_iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte =
            |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    }

    #[test]
    fn passphrases_of_the_standard_annex_j_4_2() {
        let pmk = |passphrase, ssid| Pmk::from_passphrase(passphrase, ssid).0.to_vec();
        assert_eq!(
            pmk("password", "IEEE"),
            hex("f42c6fc52df0ebef9ebb4b90b38a5f902e83fe1b135a70e23aed762e9710a12e")
        );
        assert_eq!(
            pmk("ThisIsAPassword", "ThisIsASSID"),
            hex("0dc0d6eb90555ed6419756b9a15ec3e3209b63df707dd508d14581f8982721af")
        );
    }

    /// IEEE 802.11-2020 J.7.1, table J-18 (the handshake example), with its TK for CCMP.
    #[test]
    fn the_pairwise_keys_of_the_standard_annex_j_7_1() {
        let pmk = Pmk(
            hex("0dc0d6eb90555ed6419756b9a15ec3e3209b63df707dd508d14581f8982721af")
                .try_into()
                .unwrap(),
        );
        let nonce = |text| hex(text).try_into().unwrap();
        let ptk = pmk.expand(&Parties {
            authenticator: MacAddr([0xa0, 0xa1, 0xa1, 0xa3, 0xa4, 0xa5]),
            supplicant: MacAddr([0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5]),
            snonce: nonce("c0c1c2c3c4c5c6c7c8c9d0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5"),
            anonce: nonce("e0e1e2e3e4e5e6e7e8e9f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff000102030405"),
        });
        assert_eq!(ptk.kck.to_vec(), hex("379f9852d0199236b94e407ce4c00ec8"));
        assert_eq!(ptk.kek.to_vec(), hex("47c9edc01c2c6e5b4910caddfb3e51a7"));
        assert_eq!(ptk.tk.to_vec(), hex("b2360c79e9710fdd58bea93deaf06599"));
    }

    fn keys(kek: &str) -> Ptk {
        Ptk {
            kck: [1; 16],
            kek: hex(kek).try_into().unwrap(),
            tk: [2; 16],
        }
    }

    #[test]
    fn key_wrap_of_rfc_3394_4_1() {
        let ptk = keys("000102030405060708090A0B0C0D0E0F");
        let data = hex("00112233445566778899AABBCCDDEEFF");
        let wrapped = ptk.wrap(&data).unwrap();
        let expected = "1FA68B0A8112B447AEF34BD8FB5A7B829D3E862371D2CFE5";
        assert_eq!(wrapped, hex(expected));
        assert_eq!(ptk.unwrap(&wrapped), Some(data));
    }

    #[test]
    fn what_was_wrapped_with_another_key_or_is_of_no_length_is_refused() {
        let ptk = keys("000102030405060708090A0B0C0D0E0F");
        let other = keys("100102030405060708090A0B0C0D0E0F");
        let wrapped = ptk.wrap(b"short").unwrap();
        assert_eq!(&ptk.unwrap(&wrapped).unwrap()[..6], b"short\xdd");
        assert_eq!(other.unwrap(&wrapped), None);
        for length in 0..wrapped.len() {
            assert_eq!(ptk.unwrap(&wrapped[..length]), None, "{length}");
        }
    }

    #[test]
    fn codes_differ_in_every_place() {
        let mic = [7; 16];
        assert!(equal(&mic, &mic));
        for at in 0..16 {
            let mut other = mic;
            other[at] ^= 1;
            assert!(!equal(&mic, &other), "{at}");
        }
    }
}
