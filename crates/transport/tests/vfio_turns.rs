//! The vfio-user server in somebody else's loop: a turn never waits, keeps to its budget, and keeps the order.

mod toy;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use airlane_transport::{Ready, Turn, VfioUserServer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use toy::{Toy, access, message, reply, version};

const BAR_READ: u16 = 9;
const BAR_WRITE: u16 = 10;
const POSTED: u32 = 16;

struct Bench {
    server: VfioUserServer,
    toy: Toy,
    client: UnixStream,
}

/// A client that has agreed on a version, one turn at a time.
fn bench(name: &str) -> Bench {
    let file = format!("airlane-turns-{}-{name}", std::process::id());
    let path: PathBuf = std::env::temp_dir().join(file);
    let server = VfioUserServer::bind(&path).unwrap();
    let client = UnixStream::connect(&path).unwrap();
    let mut bench = Bench {
        server,
        toy: Toy::new(),
        client,
    };
    assert!(!bench.server.is_connected());
    assert_eq!(bench.turn(1), Turn::Idle);
    assert!(bench.server.is_connected());
    bench.client.write_all(&version()).unwrap();
    assert_eq!(bench.turn(1), Turn::Idle);
    reply(&mut bench.client);
    bench
}

impl Bench {
    fn turn(&mut self, budget: usize) -> Turn {
        let turn = self.server.turn(&mut self.toy, Ready::ALL, budget);
        turn.unwrap()
    }

    /// Whether what the server waits for has come.
    fn is_ready(&self) -> bool {
        let interest = self.server.interest();
        let mut fds = [PollFd::from_borrowed_fd(interest.socket, interest.flags)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut fds, Some(&now)).unwrap() > 0
    }

    fn post(&mut self, values: std::ops::Range<u32>) {
        let write = |value: u32| {
            let body = access(0x40, 0, 4, &value.to_ne_bytes());
            message(1, BAR_WRITE, POSTED, &body)
        };
        let bytes: Vec<u8> = values.flat_map(write).collect();
        self.client.write_all(&bytes).unwrap();
    }

    fn written(&self) -> Vec<u32> {
        self.toy.log.iter().map(|&(_, value)| value).collect()
    }
}

/// Asks for 4 KiB of BAR 0.
fn ask(id: u16) -> Vec<u8> {
    message(id, BAR_READ, 0, &access(0, 0, 4096, &[]))
}

/// A test that would hang where a turn waits fails instead.
fn within_ten_seconds(test: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        done.send(()).unwrap();
    });
    match ended.recv_timeout(Duration::from_secs(10)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("a turn waits"),
        _ => thread.join().unwrap(),
    }
}

#[test]
fn a_turn_without_anything_to_do_comes_back() {
    within_ten_seconds(|| {
        let mut bench = bench("idle");
        assert_eq!(bench.turn(10), Turn::Idle);
        assert!(!bench.is_ready());
        bench.post(0..1);
        assert!(bench.is_ready());
        bench
            .server
            .turn(&mut bench.toy, Ready::default(), 10)
            .unwrap();
        assert!(bench.toy.log.is_empty(), "nobody said that it is ready");
        assert_eq!(bench.turn(10), Turn::Idle);
        assert_eq!(bench.written(), [0]);
    });
}

#[test]
fn a_turn_keeps_to_its_budget_and_the_rest_waits_in_order() {
    let mut bench = bench("budget");
    bench.post(0..25);
    for handled in [10, 20] {
        assert_eq!(bench.turn(10), Turn::More);
        assert_eq!(bench.toy.log.len(), handled);
    }
    bench.post(25..30);
    assert_eq!(bench.turn(10), Turn::Idle, "all that was received is done");
    assert_eq!(bench.toy.log.len(), 25);
    assert!(bench.is_ready(), "the rest is still in the socket");
    assert_eq!(bench.turn(10), Turn::Idle);
    assert_eq!(bench.written(), (0..30).collect::<Vec<_>>());
    assert_eq!(bench.server.counters().batches, 3, "the version's is one");
}

#[test]
fn what_is_kept_does_not_need_a_ready_socket() {
    let mut bench = bench("kept");
    bench.post(0..3);
    assert_eq!(bench.turn(1), Turn::More);
    let mut turn = || bench.server.turn(&mut bench.toy, Ready::default(), 1);
    assert_eq!(turn().unwrap(), Turn::More);
    assert_eq!(turn().unwrap(), Turn::Idle);
    assert_eq!(bench.written(), [0, 1, 2]);
}

#[test]
fn a_client_that_asks_much_and_reads_nothing_does_not_hold_up_a_turn() {
    within_ten_seconds(|| {
        let mut bench = bench("flood");
        bench.client.set_nonblocking(true).unwrap();
        let asked = flood(&mut bench);
        let interest = bench.server.interest().flags;
        assert_eq!(interest, PollFlags::OUT, "its replies wait for room");
        assert!(!bench.is_ready(), "and nothing wakes the loop until then");
        let messages = bench.server.counters().messages;
        assert_eq!(bench.turn(100), Turn::Idle);
        assert_eq!(bench.server.counters().messages, messages);
        bench.client.set_nonblocking(false).unwrap();
        let (mut reader, mut answered) = (bench.client.try_clone().unwrap(), 0..asked);
        let reader = std::thread::spawn(move || {
            answered.all(|id| reply(&mut reader).0 == id) && reader.read(&mut [0]).unwrap() == 0
        });
        while bench.server.counters().reads < u64::from(asked) || !bench.sent_all() {
            bench.turn(7);
        }
        bench.client.shutdown(std::net::Shutdown::Both).unwrap();
        assert!(reader.join().unwrap(), "every reply came, in order");
    });
}

/// Whole requests, each with the next number, until the socket takes no more and the server answers no more.
fn flood(bench: &mut Bench) -> u16 {
    let mut asked = 0;
    let mut idle = 0;
    while idle < 3 {
        match bench.client.write(&ask(asked)) {
            Ok(length) => {
                assert_eq!(length, 32, "a short message is sent whole or not at all");
                (asked, idle) = (asked + 1, 0);
            }
            Err(_) => {
                idle += 1;
                bench.turn(100);
            }
        }
    }
    asked
}

impl Bench {
    fn sent_all(&self) -> bool {
        self.server.interest().flags == PollFlags::IN
    }
}

#[test]
fn the_next_client_is_served_after_one_that_has_gone() {
    let mut bench = bench("next");
    let path = bench.server.path().to_owned();
    bench.client = UnixStream::connect(path).unwrap();
    assert_eq!(bench.turn(1), Turn::Disconnected);
    assert!(!bench.server.is_connected());
    assert_eq!(bench.turn(1), Turn::Idle);
    bench.client.write_all(&[0xff; 64]).unwrap();
    let broken = bench.server.turn(&mut bench.toy, Ready::ALL, 1);
    assert!(broken.is_err() && !bench.server.is_connected());
    assert_eq!(bench.server.counters().connections, 2);
}

#[test]
fn an_interrupt_is_signalled_when_the_loop_says_so() {
    let mut bench = bench("interrupt");
    bench
        .client
        .write_all(&message(1, BAR_WRITE, POSTED, &access(0x10, 0, 4, &[0; 4])))
        .unwrap();
    bench.turn(1);
    assert_eq!(bench.server.counters().interrupts_lost, 0);
    bench.server.interrupt(&mut bench.toy);
    bench.server.interrupt(&mut bench.toy);
    assert_eq!(
        bench.server.counters().interrupts_lost,
        1,
        "the client has set no eventfd"
    );
}
