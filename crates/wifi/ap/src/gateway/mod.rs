//! What stands at an access point's own address: it gives out addresses (DHCP), tells the addresses of the
//! names that it was given (DNS), and, where nobody else does, answers ARP and echo requests. Ethernet frames in, Ethernet frames out; the protocols' formats
//! are smoltcp's.
//!
//! Not here: routing. What is for somebody else is passed on, or ends here.

mod counters;
mod dhcp;
mod names;
mod network;
mod probe;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use airlane_dot11::MacAddr;
use airlane_lane::Instant;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    Icmpv4Packet, Icmpv4Repr, IpProtocol, Ipv4Packet, Ipv4Repr, UdpPacket, UdpRepr,
};

use dhcp::Leases;
use network::HOP_LIMIT;
use probe::Prober;

pub use counters::GatewayCounters;
pub use names::HostNames;
pub use network::Network;
pub use probe::{Echoes, Probe, ProbeKind};

/// Stations whose addresses are remembered: a flood of strangers must not fill our memory.
const MAX_SEEN: usize = 1_024;

/// What became of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It was for the gateway, which answers this.
    Answered(Vec<u8>),
    /// It was for the gateway, which has nothing to say.
    Silent,
    /// It is for somebody else.
    NotHere,
}

/// The state machine.
pub struct Gateway {
    network: Network,
    leases: Leases,
    /// Addresses that stations have sent from, whoever gave them.
    seen: BTreeMap<MacAddr, Ipv4Addr>,
    prober: Prober,
    counters: GatewayCounters,
}

impl Gateway {
    /// One that has given no address yet.
    pub fn new(network: Network) -> Self {
        let leases = Leases::new(network.address, &network.known);
        Self {
            network,
            leases,
            seen: BTreeMap::new(),
            prober: Prober::default(),
            counters: GatewayCounters::default(),
        }
    }

    /// Totals so far.
    pub fn counters(&self) -> GatewayCounters {
        self.counters
    }

    /// Addresses given so far, by station.
    pub fn leases(&self) -> impl Iterator<Item = (MacAddr, Ipv4Addr)> {
        self.leases.given()
    }

    /// Begins to send a series of frames to a station.
    pub fn probe(&mut self, now: Instant, probe: Probe) {
        self.prober.start(now, probe);
    }

    /// The next frame of such a series that is due.
    pub fn next_probe(&mut self, now: Instant) -> Option<Vec<u8>> {
        let Self {
            network,
            leases,
            seen,
            prober,
            ..
        } = self;
        let leased = |station| leases.given().find(|(known, _)| *known == station);
        let address = |station| {
            let seen = seen.get(&station).copied();
            seen.or_else(|| leased(station).map(|(_, address)| address))
        };
        prober.next(now, network, address)
    }

    /// When the next one is due.
    pub fn probe_due(&self) -> Option<Instant> {
        self.prober.due()
    }

    /// What has become of the last series of echo requests to each station.
    pub fn echoes(&self) -> impl Iterator<Item = (MacAddr, Echoes)> {
        self.prober.echoes()
    }

    /// The address of a frame's sender, if it is one of this network.
    fn see(&mut self, station: EthernetAddress, address: Ipv4Addr) {
        let mask = u32::MAX.checked_shl(32 - u32::from(self.network.prefix.min(32)));
        let own = |address: Ipv4Addr| address.to_bits() & mask.unwrap_or(0);
        let known = self.seen.len() < MAX_SEEN || self.seen.contains_key(&MacAddr(station.0));
        if known && own(address) == own(self.network.address) && address != self.network.address {
            self.seen.insert(MacAddr(station.0), address);
        }
    }

    /// Takes in a frame of a station.
    pub fn take(&mut self, frame: &[u8]) -> Taken {
        self.read(frame).unwrap_or_else(|_| {
            self.counters.malformed += 1;
            Taken::Silent
        })
    }

    fn read(&mut self, frame: &[u8]) -> smoltcp::wire::Result<Taken> {
        let frame = EthernetFrame::new_checked(frame)?;
        match frame.ethertype() {
            EthernetProtocol::Arp if self.network.answers => self.arp(&frame),
            EthernetProtocol::Ipv4 => self.ipv4(&frame),
            _ => Ok(Taken::NotHere),
        }
    }

