//! An IP host on Ethernet frames: smoltcp's whole stack with its DHCP client, its resolver and echo requests.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use airlane_dot11::MacAddr;
use airlane_lane::{Instant, Micros};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::{dhcpv4, dns, icmp};
use smoltcp::wire::{DhcpPacket, DnsQueryType, EthernetAddress, IpAddress, IpCidr};
use smoltcp::wire::{HardwareAddress, Icmpv4Packet, Icmpv4Repr};

const IDENT: u16 = 0x22b;
/// The option with a captive portal's URI (RFC 8910 2.1).
const CAPTIVE_PORTAL: u8 = 114;
/// Bytes of the largest frame.
const MTU: usize = 1_514;

/// An IP host behind a station: DHCP client, resolver and ping.
pub struct Host {
    wire: Wire,
    interface: Interface,
    sockets: SocketSet<'static>,
    dhcp: SocketHandle,
    icmp: SocketHandle,
    dns: SocketHandle,
    /// What was asked for and is not answered yet, by name.
    asked: BTreeMap<String, dns::QueryHandle>,
    name_servers: Vec<IpAddress>,
    /// The captive portal's URI that it was told.
    pub captive_portal: Option<String>,
    /// Its address and its gateway, once it was given them.
    pub address: Option<(Ipv4Addr, Option<Ipv4Addr>)>,
    /// Echo replies: from whom, and their sequence numbers, in order.
    pub replies: Vec<(Ipv4Addr, u16)>,
}

impl Host {
    /// One that has no address yet.
    pub fn new(now: Instant, hardware: MacAddr) -> Self {
        let mut wire = Wire::default();
        let hardware = HardwareAddress::Ethernet(EthernetAddress(hardware.0));
        let interface = Interface::new(Config::new(hardware), &mut wire, smoltcp_instant(now));
        let mut sockets = SocketSet::new(Vec::new());
        let mut dhcp = dhcpv4::Socket::new();
        // The socket borrows it for as long as the host lasts, which is that of a test.
        dhcp.set_receive_packet_buffer(Box::leak(vec![0; MTU].into_boxed_slice()));
        let dhcp = sockets.add(dhcp);
        let dns = sockets.add(dns::Socket::new(&[], Vec::new()));
        let buffer =
            || icmp::PacketBuffer::new(vec![icmp::PacketMetadata::EMPTY; 16], vec![0; 8_192]);
        let mut socket = icmp::Socket::new(buffer(), buffer());
        let bound = socket.bind(icmp::Endpoint::Ident(IDENT));
        assert!(bound.is_ok(), "a fresh socket can be bound");
        Self {
            wire,
            interface,
            dhcp,
            icmp: sockets.add(socket),
            dns,
            asked: BTreeMap::new(),
            name_servers: Vec::new(),
            captive_portal: None,
            sockets,
            address: None,
            replies: Vec::new(),
        }
    }

    /// An Ethernet frame for it.
    pub fn take(&mut self, frame: Vec<u8>) {
        self.wire.received.push_back(frame);
    }

    /// An echo request.
    pub fn ping(&mut self, to: Ipv4Addr, sequence: u16, length: usize) {
        let data = vec![sequence.to_le_bytes()[0]; length];
        let request = Icmpv4Repr::EchoRequest {
            ident: IDENT,
            seq_no: sequence,
            data: &data,
        };
        let socket = self.sockets.get_mut::<icmp::Socket>(self.icmp);
        if let Ok(room) = socket.send(request.buffer_len(), IpAddress::Ipv4(to)) {
            let mut packet = Icmpv4Packet::new_unchecked(room);
            request.emit(&mut packet, &ChecksumCapabilities::default());
        }
    }

    /// Whether it was told a name server.
    pub fn has_name_server(&self) -> bool {
        !self.name_servers.is_empty()
    }

