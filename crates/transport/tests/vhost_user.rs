//! A vhost-user device with more queues than two and a configuration space, and front ends that stop in the middle.

mod front_end;

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use airlane_transport::vhost_user::{
    Backend, Event, Guest as Memory, Server, Vring, copy_in, copy_out,
};
use airlane_transport::{Ended, EventFd};
use front_end::{Guest, Queue, offer, set_up};
use vhost::vhost_user::VhostUserFrontend;
use vhost::vhost_user::message::VhostUserConfigFlags;

/// As a virtio-net device's begins: an address, and its link.
const CONFIG: [u8; 8] = [2, 0, 0, 0, 0, 1, 1, 0];
const OWN_FEATURE: u64 = 1 << 5;

/// What is sent on an odd queue comes back on the even one before it.
#[derive(Default)]
struct Echo {
    memory: Option<Arc<Memory>>,
    features: u64,
    stopped: u32,
}

impl Backend for Echo {
    fn queues(&self) -> usize {
        4
    }
    fn features(&self) -> u64 {
        OWN_FEATURE
    }
    fn config(&self) -> &[u8] {
        &CONFIG
    }
    fn negotiated(&mut self, features: u64) {
        self.features = features;
    }
    fn memory(&mut self, memory: Arc<Memory>) {
        self.memory = Some(memory);
    }
    fn event(&mut self, event: Event, queues: &mut [Vring]) {
        let (Some(memory), Event::Notified(queue)) = (self.memory.clone(), event) else {
            return;
        };
        let [receive, send] = &mut queues[queue / 2 * 2..][..2] else {
            unreachable!()
        };
        let mut bytes = [0; 16];
        while let Some(chain) = send.pop(&memory) {
            let head = chain.head_index();
            let message = copy_in(chain, &memory, &mut bytes).unwrap();
            send.give_back(&memory, head, 0);
            let target = receive.pop(&memory).unwrap();
            let head = target.head_index();
            copy_out(target, &memory, message).unwrap();
            receive.give_back(&memory, head, 16);
            receive.notify(&memory);
        }
    }
    fn memory_refused(&mut self) {}
    fn stopped(&mut self) {
        self.stopped += 1;
    }
    fn connected(&mut self) {}
    fn disconnected(&mut self) {
        self.memory = None;
    }
    fn idle(&mut self) {}
    fn is_broken(&self) -> bool {
        false
    }
}

struct Bench {
    path: PathBuf,
    server: Arc<Server<Echo>>,
    stop: EventFd,
    ended: mpsc::Receiver<Ended>,
    thread: JoinHandle<()>,
}

fn bench(name: &str) -> Bench {
    let file = format!("airlane-vhost-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(file);
    let event = || EventFd::new(libc::EFD_NONBLOCK).unwrap();
    let (stop, wake) = (event(), event());
    let server = Arc::new(Server::bind(&path, Echo::default(), wake).unwrap());
    let (served, stopped) = (Arc::clone(&server), stop.try_clone().unwrap());
    let (done, ended) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut last = Ended::Disconnected;
        while last != Ended::Stopped {
            last = served.serve(&stopped).unwrap();
            done.send(last).unwrap();
        }
    });
    Bench {
        path,
        server,
        stop,
        ended,
        thread,
    }
}

impl Bench {
    /// Stops it while a front end is connected.
    fn stop(self) {
        self.stop.write(1).unwrap();
        let ended = self.ended.recv_timeout(Duration::from_secs(10));
        assert_eq!(ended, Ok(Ended::Stopped), "a front end holds the thread up");
        self.thread.join().unwrap();
    }
}

#[test]
fn queues_features_and_configuration_space_are_the_devices_own() {
    let bench = bench("echo");
    let guest = Guest::new();
    let bases = [0x1_0000, 0x3_0000, 0x6_0000, 0x8_0000];
    let [first, second, mut receive, mut send] = bases.map(Queue::new);
    receive.offer(&guest, true);
    let mut front = offer(&bench.path, 4);
    let flags = VhostUserConfigFlags::empty();
    let (_, config) = front.get_config(2, 6, flags, &[0; 6]).unwrap();
    assert_eq!(config, CONFIG[2..]);
    let front = set_up(front, &guest, [&first, &second, &receive, &send]);
    send.send(&guest, b"hello, queue 3!!");
    assert_eq!(receive.take(&guest)[..15], *b"hello, queue 3!");
    assert!(receive.call.read().is_ok(), "the guest is told");
    assert_ne!(bench.server.backend().features & OWN_FEATURE, 0);
    drop(front);
    let ended = bench.ended.recv_timeout(Duration::from_secs(10));
    assert_eq!(ended, Ok(Ended::Disconnected));
    assert!(bench.server.backend().memory.is_none());
    bench.stop();
}

#[test]
fn a_front_end_that_stops_within_a_message_does_not_hold_the_thread() {
    let bench = bench("half");
    let mut front = UnixStream::connect(&bench.path).unwrap();
    let header = [1u32, 1, 8].map(u32::to_ne_bytes).concat();
    front.write_all(&header[..7]).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    front.write_all(&header[7..]).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    bench.stop();
}

#[test]
fn a_front_end_that_asks_and_never_reads_does_not_hold_the_thread() {
    let bench = bench("flood");
    let mut front = UnixStream::connect(&bench.path).unwrap();
    front.set_nonblocking(true).unwrap();
    let get_features = [1u32, 1, 0].map(u32::to_ne_bytes).concat();
    for _ in 0..100 {
        while front.write_all(&get_features).is_ok() {}
        std::thread::sleep(Duration::from_millis(1));
    }
    bench.stop();
}
