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
