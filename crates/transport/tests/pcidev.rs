//! What a User Mode Linux guest and its card say to each other: accesses on one virtqueue, interrupts on the other, and what
//! comes of a guest that keeps to no rule.

mod front_end;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use airlane_dma::Memory;
use airlane_transport::{Counters, Ended, EventFd, LaneEnd, PciDevServer, PciDevice};
use front_end::{ENTRIES, Guest, Queue, SIZE, connect};

const CFG_READ: u8 = 1;
const CFG_WRITE: u8 = 2;
const MMIO_READ: u8 = 3;
const MMIO_WRITE: u8 = 4;
const MSI_CAPABILITY: usize = 0x50;

/// What the test sees of the card.
#[derive(Default)]
struct Seen {
    writes: Vec<(u64, Vec<u8>)>,
    /// The first bytes of the guest's memory, read by the card at the last poll.
    memory: [u8; 4],
    interrupts: u32,
    /// Guests that have come, each before the card was polled for it.
    attached: u32,
}

/// A card with a BAR of 64 bytes of memory, an MSI capability, and the guest's memory in reach.
struct Card {
    config: [u8; 256],
    bar: [u8; 64],
    memory: Memory,
    seen: Arc<Mutex<Seen>>,
}

impl Card {
    fn new(seen: Arc<Mutex<Seen>>) -> Self {
        let mut config = [0; 256];
        config[..4].copy_from_slice(&[0x86, 0x80, 0x36, 0x42]);
        config[0x34] = 0x40;
        config[0x40..0x42].copy_from_slice(&[1, MSI_CAPABILITY as u8]);
        config[MSI_CAPABILITY] = 5;
        config[MSI_CAPABILITY + 2] = 0x80;
        Self {
            config,
            bar: [0; 64],
            memory: Memory::new(),
            seen,
        }
    }
}

impl PciDevice for Card {
    fn config_read(&mut self, offset: u64, data: &mut [u8]) {
        let start = offset as usize;
        data.copy_from_slice(&self.config[start..start + data.len()]);
    }
    fn config_write(&mut self, offset: u64, data: &[u8]) {
        let start = offset as usize;
        self.config[start..start + data.len()].copy_from_slice(data);
    }
    fn bar_size(&self, bar: u8) -> u64 {
        if bar == 0 { 64 } else { 0 }
    }
    fn bar_read(&mut self, _bar: u8, offset: u64, data: &mut [u8]) {
        let start = offset as usize;
        data.copy_from_slice(&self.bar[start..start + data.len()]);
    }
    fn bar_write(&mut self, _bar: u8, offset: u64, data: &[u8]) {
        let start = offset as usize;
        self.bar[start..start + data.len()].copy_from_slice(data);
        self.seen
            .lock()
            .unwrap()
            .writes
            .push((offset, data.to_vec()));
    }
    fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }
    fn reset(&mut self) {}
    fn take_interrupt(&mut self) -> Option<u16> {
        let mut seen = self.seen.lock().unwrap();
        let due = seen.interrupts > 0;
        seen.interrupts = seen.interrupts.saturating_sub(1);
        due.then_some(0)
    }
    fn intx_level(&self) -> bool {
        false
    }
}

impl LaneEnd for Card {
    fn attached(&mut self) {
        self.seen.lock().unwrap().attached += 1;
    }
    fn poll(&mut self) {
        let mut bytes = [0; 4];
        if self.memory.read(0, &mut bytes).is_ok() {
            self.seen.lock().unwrap().memory = bytes;
        }
    }
    fn wants_poll_before_sleep(&mut self) -> bool {
        false
    }
}

/// A card that is served to one guest after the other.
struct Bench {
    path: PathBuf,
    seen: Arc<Mutex<Seen>>,
    wake: EventFd,
    stop: EventFd,
    thread: Option<JoinHandle<Counters>>,
}

