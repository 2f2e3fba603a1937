//! What stands at an access point's own address: it gives out addresses (DHCP), and, where nobody else
//! does, answers ARP and echo requests. Ethernet frames in, Ethernet frames out; the protocols' formats
//! are smoltcp's.
//!
//! Not here: routing. What is for somebody else is passed on, or ends here.

mod dhcp;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use airlane_dot11::MacAddr;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    EthernetRepr, Icmpv4Packet, Icmpv4Repr, IpProtocol, Ipv4Packet, Ipv4Repr, UdpPacket, UdpRepr,
};

use dhcp::Leases;

/// Routers send with this (RFC 1700).
const HOP_LIMIT: u8 = 64;

/// A network as its gateway has it.
#[derive(Clone, Debug)]
pub struct Network {
    /// The gateway's hardware address.
    pub hardware: MacAddr,
    /// Its own address.
    pub address: Ipv4Addr,
    /// Length of the network's prefix.
    pub prefix: u8,
    /// Who gets which address; all others get what is left of .100 to .199.
    pub known: BTreeMap<MacAddr, Ipv4Addr>,
    /// Whether ARP and echo requests for its own address are answered here; otherwise somebody
    /// behind the uplink has that address.
    pub answers: bool,
    /// Name servers that stations are told.
    pub name_servers: Vec<Ipv4Addr>,
}

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
    /// Frames that are not what they say they are.
    pub malformed: u64,
}

/// The state machine.
pub struct Gateway {
    network: Network,
    leases: Leases,
    counters: GatewayCounters,
}

impl Gateway {
    /// One that has given no address yet.
    pub fn new(network: Network) -> Self {
        let leases = Leases::new(network.address, &network.known);
        Self {
            network,
            leases,
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
        if target_protocol_addr != self.network.address {
            return Ok(Taken::NotHere);
        }
        self.counters.arp += 1;
        let answer = ArpRepr::EthernetIpv4 {
            operation: ArpOperation::Reply,
            source_hardware_addr: self.hardware(),
            source_protocol_addr: self.network.address,
            target_hardware_addr: source_hardware_addr,
            target_protocol_addr: source_protocol_addr,
        };
        let kind = EthernetProtocol::Arp;
        Ok(Taken::Answered(self.ethernet(
            source_hardware_addr,
            kind,
            answer.buffer_len(),
            |payload| answer.emit(&mut ArpPacket::new_unchecked(payload)),
        )))
    }

    fn ipv4(&mut self, frame: &EthernetFrame<&[u8]>) -> smoltcp::wire::Result<Taken> {
        let packet = Ipv4Packet::new_checked(frame.payload())?;
        let header = Ipv4Repr::parse(&packet, &ChecksumCapabilities::default())?;
        let fragment = packet.more_frags() || packet.frag_offset() != 0;
        let own = header.dst_addr == self.network.address;
        let for_us = own || header.dst_addr == Ipv4Addr::BROADCAST;
        match header.next_header {
            _ if fragment => {}
            IpProtocol::Udp if for_us => {
                let udp = UdpPacket::new_checked(packet.payload())?;
                if udp.dst_port() == dhcp::SERVER_PORT {
                    let caps = ChecksumCapabilities::default();
                    let (from, to) = (header.src_addr.into(), header.dst_addr.into());
                    UdpRepr::parse(&udp, &from, &to, &caps)?;
                    return self.dhcp(udp.payload());
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

    fn icmp(
        &mut self,
        to: EthernetAddress,
        header: &Ipv4Repr,
        payload: &[u8],
    ) -> smoltcp::wire::Result<Taken> {
        let caps = ChecksumCapabilities::default();
        let packet = Icmpv4Packet::new_checked(payload)?;
        let Icmpv4Repr::EchoRequest {
            ident,
            seq_no,
            data,
        } = Icmpv4Repr::parse(&packet, &caps)?
        else {
            return Ok(Taken::Silent);
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
        Ok(Taken::Answered(self.emit_ipv4(to, &answer, |payload| {
            reply.emit(&mut Icmpv4Packet::new_unchecked(payload), &caps);
        })))
    }

    fn hardware(&self) -> EthernetAddress {
        EthernetAddress(self.network.hardware.0)
    }

    fn emit_ipv4(
        &self,
        to: EthernetAddress,
        header: &Ipv4Repr,
        write: impl FnOnce(&mut [u8]),
    ) -> Vec<u8> {
        let length = header.buffer_len() + header.payload_len;
        self.ethernet(to, EthernetProtocol::Ipv4, length, |bytes| {
            let mut packet = Ipv4Packet::new_unchecked(bytes);
            header.emit(&mut packet, &ChecksumCapabilities::default());
            write(packet.payload_mut());
        })
    }

    fn ethernet(
        &self,
        to: EthernetAddress,
        kind: EthernetProtocol,
        length: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Vec<u8> {
        let header = EthernetRepr {
            src_addr: self.hardware(),
            dst_addr: to,
            ethertype: kind,
        };
        let mut bytes = vec![0; header.buffer_len() + length];
        let mut frame = EthernetFrame::new_unchecked(&mut bytes);
        header.emit(&mut frame);
        write(frame.payload_mut());
        bytes
    }
}
