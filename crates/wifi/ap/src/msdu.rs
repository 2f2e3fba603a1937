//! Between Ethernet frames and 802.11 data frames (IEEE 802.11-2020 annex P, IEEE 802-2014 9.2.2):
//! headers and LLC/SNAP exchanged for each other, the payload copied once.
//!
//! An Ethernet frame here is destination, source, EtherType or length, payload; no FCS.

use airlane_dot11::frame::{
    CCMP_HEADER, CCMP_MIC, FrameControl, FrameKind, Header, THREE_ADDRESSES, three_address_header,
};
use airlane_dot11::{Buffer, MacAddr};

/// Destination, source, EtherType.
pub const ETHERNET_HEADER: usize = 14;
/// LLC and SNAP of RFC 1042, and of IEEE 802.1H for protocols that mean something else by themselves.
const RFC_1042: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
const BRIDGE_TUNNEL: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0xf8];
/// EtherTypes for the bridge tunnel: AARP and IPX (IEEE 802.1H).
const TUNNELLED: [u16; 2] = [0x80f3, 0x8137];
/// From here on the field is an EtherType, below it is a length (IEEE 802.3-2018 3.2.6).
const FIRST_ETHER_TYPE: u16 = 0x0600;

/// A data frame for a station, not yet encrypted.
#[derive(Clone, Debug)]
pub struct Msdu {
    /// As an Ethernet frame.
    pub ethernet: Buffer,
    /// User priority, 0 to 7 (IEEE 802.11-2020 table 10-1).
    pub priority: u8,
}

/// The three header fields of an Ethernet frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethernet {
    /// Destination address.
    pub to: MacAddr,
    /// Source address.
    pub from: MacAddr,
    /// EtherType, or length of an LLC frame.
    pub kind: u16,
}

impl Ethernet {
    /// Reads the header; `None` when the frame is shorter.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let &[t0, t1, t2, t3, t4, t5, f0, f1, f2, f3, f4, f5, high, low] =
            frame.first_chunk::<ETHERNET_HEADER>()?;
        Some(Self {
            to: MacAddr([t0, t1, t2, t3, t4, t5]),
            from: MacAddr([f0, f1, f2, f3, f4, f5]),
            kind: u16::from_be_bytes([high, low]),
        })
    }

    /// The whole frame with this payload.
    pub fn with(self, payload: &[u8]) -> Vec<u8> {
        let kind = self.kind.to_be_bytes();
        [&self.to.0[..], &self.from.0, &kind, payload].concat()
    }
}

/// User priority of an IPv4 frame: the three highest bits of its type of service (IEEE 802.11-2020
/// annex R.3); EAPOL goes first; all else as best effort.
pub fn priority(frame: &[u8]) -> u8 {
    match Ethernet::parse(frame).map(|header| header.kind) {
        Some(crate::eapol::ETHER_TYPE) => 7,
        Some(0x0800) => frame.get(15).map_or(0, |service| service >> 5),
        _ => 0,
    }
}

/// How a frame goes down to a station, or to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Down {
    /// A station, or a group.
    pub receiver: MacAddr,
    /// The access point.
    pub bssid: MacAddr,
    /// Priority, when the receiver knows WMM.
    pub tid: Option<u8>,
    /// Key ID and packet number, when it is encrypted.
    pub ccmp: Option<(u8, u64)>,
    /// More waits for the receiver.
    pub more: bool,
    /// Sequence number, 0 to 4095.
    pub sequence: u16,
}

impl Down {
    /// Bytes of the 802.11 frame that carries `ethernet`: room for cipher header and MIC included.
    /// `None` when that is no Ethernet frame.
    pub fn length(&self, ethernet: &[u8]) -> Option<usize> {
        let (llc, rest) = llc(ethernet)?;
        let cipher = self.ccmp.map_or(0, |_| CCMP_HEADER + CCMP_MIC);
        Some(self.header_length() + cipher + llc.len() + rest.len())
    }

    fn header_length(&self) -> usize {
        THREE_ADDRESSES + self.tid.map_or(0, |_| 2)
    }

