//! The address server (RFC 2131): one address for each station, kept for as long as the run lasts.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use airlane_dot11::MacAddr;
use smoltcp::wire::{DhcpMessageType, DhcpOption, DhcpPacket, DhcpRepr, EthernetAddress, UdpRepr};

use super::counters::GatewayCounters;
use super::network::Network;

/// Where servers listen (RFC 2131 4.1).
pub const SERVER_PORT: u16 = 67;
const CLIENT_PORT: u16 = 68;
/// Seconds that an address is lent: longer than a run.
const LEASE: u32 = 86_400;
/// Last octets of the addresses that are given out.
const FIRST: u8 = 100;
const LAST: u8 = 199;
/// The option with the captive portal's URI (RFC 8910 2.1).
const CAPTIVE_PORTAL: u8 = 114;

/// Who has which address.
pub struct Leases {
    network: [u8; 3],
    /// Kept for these.
    known: BTreeMap<MacAddr, Ipv4Addr>,
    given: BTreeMap<MacAddr, Ipv4Addr>,
}

impl Leases {
    /// None given yet, in the /24 of `address`.
    pub fn new(address: Ipv4Addr, known: &BTreeMap<MacAddr, Ipv4Addr>) -> Self {
        let [a, b, c, _] = address.octets();
        Self {
            network: [a, b, c],
            known: known.clone(),
            given: BTreeMap::new(),
        }
    }

    /// All that were given.
    pub fn given(&self) -> impl Iterator<Item = (MacAddr, Ipv4Addr)> {
        self.given
            .iter()
            .map(|(station, address)| (*station, *address))
    }

    /// The frame that answers a message to the address server, if anything is to be said.
    pub(super) fn answer(
        &mut self,
        network: &Network,
        counters: &mut GatewayCounters,
        message: &[u8],
    ) -> smoltcp::wire::Result<Option<Vec<u8>>> {
        let packet = DhcpPacket::new_checked(message)?;
        let asked = DhcpRepr::parse(&packet)?;
        let station = MacAddr(asked.client_hardware_address.0);
        let other = asked
            .server_identifier
            .is_some_and(|id| id != network.address);
        if other || !station.is_station() {
            return Ok(None);
        }
        let Some(address) = self.of(station) else {
            counters.exhausted += 1;
            return Ok(None);
        };
        let kind = match asked.message_type {
            DhcpMessageType::Discover => DhcpMessageType::Offer,
            DhcpMessageType::Request => match asked.requested_ip.unwrap_or(asked.client_ip) {
                wanted if wanted == address => DhcpMessageType::Ack,
                _ => DhcpMessageType::Nak,
            },
            _ => return Ok(None),
        };
        count(counters, kind);
        Ok(Some(reply(network, &asked, kind, address)))
    }

    /// The address of a station: the one kept for it, or the first that nobody has.
    fn of(&mut self, station: MacAddr) -> Option<Ipv4Addr> {
        let known = [&self.given, &self.known].into_iter();
        let address = known.filter_map(|list| list.get(&station).copied()).next();
        let address = address.or_else(|| self.free())?;
        self.given.insert(station, address);
        Some(address)
    }

    fn free(&self) -> Option<Ipv4Addr> {
        let [a, b, c] = self.network;
        let mut all = (FIRST..=LAST).map(|last| Ipv4Addr::new(a, b, c, last));
        let taken = |address: &Ipv4Addr| {
            self.given
                .values()
                .chain(self.known.values())
                .any(|other| other == address)
        };
        all.find(|address| !taken(address))
    }
}

fn count(counters: &mut GatewayCounters, kind: DhcpMessageType) {
    let counter = match kind {
        DhcpMessageType::Offer => &mut counters.offers,
        DhcpMessageType::Ack => &mut counters.leases,
        _ => &mut counters.refused,
    };
    *counter += 1;
}

fn reply(network: &Network, asked: &DhcpRepr, kind: DhcpMessageType, address: Ipv4Addr) -> Vec<u8> {
    let refused = kind == DhcpMessageType::Nak;
    let own = network.address;
    let mask = u32::MAX.checked_shl(32 - u32::from(network.prefix.min(32)));
    let granted = |value| Some(value).filter(|_| !refused);
    let servers = name_servers(network);
    let portal = network.captive_portal.iter().map(|uri| DhcpOption {
        kind: CAPTIVE_PORTAL,
        data: uri.as_bytes(),
    });
    let portal: Vec<DhcpOption> = portal.filter(|_| !refused).collect();
    let answer = DhcpRepr {
        message_type: kind,
        transaction_id: asked.transaction_id,
        secs: 0,
        client_hardware_address: asked.client_hardware_address,
        client_ip: Ipv4Addr::UNSPECIFIED,
        your_ip: if refused {
            Ipv4Addr::UNSPECIFIED
        } else {
            address
        },
        server_ip: own,
        router: granted(own),
        subnet_mask: granted(Ipv4Addr::from_bits(mask.unwrap_or(0))),
        relay_agent_ip: Ipv4Addr::UNSPECIFIED,
        broadcast: asked.broadcast,
        requested_ip: None,
        client_identifier: None,
        server_identifier: Some(own),
        parameter_request_list: None,
        dns_servers: Some(servers.into_iter().take(3).collect()).filter(|_| !refused),
        max_size: None,
        lease_duration: Some(LEASE).filter(|_| !refused),
        renew_duration: None,
        rebind_duration: None,
        additional_options: &portal,
    };
    // A refused station has no address to be reached at (RFC 2131 4.1).
    let to_all = asked.broadcast || refused;
    send(network, &answer, to_all)
}

/// The gateway itself where it knows names.
fn name_servers(network: &Network) -> Vec<Ipv4Addr> {
    match network.host_names.is_empty() {
        true => network.name_servers.clone(),
        false => vec![network.address],
    }
}

fn send(network: &Network, answer: &DhcpRepr, to_all: bool) -> Vec<u8> {
    let (hardware, address) = match to_all {
        true => (EthernetAddress::BROADCAST, Ipv4Addr::BROADCAST),
        false => (answer.client_hardware_address, answer.your_ip),
    };
    let udp = UdpRepr {
        src_port: SERVER_PORT,
        dst_port: CLIENT_PORT,
    };
    let write = |payload: &mut [u8]| {
        // The room was measured by the same library: there is no other case.
        let _ = answer.emit(&mut DhcpPacket::new_unchecked(payload));
    };
    network.emit_udp((hardware, address), udp, answer.buffer_len(), write)
}
