//! A front end made of the `vhost` crate's `Frontend` and hand-made virtqueues in a memfd, as a guest would use them.

// Each test that includes this uses its own part of it.
#![allow(dead_code)]

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use vhost::vhost_user::message::VhostUserVirtioFeatures;
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};
use vmm_sys_util::eventfd::EventFd;

pub const SIZE: u64 = 0x10_0000;
pub const ENTRIES: u16 = 16;

/// One split virtqueue at `base`: descriptors, available ring, used ring, then one buffer per entry.
pub struct Queue {
    pub base: u64,
    pub next: u16,
    pub seen: u16,
    pub kick: EventFd,
    pub call: EventFd,
}

impl Queue {
    pub fn new(base: u64) -> Self {
        let event = || EventFd::new(libc::EFD_NONBLOCK).unwrap();
        Self {
            base,
            next: 0,
            seen: 0,
            kick: event(),
            call: event(),
        }
    }
    pub fn available(&self) -> u64 {
        self.base + 0x1000
    }
    pub fn used(&self) -> u64 {
        self.base + 0x2000
    }
    pub fn buffer(&self, entry: u16) -> u64 {
        self.base + 0x4000 + 0x1000 * u64::from(entry % ENTRIES)
    }
    /// Offers the next entry's buffer.
    pub fn offer(&mut self, guest: &Guest, writable: bool) {
        let entry = self.next % ENTRIES;
        let at = self.base + 16 * u64::from(entry);
        guest.put(at, &self.buffer(entry).to_le_bytes());
        guest.put(at + 8, &3776u32.to_le_bytes());
        guest.put(at + 12, &(u16::from(writable) * 2).to_le_bytes());
        let slot = self.available() + 4 + 2 * u64::from(entry);
        guest.put(slot, &entry.to_le_bytes());
        self.next += 1;
        guest.put(self.available() + 2, &self.next.to_le_bytes());
    }
    pub fn send(&mut self, guest: &Guest, message: &[u8]) {
        guest.put(self.buffer(self.next), message);
        self.offer(guest, false);
        self.kick.write(1).unwrap();
    }
    /// Waits for the device to give a buffer back; its bytes.
    pub fn take(&mut self, guest: &Guest) -> Vec<u8> {
        for _ in 0..400 {
            let index = u16::from_le_bytes(guest.get(self.used() + 2));
            if index != self.seen {
                let at = self.used() + 4 + 8 * u64::from(self.seen % ENTRIES);
                let entry = u32::from_le_bytes(guest.get(at)) as u16;
                let length = u32::from_le_bytes(guest.get(at + 4));
                self.seen += 1;
                let mut bytes = vec![0; length as usize];
                let from = GuestAddress(self.buffer(entry));
                guest.memory.read_slice(&mut bytes, from).unwrap();
                return bytes;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("no buffer came back");
    }
}

pub struct Guest {
    pub file: File,
    pub memory: GuestMemoryMmap,
}

impl Guest {
    pub fn new() -> Self {
        let guest = Self::unsealed();
        rustix::fs::fcntl_add_seals(&guest.file, rustix::fs::SealFlags::SHRINK).unwrap();
        guest
    }
    pub fn unsealed() -> Self {
        use rustix::fs::MemfdFlags;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create("guest", flags).unwrap();
        let file = File::from(fd);
        file.set_len(SIZE).unwrap();
        let backing = FileOffset::new(file.try_clone().unwrap(), 0);
        let range = (GuestAddress(0), SIZE as usize, Some(backing));
        let memory = GuestMemoryMmap::from_ranges_with_files([range]).unwrap();
        Self { file, memory }
    }
    pub fn region(&self) -> VhostUserMemoryRegionInfo {
        use std::os::fd::AsRawFd;
        VhostUserMemoryRegionInfo {
            guest_phys_addr: 0,
            memory_size: SIZE,
            userspace_addr: 0x7000_0000,
            mmap_offset: 0,
            mmap_handle: self.file.as_raw_fd(),
        }
    }
    pub fn put(&self, at: u64, bytes: &[u8]) {
        self.memory.write_slice(bytes, GuestAddress(at)).unwrap();
    }
    pub fn get<const N: usize>(&self, at: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.memory
            .read_slice(&mut bytes, GuestAddress(at))
            .unwrap();
        bytes
    }
}

/// What QEMU does from connect to DRIVER_OK.
pub fn connect<const N: usize>(path: &Path, guest: &Guest, queues: [&Queue; N]) -> Frontend {
    let frontend = offer(path, queues.len() as u64);
    set_up(frontend, guest, queues)
}

/// The first half: features. A configuration space is asked for only if the device has one.
pub fn offer(path: &Path, queues: u64) -> Frontend {
    let mut frontend = Frontend::connect(path, queues).unwrap();
    frontend.set_owner().unwrap();
    let features = frontend.get_features().unwrap();
    assert!(features & VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits() != 0);
    let protocol = frontend.get_protocol_features().unwrap();
    frontend.set_protocol_features(protocol).unwrap();
    assert_eq!(frontend.get_queue_num().unwrap(), queues);
    let wanted = 1 << 5 | 1 << 32 | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits();
    frontend.set_features(features & wanted).unwrap();
    frontend
}

/// The other half: memory and virtqueues.
pub fn set_up<const N: usize>(
    mut frontend: Frontend,
    guest: &Guest,
    queues: [&Queue; N],
) -> Frontend {
    frontend.set_mem_table(&[guest.region()]).unwrap();
    for (index, queue) in queues.into_iter().enumerate() {
        let user = |at: u64| at + 0x7000_0000;
        let layout = VringConfigData {
            queue_max_size: ENTRIES,
            queue_size: ENTRIES,
            flags: 0,
            desc_table_addr: user(queue.base),
            used_ring_addr: user(queue.used()),
            avail_ring_addr: user(queue.available()),
            log_addr: None,
        };
        frontend.set_vring_num(index, ENTRIES).unwrap();
        frontend.set_vring_base(index, 0).unwrap();
        frontend.set_vring_addr(index, &layout).unwrap();
        frontend.set_vring_call(index, &queue.call).unwrap();
        frontend.set_vring_kick(index, &queue.kick).unwrap();
        frontend.set_vring_enable(index, true).unwrap();
    }
    frontend
}