    /// Writes that frame; its body in clear, the MIC's place untouched.
    pub fn write(&self, ethernet: &[u8], out: &mut [u8]) -> Option<()> {
        let (llc, rest) = llc(ethernet)?;
        let source = Ethernet::parse(ethernet)?.from;
        let mut out = Writer(out);
        let kind = if self.tid.is_some() {
            FrameKind::QOS_DATA
        } else {
            FrameKind::DATA
        };
        let mut flags = FrameControl::FROM_DS;
        flags.set(FrameControl::MORE_DATA, self.more);
        flags.set(FrameControl::PROTECTED, self.ccmp.is_some());
        let addresses = [self.receiver, self.bssid, source];
        out.put(&three_address_header(
            kind.with(flags),
            addresses,
            self.sequence,
        ))?;
        if let Some(tid) = self.tid {
            out.put(&[tid & 7, 0])?;
        }
        if let Some((id, number)) = self.ccmp {
            out.put(&airlane_dot11::ccmp::header(id, number))?;
        }
        out.put(llc)?;
        out.put(rest)
    }

    /// A frame without payload: the answer to a PS-Poll when nothing waits.
    pub fn null(&self) -> [u8; THREE_ADDRESSES] {
        let control = FrameKind::NULL.with(FrameControl::FROM_DS);
        let addresses = [self.receiver, self.bssid, self.bssid];
        three_address_header(control, addresses, self.sequence)
    }
}

/// LLC/SNAP header without the EtherType, and what follows.
fn llc(ethernet: &[u8]) -> Option<(&'static [u8], &[u8])> {
    let kind = Ethernet::parse(ethernet)?.kind;
    if kind < FIRST_ETHER_TYPE {
        let end = ETHERNET_HEADER + usize::from(kind);
        return Some((&[], ethernet.get(ETHERNET_HEADER..end)?));
    }
    let tunnelled = TUNNELLED.contains(&kind);
    let llc = if tunnelled { &BRIDGE_TUNNEL } else { &RFC_1042 };
    Some((llc, ethernet.get(12..)?))
}

/// A data frame's body as it goes on as an Ethernet frame: what to write after the addresses.
pub struct Up<'a> {
    to: MacAddr,
    from: MacAddr,
    /// Of LLC frames: their length.
    length: Option<[u8; 2]>,
    rest: &'a [u8],
}

impl<'a> Up<'a> {
    /// Reads the body, in clear, of a frame to the distribution system. `None`: no addresses, or a
    /// body that is too short or too long.
    pub fn parse(header: &Header, body: &'a [u8]) -> Option<Self> {
        let snap = [RFC_1042, BRIDGE_TUNNEL].into_iter();
        let rest = snap.filter_map(|llc| body.strip_prefix(&llc)).next();
        let length = u16::try_from(body.len()).ok()?;
        let llc = (3..FIRST_ETHER_TYPE).contains(&length);
        let (length, rest) = match rest {
            Some(rest) if rest.len() >= 2 => (None, rest),
            None if llc => (Some(length.to_be_bytes()), body),
            _ => return None,
        };
        Some(Self {
            to: header.address3?,
            from: header.transmitter?,
            length,
            rest,
        })
    }

    /// Bytes of the Ethernet frame.
    pub fn length(&self) -> usize {
        12 + self.length.map_or(0, |length| length.len()) + self.rest.len()
    }

    /// Writes the Ethernet frame; `None` when `out` is too short for it.
    pub fn write(&self, out: &mut [u8]) -> Option<()> {
        let mut out = Writer(out);
        out.put(&self.to.0)?;
        out.put(&self.from.0)?;
        out.put(self.length.as_ref().map_or(&[], |length| &length[..]))?;
        out.put(self.rest)
    }
}

