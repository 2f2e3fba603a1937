//! What a gateway sends to a station of its own accord, to see whether it is reached: echo requests, which any host answers,
//! and datagrams that nobody listens for, of which only the radio tells what became of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use airlane_dot11::MacAddr;
use airlane_lane::{Instant, Micros};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, Icmpv4Packet, Icmpv4Repr, IpProtocol, Ipv4Repr, UdpPacket, UdpRepr,
};

use super::network::{HOP_LIMIT, Network};

/// The discard service (RFC 863).
const DISCARD: u16 = 9;
/// Octets that an echo request carries, as `ping` sends.
const ECHO_DATA: [u8; 56] = [0x61; 56];
/// A datagram as long as fits into an Ethernet frame.
const DATAGRAM: usize = 1_472;
/// The last octet of the address to which datagrams go: one that no station is given.
const NOBODY: u8 = 251;

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeKind {
    /// Echo requests to the station's address.
    Echo,
    /// Datagrams of 1,472 octets to an address that nobody has, in frames to the station: its kernel drops them unseen.
    Datagrams,
}

/// A series of frames to one station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The station.
    pub station: MacAddr,
    /// What is sent.
    pub kind: ProbeKind,
    /// How many.
    pub count: u16,
    /// Time between two.
    pub interval: Micros,
}

/// What became of a series of echo requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echoes {
    /// Requests sent.
    pub sent: u64,
    /// Requests answered.
    pub answered: u64,
}

/// A series on its way.
struct Series {
    probe: Probe,
    ident: u16,
    next: Instant,
    sent: u16,
    answered: BTreeSet<u16>,
}

/// All series: of each station the last of each kind.
#[derive(Default)]
pub struct Prober {
    series: BTreeMap<(MacAddr, ProbeKind), Series>,
    /// Tells the answers to one series from those to the one before.
    idents: u16,
}

impl Prober {
    /// Begins a series; what is left of an earlier one of the kind is given up.
    pub fn start(&mut self, now: Instant, probe: Probe) {
        self.idents = self.idents.wrapping_add(1);
        let series = Series {
            probe,
            ident: self.idents,
            next: now,
            sent: 0,
            answered: BTreeSet::new(),
        };
        self.series.insert((probe.station, probe.kind), series);
    }

    /// The next frame that is due. `address_of` knows the stations' addresses; an echo request to one that has none is sent
    /// to nobody, and counts as sent.
    pub fn next(
        &mut self,
        now: Instant,
        network: &Network,
        address_of: impl Fn(MacAddr) -> Option<Ipv4Addr>,
    ) -> Option<Vec<u8>> {
        let due = |series: &&mut Series| series.due().is_some_and(|at| at <= now);
        let series = self.series.values_mut().find(due)?;
        let number = series.sent;
        series.sent = series.sent.saturating_add(1);
        series.next += series.probe.interval;
        let to = EthernetAddress(series.probe.station.0);
        match series.probe.kind {
            ProbeKind::Echo => {
                let address = address_of(series.probe.station);
                let address = address.unwrap_or_else(|| nobody(network));
                Some(echo_request(network, to, address, series.ident, number))
            }
            ProbeKind::Datagrams => Some(datagram(network, to)),
        }
    }

    /// When the next frame is due.
    pub fn due(&self) -> Option<Instant> {
        self.series.values().filter_map(Series::due).min()
    }

    /// An echo reply has come; those that answer nothing of ours are ignored.
    pub fn answered(&mut self, station: MacAddr, ident: u16, number: u16) {
        if let Some(series) = self.series.get_mut(&(station, ProbeKind::Echo))
            && series.ident == ident
            && number < series.sent
        {
            series.answered.insert(number);
        }
    }

    /// What has become of the last series of echo requests to each station.
    pub fn echoes(&self) -> impl Iterator<Item = (MacAddr, Echoes)> {
        let echoes = self.series.values();
        let echoes = echoes.filter(|series| series.probe.kind == ProbeKind::Echo);
        echoes.map(|series| {
            let (sent, answered) = (series.sent.into(), series.answered.len() as u64);
            (series.probe.station, Echoes { sent, answered })
        })
    }
}

impl Series {
    fn due(&self) -> Option<Instant> {
        (self.sent < self.probe.count).then_some(self.next)
    }
}

/// An address of the network that no station is given, and not the gateway's own.
fn nobody(network: &Network) -> Ipv4Addr {
    let [a, b, c, own] = network.address.octets();
    Ipv4Addr::new(a, b, c, if own == NOBODY { NOBODY + 1 } else { NOBODY })
}

fn echo_request(
    network: &Network,
    to: EthernetAddress,
    address: Ipv4Addr,
    ident: u16,
    number: u16,
) -> Vec<u8> {
    let request = Icmpv4Repr::EchoRequest {
        ident,
        seq_no: number,
        data: &ECHO_DATA,
    };
    let header = Ipv4Repr {
        src_addr: network.address,
        dst_addr: address,
        next_header: IpProtocol::Icmp,
        payload_len: request.buffer_len(),
        hop_limit: HOP_LIMIT,
    };
    network.emit_ipv4(to, &header, |payload| {
        let mut packet = Icmpv4Packet::new_unchecked(payload);
        request.emit(&mut packet, &ChecksumCapabilities::default());
    })
}

fn datagram(network: &Network, to: EthernetAddress) -> Vec<u8> {
    let udp = UdpRepr {
        src_port: DISCARD,
        dst_port: DISCARD,
    };
    let header = Ipv4Repr {
        src_addr: network.address,
        dst_addr: nobody(network),
        next_header: IpProtocol::Udp,
        payload_len: udp.header_len() + DATAGRAM,
        hop_limit: HOP_LIMIT,
    };
    network.emit_ipv4(to, &header, |bytes| {
        let (from, to) = (header.src_addr.into(), header.dst_addr.into());
        let caps = ChecksumCapabilities::default();
        let mut packet = UdpPacket::new_unchecked(bytes);
        udp.emit(
            &mut packet,
            &from,
            &to,
            DATAGRAM,
            |payload| payload.fill(0),
            &caps,
        );
    })
}
