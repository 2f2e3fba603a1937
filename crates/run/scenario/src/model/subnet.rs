//! An interface's IPv4 address with the length of its network prefix, as in `192.168.1.1/24`.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// An address within a subnet of 2 to 2²⁴ addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// The interface's own address.
    pub address: Ipv4Addr,
    /// Bits of the address that name the network, 8 to 30.
    pub prefix: u8,
}

/// A text that is no such address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an IPv4 host address with its prefix length")]
pub struct SubnetError(String);

impl Subnet {
    /// The first address of the subnet, as a number.
    fn network(self) -> u32 {
        self.address.to_bits() & self.mask()
    }

    /// Ones where the network part is.
    fn mask(self) -> u32 {
        u32::MAX
            .checked_shl(32 - u32::from(self.prefix))
            .unwrap_or(0)
    }

    /// True when the two share an address.
    pub fn overlaps(self, other: Self) -> bool {
        let mask = self.mask() & other.mask();
        self.address.to_bits() & mask == other.address.to_bits() & mask
    }

    /// True when `address` lies in the subnet.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        address.to_bits() & self.mask() == self.network()
    }

    /// True for an address that a host may own: neither the network's nor the broadcast's.
    fn is_host(self) -> bool {
        let bits = self.address.to_bits();
        bits != self.network() && bits != self.network() | !self.mask()
    }
}

impl FromStr for Subnet {
    type Err = SubnetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (address, prefix) = text.split_once('/')?;
            let subnet = Self {
                address: address.parse().ok()?,
                prefix: prefix.parse().ok()?,
            };
            ((8..=30).contains(&subnet.prefix) && subnet.is_host()).then_some(subnet)
        };
        parse().ok_or_else(|| SubnetError(text.to_owned()))
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subnet(text: &str) -> Subnet {
        text.parse().unwrap()
    }

    #[test]
    fn text_and_back() {
        assert_eq!(subnet("192.168.1.1/24").to_string(), "192.168.1.1/24");
    }

    #[test]
    fn what_is_no_host_address_is_refused() {
        for bad in [
            "",
            "192.168.1.1",
            "192.168.1.0/24",
            "192.168.1.255/24",
            "10.0.0.1/31",
            "10.0.0.1/x",
        ] {
            assert!(bad.parse::<Subnet>().is_err(), "{bad}");
        }
    }

    #[test]
    fn overlap_looks_at_the_shorter_prefix() {
        assert!(subnet("10.0.0.1/8").overlaps(subnet("10.9.0.1/24")));
        assert!(!subnet("192.168.1.1/24").overlaps(subnet("192.168.2.1/24")));
        assert!(subnet("192.168.1.1/24").contains(Ipv4Addr::new(192, 168, 1, 77)));
        assert!(!subnet("192.168.1.1/24").contains(Ipv4Addr::new(192, 168, 2, 77)));
    }
}
