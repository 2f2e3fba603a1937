//! MAC frames in place (IEEE 802.11-2020 9.2.4, 9.3): a header that is checked once and then read
//! without a further check, and the few writes that a NIC and an access point make.
//!
//! Not here: elements of management frames ([`crate::elements`]), cipher headers ([`crate::ccmp`]),
//! the FCS (frames travel without it).

use crate::MacAddr;
pub use crate::frame_control::{FrameControl, FrameKind, FrameType};

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
    /// Receiver.
    pub receiver: MacAddr,
    /// Transmitter, where the frame has one.
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

    /// Its type.
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const B: [u8; 6] = [2, 0, 0, 0, 0, 2];

    fn qos_data() -> Vec<u8> {
        let mut frame = vec![0x88, 0x41, 0x2c, 0x00];
        frame.extend(A);
        frame.extend(B);
        frame.extend(A);
        frame.extend([0x30, 0x12, 0x05, 0x00]);
        frame
    }

    #[test]
    fn qos_data_to_the_access_point() {
        let header = Header::parse(&qos_data()).unwrap();
        assert_eq!(header.frame_type(), FrameType::Data);
        assert!(header.has_payload() && header.is_protected() && !header.is_retry());
        assert_eq!((header.length, header.tid), (26, Some(5)));
        assert_eq!(header.sequence_number(), Some(0x123));
        assert_eq!(header.bssid(), Some(MacAddr(A)));
        assert_eq!(header.transmitter, Some(MacAddr(B)));
    }

    #[test]
    fn an_ack_has_one_address() {
        let mut ack = vec![0xd4, 0, 0, 0];
        ack.extend(A);
        let header = Header::parse(&ack).unwrap();
        assert_eq!((header.length, header.transmitter), (10, None));
    }

    #[test]
    fn each_shape_of_a_header_has_its_length_and_no_shorter_frame_is_taken() {
        let both = FrameControl::DS;
        let ht = FrameControl::HT_CONTROL;
        let none = FrameControl::empty();
        for (kind, flags, length) in [
            (FrameKind::ACK, none, 10),
            (FrameKind::CTS, ht, 10),
            (FrameKind::RTS, none, 16),
            (FrameKind::PS_POLL, none, 16),
            (FrameKind::BLOCK_ACK, none, 16),
            (FrameKind::BEACON, none, 24),
            (FrameKind::BEACON, both, 24),
            (FrameKind::ACTION, ht, 28),
            (FrameKind::DATA, none, 24),
            (FrameKind::DATA, ht, 24),
            (FrameKind::NULL, both, 30),
            (FrameKind::QOS_DATA, none, 26),
            (FrameKind::QOS_DATA, both, 32),
            (FrameKind::QOS_NULL, ht, 30),
            (FrameKind::QOS_DATA, both | ht, 36),
        ] {
            let mut frame = vec![0; length];
            frame[..2].copy_from_slice(&kind.with(flags).bits().to_le_bytes());
            assert_eq!(Header::parse(&frame).unwrap().length, length, "{kind:?}");
            for cut in 0..length {
                let error = Header::parse(&frame[..cut]).unwrap_err();
                let header = if cut < CONTROL { CONTROL } else { length };
                assert_eq!((error.length, error.header), (cut, header));
            }
        }
    }

    #[test]
    fn a_frame_of_an_unknown_type_has_a_receiver_alone() {
        let header = Header::parse(&[0x0c; 40]).unwrap();
        assert_eq!(header.frame_type(), FrameType::Extension);
        assert_eq!((header.length, header.transmitter), (10, None));
    }

    #[test]
    fn the_sequence_number_keeps_the_fragment() {
        let mut frame = qos_data();
        frame[22] |= 3;
        set_sequence_number(&mut frame, 0xabc);
        set_retry(&mut frame);
        let header = Header::parse(&frame).unwrap();
        assert_eq!(header.sequence_control, Some(0xabc3));
        assert_eq!(header.fragment_number(), Some(3));
        assert!(header.is_retry());
    }

    proptest! {
        #[test]
        fn a_written_header_reads_as_it_was_meant(
            flags in 0u16..0x80, data: bool, addresses: [[u8; 6]; 3], sequence in 0u16..0x1000,
        ) {
            let kind = if data { FrameKind::DATA } else { FrameKind::DEAUTHENTICATION };
            let flags = FrameControl::from_bits_retain(flags << 8);
            // A fourth address makes another header.
            let flags = if data { flags - FrameControl::TO_DS } else { flags };
            let [one, two, three] = addresses.map(MacAddr);
            let bytes = three_address_header(kind.with(flags), [one, two, three], sequence);
            let header = Header::parse(&bytes).unwrap();
            prop_assert_eq!(header, Header {
                control: kind.with(flags),
                duration: 0,
                receiver: one,
                transmitter: Some(two),
                address3: Some(three),
                sequence_control: Some(sequence << 4),
                tid: None,
                length: THREE_ADDRESSES,
            });
        }

        #[test]
        fn no_bytes_panic(mut frame in proptest::collection::vec(any::<u8>(), 0..48)) {
            if let Ok(header) = Header::parse(&frame) {
                prop_assert!(header.length <= frame.len());
                let _ = (header.bssid(), header.sequence_number());
            }
            set_retry(&mut frame);
            set_sequence_number(&mut frame, 0xfff);
        }
    }
}
