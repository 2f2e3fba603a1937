//! MAC frames in place (IEEE 802.11-2020 9.2.4, 9.3): Frame Control, a header that is checked once and then read
//! without a further check, and the few writes that a NIC and an access point make.
//!
//! Not here: elements of management frames ([`crate::elements`]), cipher headers ([`crate::ccmp`]),
//! the FCS (frames travel without it).

use std::fmt;

use crate::MacAddr;

bitflags::bitflags! {
    /// Frame Control as on the air, little-endian: protocol version, type and subtype in the first
    /// octet ([`FrameControl::kind`]), these flags in the second.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FrameControl: u16 {
        /// To the distribution system (9.2.4.1.4).
        const TO_DS = 0x0100;
        /// From the distribution system (9.2.4.1.4).
        const FROM_DS = 0x0200;
        /// Another fragment of the same frame follows (9.2.4.1.5).
        const MORE_FRAGMENTS = 0x0400;
        /// A retransmission (9.2.4.1.6).
        const RETRY = 0x0800;
        /// The sender sleeps after this frame exchange (9.2.4.1.7).
        const POWER_MANAGEMENT = 0x1000;
        /// More frames wait for the receiver (9.2.4.1.8).
        const MORE_DATA = 0x2000;
        /// The frame body is encrypted (9.2.4.1.9).
        const PROTECTED = 0x4000;
        /// An HT Control field follows in management and QoS data frames (9.2.4.1.10).
        const HT_CONTROL = 0x8000;
        /// Both bits that say which way a data frame goes.
        const DS = Self::TO_DS.bits() | Self::FROM_DS.bits();
        /// Version, type and subtype are kept as they are.
        const _ = !0;
    }
}

impl FrameControl {
    /// The first octet, the protocol version left out.
    pub const fn kind(self) -> FrameKind {
        FrameKind((self.bits() & 0xfc) as u8)
    }
}

/// Frame types (IEEE 802.11-2020 9.2.4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FrameType {
    Management,
    Control,
    Data,
    Extension,
}

/// Type and subtype of a frame (IEEE 802.11-2020 table 9-1), as its first octet has them with
/// protocol version 0. Kinds without a name here keep their value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameKind(u8);

#[allow(missing_docs)]
impl FrameKind {
    pub const ASSOCIATION_REQUEST: Self = Self(0x00);
    pub const ASSOCIATION_RESPONSE: Self = Self(0x10);
    pub const REASSOCIATION_REQUEST: Self = Self(0x20);
    pub const REASSOCIATION_RESPONSE: Self = Self(0x30);
    pub const PROBE_REQUEST: Self = Self(0x40);
    pub const PROBE_RESPONSE: Self = Self(0x50);
    pub const BEACON: Self = Self(0x80);
    pub const DISASSOCIATION: Self = Self(0xa0);
    pub const AUTHENTICATION: Self = Self(0xb0);
    pub const DEAUTHENTICATION: Self = Self(0xc0);
    pub const ACTION: Self = Self(0xd0);
    pub const BLOCK_ACK: Self = Self(0x94);
    pub const PS_POLL: Self = Self(0xa4);
    pub const RTS: Self = Self(0xb4);
    pub const CTS: Self = Self(0xc4);
    pub const ACK: Self = Self(0xd4);
    pub const DATA: Self = Self(0x08);
    pub const NULL: Self = Self(0x48);
    pub const QOS_DATA: Self = Self(0x88);
    pub const QOS_NULL: Self = Self(0xc8);
}

/// Data frames of this subtype bit have no payload.
const WITHOUT_PAYLOAD: u8 = 0x40;
/// Data frames of this subtype bit have a QoS Control field.
const QOS: u8 = 0x80;

impl FrameKind {
    /// The first octet of such a frame.
    pub const fn octet(self) -> u8 {
        self.0
    }

    /// Such a frame's Frame Control field with these flags.
    pub const fn with(self, flags: FrameControl) -> FrameControl {
        FrameControl::from_bits_retain(self.0 as u16).union(flags)
    }

    /// Management, control, data or extension.
    pub const fn frame_type(self) -> FrameType {
        match (self.0 >> 2) & 3 {
            0 => FrameType::Management,
            1 => FrameType::Control,
            2 => FrameType::Data,
            _ => FrameType::Extension,
        }
    }

    /// Data frames, with or without payload.
    pub const fn is_data(self) -> bool {
        matches!(self.frame_type(), FrameType::Data)
    }

    /// Data frames with a payload.
    pub const fn has_payload(self) -> bool {
        self.is_data() && self.0 & WITHOUT_PAYLOAD == 0
    }