/// Fills a buffer from its beginning.
struct Writer<'a>(&'a mut [u8]);

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        let (here, rest) = std::mem::take(&mut self.0).split_at_mut_checked(bytes.len())?;
        here.copy_from_slice(bytes);
        self.0 = rest;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const BSSID: MacAddr = MacAddr([2, 0, 0, 0, 1, 1]);
    const FAR: MacAddr = MacAddr([2, 0, 0, 0, 9, 9]);

    fn down() -> Down {
        Down {
            receiver: STATION,
            bssid: BSSID,
            tid: Some(5),
            ccmp: None,
            more: true,
            sequence: 0x123,
        }
    }

    fn written(down: Down, ethernet: &[u8]) -> Vec<u8> {
        let mut out = vec![0; down.length(ethernet).unwrap()];
        down.write(ethernet, &mut out).unwrap();
        out
    }

    fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
        let header = Ethernet {
            to: STATION,
            from: FAR,
            kind,
        };
        header.with(payload)
    }

    #[test]
    fn an_ipv4_frame_goes_down_with_rfc_1042() {
        let frame = written(down(), &ethernet(0x0800, b"payload"));
        let header = Header::parse(&frame).unwrap();
        assert_eq!(
            header.control.bits(),
            0x2288,
            "QoS data, from DS, more data"
        );
        assert_eq!(
            (header.receiver, header.transmitter),
            (STATION, Some(BSSID))
        );
        assert_eq!((header.address3, header.tid), (Some(FAR), Some(5)));
        assert_eq!(header.sequence_number(), Some(0x123));
        assert_eq!(&frame[26..], b"\xaa\xaa\x03\0\0\0\x08\0payload");
    }

    #[test]
    fn a_protected_frame_has_room_for_header_and_mic() {
        let protected = Down {
            ccmp: Some((1, 9)),
            tid: None,
            more: false,
            ..down()
        };
        let frame = written(protected, &ethernet(0x0800, b"x"));
        assert_eq!(frame.len(), 24 + 8 + 8 + 1 + 8);
        assert_eq!(Header::parse(&frame).unwrap().control.bits(), 0x4208);
        assert_eq!(&frame[24..32], airlane_dot11::ccmp::header(1, 9));
    }

    #[test]
    fn other_protocols_keep_their_encapsulation() {
        let ipx = written(down(), &ethernet(0x8137, b"x"));
        assert_eq!(&ipx[26..], b"\xaa\xaa\x03\0\0\xf8\x81\x37x");
        let spanning_tree = written(down(), &ethernet(5, b"\x42\x42\x03abcd"));
        assert_eq!(&spanning_tree[26..], b"\x42\x42\x03ab", "padding is cut");
    }

    #[test]
    fn a_length_beyond_the_frame_is_refused() {
        assert_eq!(down().length(&ethernet(9, b"short")), None);
        assert_eq!(down().length(&[0; 13]), None);
    }

    #[test]
    fn priority_follows_the_type_of_service() {
        assert_eq!(priority(&ethernet(0x0800, &[0x45, 0xb8])), 5);
        assert_eq!(priority(&ethernet(0x888e, &[])), 7);
        assert_eq!(priority(&ethernet(0x0806, &[0xff; 2])), 0);
        assert_eq!(priority(&[]), 0);
    }

    fn up(body: &[u8]) -> Option<Vec<u8>> {
        let mut frame = vec![0x08, 0x01, 0, 0];
        for address in [BSSID, STATION, FAR] {
            frame.extend(address.0);
        }
        frame.extend([0, 0]);
        let header = Header::parse(&frame).unwrap();
        let up = Up::parse(&header, body)?;
        let mut out = vec![0; up.length()];
        up.write(&mut out).unwrap();
        Some(out)
    }

    #[test]
    fn bodies_too_short_or_too_long_are_refused() {
        assert_eq!(up(b"\xaa\xaa\x03\0\0\0\x08"), None);
        assert_eq!(up(b"\x42\x42"), None);
        assert_eq!(up(&[0x42; 0x600]), None);
        assert!(up(b"\x42\x42\x03").is_some());
    }

    proptest! {
        #[test]
        fn what_goes_down_comes_up_again(
            kind in 0x0600u16.., payload in proptest::collection::vec(any::<u8>(), 0..50)
        ) {
            let down_frame = written(down(), &ethernet(kind, &payload));
            let back = up(&down_frame[26..]).unwrap();
            prop_assert_eq!(&back[12..], &ethernet(kind, &payload)[12..]);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = up(&bytes);
            if let Some(length) = down().length(&bytes) {
                let mut out = vec![0; length];
                prop_assert!(down().write(&bytes, &mut out).is_some());
            }
            let _ = priority(&bytes);
        }
    }
}
