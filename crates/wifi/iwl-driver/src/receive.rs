//! Interrupts and receive buffers, as the driver reads them.

use super::layout::{self, u16_of, u32_of};
use super::{Card, Driver};

/// One packet of the card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Which response or notification it is (`dvm/commands.h`).
    pub id: u8,
    /// Its sequence word; bit 15 marks notifications.
    pub sequence: u16,
    /// The bytes after the header of eight.
    pub payload: Vec<u8>,
}

/// A received frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RxFrame {
    /// From frame control to the end of the body; a monitor's frames with their check sequence.
    pub bytes: Vec<u8>,
    /// RX_MPDU's status word: check sequence, overflow, cipher.
    pub status: u32,
    /// Signal in dBm, as the driver computes it.
    pub signal: i32,
    /// Channel number.
    pub channel: u16,
    /// Flags of RX_PHY.
    pub phy_flags: u16,
    /// Rate word, `rate_n_flags`.
    pub rate: u32,
    /// When it was received, in microseconds of the card's clock.
    pub at: u64,
}

/// The report on a transmitted frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxResponse {
    /// The frame's queue, 0 to 19.
    pub queue: u8,
    /// The frame's index in the queue's ring of 256.
    pub index: u8,
    /// 1 is acknowledged; others as `TX_STATUS_*` of `dvm/commands.h`.
    pub status: u8,
    /// Attempts beyond the first.
    pub retries: u8,
    /// Rate word of the first attempt, `rate_n_flags`.
    pub rate: u32,
    /// Sequence control as sent.
    pub sequence_control: u16,
    /// Station in bits 7:4, traffic identifier in 3:0 (8: none).
    pub ra_tid: u8,
    /// Next index, or sequence number, to reclaim.
    pub next: u32,
}

impl<C: Card> Driver<C> {
    /// Serves every interrupt message that is due: masks, reads the causes, acknowledges, reads what
    /// the card wrote, unmasks (`iwl_pcie_isr`, `iwl_pcie_irq_handler`).
    pub fn handle_interrupts(&mut self) {
        while self.card.take_interrupt() {
            self.messages += 1;
            self.write(0x00c, 0);
            let causes = self.causes() & self.software_mask;
            if causes != 0 {
                self.acknowledge(causes);
            }
            let mask = self.software_mask;
            self.write(0x00c, mask);
        }
    }

    fn acknowledge(&mut self, causes: u32) {
        self.write(0x008, causes | !self.software_mask);
        if causes & (1 << 31) != 0 {
            self.write(0x010, 0x4003_0000);
            self.card.write(0x005, &[0]);
            self.card.write(0x005, &[0xff]);
            self.read_buffers();
        }
    }

    /// From the table once that is on, from INT before.
    fn causes(&mut self) -> u32 {
        let Some(mut index) = self.ict else {
            return self.read(0x008);
        };
        let mut sum = 0;
        loop {
            let address = layout::ICT + 4 * u64::from(index);
            let entry = u32_of(&self.peek(address, 4), 0);
            if entry == 0 {
                break;
            }
            self.poke(address, &[0; 4]);
            sum |= entry;
            index = (index + 1) % 1024;
        }
        let announced = sum != 0 || C::LATE_INTERRUPTS;
        assert!(announced, "an interrupt comes with an entry in the table");
        self.ict = Some(index);
        (sum & 0xff) | (sum & 0xff00) << 16
    }

    /// Stops, or goes on, giving buffers back to the card.
    pub fn set_restocking(&mut self, restocks: bool) {
        self.restocks = restocks;
        if restocks {
            self.restock();
            self.handle_interrupts();
        }
    }

    fn restock(&mut self) {
        let write = self.rx_read.wrapping_add(248) & !7;
        if self.restocks && write != self.rx_write {
            self.rx_write = write;
            self.write(0x1bc8, u32::from(write));
        }
    }

    fn read_buffers(&mut self) {
        let closed = u16_of(&self.peek(layout::STATUS, 2), 0) as u8;
        while self.rx_read != closed {
            let address = layout::receive_buffer(u64::from(self.rx_read));
            self.read_packets(address);
            self.rx_read = self.rx_read.wrapping_add(1);
        }
        self.restock();
    }