    /// Data frames with a QoS Control field.
    pub const fn is_qos_data(self) -> bool {
        self.is_data() && self.0 & QOS != 0
    }
}

impl fmt::Debug for FrameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FrameKind({:#04x})", self.0)
    }
}

/// Length of the CCMP header (IEEE 802.11-2020 12.5.3.2).
pub const CCMP_HEADER: usize = 8;
/// Length of the CCMP message integrity code with a 128-bit key.
pub const CCMP_MIC: usize = 8;
/// Length of the frame check sequence, which airtime counts and buffers do not hold.
pub const FCS: usize = 4;

/// What a frame's first bytes say. A copy: small, and independent of the buffer.
///
/// ```
/// use airlane_dot11::MacAddr;
/// use airlane_dot11::frame::{FrameControl, FrameKind, Header, three_address_header};
///
/// let (ap, station) = (MacAddr([2, 0, 0, 0, 1, 0]), MacAddr([2, 0, 0, 0, 0, 1]));
/// let control = FrameKind::NULL.with(FrameControl::TO_DS | FrameControl::POWER_MANAGEMENT);
/// let frame = three_address_header(control, [ap, station, ap], 0x123);
///
/// let header = Header::parse(&frame)?;
/// assert!(header.is(FrameKind::NULL) && !header.has_payload());
/// assert!(header.control.contains(FrameControl::POWER_MANAGEMENT));
/// assert_eq!((header.bssid(), header.sequence_number()), (Some(ap), Some(0x123)));
/// assert!(Header::parse(&frame[..23]).is_err());
/// # Ok::<(), airlane_dot11::frame::Truncated>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Kind and flags.
    pub control: FrameControl,
    /// Duration/ID.
    pub duration: u16,
    /// Address 1: who is to receive the frame.
    pub receiver: MacAddr,
    /// Address 2: who has sent the frame, where it says.
    pub transmitter: Option<MacAddr>,
    /// Address 3, where the frame has one.
    pub address3: Option<MacAddr>,
    /// Sequence control, where the frame has one.
    pub sequence_control: Option<u16>,
    /// Traffic identifier of QoS data.
    pub tid: Option<u8>,
    /// Bytes of the MAC header, HT control included.
    pub length: usize,
}

/// A frame that is shorter than its own header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {length} bytes ends within its MAC header of {header} bytes")]
pub struct Truncated {
    /// Bytes there are.
    pub length: usize,
    /// Bytes that the header needs.
    pub header: usize,
}

/// Bytes 0 and 1 of every frame.
const CONTROL: usize = 2;
/// A frame of an ACK's or CTS's shape: control, duration, receiver.
const SHORTEST: usize = 10;
const WITH_TRANSMITTER: usize = 16;
/// Header of a management frame, and of most data frames: three addresses and sequence control.
pub const THREE_ADDRESSES: usize = 24;
/// A fourth address, in data frames that go both to and from a distribution system.
const FOURTH_ADDRESS: usize = 6;
const QOS_CONTROL: usize = 2;
const HT_CONTROL: usize = 4;

impl Header {
    /// Reads the header of `frame`.
    pub fn parse(frame: &[u8]) -> Result<Self, Truncated> {
        let truncated = |header| Truncated {
            length: frame.len(),
            header,
        };
        let control = u16_at(frame, 0).ok_or(truncated(CONTROL))?;
        let control = FrameControl::from_bits_retain(control);
        let length = header_length(control);
        if frame.len() < length {
            return Err(truncated(length));
        }
        let short = || truncated(SHORTEST);
        let three = length >= THREE_ADDRESSES;
        let qos_at = three_or_four_addresses(control);
        let tid = if control.kind().is_qos_data() {
            frame.get(qos_at).map(|qos| qos & 0xf)
        } else {
            None
        };
        Ok(Self {
            control,
            duration: u16_at(frame, 2).ok_or_else(short)?,
            receiver: addr_at(frame, 4).ok_or_else(short)?,
            transmitter: addr_at(frame, 10).filter(|_| length >= WITH_TRANSMITTER),
            address3: addr_at(frame, 16).filter(|_| three),
            sequence_control: u16_at(frame, 22).filter(|_| three),
            tid,
            length,
        })
    }

    /// Type and subtype.
    pub const fn kind(&self) -> FrameKind {
        self.control.kind()
    }

    /// True for frames of this type and subtype.
    pub fn is(&self, kind: FrameKind) -> bool {
        self.kind() == kind
    }

    /// Management, control, data or extension.
    pub const fn frame_type(&self) -> FrameType {
        self.kind().frame_type()
    }

