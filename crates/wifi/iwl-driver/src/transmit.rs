//! Descriptors, as the driver writes them: host commands and frames.

use super::layout;
use super::{Card, Driver};

/// How a frame is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct TxOptions {
    /// Number of the queue: 0 voice, 1 video, 2 best effort, 3 background.
    pub queue: u8,
    /// Index of the receiver in the station table, 0 to 15.
    pub station: u8,
    /// By the station's rates; otherwise at `rate`.
    pub by_station_rate: bool,
    /// Rate word, `rate_n_flags`.
    pub rate: u32,
    /// An acknowledgement is expected.
    pub acknowledge: bool,
    /// The card gives the sequence number.
    pub assign_sequence: bool,
    /// An RTS/CTS exchange goes before it.
    pub protect: bool,
    /// Traffic identifier, 8 for none.
    pub tid: u8,
    /// Key of CCMP; its header stands in the frame.
    pub ccmp: Option<[u8; 16]>,
}

impl TxOptions {
    /// QoS data to the access point, best effort.
    pub const DATA: Self = Self {
        queue: 2,
        station: 0,
        by_station_rate: true,
        rate: 0,
        acknowledge: true,
        assign_sequence: false,
        protect: false,
        tid: 0,
        ccmp: None,
    };

    /// A management frame at 1 Mb/s.
    pub const MANAGEMENT: Self = Self {
        queue: 0,
        station: 15,
        by_station_rate: false,
        rate: 0x420a,
        acknowledge: true,
        assign_sequence: true,
        protect: false,
        tid: 8,
        ccmp: None,
    };

    fn flags(&self, padded: bool) -> u32 {
        u32::from(self.protect)
            | u32::from(self.acknowledge) << 3
            | u32::from(self.by_station_rate) << 4
            | u32::from(self.assign_sequence) << 13
            | u32::from(padded) << 20
    }
}

impl<C: Card> Driver<C> {
    /// Writes a command into the ring and rings; its sequence word.
    pub fn send(&mut self, id: u8, payload: &[u8]) -> u16 {
        let sequence = self.send_quietly(id, payload);
        self.ring(layout::COMMAND_QUEUE);
        sequence
    }

    /// Writes a command into the ring without ringing.
    pub fn send_quietly(&mut self, id: u8, payload: &[u8]) -> u16 {
        let queue = layout::COMMAND_QUEUE;
        let index = self.queues[usize::from(queue)].write;
        let sequence = u16::from(queue) << 8 | u16::from(index);
        let mut bytes = vec![id, 0];
        bytes.extend(sequence.to_le_bytes());
        bytes.extend(payload);
        let first = bytes.len().min(20);
        self.fill(queue, &bytes, &[first]);
        sequence
    }

    /// Puts a frame into its queue and rings; its ring index. Ask [`Self::run`] to have it sent.
    pub fn transmit(&mut self, frame: &[u8], options: &TxOptions) -> u8 {
        let index = self.transmit_quietly(frame, options);
        self.ring(options.queue);
        index
    }

    /// Puts a frame into its queue without ringing.
    pub fn transmit_quietly(&mut self, frame: &[u8], options: &TxOptions) -> u8 {
        let queue = options.queue;
        let index = self.queues[usize::from(queue)].write;
        let header = header_length(frame).min(frame.len());
        let padded = !header.is_multiple_of(4);
        let mut bytes = command(frame.len(), options, padded);
        bytes[2..4].copy_from_slice(&(u16::from(queue) << 8 | u16::from(index)).to_le_bytes());
        bytes.extend(&frame[..header]);
        if padded {
            bytes.extend([0xdd, 0xdd]);
        }
        let second = bytes.len();
        bytes.extend(&frame[header..]);
        self.fill(queue, &bytes, &[20, second]);
        index
    }

    /// Writes a queue's doorbell.
    pub fn ring(&mut self, queue: u8) {
        let write = self.queues[usize::from(queue)].write;
        self.write(0x460, u32::from(write) | u32::from(queue) << 8);
    }

    /// Writes any descriptor as the queue's next entry.
    pub fn put_descriptor(&mut self, queue: u8, descriptor: &[u8; 128]) {
        let place = &mut self.queues[usize::from(queue)];
        let index = place.write;
        place.write = index.wrapping_add(1);
        self.poke(layout::ring(queue) + 128 * u64::from(index), descriptor);
    }

    /// True when the card has answered everything in this queue.
    pub fn is_empty(&self, queue: u8) -> bool {
        let place = self.queues[usize::from(queue)];
        place.read == place.write
    }

    /// Lays `bytes` down and describes them, cut at these places.
    fn fill(&mut self, queue: u8, bytes: &[u8], cuts: &[usize]) {
        let index = self.queues[usize::from(queue)].write;
        let address = layout::entry_buffer(queue, index);
        self.poke(address, bytes);
        let mut buffers = Vec::new();
        let mut start = 0;
        for &cut in cuts.iter().chain([&bytes.len()]) {
            if cut > start {
                buffers.push((address + start as u64, cut - start));
                start = cut;
            }
        }
        self.put_descriptor(queue, &layout::descriptor(&buffers));
    }
}

/// Command header and transmit command.
fn command(length: usize, options: &TxOptions, padded: bool) -> Vec<u8> {
    let mut bytes = vec![0; 60];
    bytes[0] = 0x1c;
    let mut put =
        |at: usize, field: &[u8]| bytes[4 + at..4 + at + field.len()].copy_from_slice(field);
    put(0x00, &(length as u16).to_le_bytes());
    put(0x04, &options.flags(padded).to_le_bytes());
    put(0x0c, &options.rate.to_le_bytes());
    put(0x10, &[options.station]);
    if let Some(key) = options.ccmp {
        put(0x11, &[2]);
        put(0x14, &key);
    }
    put(0x28, &u32::MAX.to_le_bytes());
    put(0x31, &[60, 15, options.tid]);
    bytes
}

/// As `ieee80211_hdrlen`, for the frames that a station sends.
fn header_length(frame: &[u8]) -> usize {
    match (frame[0] >> 2) & 3 {
        1 => 16,
        2 if frame[0] & 0x80 != 0 => 26,
        _ => 24,
    }
}
