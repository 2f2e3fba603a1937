//! A toy card, and the bytes that a vfio-user client sends.

// Each test that includes this uses its own part of it.
#![allow(dead_code)]

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use airlane_dma::Memory;
use airlane_transport::{EventFd, LaneEnd, MappableRegion, PciDevice};

/// Length of BAR 2, and where it lies in its file.
pub const WINDOW: u64 = 0x4000;
pub const WINDOW_AT: u64 = 0x1000;

/// BAR 0 is 4 KiB of bytes. A write to 0x10 copies the guest's word at that address to 0x20 by
/// DMA and raises the first vector; a write to 0x30 drives INTx; a write to 0x50 raises the vector that it names.
pub struct Toy {
    pub memory: Memory,
    pub registers: [u8; 4096],
    pub log: Vec<(u64, u32)>,
    pub vectors: u16,
    pub due: VecDeque<u16>,
    /// BAR 2: its file, the guest's part of it.
    pub window: Option<(File, Vec<Range<u64>>)>,
    pub intx: bool,
    pub resets: u32,
    pub polls: u32,
    /// What had been polled and written when each client came.
    pub attached: Vec<(u32, usize)>,
}

impl Toy {
    pub fn new() -> Self {
        Self {
            memory: Memory::new(),
            registers: [0; 4096],
            log: Vec::new(),
            vectors: 0,
            due: VecDeque::new(),
            window: None,
            intx: false,
            resets: 0,
            polls: 0,
            attached: Vec::new(),
        }
    }
}

impl PciDevice for Toy {
    fn config_read(&mut self, offset: u64, data: &mut [u8]) {
        let identity = [0x86, 0x80, 0x36, 0x42];
        for (at, byte) in data.iter_mut().enumerate() {
            *byte = identity.get(offset as usize + at).copied().unwrap_or(0);
        }
    }
    fn config_write(&mut self, _offset: u64, _data: &[u8]) {}
    fn bar_size(&self, bar: u8) -> u64 {
        match bar {
            0 => 4096,
            2 if self.window.is_some() => WINDOW,
            _ => 0,
        }
    }
    fn bar_read(&mut self, bar: u8, offset: u64, data: &mut [u8]) {
        if bar == 2 {
            let (file, _) = self.window.as_ref().unwrap();
            return file.read_exact_at(data, WINDOW_AT + offset).unwrap();
        }
        let at = offset as usize;
        data.copy_from_slice(&self.registers[at..at + data.len()]);
    }
    fn bar_write(&mut self, _bar: u8, offset: u64, data: &[u8]) {
        let at = offset as usize;
        self.registers[at..at + data.len()].copy_from_slice(data);
        let word = u32::from_ne_bytes(data.try_into().unwrap_or_default());
        self.log.push((offset, word));
        match offset {
            0x10 => {
                let value = self.memory.read_u32(word.into()).unwrap_or(0xdead);
                self.registers[0x20..0x24].copy_from_slice(&value.to_ne_bytes());
                let _ = self.memory.write_u32(u64::from(word) + 4, !value);
                self.due.push_back(0);
            }
            0x30 => self.intx = word != 0,
            0x50 => self.due.push_back(word as u16),
            _ => {}
        }
    }
    fn mappable(&self, bar: u8) -> Option<MappableRegion<'_>> {
        let (file, areas) = self.window.as_ref().filter(|_| bar == 2)?;
        Some(MappableRegion {
            file: file.as_fd(),
            offset: WINDOW_AT,
            areas,
        })
    }
    fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }
    fn reset(&mut self) {
        self.resets += 1;
    }
    fn msix_vectors(&self) -> u16 {
        self.vectors
    }
    fn take_interrupt(&mut self) -> Option<u16> {
        self.due.pop_front()
    }
    fn intx_level(&self) -> bool {
        self.intx
    }
}

impl LaneEnd for Toy {
    fn attached(&mut self) {
        self.attached.push((self.polls, self.log.len()));
    }
    fn poll(&mut self) {
        self.polls += 1;
    }
    fn wants_poll_before_sleep(&mut self) -> bool {
        false
    }
}

pub fn event() -> EventFd {
    EventFd::new(libc::EFD_NONBLOCK).unwrap()
}

pub fn wait_for(event: &EventFd) -> bool {
    for _ in 0..400 {
        if event.read().is_ok() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

pub fn memfd(size: u64) -> File {
    let flags = rustix::fs::MemfdFlags::CLOEXEC | rustix::fs::MemfdFlags::ALLOW_SEALING;
    let file = File::from(rustix::fs::memfd_create("guest", flags).unwrap());
    file.set_len(size).unwrap();
    rustix::fs::fcntl_add_seals(&file, rustix::fs::SealFlags::SHRINK).unwrap();
    file
}

pub fn message(id: u16, command: u16, flags: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(id.to_ne_bytes());
    bytes.extend(command.to_ne_bytes());
    bytes.extend((16 + body.len() as u32).to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(body);
    bytes
}

pub fn version() -> Vec<u8> {
    message(0, 1, 0, &[0, 0, 0, 0])
}

pub fn access(offset: u64, region: u32, count: u32, data: &[u8]) -> Vec<u8> {
    let mut body = offset.to_ne_bytes().to_vec();
    body.extend(region.to_ne_bytes());
    body.extend(count.to_ne_bytes());
    body.extend(data);
    body
}

pub fn reply(stream: &mut UnixStream) -> (u16, u32, u32, Vec<u8>) {
    let mut header = [0; 16];
    stream.read_exact(&mut header).unwrap();
    let word = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().unwrap());
    let mut body = vec![0; word(4) as usize - 16];
    stream.read_exact(&mut body).unwrap();
    let id = u16::from_ne_bytes([header[0], header[1]]);
    (id, word(8), word(12), body)
}