    /// The address of `name`; `None` while it is being asked for, an error when there is no such name.
    pub fn look_up(&mut self, name: &str) -> Option<Result<Ipv4Addr, ()>> {
        let socket = self.sockets.get_mut::<dns::Socket>(self.dns);
        let Some(query) = self.asked.get(name) else {
            let context = self.interface.context();
            let query = socket.start_query(context, name, DnsQueryType::A).ok()?;
            self.asked.insert(name.to_owned(), query);
            return None;
        };
        let found = match socket.get_query_result(*query) {
            Err(dns::GetQueryResultError::Pending) => return None,
            Err(dns::GetQueryResultError::Failed) => Err(()),
            Ok(addresses) => match addresses.first() {
                Some(IpAddress::Ipv4(address)) => Ok(*address),
                _ => Err(()),
            },
        };
        self.asked.remove(name);
        Some(found)
    }

    /// Does what is due; the frames that it sends, and when to come back.
    pub fn step(&mut self, now: Instant) -> (Vec<Vec<u8>>, Option<Instant>) {
        let at = smoltcp_instant(now);
        self.interface.poll(at, &mut self.wire, &mut self.sockets);
        self.configure();
        self.interface.poll(at, &mut self.wire, &mut self.sockets);
        self.hear_replies();
        let due = self.interface.poll_at(at, &self.sockets);
        let due = due.map(|due| {
            let due = Instant(due.total_micros().unsigned_abs());
            due.max(now + Micros::from_millis(1))
        });
        (std::mem::take(&mut self.wire.sent), due)
    }

    fn configure(&mut self) {
        let event = self.sockets.get_mut::<dhcpv4::Socket>(self.dhcp).poll();
        let Some(dhcpv4::Event::Configured(config)) = event else {
            return;
        };
        let (address, router) = (config.address, config.router);
        self.address = Some((address.address(), router));
        let servers = config.dns_servers.iter().copied();
        self.name_servers = servers.map(IpAddress::Ipv4).collect();
        self.captive_portal = config.packet.as_ref().and_then(captive_portal);
        self.interface.update_ip_addrs(|list| {
            list.clear();
            let _ = list.push(IpCidr::Ipv4(address));
        });
        if let Some(router) = router {
            let _ = self.interface.routes_mut().add_default_ipv4_route(router);
        }
        let resolver = self.sockets.get_mut::<dns::Socket>(self.dns);
        resolver.update_servers(&self.name_servers);
    }

    fn hear_replies(&mut self) {
        let socket = self.sockets.get_mut::<icmp::Socket>(self.icmp);
        while let Ok((bytes, IpAddress::Ipv4(from))) = socket.recv() {
            let packet = Icmpv4Packet::new_checked(bytes);
            let reply = packet.and_then(|p| {
                let repr = Icmpv4Repr::parse(&p, &ChecksumCapabilities::default())?;
                match repr {
                    Icmpv4Repr::EchoReply { seq_no, .. } => Ok(seq_no),
                    _ => Err(smoltcp::wire::Error),
                }
            });
            self.replies
                .extend(reply.ok().map(|sequence| (from, sequence)));
        }
    }
}

fn captive_portal(packet: &DhcpPacket<&[u8]>) -> Option<String> {
    let portal = packet
        .options()
        .find(|option| option.kind == CAPTIVE_PORTAL)?;
    Some(String::from_utf8_lossy(portal.data).into_owned())
}

fn smoltcp_instant(now: Instant) -> smoltcp::time::Instant {
    smoltcp::time::Instant::from_micros(now.0 as i64)
}

#[derive(Default)]
struct Wire {
    received: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
}

struct Received(Vec<u8>);
struct Room<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut frame = vec![0; length];
        let result = write(&mut frame);
        self.0.push(frame);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Received;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _: smoltcp::time::Instant) -> Option<(Received, Room<'_>)> {
        let frame = self.received.pop_front()?;
        Some((Received(frame), Room(&mut self.sent)))
    }

    fn transmit(&mut self, _: smoltcp::time::Instant) -> Option<Room<'_>> {
        Some(Room(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = MTU;
        capabilities
    }
}
