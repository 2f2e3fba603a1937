//! What a gateway counts.

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatewayCounters {
    /// ARP requests answered.
    pub arp: u64,
    /// Echo requests answered.
    pub echo: u64,
    /// DHCP offers sent.
    pub offers: u64,
    /// Addresses given or confirmed.
    pub leases: u64,
    /// Requests for an address that is not the asking station's.
    pub refused: u64,
    /// Stations for which no address is left.
    pub exhausted: u64,
    /// Questions to the name server answered, also by "there is no such name".
    pub names: u64,
    /// Frames that are not what they say they are.
    pub malformed: u64,
}
