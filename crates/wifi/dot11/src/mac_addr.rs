//! MAC addresses (IEEE 802-2014 clause 8).

use std::fmt;
use std::str::FromStr;

/// A 48-bit MAC address.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddr(pub [u8; 6]);

/// A text that is no MAC address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a MAC address: write six bytes in hexadecimal, as in 02:00:00:00:00:01")]
pub struct MacAddrError(pub String);

impl MacAddr {
    /// The group that every station belongs to.
    pub const BROADCAST: Self = Self([0xff; 6]);
    /// No station's address: it stands where there is none.
    pub const ZERO: Self = Self([0; 6]);

    /// True for broadcast and multicast addresses.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// True for an address that one station can own: neither group nor zero.
    pub fn is_station(self) -> bool {
        !self.is_group() && self != Self::ZERO
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for MacAddr {
    type Err = MacAddrError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || MacAddrError(text.to_owned());
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts
                .next()
                .filter(|part| part.len() == 2)
                .ok_or_else(error)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| error())?;
        }
        match parts.next() {
            None => Ok(Self(bytes)),
            Some(_) => Err(error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let address: MacAddr = "02:00:5e:10:00:ff".parse().unwrap();
        assert_eq!(address.to_string(), "02:00:5e:10:00:ff");
        assert!(address.is_station());
        for bad in [
            "",
            "02:00",
            "02:00:00:00:00:0",
            "02:00:00:00:00:00:00",
            "0g:00:00:00:00:00",
        ] {
            assert!(bad.parse::<MacAddr>().is_err(), "{bad}");
        }
    }
}
