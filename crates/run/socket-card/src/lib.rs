//! A card behind its vfio-user socket, as a VMM's driver has it: registers by messages, memory shared, one
//! eventfd for interrupts. For tests of the daemon and for load; the product does not link it.
//!
//! Not in `airlane-iwl-driver`, whose driver it is given to: that crate is pure, and the card's own tests, which are
//! made of it, need neither sockets nor transports.
//!
//! Why not the `vfio_user` crate's client: it waits for the answer to each write, while QEMU posts them, one
//! message each (`hw/vfio-user/device.c`); the load would be another one.

use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use airlane_dma::{Backing, Memory};
use airlane_iwl_driver::{Card, MEMORY};
use airlane_transport::EventFd;
use airlane_transport::vfio_user::protocol::{HEADER, command};
use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// Of a message that wants no answer (vfio-user specification, header flags).
const NO_REPLY: u32 = 1 << 4;
/// Registers.
const BAR_0: u32 = 0;
/// VFIO_PCI_MSI_IRQ_INDEX.
const MSI: u32 = 1;
/// VFIO_IRQ_SET_DATA_EVENTFD and VFIO_IRQ_SET_ACTION_TRIGGER.
const EVENTFD_TRIGGER: u32 = 1 << 2 | 1 << 5;
/// Reads and writes.
const READ_WRITE: u32 = 3;
/// An answer to a command of the driver takes milliseconds, on a busy machine more.
const PATIENCE: Duration = Duration::from_secs(10);

/// What has gone over the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages sent: reads, and posted writes.
    pub messages: u64,
    /// Of these reads, each a round trip.
    pub reads: u64,
    /// Interrupts raised.
    pub interrupts: u64,
}

impl Traffic {
    /// What has come since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            messages: self.messages - before.messages,
            reads: self.reads - before.reads,
            interrupts: self.interrupts - before.interrupts,
        }
    }
}

/// A card that is served by somebody else.
pub struct SocketCard {
    stream: UnixStream,
    memory: Memory,
    interrupts: EventFd,
    id: u16,
    traffic: Traffic,
}

impl SocketCard {
    /// Attaches to the card that is served at `socket`, with fresh memory.
    pub fn attach(socket: &Path) -> anyhow::Result<Self> {
        Self::attach_with(socket, true)
    }

    /// The same with memory that the card's process cannot map, as QEMU attaches when its guest's memory has no file.
    pub fn attach_without_shared_memory(socket: &Path) -> anyhow::Result<Self> {
        Self::attach_with(socket, false)
    }

    fn attach_with(socket: &Path, shared: bool) -> anyhow::Result<Self> {
        let stream = UnixStream::connect(socket)
            .with_context(|| format!("cannot attach to the card at {}", socket.display()))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let file = guest_memory()?;
        let mut memory = Memory::new();
        let backing = Backing::File(file.try_clone()?, 0);
        memory.map(0, MEMORY, backing, true)?;
        let nonblocking = i32::try_from(rustix::event::EventfdFlags::NONBLOCK.bits())?;
        let mut card = Self {
            stream,
            memory,
            interrupts: EventFd::new(nonblocking)?,
            id: 0,
            traffic: Traffic::default(),
        };
        card.introduce(Some(&file).filter(|_| shared))?;
        Ok(card)
    }

    /// What has gone over the socket so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Waits for an interrupt, at most this long.
    pub fn wait_for(&self, limit: Duration) {
        let fd = airlane_transport::borrow(&self.interrupts);
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
        let limit = Timespec::try_from(limit).ok();
        // Interrupted or not: whoever waits looks again.
        let _ = poll(&mut fds, limit.as_ref());
    }

    /// Version, memory with the file behind it, interrupts.
    fn introduce(&mut self, file: Option<&File>) -> anyhow::Result<()> {
        self.ask(command::VERSION, &[0; 4], None)?;
        let mut map = Vec::new();
        map.extend(32_u32.to_ne_bytes());
        map.extend(READ_WRITE.to_ne_bytes());
        map.extend([0_u64, 0, MEMORY].map(u64::to_ne_bytes).concat());
        self.ask(command::DMA_MAP, &map, file.map(AsFd::as_fd))?;
        let set = [20, EVENTFD_TRIGGER, MSI, 0, 1]
            .map(u32::to_ne_bytes)
            .concat();
        let event = self.interrupts.try_clone()?;
        self.ask(
            command::SET_IRQS,
            &set,
            Some(airlane_transport::borrow(&event)),
        )?;
        Ok(())
    }

