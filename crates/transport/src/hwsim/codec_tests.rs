use super::attribute::*;
use super::*;
use airlane_dot11::{Band, Buffer, OfdmRate};
use proptest::prelude::*;

const RADIO: MacAddr = MacAddr([0x42, 0, 0, 0, 0, 0]);
const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 7]);
/// A legacy 24 Mb/s rate tried twice, then 6 Mb/s tried four times (5 GHz indices 4 and 0).
const TX_INFO_BYTES: [u8; 8] = [4, 2, 0, 4, 0xff, 0, 0xff, 0];

fn put(message: &mut Vec<u8>, number: u16, value: &[u8]) {
    message.extend((4 + value.len() as u16).to_ne_bytes());
    message.extend(number.to_ne_bytes());
    message.extend(value);
    message.resize(message.len().next_multiple_of(4), 0);
}

fn build(command: u8, attributes: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut message = vec![0; 20];
    message[4..6].copy_from_slice(&0x1cu16.to_ne_bytes());
    (message[16], message[17]) = (command, 1);
    for (number, value) in attributes {
        put(&mut message, *number, value);
    }
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message
}

/// What the guest sends for a frame, in the driver's order.
fn frame_attributes(frame: &[u8]) -> Vec<(u16, Vec<u8>)> {
    vec![
        (ADDR_TRANSMITTER, RADIO.0.to_vec()),
        (FRAME, frame.to_vec()),
        (FLAGS, 3u32.to_ne_bytes().to_vec()),
        (FREQ, 5180u32.to_ne_bytes().to_vec()),
        (TX_INFO, TX_INFO_BYTES.to_vec()),
        (
            TX_INFO_FLAGS,
            vec![4, 0, 0, 0, 0, 0, 0xff, 0, 0, 0xff, 0, 0],
        ),
        (COOKIE, 0x1122_3344_5566_7788u64.to_ne_bytes().to_vec()),
    ]
}

fn replaced(number: u16, value: &[u8]) -> Vec<u8> {
    let mut attributes = frame_attributes(&[0; 30]);
    let entry = attributes.iter_mut().find(|(other, _)| *other == number);
    entry.unwrap().1 = value.to_vec();
    build(command::FRAME, &attributes)
}

#[test]
fn a_frame_of_the_guest_is_read_whole() {
    let mut message = build(command::FRAME, &frame_attributes(&[7; 33]));
    message.resize(3776, 0xaa); // the buffer's tail is stale guest memory
    let FromGuest::Frame(frame) = parse(&message).unwrap() else {
        panic!("not a frame");
    };
    assert_eq!((frame.radio, frame.frame), (RADIO, &[7; 33][..]));
    assert_eq!(frame.channel, Channel::new(Band::Ghz5, 36).unwrap());
    assert_eq!((frame.flags, frame.cookie), (3, 0x1122_3344_5566_7788));
    let (m24, m6) = (Rate::Ofdm(OfdmRate::M24), Rate::OFDM_6);
    assert_eq!(&frame.rates[..], &[(m24, 2), (m6, 4)]);
    assert_eq!(frame.tx_info.to_bytes(), TX_INFO_BYTES);
}

#[test]
fn addresses_come_and_go() {
    let attributes = [
        (ADDR_TRANSMITTER, RADIO.0.to_vec()),
        (ADDR_RECEIVER, STATION.0.to_vec()),
    ];
    let (radio, address) = (RADIO, STATION);
    let added = build(command::ADD_MAC_ADDR, &attributes);
    assert_eq!(parse(&added), Ok(FromGuest::AddAddress { radio, address }));
    let removed = build(command::DEL_MAC_ADDR, &attributes);
    let expected = FromGuest::RemoveAddress { radio, address };
    assert_eq!(parse(&removed), Ok(expected));
}

#[test]
fn an_unknown_attribute_is_skipped() {
    let mut attributes = frame_attributes(&[0; 30]);
    attributes.insert(0, (300, vec![1, 2, 3]));
    attributes.insert(3, (20, vec![]));
    assert!(parse(&build(command::FRAME, &attributes)).is_ok());
}

#[test]
fn a_length_beyond_the_buffer_is_refused() {
    let mut message = build(command::FRAME, &frame_attributes(&[0; 30]));
    let (length, buffer) = (message.len(), message.len() - 1);
    message.pop();
    assert_eq!(parse(&message), Err(CodecError::Length { length, buffer }));
}

