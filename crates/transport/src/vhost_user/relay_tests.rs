use super::*;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

/// A relay, and the outer ends of its two lines.
struct Bench {
    relay: Relay,
    front: UnixStream,
    back: UnixStream,
}

impl Bench {
    fn new(peer: Peer) -> Self {
        let (front, inner_front) = UnixStream::pair().unwrap();
        let (back, inner_back) = UnixStream::pair().unwrap();
        back.set_nonblocking(true).unwrap();
        let mut relay = Relay::new(inner_front, inner_back);
        relay.peer = peer;
        Self { relay, front, back }
    }

    /// Takes what has been sent, until a message is whole or there is no more.
    fn receive(&mut self) -> Result<Passed, RelayError> {
        for _ in 0..4 {
            let passed = self.relay.receive()?;
            if passed != Passed::Part {
                return Ok(passed);
            }
        }
        Ok(Passed::Part)
    }

    /// What the `vhost` crate would read.
    fn passed(&mut self, length: usize) -> Vec<u8> {
        assert_eq!(self.receive(), Ok(Passed::Whole));
        let mut bytes = vec![0; length];
        self.back.read_exact(&mut bytes).unwrap();
        assert!(self.back.read(&mut [0]).is_err(), "and no more");
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
fn a_table_that_names_more_than_it_has_is_left_to_the_vhost_crate() {
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
    assert_eq!(bench.receive(), Err(RelayError::Unsealed));
}

#[test]
fn a_payload_that_no_message_has_ends_the_connection() {
    let mut bench = Bench::new(Peer::Child);
    let mut header = message(1, &[]);
    header[8..].copy_from_slice(&5000u32.to_ne_bytes());
    bench.front.write_all(&header).unwrap();
    assert_eq!(bench.receive(), Err(RelayError::TooLong(5000)));
}

#[test]
fn a_message_in_pieces_is_passed_whole() {
    let mut bench = Bench::new(Peer::Child);
    let whole = message(11, &[3; 8]);
    for piece in whole.chunks(5) {
        assert_eq!(bench.receive(), Ok(Passed::Part));
        assert!(bench.back.read(&mut [0]).is_err());
        bench.front.write_all(piece).unwrap();
    }
    assert_eq!(bench.passed(whole.len()), whole);
}

#[test]
fn a_reply_comes_back() {
    let mut bench = Bench::new(Peer::Child);
    bench.back.write_all(&[9; 20]).unwrap();
    bench.relay.take_reply().unwrap();
    assert_eq!(bench.relay.interest(), PollFlags::OUT);
    assert_eq!(bench.relay.pass_reply(), Ok(true));
    assert_eq!(bench.relay.interest(), PollFlags::IN);
    let mut reply = [0; 20];
    bench.front.read_exact(&mut reply).unwrap();
    assert_eq!(reply, [9; 20]);
}

#[test]
fn a_front_end_that_has_gone_is_noticed() {
    let mut bench = Bench::new(Peer::Child);
    bench.front.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(bench.receive(), Ok(Passed::Closed));
    bench.back.write_all(&[9; 20]).unwrap();
    bench.relay.take_reply().unwrap();
    assert_eq!(bench.relay.pass_reply(), Ok(false));
}

#[test]
fn a_reply_that_nobody_reads_waits() {
    let mut bench = Bench::new(Peer::Child);
    loop {
        bench.back.write_all(&[1; 2000]).unwrap();
        bench.relay.take_reply().unwrap();
        assert_eq!(bench.relay.pass_reply(), Ok(true));
        if bench.relay.has_reply() {
            break;
        }
    }
    assert_eq!(bench.relay.interest(), PollFlags::OUT);
}
