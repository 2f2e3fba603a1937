//! MAC frames in place (IEEE 802.11-2020 9.2.4, 9.3): a header that is checked once and then read
//! without a further check, and the few writes that a NIC makes.
//!
//! Not here: elements of management frames, cipher headers, the FCS (frames travel without it).

use crate::MacAddr;

/// Frame types (IEEE 802.11-2020 9.2.4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FrameType {
    Management,
    Control,
    Data,
    Extension,
}

/// Subtypes of management frames (IEEE 802.11-2020 table 9-1), those that a NIC looks at.
pub mod subtype {
    /// Association request.
    pub const ASSOCIATION_REQUEST: u8 = 0;
    /// Association response.
    pub const ASSOCIATION_RESPONSE: u8 = 1;
    /// Probe request.
    pub const PROBE_REQUEST: u8 = 4;
    /// Probe response.
    pub const PROBE_RESPONSE: u8 = 5;
    /// Beacon.
    pub const BEACON: u8 = 8;
    /// Disassociation.
    pub const DISASSOCIATION: u8 = 10;
    /// Authentication.
    pub const AUTHENTICATION: u8 = 11;
    /// Deauthentication.
    pub const DEAUTHENTICATION: u8 = 12;
    /// Action.
    pub const ACTION: u8 = 13;
    /// Control: block-ack request.
    pub const BLOCK_ACK_REQUEST: u8 = 8;
    /// Control: power-save poll.
    pub const PS_POLL: u8 = 10;
    /// Bit of data subtypes: no payload.
    pub const DATA_NULL: u8 = 4;
    /// Bit of data subtypes: a QoS control field follows.
    pub const DATA_QOS: u8 = 8;
}

/// Length of the CCMP header (IEEE 802.11-2020 12.5.3.2).
pub const CCMP_HEADER: usize = 8;
/// Length of the CCMP message integrity code with a 128-bit key.
pub const CCMP_MIC: usize = 8;
/// Length of the frame check sequence, which airtime counts and buffers do not hold.
pub const FCS: usize = 4;

/// What a frame's first bytes say. A copy: small, and independent of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Frame control, as on the air.
    pub control: u16,
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
const THREE_ADDRESSES: usize = 24;

impl Header {
    /// Reads the header of `frame`.
    pub fn parse(frame: &[u8]) -> Result<Self, Truncated> {
        let truncated = |header| Truncated {
            length: frame.len(),
            header,
        };
        let control = u16_at(frame, 0).ok_or(truncated(CONTROL))?;
        let length = header_length(control);
        if frame.len() < length {
            return Err(truncated(length));
        }
        let short = || truncated(SHORTEST);
        let three = length >= THREE_ADDRESSES;
        let qos_at = if to_and_from_ds(control) { 30 } else { 24 };
        let tid = if is_qos_data(control) {
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

    /// Its type.
    pub const fn frame_type(&self) -> FrameType {
        match (self.control >> 2) & 3 {
            0 => FrameType::Management,
            1 => FrameType::Control,
            2 => FrameType::Data,
            _ => FrameType::Extension,
        }
    }

    /// Its subtype, 0 to 15.
    pub const fn subtype(&self) -> u8 {
        ((self.control >> 4) & 0xf) as u8
    }

    /// True for this management subtype.
    pub fn is_management(&self, subtype: u8) -> bool {
        self.frame_type() == FrameType::Management && self.subtype() == subtype
    }

    /// True for beacons.
    pub fn is_beacon(&self) -> bool {
        self.is_management(subtype::BEACON)
    }

    /// True for data frames, with or without payload.
    pub fn is_data(&self) -> bool {
        self.frame_type() == FrameType::Data
    }

    /// True for data frames that carry a payload.
    pub fn has_payload(&self) -> bool {
        self.is_data() && self.subtype() & subtype::DATA_NULL == 0
    }

    /// True when the frame body is encrypted.
    pub const fn is_protected(&self) -> bool {
        self.control & PROTECTED != 0
    }

    /// True on a retransmission.
    pub const fn is_retry(&self) -> bool {
        self.control & RETRY != 0
    }

    /// The BSS that the frame belongs to, where its header says (IEEE 802.11-2020 table 9-30).
    pub fn bssid(&self) -> Option<MacAddr> {
        match (
            self.frame_type(),
            self.control & TO_DS != 0,
            self.control & FROM_DS != 0,
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
}

const TO_DS: u16 = 0x0100;
const FROM_DS: u16 = 0x0200;
const RETRY: u16 = 0x0800;
const PROTECTED: u16 = 0x4000;
const ORDER: u16 = 0x8000;

/// Marks `frame` as a retransmission.
pub fn set_retry(frame: &mut [u8]) {
    if let Some(flags) = frame.get_mut(1) {
        *flags |= (RETRY >> 8) as u8;
    }
}

/// Writes the sequence number, keeping the fragment number. For frames whose header has one.
pub fn set_sequence_number(frame: &mut [u8], number: u16) {
    if let Some(field) = frame.get_mut(22..24) {
        let fragment = field[0] & 0xf;
        let control = (number << 4) | u16::from(fragment);
        field.copy_from_slice(&control.to_le_bytes());
    }
}

const fn is_qos_data(control: u16) -> bool {
    control & 0x000c == 0x0008 && control & 0x0080 != 0
}

const fn to_and_from_ds(control: u16) -> bool {
    control & (TO_DS | FROM_DS) == TO_DS | FROM_DS
}

/// IEEE 802.11-2020 9.3.1 (control), 9.3.2 (data), 9.3.3 (management).
const fn header_length(control: u16) -> usize {
    match (control >> 2) & 3 {
        1 => match (control >> 4) & 0xf {
            12 | 13 => SHORTEST,
            _ => WITH_TRANSMITTER,
        },
        2 => {
            let mut length = THREE_ADDRESSES;
            if to_and_from_ds(control) {
                length += 6;
            }
            if is_qos_data(control) {
                length += 2;
                if control & ORDER != 0 {
                    length += 4;
                }
            }
            length
        }
        0 => {
            if control & ORDER != 0 {
                THREE_ADDRESSES + 4
            } else {
                THREE_ADDRESSES
            }
        }
        _ => SHORTEST,
    }
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
    fn every_proper_prefix_is_refused() {
        let frame = qos_data();
        for length in 0..frame.len() {
            assert!(Header::parse(&frame[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn the_sequence_number_keeps_the_fragment() {
        let mut frame = qos_data();
        frame[22] |= 3;
        set_sequence_number(&mut frame, 0xabc);
        set_retry(&mut frame);
        let header = Header::parse(&frame).unwrap();
        assert_eq!(header.sequence_control, Some(0xabc3));
        assert!(header.is_retry());
    }
}