    fn read_packets(&mut self, buffer: u64) {
        let mut at = 0;
        while at + 8 <= layout::BUFFER_SIZE {
            let head = self.peek(buffer + at, 8);
            let word = u32_of(&head, 0);
            let length = u64::from(word & 0x3fff);
            if word == 0x5555_0000 || 4 + length < 8 || at + 4 + length > layout::BUFFER_SIZE {
                assert!(at > 0, "a closed buffer holds a packet");
                break;
            }
            assert_eq!(word & 0x003f_0000, 0, "receive queue 0");
            assert_eq!(head[5], 0, "group 0");
            let payload = self.peek(buffer + at + 8, length as usize - 4);
            self.packet(Packet {
                id: head[4],
                sequence: u16_of(&head, 6),
                payload,
            });
            at = (at + 4 + length).next_multiple_of(64);
        }
    }

    fn packet(&mut self, packet: Packet) {
        match packet.id {
            0xc0 => self.last_phy = Some(packet.payload),
            0xc1 => self.frame(&packet.payload),
            0x1c => self.tx_response(&packet),
            _ if packet.sequence & 0x8000 == 0 => self.response(packet),
            _ => self.packets.push_back(packet),
        }
    }

    fn frame(&mut self, payload: &[u8]) {
        let phy = self.last_phy.as_ref().expect("RX_PHY comes first");
        assert_eq!(phy.len(), 60);
        assert!(phy[1] <= 20, "cfg_phy_cnt");
        let length = usize::from(u16_of(payload, 0));
        assert!(
            payload.len() >= 4 + length + 4,
            "the packet holds the frame"
        );
        let gain = (u32_of(phy, 0x18) >> 9) & 0x7f;
        let strongest = phy[0x1c].max(phy[0x1e]).max(phy[0x20]);
        self.frames.push_back(RxFrame {
            bytes: payload[4..4 + length].to_vec(),
            status: u32_of(payload, 4 + length),
            signal: i32::from(strongest) - gain as i32 - 44,
            channel: u16_of(phy, 0x12),
            phy_flags: u16_of(phy, 0x10),
            rate: u32_of(phy, 0x34),
            at: u64::from(u32_of(phy, 4)) | u64::from(u32_of(phy, 8)) << 32,
        });
    }

    /// As the driver reclaims: each response frees exactly one frame, in ring order.
    fn tx_response(&mut self, packet: &Packet) {
        let payload = &packet.payload;
        assert_eq!(payload.len(), 40, "one frame, one status, one index");
        assert_eq!(packet.sequence & 0xe000, 0);
        let (queue, index) = ((packet.sequence >> 8) as u8, packet.sequence as u8);
        let next = u32_of(payload, 0x24);
        let place = &mut self.queues[usize::from(queue)];
        assert_eq!(index, place.read, "ring order on queue {queue}");
        assert_eq!(next as u8, index.wrapping_add(1), "frees exactly one");
        place.read = index.wrapping_add(1);
        self.tx_responses.push_back(TxResponse {
            queue,
            index,
            status: payload[0x20],
            retries: payload[3],
            rate: u32_of(payload, 4),
            sequence_control: u16_of(payload, 0x18),
            ra_tid: payload[0x1d],
            next,
        });
    }

    /// As the driver completes commands: no index is skipped.
    fn response(&mut self, packet: Packet) {
        let queue = (packet.sequence >> 8) as u8;
        assert_eq!(queue, layout::COMMAND_QUEUE, "a response names its queue");
        let place = &mut self.queues[usize::from(queue)];
        assert_eq!(packet.sequence as u8, place.read, "HCMD skipped");
        place.read = place.read.wrapping_add(1);
        self.packets.push_back(packet);
    }

    /// Frames received since the last call.
    pub fn received(&mut self) -> Vec<RxFrame> {
        self.frames.drain(..).collect()
    }

    /// Reports on transmitted frames since the last call.
    pub fn tx_responses(&mut self) -> Vec<TxResponse> {
        self.tx_responses.drain(..).collect()
    }

    /// The oldest notification with this id.
    pub fn take_notification(&mut self, id: u8) -> Option<Packet> {
        let is_it = |packet: &Packet| packet.id == id && packet.sequence & 0x8000 != 0;
        let at = self.packets.iter().position(is_it)?;
        self.packets.remove(at)
    }

    /// All notifications with these ids, oldest first.
    pub fn take_notifications(&mut self, ids: &[u8]) -> Vec<Packet> {
        let is_it = |packet: &Packet| ids.contains(&packet.id) && packet.sequence & 0x8000 != 0;
        let all = std::mem::take(&mut self.packets);
        let (taken, left): (Vec<_>, Vec<_>) = all.into_iter().partition(is_it);
        self.packets = left.into();
        taken
    }

    /// The response to the command with this sequence word.
    pub fn take_response(&mut self, sequence: u16) -> Option<Packet> {
        let is_it = |packet: &Packet| packet.sequence == sequence;
        let at = self.packets.iter().position(is_it)?;
        self.packets.remove(at)
    }
}