    /// Sends a command and gives the body of its answer.
    fn ask(
        &mut self,
        command: u16,
        body: &[u8],
        fd: Option<BorrowedFd>,
    ) -> anyhow::Result<Vec<u8>> {
        let message = self.message(command, 0, body);
        match fd {
            Some(fd) => send_with(&self.stream, &message, fd)?,
            None => self.stream.write_all(&message)?,
        }
        let mut header = [0; HEADER];
        let context = || format!("no answer to vfio-user command {command}");
        self.stream.read_exact(&mut header).with_context(context)?;
        let [.., s0, s1, s2, s3, f0, _, _, _, e0, e1, e2, e3] = header;
        let size = u32::from_ne_bytes([s0, s1, s2, s3]) as usize;
        let mut answer = vec![0; size.saturating_sub(HEADER)];
        self.stream.read_exact(&mut answer).with_context(context)?;
        let error = u32::from_ne_bytes([e0, e1, e2, e3]);
        anyhow::ensure!(
            f0 & 0x20 == 0,
            "vfio-user command {command} was refused with error {error}"
        );
        Ok(answer)
    }

    fn message(&mut self, command: u16, flags: u32, body: &[u8]) -> Vec<u8> {
        self.traffic.messages += 1;
        self.id = self.id.wrapping_add(1);
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend(self.id.to_ne_bytes());
        message.extend(command.to_ne_bytes());
        message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        message
    }
}

impl Card for SocketCard {
    const LATE_INTERRUPTS: bool = true;

    fn read(&mut self, offset: u64, bytes: &mut [u8]) {
        self.traffic.reads += 1;
        let asked = access(offset, bytes.len(), &[]);
        let answer = self.ask(command::REGION_READ, &asked, None);
        let answer = answer.expect("the card answers reads");
        let data = answer.get(16..16 + bytes.len());
        bytes.copy_from_slice(data.expect("as many bytes as were asked for"));
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let body = access(offset, bytes.len(), bytes);
        let message = self.message(command::REGION_WRITE, NO_REPLY, &body);
        let posted = self.stream.write_all(&message);
        posted.expect("the card takes posted writes");
    }

    fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// What was raised several times before it is handled is handled once, as edges of one vector are.
    fn take_interrupt(&mut self) -> bool {
        let raised = self.interrupts.read().unwrap_or(0);
        self.traffic.interrupts += raised;
        raised > 0
    }

    fn wait(&mut self) -> bool {
        let fd = airlane_transport::borrow(&self.interrupts);
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
        let limit = Timespec::try_from(PATIENCE).ok();
        poll(&mut fds, limit.as_ref()).is_ok_and(|ready| ready > 0)
    }
}

/// Region access: offset, region, count, data.
fn access(offset: u64, count: usize, data: &[u8]) -> Vec<u8> {
    let mut body = offset.to_ne_bytes().to_vec();
    body.extend(BAR_0.to_ne_bytes());
    body.extend((count as u32).to_ne_bytes());
    body.extend(data);
    body
}

fn guest_memory() -> anyhow::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(memfd_create("load", flags)?);
    file.set_len(MEMORY)?;
    fcntl_add_seals(&file, SealFlags::SHRINK)?;
    Ok(file)
}

fn send_with(stream: &UnixStream, message: &[u8], fd: BorrowedFd) -> anyhow::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [fd];
    let fits = control.push(SendAncillaryMessage::ScmRights(&fds));
    anyhow::ensure!(fits, "a descriptor fits into a control message");
    let sent = sendmsg(
        stream,
        &[IoSlice::new(message)],
        &mut control,
        SendFlags::empty(),
    )?;
    anyhow::ensure!(sent == message.len(), "a message is sent whole");
    Ok(())
}
