//! The Frame Control field (IEEE 802.11-2020 9.2.4.1): what kind of frame it is, and its flags.

use std::fmt;

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

    /// Its type.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_those_of_table_9_1() {
        use FrameType::{Control, Data, Management};
        for (kind, frame_type, subtype) in [
            (FrameKind::ASSOCIATION_REQUEST, Management, 0),
            (FrameKind::ASSOCIATION_RESPONSE, Management, 1),
            (FrameKind::REASSOCIATION_REQUEST, Management, 2),
            (FrameKind::REASSOCIATION_RESPONSE, Management, 3),
            (FrameKind::PROBE_REQUEST, Management, 4),
            (FrameKind::PROBE_RESPONSE, Management, 5),
            (FrameKind::BEACON, Management, 8),
            (FrameKind::DISASSOCIATION, Management, 10),
            (FrameKind::AUTHENTICATION, Management, 11),
            (FrameKind::DEAUTHENTICATION, Management, 12),
            (FrameKind::ACTION, Management, 13),
            (FrameKind::BLOCK_ACK, Control, 9),
            (FrameKind::PS_POLL, Control, 10),
            (FrameKind::RTS, Control, 11),
            (FrameKind::CTS, Control, 12),
            (FrameKind::ACK, Control, 13),
            (FrameKind::DATA, Data, 0),
            (FrameKind::NULL, Data, 4),
            (FrameKind::QOS_DATA, Data, 8),
            (FrameKind::QOS_NULL, Data, 12),
        ] {
            assert_eq!(kind.frame_type(), frame_type, "{kind:?}");
            assert_eq!(kind.octet() >> 4, subtype, "{kind:?}");
        }
    }

    #[test]
    fn payload_and_qos_are_bits_of_data_subtypes_alone() {
        assert!(FrameKind::QOS_DATA.has_payload() && FrameKind::QOS_DATA.is_qos_data());
        assert!(!FrameKind::NULL.has_payload() && !FrameKind::NULL.is_qos_data());
        assert!(!FrameKind::QOS_NULL.has_payload() && FrameKind::QOS_NULL.is_qos_data());
        assert!(!FrameKind::BEACON.has_payload() && !FrameKind::BEACON.is_qos_data());
    }

    #[test]
    fn every_field_keeps_all_its_bits() {
        for bits in 0..=u16::MAX {
            let control = FrameControl::from_bits_retain(bits);
            assert_eq!(control.bits(), bits);
            let kind = control.kind();
            let version = FrameControl::from_bits_retain(bits & 3);
            let flags = FrameControl::from_bits_retain(bits & 0xff00);
            assert_eq!(kind.with(flags | version), control);
        }
    }

    #[test]
    fn flags_stand_in_the_second_octet_in_the_order_of_figure_9_3() {
        let flags = [
            FrameControl::TO_DS,
            FrameControl::FROM_DS,
            FrameControl::MORE_FRAGMENTS,
            FrameControl::RETRY,
            FrameControl::POWER_MANAGEMENT,
            FrameControl::MORE_DATA,
            FrameControl::PROTECTED,
            FrameControl::HT_CONTROL,
        ];
        for (bit, flag) in flags.into_iter().enumerate() {
            assert_eq!(flag.bits().to_le_bytes(), [0, 1 << bit]);
        }
    }
}