#[test]
fn a_message_shorter_than_its_headers_is_refused() {
    let mut message = vec![0; 40];
    message[0] = 19;
    assert_eq!(parse(&message), Err(CodecError::Short(19)));
    assert_eq!(parse(&[]), Err(CodecError::Short(0)));
}

#[test]
fn bytes_behind_the_last_attribute_are_refused() {
    let mut message = build(command::FRAME, &frame_attributes(&[0; 30]));
    message.extend([0; 3]);
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    assert_eq!(parse(&message), Err(CodecError::Trailing(3)));
}

#[test]
fn an_attribute_length_that_lies_is_refused() {
    for lie in [0u16, 3, 200] {
        let mut message = build(command::ADD_MAC_ADDR, &[(ADDR_TRANSMITTER, vec![0; 6])]);
        message[20..22].copy_from_slice(&lie.to_ne_bytes());
        let expected = CodecError::AttributeLength {
            number: ADDR_TRANSMITTER,
            length: lie,
            left: 12,
        };
        assert_eq!(parse(&message), Err(expected));
    }
}

#[test]
fn a_value_of_the_wrong_size_is_refused() {
    for number in [
        ADDR_TRANSMITTER,
        FLAGS,
        FREQ,
        TX_INFO,
        TX_INFO_FLAGS,
        COOKIE,
    ] {
        let expected = CodecError::Value { number, length: 5 };
        assert_eq!(parse(&replaced(number, &[0; 5])), Err(expected));
    }
}

#[test]
fn a_frame_shorter_than_an_acknowledgement_is_refused() {
    let (number, length) = (FRAME, 9);
    let expected = CodecError::Value { number, length };
    assert_eq!(parse(&replaced(FRAME, &[0; 9])), Err(expected));
    assert!(parse(&replaced(FRAME, &[0; 10])).is_ok());
}

#[test]
fn a_missing_attribute_is_refused() {
    for number in [ADDR_TRANSMITTER, FRAME, FLAGS, FREQ, TX_INFO, COOKIE] {
        let mut attributes = frame_attributes(&[0; 30]);
        attributes.retain(|(other, _)| *other != number);
        let message = build(command::FRAME, &attributes);
        assert_eq!(parse(&message), Err(CodecError::Missing(number)));
    }
}

#[test]
fn a_frequency_that_is_no_channel_is_refused() {
    let message = replaced(FREQ, &5181u32.to_ne_bytes());
    assert!(matches!(parse(&message), Err(CodecError::Channel(_))));
}

#[test]
fn a_command_that_no_medium_serves_is_refused() {
    for number in [1, 3, 4, 9, 10, 255] {
        let message = build(number, &frame_attributes(&[0; 30]));
        assert_eq!(parse(&message), Err(CodecError::Command(number)));
    }
}

#[test]
fn without_a_usable_rate_the_slowest_is_tried_once() {
    for info in [[0xff, 0, 0, 0, 0, 0, 0, 0], [99, 3, 0, 0, 0, 0, 0, 0]] {
        let message = replaced(TX_INFO, &info);
        let Ok(FromGuest::Frame(frame)) = parse(&message) else {
            panic!("not a frame");
        };
        assert_eq!(&frame.rates[..], &[(Rate::OFDM_6, 1)]);
        assert_eq!(frame.tx_info.to_bytes(), info);
    }
}

fn receive(length: usize) -> ToHwsim {
    ToHwsim::Receive {
        radio: RADIO,
        frame: Buffer::from_slice(&vec![1; length]).unwrap(),
        rate: Rate::Ofdm(OfdmRate::M54),
        signal: Dbm(-50.4),
        channel: Channel::new(Band::Ghz2, 6).unwrap(),
    }
}

#[test]
fn frames_that_hwsim_does_not_take_are_refused() {
    let mut out = [0; 4096];
    for length in [0, 23, 2305] {
        let refused = encode(&receive(length), &mut out);
        assert_eq!(refused, Err(CodecError::FrameLength(length)));
    }
    assert!(encode(&receive(24), &mut out).is_ok());
    assert!(encode(&receive(2304), &mut out).is_ok());
}

#[test]
fn a_buffer_without_room_is_refused() {
    let mut out = [0; 4096];
    let length = encode(&receive(24), &mut out).unwrap();
    for room in 0..length {
        let refused = encode(&receive(24), &mut out[..room]);
        assert_eq!(refused, Err(CodecError::Room));
    }
}

