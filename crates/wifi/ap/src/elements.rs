//! Elements of management frames (IEEE 802.11-2020 9.4.2): those of the built-in access point, and
//! what it accepts in a station's RSN element.

use airlane_dot11::Band;
use airlane_dot11::elements::{Element, LONGEST_SSID, id};

use crate::config::Config;

/// Group cipher CCMP, pairwise cipher CCMP, PSK; 16 replay counters, as WMM wants (9.4.2.24).
pub const RSN: [u8; 22] = [
    48, 20, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 2, 0x0c, 0,
];
/// The WMM parameter element with the defaults of its table 14: AC_BE, AC_BK, AC_VI, AC_VO.
const WMM_PARAMETERS: [u8; 26] = [
    221, 24, 0x00, 0x50, 0xf2, 2, 1, 1, 0, 0, 0x03, 0xa4, 0, 0, 0x27, 0xa4, 0, 0, 0x42, 0x43, 0x5e,
    0, 0x62, 0x32, 0x2f, 0,
];
const CCMP: [u8; 4] = [0x00, 0x0f, 0xac, 4];
const PSK: [u8; 4] = [0x00, 0x0f, 0xac, 2];

/// In units of 500 kb/s; the highest bit marks what everybody must be able to receive.
const OFDM: [u8; 8] = [0x8c, 18, 0x98, 36, 0xb0, 72, 96, 108];
const DSSS: [u8; 4] = [0x82, 0x84, 0x8b, 0x96];
const ERP_RATES: [u8; 8] = [12, 18, 24, 36, 48, 72, 96, 108];

/// Why an RSN element is not one that can be agreed on: status codes of IEEE 802.11-2020 table 9-50.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RsnError {
    /// Not there, or not whole.
    #[error("no valid RSN element")]
    Element,
    /// Another group cipher than CCMP.
    #[error("the group cipher is not CCMP")]
    GroupCipher,
    /// Another pairwise cipher than CCMP.
    #[error("the pairwise cipher is not CCMP")]
    PairwiseCipher,
    /// Another key management than PSK.
    #[error("the key management is not PSK")]
    KeyManagement,
}

/// Checks what a station chose: exactly one of each.
pub fn check_rsn(body: Option<&[u8]>) -> Result<(), RsnError> {
    let body = body.ok_or(RsnError::Element)?;
    let part = |at: usize| body.get(at..at + 4).ok_or(RsnError::Element);
    let one = |at: usize| body.get(at..at + 2) == Some(&[1, 0]);
    if !one(0) {
        return Err(RsnError::Element);
    }
    if part(2)? != CCMP {
        return Err(RsnError::GroupCipher);
    }
    if !one(6) || part(8)? != CCMP {
        return Err(RsnError::PairwiseCipher);
    }
    if !one(12) || part(14)? != PSK {
        return Err(RsnError::KeyManagement);
    }
    Ok(())
}

/// What a beacon or probe response says of the BSS; `tim` in a beacon only.
pub fn announce(config: &Config, tim: &[u8], out: &mut Vec<u8>) {
    element(id::SSID, ssid(config), out);
    rates(config, out);
    if config.channel.band() == Band::Ghz2 {
        element(id::DSSS, &[config.channel.number()], out);
    }
    if !tim.is_empty() {
        element(id::TIM, tim, out);
    }
    if config.channel.band() == Band::Ghz2 {
        element(id::ERP, &[0], out);
        element(id::EXTENDED_RATES, &ERP_RATES, out);
    }
    if config.is_protected() {
        out.extend(RSN);
    }
    out.extend(WMM_PARAMETERS);
}

/// What an association response says of the BSS.
pub fn welcome(config: &Config, wmm: bool, out: &mut Vec<u8>) {
    rates(config, out);
    if config.channel.band() == Band::Ghz2 {
        element(id::EXTENDED_RATES, &ERP_RATES, out);
    }
    if wmm {
        out.extend(WMM_PARAMETERS);
    }
}

/// The SSID, 32 bytes at most.
pub fn ssid(config: &Config) -> &[u8] {
    let bytes = config.ssid.as_bytes();
    bytes.get(..LONGEST_SSID).unwrap_or(bytes)
}

fn rates(config: &Config, out: &mut Vec<u8>) {
    match config.channel.band() {
        Band::Ghz2 => element(id::RATES, &DSSS, out),
        Band::Ghz5 => element(id::RATES, &OFDM, out),
    }
}

fn element(id: u8, body: &[u8], out: &mut Vec<u8>) {
    Element { id, body }.write(out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_dot11::elements::Elements;
    use airlane_dot11::{Channel, MacAddr};

    fn config(band: Band, number: u16) -> Config {
        let channel = Channel::new(band, number).unwrap();
        Config::new(MacAddr([2, 0, 0, 0, 1, 1]), "corp", channel)
    }

    #[test]
    fn an_announcement_has_what_its_band_and_security_want() {
        for (config, protected) in [
            (config(Band::Ghz5, 36), false),
            (config(Band::Ghz2, 6).wpa2("a passphrase"), true),
        ] {
            let mut bytes = Vec::new();
            announce(&config, &[0, 2, 0, 0], &mut bytes);
            let elements = Elements::checked(&bytes).unwrap();
            assert_eq!(elements.find(id::SSID), Some(&b"corp"[..]));
            assert_eq!(elements.find(id::RSN).is_some(), protected);
            assert_eq!(elements.find(id::DSSS), protected.then_some(&[6][..]));
            assert!(elements.has_wmm() && elements.rates().any(|rate| rate == 108));
        }
    }

    #[test]
    fn each_part_of_an_rsn_element_must_be_ours() {
        let body = &RSN[2..];
        assert_eq!(check_rsn(Some(body)), Ok(()));
        assert_eq!(check_rsn(None), Err(RsnError::Element));
        for (at, error) in [
            (0, RsnError::Element),
            (5, RsnError::GroupCipher),
            (6, RsnError::PairwiseCipher),
            (11, RsnError::PairwiseCipher),
            (12, RsnError::KeyManagement),
            (17, RsnError::KeyManagement),
        ] {
            let mut broken = body.to_vec();
            broken[at] = 9;
            assert_eq!(check_rsn(Some(&broken)), Err(error), "byte {at}");
        }
        for length in 0..18 {
            assert!(check_rsn(Some(&body[..length])).is_err(), "{length}");
        }
    }
}
