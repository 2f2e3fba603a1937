//! A toy card behind the vfio-user server, used by the `vfio_user` crate's client and by bytes that
//! no client would send.

mod toy;

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::JoinHandle;

use airlane_transport::{Counters, Ended, EventFd, VfioUserError, VfioUserServer};
use toy::{Toy, WINDOW, WINDOW_AT, access, event, memfd, message, reply, version, wait_for};
use vfio_user::Client;

type Outcome = (Result<Ended, VfioUserError>, Counters, Toy);

struct Served {
    path: PathBuf,
    wake: EventFd,
    stop: EventFd,
    thread: JoinHandle<Vec<Outcome>>,
}

/// Serves `clients` clients one after another on a thread, each with a fresh card.
fn serve(name: &str, clients: usize) -> Served {
    serve_cards(name, clients, Toy::new)
}

/// The same with cards of another make.
fn serve_cards(name: &str, clients: usize, make: impl Fn() -> Toy + Send + 'static) -> Served {
    let file = format!("airlane-vfio-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(file);
    let (wake, stop) = (event(), event());
    let (wake2, stop2) = (wake.try_clone().unwrap(), stop.try_clone().unwrap());
    let mut server = VfioUserServer::bind(&path).unwrap();
    let thread = std::thread::spawn(move || {
        let mut outcomes = Vec::new();
        for _ in 0..clients {
            let mut toy = make();
            let ended = server.serve(&mut toy, &wake2, &stop2);
            outcomes.push((ended, *server.counters(), toy));
        }
        outcomes
    });
    Served {
        path,
        wake,
        stop,
        thread,
    }
}

#[test]
fn the_client_reads_writes_maps_and_is_interrupted() {
    let served = serve("client", 1);
    let mut client = Client::new(&served.path).unwrap();
    assert_eq!(client.region(0).unwrap().size, 4096);
    assert_eq!(client.region(7).unwrap().size, 256);
    assert_eq!(client.region(1).unwrap().size, 0);
    let mut identity = [0; 4];
    client.region_read(7, 0, &mut identity).unwrap();
    assert_eq!(identity, [0x86, 0x80, 0x36, 0x42]);

    let guest = memfd(0x3000);
    guest
        .write_all_at(&0x1234_5678u32.to_ne_bytes(), 0x1100)
        .unwrap();
    client
        .dma_map(0x1000, 0x8000_0000, 0x2000, guest.as_raw_fd())
        .unwrap();
    let msi = event();
    client
        .set_irqs(1, 4 | 32, 0, 1, &[msi.as_raw_fd()])
        .unwrap();
    client
        .region_write(0, 0x10, &0x8000_0100u32.to_ne_bytes())
        .unwrap();
    assert!(wait_for(&msi), "MSI arrives at the eventfd");
    let mut copied = [0; 4];
    client.region_read(0, 0x20, &mut copied).unwrap();
    assert_eq!(u32::from_ne_bytes(copied), 0x1234_5678, "read by DMA");
    let mut written = [0; 4];
    guest.read_exact_at(&mut written, 0x1104).unwrap();
    assert_eq!(u32::from_ne_bytes(written), !0x1234_5678, "written by DMA");

    client.reset().unwrap();
    client.dma_unmap(0x8000_0000, 0x2000).unwrap();
    client
        .region_write(0, 0x10, &0x8000_0100u32.to_ne_bytes())
        .unwrap();
    client.region_read(0, 0x20, &mut copied).unwrap();
    assert_eq!(
        u32::from_ne_bytes(copied),
        0xdead,
        "unmapped memory is out of reach"
    );
    drop(client);
    let (ended, counters, toy) = served.thread.join().unwrap().remove(0);
    assert_eq!(ended.unwrap(), Ended::Disconnected);
    assert_eq!((counters.maps, counters.unmaps, counters.resets), (1, 1, 1));
    assert_eq!((counters.interrupts, counters.malformed), (2, 0));
    assert_eq!((toy.resets, toy.memory.faults()), (1, 2));
    assert!(
        !served.path.exists(),
        "the socket file goes with the server"
    );
}

#[test]
fn posted_writes_are_drained_in_one_batch_and_in_order() {
    let served = serve("posted", 1);
    let mut stream = UnixStream::connect(&served.path).unwrap();
    stream.write_all(&version()).unwrap();
    reply(&mut stream);
    let mut bytes = Vec::new();
    for value in 0..100u32 {
        let body = access(0x40, 0, 4, &value.to_ne_bytes());
        bytes.extend(message(1, 10, 16, &body));
    }
    let mut multi = 2u64.to_ne_bytes().to_vec();
    for value in [100u32, 101] {
        multi.extend(access(0x44, 0, 4, &value.to_ne_bytes()));
        multi.extend([0; 4]);
    }
    bytes.extend(message(2, 15, 16, &multi));
    bytes.extend(message(3, 9, 0, &access(0x44, 0, 4, &[])));
    stream.write_all(&bytes).unwrap();
    let (id, flags, _, body) = reply(&mut stream);
    assert_eq!((id, flags), (3, 1), "only the read is answered");
    assert_eq!(&body[16..], 101u32.to_ne_bytes());
    drop(stream);
    let (ended, counters, toy) = served.thread.join().unwrap().remove(0);
    assert_eq!(ended.unwrap(), Ended::Disconnected);
    let values: Vec<u32> = toy.log.iter().map(|&(_, value)| value).collect();
    assert_eq!(values, (0..102).collect::<Vec<_>>());
    assert_eq!((counters.messages, counters.writes), (103, 102));
    let [(polls, writes)] = toy.attached[..] else {
        panic!("one client has come: {:?}", toy.attached);
    };
    assert!(writes == 0 && polls < toy.polls, "told before, then polled");
    assert!(counters.batches <= 3, "{} batches", counters.batches);
}

#[test]
fn a_message_may_arrive_byte_by_byte() {
    let served = serve("bytes", 1);
    let mut stream = UnixStream::connect(&served.path).unwrap();
    let body = access(0x40, 0, 4, &[1, 2, 3, 4]);
    for byte in [version(), message(7, 10, 0, &body)].concat() {
        stream.write_all(&[byte]).unwrap();
    }
    reply(&mut stream);
    assert_eq!(reply(&mut stream).0, 7);
    drop(stream);
    assert_eq!(served.thread.join().unwrap()[0].2.log.len(), 1);
}

#[test]
fn what_cannot_be_done_is_refused_and_the_stream_goes_on() {
    let served = serve("refused", 1);
    let mut stream = UnixStream::connect(&served.path).unwrap();
    stream.write_all(&version()).unwrap();
    reply(&mut stream);
    let refusals: &[(u16, Vec<u8>, i32)] = &[
        (99, vec![1; 100], libc::ENOTSUP),
        (9, access(0, 9, 4, &[]), libc::EINVAL),
        (9, access(0xffe, 0, 4, &[]), libc::EINVAL),
        (9, access(u64::MAX, 0, 4, &[]), libc::EINVAL),
        (10, access(0, 1, 1, &[0]), libc::EINVAL),
        (
            5,
            [32u32, 0, 9, 0, 0, 0, 0, 0].map(u32::to_ne_bytes).concat(),
            libc::EINVAL,
        ),
        (
            7,
            [16u32, 0, 5, 0].map(u32::to_ne_bytes).concat(),
            libc::EINVAL,
        ),
        (
            8,
            [20u32, 4 | 32, 1, 0, 2].map(u32::to_ne_bytes).concat(),
            libc::EINVAL,
        ),
        (
            8,
            [20u32, 1 | 32, 1, u32::MAX, 1]
                .map(u32::to_ne_bytes)
                .concat(),
            libc::EINVAL,
        ),
        (
            3,
            [0u64, 0x1000, 0x1000].map(u64::to_ne_bytes).concat(),
            libc::EINVAL,
        ),
    ];
    for (id, (command, body, errno)) in refusals.iter().enumerate() {
        stream
            .write_all(&message(id as u16, *command, 0, body))
            .unwrap();
        let (answered, flags, error, _) = reply(&mut stream);
        assert_eq!(
            (answered, flags, error as i32),
            (id as u16, 0x21, *errno),
            "{command}"
        );
    }
    drop(stream);
    let counters = served.thread.join().unwrap()[0].1;
    assert_eq!(
        (counters.refused, counters.malformed),
        (refusals.len() as u64, 0)
    );
}

#[test]
fn malformed_bytes_close_the_connection_and_the_next_client_is_served() {
    let served = serve("malformed", 3);
    for bytes in [
        vec![0xff; 64],
        [version(), message(1, 10, 0, &[0; 8])].concat(),
    ] {
        let mut stream = UnixStream::connect(&served.path).unwrap();
        stream.write_all(&bytes).unwrap();
        let mut rest = Vec::new();
        // The kernel may report the unread rest of our bytes as a reset.
        let _ = stream.read_to_end(&mut rest);
    }
    drop(Client::new(&served.path).unwrap());
    let outcomes = served.thread.join().unwrap();
    assert!(matches!(
        outcomes[0].0,
        Err(VfioUserError::Malformed { .. })
    ));
    assert!(matches!(
        outcomes[1].0,
        Err(VfioUserError::Malformed { .. })
    ));
    assert!(matches!(outcomes[2].0, Ok(Ended::Disconnected)));
    assert_eq!((outcomes[2].1.malformed, outcomes[2].1.connections), (2, 3));
}

#[test]
fn intx_signals_once_until_it_is_unmasked() {
    let served = serve("intx", 1);
    let mut client = Client::new(&served.path).unwrap();
    let line = event();
    client
        .set_irqs(0, 4 | 32, 0, 1, &[line.as_raw_fd()])
        .unwrap();
    client.region_write(0, 0x30, &1u32.to_ne_bytes()).unwrap();
    assert!(wait_for(&line));
    client.region_write(0, 0x40, &1u32.to_ne_bytes()).unwrap();
    client.set_irqs(0, 1 | 16, 0, 1, &[]).unwrap();
    assert!(wait_for(&line), "still driven: signals again when unmasked");
    client.region_write(0, 0x30, &0u32.to_ne_bytes()).unwrap();
    client.set_irqs(0, 1 | 16, 0, 1, &[]).unwrap();
    drop(client);
    let counters = served.thread.join().unwrap()[0].1;
    assert_eq!(counters.interrupts, 2);
    assert!(line.read().is_err(), "no longer driven: no third signal");
}

#[test]
fn the_radio_wakes_the_lane_and_stop_ends_it() {
    let served = serve("stop", 1);
    let mut client = Client::new(&served.path).unwrap();
    served.wake.write(1).unwrap();
    // By the answer to the second read the turn that began with both, the first read and the wake-up, is over.
    for _ in 0..2 {
        client.region_read(0, 0x20, &mut [0; 4]).unwrap();
    }
    assert!(served.wake.read().is_err(), "the wake-up was consumed");
    served.stop.write(1).unwrap();
    let (ended, _, toy) = served.thread.join().unwrap().remove(0);
    assert_eq!(ended.unwrap(), Ended::Stopped);
    assert!(toy.polls > 0);
    drop(client);
}

#[test]
fn a_client_that_asks_and_never_reads_stops_only_itself() {
    let served = serve("flood", 1);
    let mut stream = UnixStream::connect(&served.path).unwrap();
    stream.set_nonblocking(true).unwrap();
    stream.write_all(&version()).unwrap();
    let ask = message(1, 9, 0, &access(0, 0, 4096, &[])).repeat(64);
    for _ in 0..2000 {
        let _ = stream.write(&ask);
    }
    served.stop.write(1).unwrap();
    let outcome = served.thread.join().unwrap().remove(0).0;
    // A write that the socket cut short leaves a broken message: either end is right, hanging is not.
    assert!(matches!(
        outcome,
        Ok(Ended::Stopped) | Err(VfioUserError::Malformed { .. })
    ));
}

/// `VFIO_PCI_MSIX_IRQ_INDEX`, and `SET_IRQS` flags: eventfds, or nothing, for the trigger.
const MSIX: u32 = 2;
const EVENTFDS: u32 = 4 | 32;
const NOTHING: u32 = 1 | 32;

#[test]
fn each_vector_of_a_card_interrupts_by_its_own_eventfd() {
    let served = serve_cards("vectors", 1, || Toy {
        vectors: 2,
        ..Toy::new()
    });
    let mut client = Client::new(&served.path).unwrap();
    assert_eq!(client.get_irq_info(MSIX).unwrap().count, 2);
    let events = [event(), event()];
    let fds = [events[0].as_raw_fd(), events[1].as_raw_fd()];
    client.set_irqs(MSIX, EVENTFDS, 0, 2, &fds).unwrap();
    let mut raise = |vector: u32| {
        let word = vector.to_ne_bytes();
        client.region_write(0, 0x50, &word).unwrap();
    };
    raise(1);
    assert!(wait_for(&events[1]) && events[0].read().is_err());
    raise(0);
    assert!(wait_for(&events[0]) && events[1].read().is_err());
    raise(7);
    client.set_irqs(MSIX, EVENTFDS, 1, 1, &[]).unwrap();
    client.region_write(0, 0x50, &1u32.to_ne_bytes()).unwrap();
    client.set_irqs(MSIX, NOTHING, 0, 0, &[]).unwrap();
    client.region_write(0, 0x50, &0u32.to_ne_bytes()).unwrap();
    drop(client);
    let counters = served.thread.join().unwrap()[0].1;
    assert_eq!((counters.interrupts, counters.interrupts_lost), (2, 3));
}

#[test]
fn what_the_guest_writes_into_a_mapped_region_the_card_finds_in_its_file() {
    let file = memfd(WINDOW_AT + WINDOW);
    let card = file.try_clone().unwrap();
    let served = serve_cards("window", 1, move || Toy {
        window: Some((
            card.try_clone().unwrap(),
            vec![0x1000..0x2000, 0x3000..0x4000],
        )),
        ..Toy::new()
    });
    let mut client = Client::new(&served.path).unwrap();
    let region = client.region(2).unwrap();
    let areas: Vec<_> = region
        .sparse_areas
        .iter()
        .map(|a| (a.offset, a.size))
        .collect();
    assert_eq!(areas, [(0x1000, 0x1000), (0x3000, 0x1000)]);
    assert_eq!((region.size, region.flags), (WINDOW, 1 | 2 | 4 | 8));
    let mapped = region.file_offset.as_ref().unwrap();
    assert_eq!(mapped.start(), WINDOW_AT);
    let at = mapped.start() + 0x3008;
    mapped.file().write_all_at(b"doorbell", at).unwrap();
    let mut seen = [0; 8];
    file.read_exact_at(&mut seen, at).unwrap();
    assert_eq!(&seen, b"doorbell");
    client.region_read(2, 0x3008, &mut seen).unwrap();
    assert_eq!(&seen, b"doorbell", "and by message");
    assert!(client.region(0).unwrap().file_offset.is_none());
}

#[test]
fn a_client_without_room_for_the_areas_is_told_where_they_would_be() {
    let served = serve_cards("room", 1, || Toy {
        window: Some((
            memfd(WINDOW_AT + WINDOW),
            std::iter::once(0..WINDOW).collect(),
        )),
        ..Toy::new()
    });
    let mut stream = UnixStream::connect(&served.path).unwrap();
    let info = |argsz: u32| {
        let body = [argsz, 0, 2, 0, 0, 0, 0, 0].map(u32::to_ne_bytes).concat();
        message(1, 5, 0, &body)
    };
    stream
        .write_all(&[version(), info(32), info(63), info(64)].concat())
        .unwrap();
    reply(&mut stream);
    for length in [32, 32, 64] {
        let (_, _, _, body) = reply(&mut stream);
        let word = |at: usize| u32::from_ne_bytes(body[at..at + 4].try_into().unwrap());
        assert_eq!(body.len(), length);
        assert_eq!((word(0), word(12)), (64, 32), "argsz, cap_offset");
    }
}

#[test]
fn a_region_that_the_client_could_cut_off_is_not_given_away() {
    let flags = rustix::fs::MemfdFlags::ALLOW_SEALING;
    let file = std::fs::File::from(rustix::fs::memfd_create("loose", flags).unwrap());
    let served = serve_cards("loose", 1, move || Toy {
        window: Some((
            file.try_clone().unwrap(),
            std::iter::once(0..WINDOW).collect(),
        )),
        ..Toy::new()
    });
    let mut stream = UnixStream::connect(&served.path).unwrap();
    let body = [64u32, 0, 2, 0, 0, 0, 0, 0].map(u32::to_ne_bytes).concat();
    stream
        .write_all(&[version(), message(1, 5, 0, &body)].concat())
        .unwrap();
    reply(&mut stream);
    let (_, flags, errno, _) = reply(&mut stream);
    assert_eq!((flags, errno as i32), (0x21, libc::EPERM));
}