impl Bench {
    fn new(name: &str) -> Self {
        let file = format!("airlane-pcidev-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(file);
        let event = || EventFd::new(libc::EFD_NONBLOCK).unwrap();
        let (wake, stop) = (event(), event());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let card = Card::new(Arc::clone(&seen));
        let server = PciDevServer::bind(&path, card, wake.try_clone().unwrap()).unwrap();
        let stopped = stop.try_clone().unwrap();
        let thread = std::thread::spawn(move || {
            while !matches!(server.serve(&stopped), Ok(Ended::Stopped)) {}
            server.counters()
        });
        Self {
            path,
            seen,
            wake,
            stop,
            thread: Some(thread),
        }
    }

    /// Ends it; what it has counted.
    fn end(mut self) -> Counters {
        self.stop.write(1).unwrap();
        self.thread.take().unwrap().join().unwrap()
    }
}

fn message(operation: u8, bar: u8, size: u32, offset: u64, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![operation, bar, 0, 0];
    bytes.extend(size.to_ne_bytes());
    bytes.extend(offset.to_ne_bytes());
    bytes.extend(data);
    bytes
}

/// Asks, with a chain of one readable and one writable buffer as the driver makes it; what the card answers.
fn ask(guest: &Guest, queue: &mut Queue, request: &[u8], room: u32) -> Option<Vec<u8>> {
    let first = queue.next % ENTRIES;
    let (from, to) = (queue.buffer(first), queue.buffer(first + 1));
    guest.put(from, request);
    let answer = 0xffu8;
    guest.put(to, &vec![answer; room as usize]);
    let second = (first + 1) % ENTRIES;
    describe(guest, queue, first, (from, request.len() as u32, 1, second));
    describe(guest, queue, second, (to, room, 2, 0));
    publish(guest, queue, first);
    let returned = returned(guest, queue);
    let mut bytes = vec![0; returned as usize];
    use vm_memory::{Bytes, GuestAddress};
    guest
        .memory
        .read_slice(&mut bytes, GuestAddress(to))
        .unwrap();
    (returned > 0).then_some(bytes)
}

/// Posts one readable buffer; done when the card gives it back.
fn post(guest: &Guest, queue: &mut Queue, request: &[u8]) {
    let first = queue.next % ENTRIES;
    let from = queue.buffer(first);
    guest.put(from, request);
    describe(guest, queue, first, (from, request.len() as u32, 0, 0));
    publish(guest, queue, first);
    returned(guest, queue);
}

/// Address, length, flags (1: another follows, 2: writable), and which follows.
fn describe(
    guest: &Guest,
    queue: &Queue,
    entry: u16,
    (address, length, flags, next): (u64, u32, u16, u16),
) {
    let at = queue.base + 16 * u64::from(entry);
    guest.put(at, &address.to_le_bytes());
    guest.put(at + 8, &length.to_le_bytes());
    guest.put(at + 12, &flags.to_le_bytes());
    guest.put(at + 14, &next.to_le_bytes());
}

fn publish(guest: &Guest, queue: &mut Queue, head: u16) {
    let slot = queue.available() + 4 + 2 * u64::from(queue.next % ENTRIES);
    guest.put(slot, &head.to_le_bytes());
    queue.next += 1;
    guest.put(queue.available() + 2, &queue.next.to_le_bytes());
    queue.kick.write(1).unwrap();
}

/// Waits for a buffer; how many bytes were put into it.
fn returned(guest: &Guest, queue: &mut Queue) -> u32 {
    for _ in 0..400 {
        if u16::from_le_bytes(guest.get(queue.used() + 2)) != queue.seen {
            let at = queue.used() + 4 + 8 * u64::from(queue.seen % ENTRIES);
            queue.seen += 1;
            return u32::from_le_bytes(guest.get(at + 4));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no buffer came back");
}

fn queues() -> (Queue, Queue) {
    (Queue::new(0x1_0000), Queue::new(0x8_0000))
}

#[test]
fn a_guest_reads_and_writes_its_card() {
    let bench = Bench::new("access");
    let guest = Guest::new();
    let (mut commands, interrupts) = queues();
    let _front = connect(&bench.path, &guest, [&commands, &interrupts]);
    let identity = ask(&guest, &mut commands, &message(CFG_READ, 0, 4, 0, &[]), 8);
    assert_eq!(identity, Some(vec![0x86, 0x80, 0x36, 0x42]));
    post(
        &guest,
        &mut commands,
        &message(CFG_WRITE, 0, 2, 4, &[6, 1, 0, 0, 0, 0, 0, 0]),
    );
    let command = ask(&guest, &mut commands, &message(CFG_READ, 0, 2, 4, &[]), 8);
    assert_eq!(command, Some(vec![6, 1]));
    post(
        &guest,
        &mut commands,
        &message(MMIO_WRITE, 0, 4, 0x20, &[1, 2, 3, 4]),
    );
    let word = ask(
        &guest,
        &mut commands,
        &message(MMIO_READ, 0, 4, 0x20, &[]),
        4,
    );
    assert_eq!(word, Some(vec![1, 2, 3, 4]));
    assert_eq!(
        bench.seen.lock().unwrap().writes,
        [(0x20, vec![1, 2, 3, 4])]
    );
    let counters = bench.end();
    assert_eq!(
        (counters.reads, counters.writes, counters.refused),
        (3, 2, 0)
    );
}

#[test]
fn the_card_reaches_the_guests_memory_while_the_guest_is_there() {
    let bench = Bench::new("memory");
    let guest = Guest::new();
    guest.put(0, &[7, 6, 5, 4]);
    let (mut commands, interrupts) = queues();
    let front = connect(&bench.path, &guest, [&commands, &interrupts]);
    post(&guest, &mut commands, &message(CFG_WRITE, 0, 1, 4, &[0]));
    for _ in 0..400 {
        if bench.seen.lock().unwrap().memory == [7, 6, 5, 4] {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(bench.seen.lock().unwrap().memory, [7, 6, 5, 4]);
    drop(front);
    // The next guest is served, with memory of its own.
    let next = Guest::new();
    let (mut commands, interrupts) = queues();
    let _front = connect(&bench.path, &next, [&commands, &interrupts]);
    ask(&next, &mut commands, &message(CFG_READ, 0, 1, 0, &[]), 8);
    assert_eq!(bench.seen.lock().unwrap().attached, 2, "each is told");
    let counters = bench.end();
    assert_eq!((counters.connections, counters.maps), (2, 2));
}

#[test]
fn an_interrupt_says_what_the_guest_wrote_into_the_capability() {
    let bench = Bench::new("msi");
    let guest = Guest::new();
    let (mut commands, mut interrupts) = queues();
    let _front = connect(&bench.path, &guest, [&commands, &interrupts]);
    let at = MSI_CAPABILITY as u64;
    for (offset, size, data) in [(4, 4, 0xa_0000u64), (12, 2, 33), (2, 2, 0x81)] {
        let write = message(CFG_WRITE, 0, size, at + offset, &data.to_le_bytes());
        post(&guest, &mut commands, &write);
    }
    // Nobody has posted a buffer: the interrupt waits for one.
    bench.seen.lock().unwrap().interrupts = 1;
    bench.wake.write(1).unwrap();
    for _ in 0..400 {
        if bench.seen.lock().unwrap().interrupts == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(bench.seen.lock().unwrap().interrupts, 0, "it was taken");
    // A request answered after that: the turn that took the interrupt is over.
    ask(&guest, &mut commands, &message(CFG_READ, 0, 1, 0, &[]), 8);
    assert_eq!(u16::from_le_bytes(guest.get(interrupts.used() + 2)), 0);
    interrupts.offer(&guest, true);
    interrupts.kick.write(1).unwrap();
    let message = interrupts.take(&guest);
    assert_eq!(message[..8], [7, 0, 0, 0, 4, 0, 0, 0]);
    assert_eq!(message[8..16], 0xa_0000u64.to_ne_bytes());
    assert_eq!(message[16..20], [33, 0, 0, 0]);
    assert!(interrupts.call.read().is_ok(), "the guest is told");
    assert_eq!(bench.end().interrupts, 1);
}

#[test]
fn an_interrupt_is_lost_while_msi_is_off() {
    let bench = Bench::new("off");
    let guest = Guest::new();
    let (mut commands, mut interrupts) = queues();
    interrupts.offer(&guest, true);
    let _front = connect(&bench.path, &guest, [&commands, &interrupts]);
    bench.seen.lock().unwrap().interrupts = 1;
    ask(&guest, &mut commands, &message(CFG_READ, 0, 1, 0, &[]), 8);
    ask(&guest, &mut commands, &message(CFG_READ, 0, 1, 0, &[]), 8);
    let counters = bench.end();
    assert_eq!((counters.interrupts, counters.interrupts_lost), (0, 1));
}

#[test]
fn what_is_no_access_is_refused_and_the_next_one_is_served() {
    let bench = Bench::new("hostile");
    let guest = Guest::new();
    let (mut commands, interrupts) = queues();
    let _front = connect(&bench.path, &guest, [&commands, &interrupts]);
    let hostile = [
        vec![1; 3],
        message(0, 0, 4, 0, &[]),
        message(MMIO_READ, 0, 4, 62, &[]),
        message(MMIO_READ, 0, 4, u64::MAX, &[]),
        message(MMIO_READ, 3, 4, 0, &[]),
        message(MMIO_READ, 0, u32::MAX, 0, &[]),
        message(CFG_READ, 0, 4, 254, &[]),
        message(MMIO_WRITE, 0, 8, 0, &[1]),
    ];
    for request in &hostile {
        assert_eq!(ask(&guest, &mut commands, request, 8), None, "{request:?}");
    }
    // An answer that finds too little room.
    assert_eq!(
        ask(&guest, &mut commands, &message(MMIO_READ, 0, 8, 0, &[]), 4),
        None
    );
    // A buffer outside the guest's memory.
    let entry = commands.next % ENTRIES;
    describe(&guest, &commands, entry, (SIZE * 2, 16, 0, 0));
    publish(&guest, &mut commands, entry);
    assert_eq!(returned(&guest, &mut commands), 0);
    let word = ask(&guest, &mut commands, &message(MMIO_READ, 0, 1, 0, &[]), 4);
    assert_eq!(word, Some(vec![0]));
    // An index that runs away yields nothing and does not hold the thread.
    guest.put(commands.available() + 2, &0x7fffu16.to_le_bytes());
    commands.kick.write(1).unwrap();
    let counters = bench.end();
    assert_eq!(counters.refused, hostile.len() as u64 + 2);
    assert!(counters.interrupts == 0);
}
