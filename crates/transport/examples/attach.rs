//! Attaches QEMU to both transports without the rest of airlane: a card that only has a face
//! (`attach card SOCKET`) and a medium that acknowledges everything (`attach hwsim SOCKET`). Prints what happens.

use std::sync::Arc;
use std::time::Duration;

use airlane_dma::Memory;
use airlane_dot11::Dbm;
use airlane_lane::ring::{NoWake, ring};
use airlane_transport::{
    EventFd, EventWake, FromHwsim, LaneEnd, PciDevice, ToHwsim, VfioUserServer, serve_hwsim,
};

type Failure = Box<dyn std::error::Error>;

/// An Intel 5300 by its identity alone: 8 KiB of registers that keep what is written.
struct Face {
    memory: Memory,
    config: [u8; 256],
    registers: Vec<u8>,
    msi: bool,
}

impl Face {
    fn new() -> Self {
        let mut config = [0; 256];
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(field) = config.get_mut(at..at + bytes.len()) {
                field.copy_from_slice(bytes);
            }
        };
        put(0x00, &[0x86, 0x80, 0x36, 0x42]); // vendor, device
        put(0x06, &[0x10, 0x00]); // status: capability list
        put(0x09, &[0x00, 0x80, 0x02]); // class: network, other
        put(0x10, &[0x04]); // BAR0: memory, 64 bits
        put(0x2c, &[0x86, 0x80, 0x14, 0x10]); // subsystem
        put(0x34, &[0x50]); // first capability
        put(0x3d, &[1]); // INTA
        put(0x50, &[0x05, 0x00, 0x80, 0x00]); // MSI, 64-bit address, one vector
        Self {
            memory: Memory::new(),
            config,
            registers: vec![0; 8192],
            msi: false,
        }
    }
}

fn copy_out(from: &[u8], offset: u64, data: &mut [u8]) {
    if let Some(part) = from.get(offset as usize..offset as usize + data.len()) {
        data.copy_from_slice(part);
    }
}

fn copy_in(to: &mut [u8], offset: u64, data: &[u8]) {
    if let Some(part) = to.get_mut(offset as usize..offset as usize + data.len()) {
        part.copy_from_slice(data);
    }
}

impl PciDevice for Face {
    fn config_read(&mut self, offset: u64, data: &mut [u8]) {
        copy_out(&self.config, offset, data);
    }
    fn config_write(&mut self, offset: u64, data: &[u8]) {
        println!("config {offset:#x} <- {data:02x?}");
        if offset == 4 || offset >= 0x50 {
            copy_in(&mut self.config, offset, data);
        }
    }
    fn bar_size(&self, bar: u8) -> u64 {
        if bar == 0 { 8192 } else { 0 }
    }
    fn bar_read(&mut self, _bar: u8, offset: u64, data: &mut [u8]) {
        copy_out(&self.registers, offset, data);
        println!("BAR0 {offset:#x} -> {data:02x?}");
    }
    fn bar_write(&mut self, _bar: u8, offset: u64, data: &[u8]) {
        println!("BAR0 {offset:#x} <- {data:02x?}");
        copy_in(&mut self.registers, offset, data);
        self.msi = offset == 0;
    }
    fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }
    fn reset(&mut self) {
        println!(
            "reset, {} ranges, {} bytes",
            self.memory.ranges(),
            self.memory.size()
        );
    }
    fn take_interrupt(&mut self) -> Option<u16> {
        std::mem::take(&mut self.msi).then_some(0)
    }
    fn intx_level(&self) -> bool {
        false
    }
}

impl LaneEnd for Face {
    fn poll(&mut self) {}
    fn wants_poll_before_sleep(&mut self) -> bool {
        false
    }
}

fn card(path: &str) -> Result<(), Failure> {
    let (wake, stop) = (EventFd::new(0)?, EventFd::new(0)?);
    let mut server = VfioUserServer::bind(path)?;
    let ended = server.serve(&mut Face::new(), &wake, &stop);
    println!("{:?}", server.counters());
    println!("{:?}", ended?);
    Ok(())
}

fn hwsim(path: &str) -> Result<(), Failure> {
    let wake = EventFd::new(libc::EFD_NONBLOCK)?;
    let (to_radio, mut from) = ring(1024, Arc::new(NoWake));
    let (mut to, from_radio) = ring(1024, Arc::new(EventWake(wake.try_clone()?)));
    let server = serve_hwsim(path, to_radio, from_radio, wake)?;
    loop {
        let Some(message) = from.pop() else {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        };
        println!("{message:?}");
        match message {
            FromHwsim::Frame(frame) => {
                let answer: ToHwsim = frame.status(!frame.no_ack(), Dbm(-50.0), &[1]);
                if to.push(answer).is_err() {
                    println!("the ring is full");
                }
            }
            FromHwsim::Closed => println!("{:?}", server.counters()),
            _ => {}
        }
    }
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [what, path] if what == "card" => card(path),
        [what, path] if what == "hwsim" => hwsim(path),
        _ => Err("attach card SOCKET | attach hwsim SOCKET".into()),
    }
}
