use super::*;
use std::io::{Read, Write};
use std::time::Duration;

/// A relay that runs in a thread, and the outer ends of its two lines.
struct Bench {
    front: UnixStream,
    back: UnixStream,
    stop: EventFd,
    thread: Option<std::thread::JoinHandle<Result<Ended, RelayError>>>,
}

impl Bench {
    fn new(peer: Peer) -> Self {
        let (front, inner_front) = UnixStream::pair().unwrap();
        let (back, inner_back) = UnixStream::pair().unwrap();
        back.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let stop = EventFd::new(libc::EFD_NONBLOCK).unwrap();
        let stopped = stop.try_clone().unwrap();
        let thread = std::thread::spawn(move || {
            let mut relay = Relay::new(&inner_front, &inner_back);
            relay.peer = peer;
            relay.run(&stopped)
        });
        Self {
            front,
            back,
            stop,
            thread: Some(thread),
        }
    }

    fn end(&mut self) -> Result<Ended, RelayError> {
        self.thread.take().unwrap().join().unwrap()
    }

    /// What the framework would read.
    fn passed(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.back.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn send_with(&self, bytes: &[u8], file: &impl AsFd) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let files = [file.as_fd()];
        assert!(control.push(SendAncillaryMessage::ScmRights(&files)));
        let flags = SendFlags::empty();
        sendmsg(&self.front, &[IoSlice::new(bytes)], &mut control, flags).unwrap();
    }
}

fn message(request: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [request, 1, payload.len() as u32] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(payload);
    bytes
}

/// As User Mode Linux sends it: one region, room for two.
fn roomy_table() -> Vec<u8> {
    let mut payload = vec![0; TABLE + 2 * REGION];
    payload[0] = 1;
    payload[TABLE + 8] = 0x55;
    message(SET_MEM_TABLE, &payload)
}

fn memory() -> OwnedFd {
    rustix::fs::memfd_create("guest", rustix::fs::MemfdFlags::CLOEXEC).unwrap()
}

#[test]
fn room_for_regions_that_are_not_there_is_cut_off() {
    let mut bench = Bench::new(Peer::Child);
    bench.send_with(&roomy_table(), &memory());
    let passed = bench.passed(HEADER + TABLE + REGION);
    assert_eq!(word(&passed, 8), Some((TABLE + REGION) as u32));
    assert_eq!(passed[HEADER + TABLE + 8], 0x55);
    // What follows begins at its own header.
    bench.front.write_all(&message(1, &[])).unwrap();
    assert_eq!(bench.passed(HEADER), message(1, &[]));
}

#[test]
fn a_table_as_it_should_be_passes_unchanged() {
    let mut bench = Bench::new(Peer::Child);
    let mut payload = vec![7; TABLE + REGION];
    payload[..4].copy_from_slice(&1u32.to_ne_bytes());
    let table = message(SET_MEM_TABLE, &payload);
    bench.send_with(&table, &memory());
    assert_eq!(bench.passed(table.len()), table);
}

#[test]
fn a_table_that_names_more_than_it_has_is_left_to_the_framework() {
    let mut bench = Bench::new(Peer::Child);
    let mut payload = vec![0; TABLE];
    payload[..4].copy_from_slice(&u32::MAX.to_ne_bytes());
    let table = message(SET_MEM_TABLE, &payload);
    bench.front.write_all(&table).unwrap();
    assert_eq!(bench.passed(table.len()), table);
}

#[test]
fn unsealed_memory_of_a_stranger_ends_the_connection() {
    let mut bench = Bench::new(Peer::Foreign);
    bench.send_with(&roomy_table(), &memory());
    assert_eq!(bench.end(), Err(RelayError::Unsealed));
}

#[test]
fn a_payload_that_no_message_has_ends_the_connection() {
    let mut bench = Bench::new(Peer::Child);
    let mut header = message(1, &[]);
    header[8..].copy_from_slice(&5000u32.to_ne_bytes());
    bench.front.write_all(&header).unwrap();
    assert_eq!(bench.end(), Err(RelayError::TooLong(5000)));
}

#[test]
fn replies_come_back_and_a_message_in_pieces_is_passed_whole() {
    let mut bench = Bench::new(Peer::Child);
    let whole = message(11, &[3; 8]);
    for piece in whole.chunks(5) {
        bench.front.write_all(piece).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(bench.passed(whole.len()), whole);
    bench.back.write_all(&[9; 20]).unwrap();
    let mut reply = [0; 20];
    bench.front.read_exact(&mut reply).unwrap();
    assert_eq!(reply, [9; 20]);
}

#[test]
fn an_interrupt_descriptor_never_waits() {
    let mut bench = Bench::new(Peer::Child);
    let (call, other) = UnixStream::pair().unwrap();
    let request = message(SET_VRING_CALL, &[0; 8]);
    bench.send_with(&request, &call);
    bench.passed(request.len());
    let flags = rustix::fs::fcntl_getfl(&call).unwrap();
    assert!(flags.contains(OFlags::NONBLOCK));
    let flags = rustix::fs::fcntl_getfl(&other).unwrap();
    assert!(!flags.contains(OFlags::NONBLOCK));
}

#[test]
fn either_end_and_the_stop_end_it() {
    let mut bench = Bench::new(Peer::Child);
    bench.front.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(bench.end(), Ok(Ended::Disconnected));
    let mut bench = Bench::new(Peer::Child);
    bench.back.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(bench.end(), Ok(Ended::Disconnected));
    let mut bench = Bench::new(Peer::Child);
    bench.stop.write(1).unwrap();
    assert_eq!(bench.end(), Ok(Ended::Stopped));
}

#[test]
fn a_front_end_that_asks_and_never_reads_does_not_keep_it_from_stopping() {
    let mut bench = Bench::new(Peer::Child);
    let mut back = bench.back.try_clone().unwrap();
    // The framework answers as long as its answers are taken.
    let answering = std::thread::spawn(move || {
        let mut request = [0; HEADER];
        while back.read_exact(&mut request).is_ok() && back.write_all(&[1; 2000]).is_ok() {}
    });
    bench.front.set_nonblocking(true).unwrap();
    while bench.front.write_all(&message(1, &[])).is_ok() {}
    bench.stop.write(1).unwrap();
    assert_eq!(bench.end(), Ok(Ended::Stopped));
    bench.back.shutdown(std::net::Shutdown::Both).unwrap();
    answering.join().unwrap();
}
