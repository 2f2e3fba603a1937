use std::os::unix::net::UnixStream;

use super::*;

const TO: Header = Header {
    id: 7,
    command: 5,
    size: 48,
    wants_reply: true,
};

fn file() -> OwnedFd {
    rustix::fs::memfd_create("region", rustix::fs::MemfdFlags::empty()).unwrap()
}

fn region(file: &OwnedFd) -> MappableRegion<'_> {
    MappableRegion {
        file: file.as_fd(),
        offset: 0x1_0000,
        areas: &[],
    }
}

/// Length of the next message, and how many descriptors have come with its first byte.
fn next(socket: &UnixStream) -> (usize, usize) {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let mut header = [0; 16];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut room = [std::io::IoSliceMut::new(&mut header)];
    recvmsg(socket, &mut room, &mut control, RecvFlags::WAITALL).unwrap();
    let count = |message| match message {
        RecvAncillaryMessage::ScmRights(files) => files.count(),
        _ => 0,
    };
    let files = control.drain().map(count).sum();
    let size = u32::from_ne_bytes(header[4..8].try_into().unwrap()) as usize;
    std::io::Read::read_exact(&mut &*socket, &mut vec![0; size - 16]).unwrap();
    (size, files)
}

#[test]
fn each_file_goes_with_the_first_byte_of_its_reply() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (card, info) = (
        file(),
        RegionInfo {
            index: 2,
            size: 4096,
        },
    );
    let mut replies = Replies::default();
    replies.words(&TO, &[1]);
    replies.mappable_region(&TO, 32, info, &region(&card), file());
    replies.words(&TO, &[1, 2]);
    replies.mappable_region(&TO, 48, info, &region(&card), file());
    replies.mappable_region(&TO, 48, info, &region(&card), file());
    replies.words(&TO, &[1, 2, 3]);
    while !replies.is_empty() {
        replies.send(&ours).unwrap();
    }
    let got: [_; 6] = std::array::from_fn(|_| next(&theirs));
    assert_eq!(got, [(20, 0), (48, 1), (24, 0), (64, 1), (64, 1), (28, 0)]);
}

#[test]
fn few_files_wait_for_a_client_that_takes_none() {
    let card = file();
    let info = RegionInfo {
        index: 2,
        size: 4096,
    };
    let mut replies = Replies::default();
    for count in 1..=MAX_FILES {
        replies.mappable_region(&TO, 48, info, &region(&card), file());
        assert_eq!(replies.is_full(), count == MAX_FILES);
    }
}