    /// True for beacons.
    pub fn is_beacon(&self) -> bool {
        self.is(FrameKind::BEACON)
    }

    /// True for data frames, with or without payload.
    pub const fn is_data(&self) -> bool {
        self.kind().is_data()
    }

    /// True for data frames that carry a payload.
    pub const fn has_payload(&self) -> bool {
        self.kind().has_payload()
    }

    /// True when the frame body is encrypted.
    pub const fn is_protected(&self) -> bool {
        self.control.contains(FrameControl::PROTECTED)
    }

    /// True on a retransmission.
    pub const fn is_retry(&self) -> bool {
        self.control.contains(FrameControl::RETRY)
    }

    /// The BSS that the frame belongs to, where its header says (IEEE 802.11-2020 table 9-30).
    pub fn bssid(&self) -> Option<MacAddr> {
        match (
            self.frame_type(),
            self.control.contains(FrameControl::TO_DS),
            self.control.contains(FrameControl::FROM_DS),
        ) {
            (FrameType::Management, _, _) | (FrameType::Data, false, false) => self.address3,
            (FrameType::Data, true, false) => Some(self.receiver),
            (FrameType::Data, false, true) => self.transmitter,
            _ => None,
        }
    }

    /// Sequence number, where the frame has one.
    pub fn sequence_number(&self) -> Option<u16> {
        self.sequence_control.map(|control| control >> 4)
    }

    /// Fragment number, where the frame has one; 0 is the first or only fragment.
    pub fn fragment_number(&self) -> Option<u8> {
        self.sequence_control.map(|control| (control & 0xf) as u8)
    }
}

/// The header of a management frame, or of a data frame without QoS Control and fourth address:
/// Duration 0, fragment 0, and of `sequence` the low 12 bits.
pub fn three_address_header(
    control: FrameControl,
    addresses: [MacAddr; 3],
    sequence: u16,
) -> [u8; THREE_ADDRESSES] {
    let [c0, c1] = control.bits().to_le_bytes();
    let [s0, s1] = (sequence << 4).to_le_bytes();
    let [
        MacAddr([a0, a1, a2, a3, a4, a5]),
        MacAddr([b0, b1, b2, b3, b4, b5]),
        MacAddr([d0, d1, d2, d3, d4, d5]),
    ] = addresses;
    [
        c0, c1, 0, 0, a0, a1, a2, a3, a4, a5, b0, b1, b2, b3, b4, b5, d0, d1, d2, d3, d4, d5, s0,
        s1,
    ]
}

/// Marks `frame` as a retransmission.
pub fn set_retry(frame: &mut [u8]) {
    let [_, retry] = FrameControl::RETRY.bits().to_le_bytes();
    if let Some(flags) = frame.get_mut(1) {
        *flags |= retry;
    }
}

/// Writes the sequence number, keeping the fragment number. For frames whose header has one.
pub fn set_sequence_number(frame: &mut [u8], number: u16) {
    if let Some([low, high]) = frame.get_mut(22..24) {
        let fragment = *low & 0xf;
        [*low, *high] = ((number << 4) | u16::from(fragment)).to_le_bytes();
    }
}

/// Bytes up to the QoS Control field of a data frame (IEEE 802.11-2020 9.3.2.1).
const fn three_or_four_addresses(control: FrameControl) -> usize {
    if control.kind().is_data() && control.contains(FrameControl::DS) {
        THREE_ADDRESSES + FOURTH_ADDRESS
    } else {
        THREE_ADDRESSES
    }
}

/// IEEE 802.11-2020 9.3.1 (control), 9.3.2 (data), 9.3.3 (management).
const fn header_length(control: FrameControl) -> usize {
    let kind = control.kind();
    let qos = kind.is_qos_data();
    let addresses = match kind.frame_type() {
        FrameType::Control if matches!(kind, FrameKind::CTS | FrameKind::ACK) => return SHORTEST,
        FrameType::Control => return WITH_TRANSMITTER,
        FrameType::Extension => return SHORTEST,
        FrameType::Data | FrameType::Management => three_or_four_addresses(control),
    };
    let may_have_ht_control = qos || !kind.is_data();
    let ht_control = may_have_ht_control && control.contains(FrameControl::HT_CONTROL);
    addresses + if qos { QOS_CONTROL } else { 0 } + if ht_control { HT_CONTROL } else { 0 }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..at + 2)?;
    Some(u16::from_le_bytes(field.try_into().ok()?))
}

fn addr_at(bytes: &[u8], at: usize) -> Option<MacAddr> {
    let field = bytes.get(at..at + 6)?;
    Some(MacAddr(field.try_into().ok()?))
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
