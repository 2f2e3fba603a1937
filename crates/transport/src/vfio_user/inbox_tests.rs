use std::io::IoSlice;
use std::os::unix::net::UnixStream;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::*;

fn message(id: u16, body: usize) -> Vec<u8> {
    let mut bytes = id.to_ne_bytes().to_vec();
    bytes.extend(13u16.to_ne_bytes());
    bytes.extend((16 + body as u32).to_ne_bytes());
    bytes.resize(16 + body, 0);
    bytes
}

fn send(socket: &UnixStream, bytes: &[u8], fds: usize) {
    let events: Vec<OwnedFd> = (0..fds)
        .map(|_| rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap())
        .collect();
    let borrowed: Vec<_> = events.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(32))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&borrowed)));
    sendmsg(
        socket,
        &[IoSlice::new(bytes)],
        &mut control,
        SendFlags::empty(),
    )
    .unwrap();
}

/// Number and descriptors of every message that waits.
fn take(inbox: &mut Inbox) -> Vec<(u16, usize)> {
    let mut taken = Vec::new();
    while let Some(incoming) = inbox.next().unwrap() {
        taken.push((incoming.header.id, incoming.fds.len()));
    }
    taken
}

#[test]
fn descriptors_stay_with_their_message() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut inbox = Inbox::new();
    send(&theirs, &message(1, 4), 0);
    send(&theirs, &message(2, 4), 1);
    send(&theirs, &message(3, 4), 0);
    send(&theirs, &message(4, 4), 2);
    let mut taken = Vec::new();
    while inbox.receive(&ours).unwrap() == Received::Some {
        taken.extend(take(&mut inbox));
    }
    assert_eq!(taken, [(1, 0), (2, 1), (3, 0), (4, 2)]);
}

#[test]
fn descriptors_wait_for_the_rest_of_their_message() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut inbox = Inbox::new();
    let long = message(1, 40);
    send(&theirs, &long[..20], 1);
    assert_eq!(inbox.receive(&ours).unwrap(), Received::Some);
    assert!(take(&mut inbox).is_empty());
    send(&theirs, &[&long[20..], &message(2, 0)].concat(), 0);
    send(&theirs, &message(3, 0), 1);
    while inbox.receive(&ours).unwrap() == Received::Some {}
    assert_eq!(take(&mut inbox), [(1, 1), (2, 0), (3, 1)]);
}

#[test]
fn an_empty_socket_and_a_closed_one_are_told_apart() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut inbox = Inbox::new();
    assert_eq!(inbox.receive(&ours).unwrap(), Received::Nothing);
    drop(theirs);
    assert_eq!(inbox.receive(&ours).unwrap(), Received::Closed);
}

#[test]
fn more_descriptors_than_announced_are_malformed() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut inbox = Inbox::new();
    send(&theirs, &message(1, 0), 9);
    assert_eq!(inbox.receive(&ours).unwrap(), Received::Some);
    let (command, count) = (13, 9);
    let expected = Malformed::Descriptors { command, count };
    assert_eq!(inbox.next().err(), Some(expected));
}

#[test]
fn descriptors_that_do_not_fit_a_receive_are_malformed() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut inbox = Inbox::new();
    send(&theirs, &message(1, 0), 30);
    let lost = inbox.receive(&ours);
    assert!(matches!(
        lost,
        Err(ReceiveError::Malformed(Malformed::DescriptorsLost))
    ));
}

#[test]
fn a_full_buffer_makes_room_for_the_longest_message() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut inbox = Inbox::new();
    let writer = std::thread::spawn(move || {
        use std::io::Write;
        let longest = message(5, MAX_MESSAGE - 16);
        for _ in 0..3 {
            (&theirs).write_all(&message(4, 100)).unwrap();
            (&theirs).write_all(&longest).unwrap();
        }
    });
    let mut taken = Vec::new();
    while inbox.receive(&ours).unwrap() != Received::Closed {
        taken.extend(take(&mut inbox));
    }
    writer.join().unwrap();
    assert_eq!(taken, [(4, 0), (5, 0)].repeat(3));
}
