//! The receive ring: buffers that the driver posts, packets that the card puts into them, and the
//! status block that says how far it got (`pcie/rx.c`).
//!
//! Several packets share a buffer when several wait. What finds no buffer waits too; received frames
//! are dropped beyond a bound.

use std::collections::VecDeque;

use airlane_dma::{Memory, Window};
use airlane_waist::Received;
use zerocopy::IntoBytes;

use crate::receive;
use crate::registers::fh;
use crate::response::{NOTIFICATION, Packet, id};

/// Received frames that may wait for buffers.
const MAX_FRAMES: usize = 128;
/// Packets of all kinds that may wait for buffers.
const MAX_WAITING: usize = 2048;
/// Packets start at multiples of this within a buffer.
const ALIGNMENT: usize = 64;
/// Ends the packets of a buffer that is not full.
const TERMINATOR: [u8; 4] = 0x5555_0000_u32.to_le_bytes();

/// What waits for a buffer.
#[derive(Debug)]
enum Outgoing {
    Packet(Packet),
    /// RX_PHY and RX_MPDU, together where they fit.
    Frame(Received),
    /// RX_MPDU alone: its RX_PHY is in the buffer before.
    Mpdu(Received),
}

/// What one delivery has written and lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// The guest's receive buffers that were handed to its driver.
    pub buffers: u64,
    /// Received frames among what was written.
    pub frames: u64,
    /// Packets lost because a buffer, the ring or the status block is not mapped.
    pub lost: u64,
}

/// The receive ring of 256 buffers, and what waits for them.
#[derive(Default)]
pub struct RxRing {
    enabled: bool,
    buffer_size: usize,
    base: u64,
    status: u64,
    next: u8,
    write: u8,
    /// Frames go out with their frame check sequence.
    pub with_fcs: bool,
    waiting: VecDeque<Outgoing>,
    frames_waiting: usize,
    buffer: Vec<u8>,
    windows: Windows,
}

/// Translations of the places that the card touched last.
struct Windows {
    ring: Window,
    buffers: Window,
    status: Window,
}

impl Default for Windows {
    fn default() -> Self {
        Self {
            ring: Window::new("receive ring"),
            buffers: Window::new("receive buffer"),
            status: Window::new("receive status"),
        }
    }
}

impl RxRing {
    /// The channel's configuration word was written, with the bases as they stand. Zero stops and
    /// forgets everything; enabling starts at buffer 0.
    pub fn configure(&mut self, config: u32, base: u32, status: u32) {
        self.waiting.clear();
        self.frames_waiting = 0;
        self.next = 0;
        self.enabled = config & fh::ENABLE != 0;
        self.buffer_size = 4096 * (1 + ((config >> 16) & 3) as usize);
        self.base = u64::from(base) << 8;
        self.status = u64::from(status) << 4;
    }

    /// Stops: nothing is written any more.
    pub fn stop(&mut self) {
        self.configure(0, 0, 0);
        self.write = 0;
        self.with_fcs = false;
    }

    /// The driver has posted buffers up to `write`.
    pub fn post(&mut self, write: u8) {
        self.write = write;
    }

    /// Appends a packet; `false` when too many wait.
    pub fn push(&mut self, packet: Packet) -> bool {
        let room = self.waiting.len() < MAX_WAITING;
        if room {
            self.waiting.push_back(Outgoing::Packet(packet));
        }
        room
    }

    /// Appends a received frame; `false` when too many wait.
    pub fn push_frame(&mut self, received: Received) -> bool {
        let room = self.frames_waiting < MAX_FRAMES && self.waiting.len() < MAX_WAITING;
        if room {
            self.waiting.push_back(Outgoing::Frame(received));
            self.frames_waiting += 1;
        }
        room
    }

    /// How many things wait for buffers.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Writes what waits into what is posted.
    pub fn deliver(&mut self, memory: &mut Memory) -> Delivery {
        let mut delivery = Delivery::default();
        while self.enabled && self.next != self.write && !self.waiting.is_empty() {
            let (packets, frames) = self.fill();
            match self.close(memory) {
                Some(()) => {
                    delivery.buffers += 1;
                    delivery.frames += frames;
                }
                None => delivery.lost += packets,
            }
        }
        delivery
    }

