//! A network as its gateway has it, and the frames that the gateway sends into it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use airlane_dot11::MacAddr;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, Ipv4Packet, Ipv4Repr,
};

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
    /// Name servers that stations are told.
    pub name_servers: Vec<Ipv4Addr>,
}

impl Network {
    /// The gateway's hardware address, as frames bear it.
    pub(super) fn source(&self) -> EthernetAddress {
        EthernetAddress(self.hardware.0)
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