/// The guest's own rules: `hwsim_genl_policy` under `NL_VALIDATE_STRICT`. Gives the attributes.
fn strict(message: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let (_, attributes) = message_of(message);
    for (number, value) in &attributes {
        let right = match *number {
            ADDR_RECEIVER | ADDR_TRANSMITTER => value.len() == 6,
            FRAME => value.len() <= 2304,
            FLAGS | RX_RATE | SIGNAL | FREQ => value.len() == 4,
            TX_INFO | COOKIE => value.len() == 8,
            TX_INFO_FLAGS => value.len() == 12,
            _ => false,
        };
        assert!(right, "attribute {number} of {} bytes", value.len());
    }
    attributes
}

fn message_of(bytes: &[u8]) -> (u8, Vec<(u16, Vec<u8>)>) {
    let (command, attributes) = message(bytes).unwrap();
    let owned = attributes.map(|attribute| {
        let (number, value) = attribute.unwrap();
        (number, value.to_vec())
    });
    (command, owned.collect())
}

fn value(attributes: &[(u16, Vec<u8>)], number: u16) -> &[u8] {
    &attributes.iter().find(|(n, _)| *n == number).unwrap().1
}

#[test]
fn a_received_frame_holds_what_the_guest_requires() {
    let mut out = [0; 4096];
    let length = encode(&receive(101), &mut out).unwrap();
    assert_eq!(out[16], command::FRAME);
    let attributes = strict(&out[..length]);
    assert_eq!(value(&attributes, ADDR_RECEIVER), RADIO.0);
    assert_eq!(value(&attributes, FRAME), [1; 101]);
    assert_eq!(value(&attributes, RX_RATE), 11u32.to_ne_bytes());
    assert_eq!(value(&attributes, SIGNAL), (-50i32).to_ne_bytes());
    assert_eq!(value(&attributes, FREQ), 2437u32.to_ne_bytes());
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn no_prefix_and_no_flipped_byte_panics(cut in 0usize..150, at in 0usize..150, to: u8) {
        let mut message = build(command::FRAME, &frame_attributes(&[0; 30]));
        if let Some(byte) = message.get_mut(at) {
            *byte = to;
        }
        message.truncate(cut);
        let _ = parse(&message);
    }

    #[test]
    fn a_status_comes_back_as_it_was_sent(cookie: u64, flags: u32, info: [u8; 8], acknowledged: bool, signal in -100i8..0) {
        let used = TxInfo::from_bytes(info);
        prop_assert_eq!(used.to_bytes(), info);
        let signal_dbm = Dbm(signal.into());
        let status = ToHwsim::Status { radio: RADIO, cookie, flags, acknowledged, signal: signal_dbm, used };
        let mut out = [0; 256];
        let length = encode(&status, &mut out).unwrap();
        prop_assert_eq!(out[16], command::TX_INFO_FRAME);
        let attributes = strict(&out[..length]);
        prop_assert_eq!(value(&attributes, ADDR_TRANSMITTER), &RADIO.0[..]);
        prop_assert_eq!(value(&attributes, COOKIE), &cookie.to_ne_bytes()[..]);
        prop_assert_eq!(value(&attributes, TX_INFO), &info[..]);
        prop_assert_eq!(value(&attributes, SIGNAL), &i32::from(signal).to_ne_bytes()[..]);
        let expected = flags & !4 | u32::from(acknowledged) << 2;
        prop_assert_eq!(value(&attributes, FLAGS), &expected.to_ne_bytes()[..]);
    }

    #[test]
    fn a_frame_comes_back_as_it_was_sent(frame in proptest::collection::vec(any::<u8>(), 24..2304)) {
        let message = build(command::FRAME, &frame_attributes(&frame));
        let Ok(FromGuest::Frame(read)) = parse(&message) else { panic!("not a frame") };
        prop_assert_eq!(read.frame, &frame[..]);
        let receive = ToHwsim::Receive {
            radio: RADIO,
            frame: Buffer::from_slice(read.frame).unwrap(),
            rate: Rate::OFDM_6,
            signal: Dbm(-40.0),
            channel: read.channel,
        };
        let mut out = [0; 4096];
        let length = encode(&receive, &mut out).unwrap();
        let attributes = strict(&out[..length]);
        prop_assert_eq!(value(&attributes, FRAME), &frame[..]);
    }
}
