//! A network as its gateway has it, and the frames that the gateway sends into it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use airlane_dot11::MacAddr;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, IpProtocol, Ipv4Packet,
    Ipv4Repr, UdpPacket, UdpRepr,
};

use super::names::HostNames;

/// Routers send with this (RFC 1700).
pub(super) const HOP_LIMIT: u8 = 64;

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
    /// Name servers that stations are told, where the gateway knows no names itself.
    pub name_servers: Vec<Ipv4Addr>,
    /// What the gateway's own name server knows; without any name there is none.
    pub host_names: HostNames,
    /// Where a captive portal tells what it wants (RFC 8910 2, a URI), 1 to 255 octets.
    pub captive_portal: Option<String>,
}

impl Network {
    /// The gateway's hardware address, as frames bear it.
    pub(super) fn source(&self) -> EthernetAddress {
        EthernetAddress(self.hardware.0)
    }

    /// A frame of the gateway's with a UDP datagram from its address to `to`, whose `length` octets `write` fills in.
    pub(super) fn emit_udp(
        &self,
        to: (EthernetAddress, Ipv4Addr),
        ports: UdpRepr,
        length: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Vec<u8> {
        let (hardware, address) = to;
        let header = Ipv4Repr {
            src_addr: self.address,
            dst_addr: address,
            next_header: IpProtocol::Udp,
            payload_len: ports.header_len() + length,
            hop_limit: HOP_LIMIT,
        };
        self.emit_ipv4(hardware, &header, |bytes| {
            let (from, to) = (header.src_addr.into(), header.dst_addr.into());
            let caps = ChecksumCapabilities::default();
            let mut packet = UdpPacket::new_unchecked(bytes);
            ports.emit(&mut packet, &from, &to, length, write, &caps);
        })
    }

    /// A frame of the gateway's with an IPv4 packet, whose payload `write` fills in.
    pub(super) fn emit_ipv4(
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

    /// A frame of the gateway's with `length` octets of payload, which `write` fills in.
    pub(super) fn ethernet(
        &self,
        to: EthernetAddress,
        kind: EthernetProtocol,
        length: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Vec<u8> {
        let header = EthernetRepr {
            src_addr: self.source(),
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