    fn arp(&mut self, frame: &EthernetFrame<&[u8]>) -> smoltcp::wire::Result<Taken> {
        let packet = ArpPacket::new_checked(frame.payload())?;
        let ArpRepr::EthernetIpv4 {
            operation: ArpOperation::Request,
            source_hardware_addr,
            source_protocol_addr,
            target_protocol_addr,
            ..
        } = ArpRepr::parse(&packet)?
        else {
            return Ok(Taken::NotHere);
        };
        self.see(source_hardware_addr, source_protocol_addr);
        if target_protocol_addr != self.network.address {
            return Ok(Taken::NotHere);
        }
        self.counters.arp += 1;
        let answer = ArpRepr::EthernetIpv4 {
            operation: ArpOperation::Reply,
            source_hardware_addr: self.network.source(),
            source_protocol_addr: self.network.address,
            target_hardware_addr: source_hardware_addr,
            target_protocol_addr: source_protocol_addr,
        };
        let kind = EthernetProtocol::Arp;
        Ok(Taken::Answered(self.network.ethernet(
            source_hardware_addr,
            kind,
            answer.buffer_len(),
            |payload| answer.emit(&mut ArpPacket::new_unchecked(payload)),
        )))
    }

    fn ipv4(&mut self, frame: &EthernetFrame<&[u8]>) -> smoltcp::wire::Result<Taken> {
        let packet = Ipv4Packet::new_checked(frame.payload())?;
        let header = Ipv4Repr::parse(&packet, &ChecksumCapabilities::default())?;
        self.see(frame.src_addr(), header.src_addr);
        let fragment = packet.more_frags() || packet.frag_offset() != 0;
        let own = header.dst_addr == self.network.address;
        let for_us = own || header.dst_addr == Ipv4Addr::BROADCAST;
        match header.next_header {
            _ if fragment => {}
            IpProtocol::Udp if for_us => {
                let udp = UdpPacket::new_checked(packet.payload())?;
                let caps = ChecksumCapabilities::default();
                let (from, to) = (header.src_addr.into(), header.dst_addr.into());
                let ports = UdpRepr::parse(&udp, &from, &to, &caps)?;
                match ports.dst_port {
                    dhcp::SERVER_PORT => return self.dhcp(udp.payload()),
                    names::PORT if own && !self.network.host_names.is_empty() => {
                        let from = (frame.src_addr(), header.src_addr);
                        return self.name(from, ports.src_port, udp.payload());
                    }
                    _ => {}
                }
            }
            IpProtocol::Icmp if own && self.network.answers => {
                return self.icmp(frame.src_addr(), &header, packet.payload());
            }
            _ => {}
        }
        let ends_here = own && self.network.answers;
        Ok(if ends_here {
            Taken::Silent
        } else {
            Taken::NotHere
        })
    }

    fn dhcp(&mut self, message: &[u8]) -> smoltcp::wire::Result<Taken> {
        let answer = self
            .leases
            .answer(&self.network, &mut self.counters, message)?;
        Ok(answer.map_or(Taken::Silent, Taken::Answered))
    }

    /// A question to the name server from port `port`.
    fn name(
        &mut self,
        from: (EthernetAddress, Ipv4Addr),
        port: u16,
        message: &[u8],
    ) -> smoltcp::wire::Result<Taken> {
        let answer = self.network.host_names.answer(message);
        let Some(answer) = answer.map_err(|_| smoltcp::wire::Error)? else {
            return Ok(Taken::Silent);
        };
        self.counters.names += 1;
        let ports = UdpRepr {
            src_port: names::PORT,
            dst_port: port,
        };
        let write = |payload: &mut [u8]| payload.copy_from_slice(&answer);
        let frame = self.network.emit_udp(from, ports, answer.len(), write);
        Ok(Taken::Answered(frame))
    }

    fn icmp(
        &mut self,
        to: EthernetAddress,
        header: &Ipv4Repr,
        payload: &[u8],
    ) -> smoltcp::wire::Result<Taken> {
        let caps = ChecksumCapabilities::default();
        let packet = Icmpv4Packet::new_checked(payload)?;
        let (ident, seq_no, data) = match Icmpv4Repr::parse(&packet, &caps)? {
            Icmpv4Repr::EchoRequest {
                ident,
                seq_no,
                data,
            } => (ident, seq_no, data),
            Icmpv4Repr::EchoReply { ident, seq_no, .. } => {
                self.prober.answered(MacAddr(to.0), ident, seq_no);
                return Ok(Taken::Silent);
            }
            _ => return Ok(Taken::Silent),
        };
        self.counters.echo += 1;
        let reply = Icmpv4Repr::EchoReply {
            ident,
            seq_no,
            data,
        };
        let answer = Ipv4Repr {
            src_addr: self.network.address,
            dst_addr: header.src_addr,
            next_header: IpProtocol::Icmp,
            payload_len: reply.buffer_len(),
            hop_limit: HOP_LIMIT,
        };
        Ok(Taken::Answered(self.network.emit_ipv4(
            to,
            &answer,
            |payload| {
                reply.emit(&mut Icmpv4Packet::new_unchecked(payload), &caps);
            },
        )))
    }
}
