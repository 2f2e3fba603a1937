use super::*;
use proptest::prelude::*;

fn message(command: u16, size: u32, flags: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = 7u16.to_ne_bytes().to_vec();
    bytes.extend(command.to_ne_bytes());
    bytes.extend(size.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(body);
    bytes
}

fn whole(command: u16, body: &[u8]) -> Vec<u8> {
    message(command, (HEADER + body.len()) as u32, 0, body)
}

fn read(bytes: &[u8]) -> Result<Request<'_>, Malformed> {
    let (header, body) = split(bytes)?.expect("a whole message");
    parse(&header, body)
}

fn access(offset: u64, region: u32, count: u32, data: &[u8]) -> Vec<u8> {
    let mut body = offset.to_ne_bytes().to_vec();
    body.extend(region.to_ne_bytes());
    body.extend(count.to_ne_bytes());
    body.extend(data);
    body
}

#[test]
fn a_posted_write_is_read_and_what_follows_is_left() {
    let body = access(0x410, 0, 4, &[1, 2, 3, 4]);
    let mut bytes = message(command::REGION_WRITE, 36, 16, &body);
    bytes.extend([0xee; 5]);
    let (header, body) = split(&bytes).unwrap().unwrap();
    assert_eq!((header.id, header.size, header.wants_reply), (7, 36, false));
    let write = Write {
        region: 0,
        offset: 0x410,
        data: &[1, 2, 3, 4],
    };
    assert_eq!(parse(&header, body), Ok(Request::Write(write)));
}

#[test]
fn a_message_is_awaited_until_its_last_byte() {
    let bytes = whole(command::RESET, &[0; 9]);
    for length in 0..bytes.len() {
        assert_eq!(split(&bytes[..length]), Ok(None), "{length}");
    }
    assert!(split(&bytes).unwrap().is_some());
}

#[test]
fn fields_are_where_the_protocol_has_them() {
    let words: Vec<u8> = [0u32, 3].iter().flat_map(|w| w.to_ne_bytes()).collect();
    let longs: Vec<u8> = [0x1000u64, 0x2000, 0x3000]
        .iter()
        .flat_map(|w| w.to_ne_bytes())
        .collect();
    let map = whole(command::DMA_MAP, &[words.clone(), longs.clone()].concat());
    let expected = DmaMap {
        flags: 3,
        offset: 0x1000,
        address: 0x2000,
        size: 0x3000,
    };
    assert_eq!(read(&map), Ok(Request::DmaMap(expected)));
    let unmap = whole(command::DMA_UNMAP, &[words, longs].concat());
    let expected = DmaUnmap {
        argsz: 0,
        flags: 3,
        address: 0x1000,
        size: 0x2000,
    };
    assert_eq!(read(&unmap), Ok(Request::DmaUnmap(expected)));
    let set: Vec<u8> = [20u32, 36, 1, 2, 3]
        .iter()
        .flat_map(|w| w.to_ne_bytes())
        .collect();
    let set = whole(command::SET_IRQS, &[set, vec![9]].concat());
    let expected = SetIrqs {
        flags: 36,
        index: 1,
        start: 2,
        count: 3,
        data: &[9],
    };
    assert_eq!(read(&set), Ok(Request::SetIrqs(expected)));
}

#[test]
fn a_length_below_the_header_is_refused() {
    assert_eq!(split(&message(13, 15, 0, &[])), Err(Malformed::Short(15)));
}

#[test]
fn a_length_above_the_limit_is_refused_before_it_arrives() {
    let size = MAX_MESSAGE as u32 + 1;
    assert_eq!(
        split(&message(10, size, 0, &[])),
        Err(Malformed::Long(size))
    );
}

#[test]
fn a_reply_is_refused() {
    assert_eq!(split(&message(13, 16, 1, &[])), Err(Malformed::Type(1)));
}

#[test]
fn a_body_shorter_than_its_fields_is_refused() {
    let least = [
        (command::VERSION, 4),
        (command::DMA_MAP, 32),
        (command::DMA_UNMAP, 24),
        (command::GET_INFO, 16),
        (command::GET_REGION_INFO, 32),
        (command::GET_IRQ_INFO, 16),
        (command::SET_IRQS, 20),
        (command::REGION_READ, 16),
        (command::REGION_WRITE, 16),
        (command::REGION_WRITE_MULTI, 8),
    ];
    for (command, least) in least {
        assert!(read(&whole(command, &vec![0; least])).is_ok(), "{command}");
        let expected = Malformed::Body {
            command,
            length: least - 1,
            least,
        };
        assert_eq!(read(&whole(command, &vec![0; least - 1])), Err(expected));
    }
}

#[test]
fn version_data_without_its_zero_is_refused() {
    assert_eq!(read(&whole(1, b"\0\0\0\0{}")), Err(Malformed::VersionData));
    assert!(read(&whole(1, b"\0\0\0\0{}\0")).is_ok());
}

#[test]
fn a_count_that_disagrees_with_the_data_is_refused() {
    for count in [3, 5, u32::MAX] {
        let bytes = whole(command::REGION_WRITE, &access(0, 0, count, &[0; 4]));
        assert!(matches!(read(&bytes), Err(Malformed::Count { .. })));
    }
    let bytes = whole(
        command::REGION_READ,
        &access(0, 0, MAX_DATA as u32 + 1, &[]),
    );
    assert!(matches!(read(&bytes), Err(Malformed::Count { .. })));
}

#[test]
fn several_writes_in_one_message_are_checked_one_by_one() {
    let entry = |count: u32| [access(8, 0, count, &[]), vec![5; 8]].concat();
    let multi = |number: u64, entries: &[Vec<u8>]| {
        whole(
            command::REGION_WRITE_MULTI,
            &[number.to_ne_bytes().to_vec(), entries.concat()].concat(),
        )
    };
    let good = multi(2, &[entry(4), entry(8)]);
    let Ok(Request::WriteMulti(writes)) = read(&good) else {
        panic!("refused");
    };
    assert!(read(&multi(MAX_MULTI, &vec![entry(4); MAX_MULTI as usize])).is_ok());
    let lengths: Vec<usize> = writes.iter().map(|write| write.data.len()).collect();
    assert_eq!(lengths, [4, 8]);
    for bad in [
        multi(1, &[entry(4), entry(8)]),
        multi(3, &[entry(4), entry(8)]),
        multi(u64::MAX, &[entry(4)]),
        multi(1, &[entry(9)]),
        multi(MAX_MULTI + 1, &vec![entry(4); MAX_MULTI as usize + 1]),
    ] {
        assert!(matches!(read(&bad), Err(Malformed::Count { .. })));
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(Some((header, body))) = split(&bytes) {
            let _ = parse(&header, body);
        }
    }

    #[test]
    fn no_body_panics(command in 0u16..20, body in proptest::collection::vec(any::<u8>(), 0..100)) {
        if let Ok(Request::WriteMulti(writes)) = read(&whole(command, &body)) {
            prop_assert!(writes.iter().all(|write| write.data.len() <= 8));
        }
    }

    #[test]
    fn a_write_comes_back_as_it_was_sent(region: u32, offset: u64, data in proptest::collection::vec(any::<u8>(), 0..64)) {
        let body = access(offset, region, data.len() as u32, &data);
        let expected = Request::Write(Write { region, offset, data: &data });
        let bytes = whole(command::REGION_WRITE, &body);
        prop_assert_eq!(read(&bytes), Ok(expected));
    }
}