    /// Fills the staging buffer; says how many things, and how many frames of these, it took.
    fn fill(&mut self) -> (u64, u64) {
        self.buffer.clear();
        let (mut packets, mut frames) = (0, 0);
        while let Some(outgoing) = self.waiting.pop_front() {
            let is_frame = !matches!(outgoing, Outgoing::Packet(_));
            if let Some(rest) = self.append(outgoing) {
                self.waiting.push_front(rest);
                break;
            }
            packets += 1;
            if is_frame {
                frames += 1;
                self.frames_waiting = self.frames_waiting.saturating_sub(1);
            }
        }
        self.terminate();
        (packets, frames)
    }

    /// Appends to the staging buffer; gives back what does not fit any more.
    fn append(&mut self, outgoing: Outgoing) -> Option<Outgoing> {
        let room = Staging {
            buffer: &mut self.buffer,
            size: self.buffer_size,
        };
        match outgoing {
            Outgoing::Packet(packet) => {
                let done = room.packet(packet.id, packet.sequence, &[&packet.payload]);
                (!done).then_some(Outgoing::Packet(packet))
            }
            Outgoing::Frame(received) => append_frame(room, received, self.with_fcs),
            Outgoing::Mpdu(received) => {
                let done = append_mpdu(room, &received, self.with_fcs);
                (!done).then_some(Outgoing::Mpdu(received))
            }
        }
    }

    fn terminate(&mut self) {
        let end = self.buffer.len().next_multiple_of(ALIGNMENT);
        if end + TERMINATOR.len() <= self.buffer_size {
            self.buffer.resize(end, 0);
            self.buffer.extend(TERMINATOR);
        }
    }

    /// Hands the staging buffer to the driver in the next posted buffer.
    fn close(&mut self, memory: &mut Memory) -> Option<()> {
        let entry = self.base.saturating_add(u64::from(self.next) * 4);
        let windows = &mut self.windows;
        let posted = memory.read_u32_via(&mut windows.ring, entry).ok()?;
        memory
            .write_via(&mut windows.buffers, u64::from(posted) << 8, &self.buffer)
            .ok()?;
        let closed = self.next.wrapping_add(1);
        let number = u16::from(closed).to_le_bytes();
        memory
            .write_via(&mut windows.status, self.status, &number)
            .ok()?;
        self.next = closed;
        Some(())
    }
}

/// The part of a buffer that packets have not filled yet.
struct Staging<'a> {
    buffer: &'a mut Vec<u8>,
    size: usize,
}

impl Staging<'_> {
    /// Appends one packet whose payload is `parts`; `false`, and no change, when it does not fit.
    fn packet(self, id: u8, sequence: u16, parts: &[&[u8]]) -> bool {
        let start = self.buffer.len().next_multiple_of(ALIGNMENT);
        let length = 4 + parts.iter().map(|part| part.len()).sum::<usize>();
        let (Ok(word), true) = (u32::try_from(length), start + 4 + length <= self.size) else {
            return false;
        };
        self.buffer.resize(start, 0);
        self.buffer.extend(word.to_le_bytes());
        self.buffer.extend([id, 0]);
        self.buffer.extend(sequence.to_le_bytes());
        for part in parts {
            self.buffer.extend_from_slice(part);
        }
        true
    }

    fn again(&mut self) -> Staging<'_> {
        Staging {
            buffer: self.buffer,
            size: self.size,
        }
    }
}

/// RX_PHY and RX_MPDU. In an empty buffer that cannot hold both, RX_PHY alone.
fn append_frame(mut room: Staging<'_>, received: Received, with_fcs: bool) -> Option<Outgoing> {
    let before = room.buffer.len();
    let phy = receive::phy(&received);
    if !room
        .again()
        .packet(id::RX_PHY, NOTIFICATION, &[phy.as_bytes()])
    {
        return Some(Outgoing::Frame(received));
    }
    if append_mpdu(room.again(), &received, with_fcs) {
        return None;
    }
    if before == 0 {
        return Some(Outgoing::Mpdu(received));
    }
    room.buffer.truncate(before);
    Some(Outgoing::Frame(received))
}

fn append_mpdu(room: Staging<'_>, received: &Received, with_fcs: bool) -> bool {
    let frame = &received.frame[..];
    let check = receive::frame_check_sequence_bytes(frame, with_fcs);
    let head = receive::mpdu_head(frame.len() + check.len());
    let status = receive::status(received.cipher).to_le_bytes();
    let parts: [&[u8]; 4] = [&head, frame, &check, &status];
    room.packet(id::RX_MPDU, NOTIFICATION, &parts)
}
