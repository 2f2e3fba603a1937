//! Register sequences of probe, power-up, microcode load and stop, in the driver's order.

use airlane_iwl::microcode;

use super::layout::{self, u32_of};
use super::{Card, Driver, DriverQueue};

const INT: u64 = 0x008;
const INT_MASK: u64 = 0x00c;
const FH_INT: u64 = 0x010;
const RESET: u64 = 0x020;
const GP: u64 = 0x024;

/// All causes that the driver handles.
const FULL_MASK: u32 = 0xba00_008b;
const LOAD_MASK: u32 = 0x0800_0000;
const DOWN_MASK: u32 = 0x0000_0080;

/// One of the two images in a microcode file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// INIT: calibrates, then is stopped.
    Init,
    /// RUNTIME: runs the interface.
    Runtime,
}

impl<C: Card> Driver<C> {
    /// The whole way from power-off to an interface that is up, with our own microcode file.
    pub fn power_on(&mut self) {
        self.probe();
        self.start_hardware();
        self.load_microcode(&microcode::image(self.model));
    }

    /// What `iwlwifi` does before it asks for microcode.
    pub fn probe(&mut self) {
        self.mask_all();
        assert_ne!(self.read(0x028), u32::MAX, "HW_REV");
        self.prepare();
        self.clock_on();
        self.grab();
        let old = self.read_peripheral(0x00a0_3030);
        self.write_peripheral(0x00a0_3030, old | 1 << 31);
        for address in [0x00a2_9600, 0x00a2_00b0, 0x00a0_3098] {
            assert_eq!(self.read_peripheral(address), 0);
        }
        self.release();
        assert_eq!(self.read(0x09c), 0, "HW_RF_ID");
        self.prepare();
    }

    /// `start_hw`: reset, power, radio switch.
    pub fn start_hardware(&mut self) {
        self.ict = None;
        self.prepare();
        self.software_reset();
        self.prepare();
        self.power_up();
        self.set_mask(DOWN_MASK);
        assert_ne!(self.read(GP) & 1 << 27, 0, "the radio switch is on");
    }

    /// The EEPROM or OTP, word by word, under its semaphore.
    pub fn read_eeprom(&mut self) -> Vec<u8> {
        let otp = self.read(0x034) & 1 << 16 != 0;
        assert_eq!(self.read(0x030) & 7, if otp { 1 } else { 2 }, "signature");
        self.set_bits(0x000, 1 << 21);
        assert_ne!(self.read(0x000) & 1 << 21, 0, "semaphore");
        if otp {
            self.open_otp();
        }
        let mut image = Vec::new();
        for byte in (0..2048).step_by(2) {
            self.write(0x02c, (byte << 1) & 0xfffc);
            let answer = self.read(0x02c);
            assert_ne!(answer & 1, 0, "the word is ready");
            image.extend(((answer >> 16) as u16).to_le_bytes());
            assert_eq!(self.read(0x034) & 0x30_0000, 0, "no OTP error");
        }
        self.clear_bits(0x000, 1 << 21);
        image
    }

    /// `iwl_init_otp_access`, and the acknowledgement of old errors.
    fn open_otp(&mut self) {
        self.clock_on();
        let old = self.read_peripheral(0x300c);
        self.write_peripheral(0x300c, old | 0x0400_0000);
        self.write_peripheral(0x300c, old);
        self.set_bits(0x250, 1 << 31);
        self.clear_bits(0x030, 0x180);
        self.set_bits(0x034, 0x30_0000);
    }

    /// Runs both images of a file: INIT up to its calibration, then RUNTIME.
    pub fn load_microcode(&mut self, file: &[u8]) {
        self.start_image(file, Image::Init);
        self.calibrate(1);
        let complete = self.until_notified(0x67);
        assert!(complete.is_some(), "CALIBRATION_COMPLETE");
        self.stop();
        self.start_hardware();
        self.start_image(file, Image::Runtime);
        self.calibrate(0);
        self.command(0x98, &7_u32.to_le_bytes());
    }

    /// `start_fw` and what follows ALIVE.
    pub fn start_image(&mut self, file: &[u8], image: Image) {
        let sections = sections(file, image);
        self.prepare();
        self.set_mask(DOWN_MASK);
        self.write(INT, u32::MAX);
        self.mask_all();
        self.write(0x05c, 0x2);
        self.write(0x05c, 0x4);
        self.write(INT, u32::MAX);
        self.initialize_nic();
        self.set_mask(LOAD_MASK);
        for (destination, bytes) in sections {
            self.load_section(destination, bytes);
        }
        self.write(INT, u32::MAX);
        self.set_mask(FULL_MASK);
        self.write(RESET, 0);
        let alive = self.until_notified(0x01).expect("ALIVE");
        assert_eq!(u32_of(&alive.payload, 0x1c), 1, "valid");
        self.after_alive();
    }

    /// `stop_device`.
    pub fn stop(&mut self) {
        self.mask_all();
        self.ict = None;
        self.write_peripheral(0x00a0_2c10, 0);
        for channel in 0..8 {
            self.write(0x1d00 + 0x20 * channel, 0);
        }
        assert_eq!(self.read(0x1eb0) & 0x00ff_0000, 0x00ff_0000, "TX idle");
        self.write(0x1c00, 0);
        assert_ne!(self.read(0x1c44) & 1 << 24, 0, "RX idle");
        self.write_peripheral(0x3008, 0x200);
        self.clear_bits(GP, 1 << 3);
        self.set_bits(RESET, 1 << 9);
        assert_ne!(self.read(RESET) & 1 << 8, 0, "master disabled");
        self.software_reset();
        self.clear_bits(GP, 1 << 2);
        self.software_reset();
        self.prepare();
        self.mask_all();
        self.set_mask(DOWN_MASK);
        self.run();
    }

    /// Writes INT_MASK and remembers it as the driver does.
    pub(super) fn set_mask(&mut self, mask: u32) {
        self.software_mask = mask;
        self.write(INT_MASK, mask);
    }

    fn mask_all(&mut self) {
        self.write(INT_MASK, 0);
        self.write(INT, u32::MAX);
        self.write(FH_INT, u32::MAX);
    }

    fn prepare(&mut self) {
        self.set_bits(0x000, 1 << 22);
        assert_ne!(self.read(0x000) & 1 << 22, 0, "NIC_READY");
        self.set_bits(0x088, 1 << 5);
    }

    fn software_reset(&mut self) {
        self.set_bits(RESET, 1 << 7);
        assert_eq!(self.read(RESET) & 0x380, 0, "the reset clears itself");
        assert_eq!(self.read(GP) & 1, 0, "the clock stops");
    }

    fn clock_on(&mut self) {
        self.set_bits(GP, 1 << 2);
        assert_ne!(self.read(GP) & 1, 0, "MAC_CLOCK_READY");
    }

    fn grab(&mut self) {
        self.set_bits(GP, 1 << 3);
        assert_eq!(self.read(GP) & 0x11, 0x01, "NIC access");
    }

    fn release(&mut self) {
        self.clear_bits(GP, 1 << 3);
    }

    fn power_up(&mut self) {
        self.set_bits(0x100, 0x2000_0000);
        self.set_bits(0x100, 0x0080_0000);
        self.set_bits(0x240, 0xffff_0000);
        self.set_bits(0x000, 0x0008_0000);
        self.set_bits(0x03c, 0x2);
        self.set_bits(0x20c, 0x0088_0300);
        self.clock_on();
        self.write_peripheral(0x3004, 0x200);
        let old = self.read_peripheral(0x3010);
        self.write_peripheral(0x3010, old | 0x800);
        self.write_peripheral(0x301c, 0x1000_0000);
    }

    fn initialize_nic(&mut self) {
        self.power_up();
        let revision = self.read(0x028) & 0xf;
        self.set_bits(0x000, revision | 0x300);
        self.initialize_receive();
        self.initialize_transmit();
    }

    fn initialize_receive(&mut self) {
        for index in 0..layout::RECEIVE_BUFFERS {
            let entry = (layout::receive_buffer(index) >> 8) as u32;
            self.poke(layout::DESCRIPTORS + 4 * index, &entry.to_le_bytes());
        }
        self.poke(layout::STATUS, &[0; 12]);
        self.rx_read = 0;
        for offset in [0x1c00, 0x1bc8, 0x1c08, 0x1c10, 0x1bcc] {
            self.write(offset, 0);
        }
        self.write(0x1bc4, (layout::DESCRIPTORS >> 8) as u32);
        self.write(0x1bc0, (layout::STATUS >> 4) as u32);
        self.write(0x1c00, 0x8080_1114);
        self.card.write(0x004, &[0x40]);
        self.rx_write = 248;
        self.write(0x1bc8, 248);
    }

    fn initialize_transmit(&mut self) {
        self.queues = [DriverQueue::default(); layout::QUEUES];
        self.write_peripheral(0x00a0_2c10, 0);
        self.write(0x197c, (layout::KEEP_WARM >> 4) as u32);
        for queue in 0..layout::QUEUES as u8 {
            let base = (layout::ring(queue) >> 8) as u32;
            let offset = match queue {
                0..16 => 0x19d0 + 4 * u64::from(queue),
                _ => 0x1bf0 + 4 * u64::from(queue - 16),
            };
            self.write(offset, base);
        }
        let old = self.read_peripheral(0x00a0_2da8);
        self.write_peripheral(0x00a0_2da8, old | 1 << 18);
    }

    fn load_section(&mut self, destination: u32, bytes: &[u8]) {
        self.poke(layout::SECTION, bytes);
        self.write(0x1e20, 0);
        self.write(0x19c8, destination);
        self.write(0x1948, layout::SECTION as u32);
        self.write(0x194c, bytes.len() as u32);
        self.write(0x1e28, 0x0010_1003);
        self.write(0x1e20, 0x8010_0000);
        let done = self.until_interrupted();
        assert!(done.is_some(), "the chunk is done");
        assert_ne!(self.read(INT) & LOAD_MASK, 0);
        self.write(INT_MASK, 0);
        self.write(INT, LOAD_MASK | !LOAD_MASK);
        self.write(FH_INT, 3);
        self.write(INT_MASK, LOAD_MASK);
    }

    /// Waits for an interrupt that it handles itself.
    fn until_interrupted(&mut self) -> Option<()> {
        while !self.card.take_interrupt() {
            self.card.wait().then_some(())?;
        }
        Some(())
    }

    fn after_alive(&mut self) {
        self.write(INT_MASK, 0);
        self.poke(layout::ICT, &[0; 4096]);
        self.write(0x0a0, (layout::ICT >> 12) as u32 | 0x9800_0000);
        self.ict = Some(0);
        self.write(INT, FULL_MASK);
        self.set_mask(FULL_MASK);
        let base = self.read_peripheral(0x00a0_2c00);
        self.write(0x410, base + 0x600);
        for _ in 0..130 {
            self.write(0x418, 0);
        }
        self.write_peripheral(0x00a0_2c08, (layout::BYTE_COUNTS >> 10) as u32);
        self.write_peripheral(0x00a0_2e44, 0);
        self.enable_queue(layout::COMMAND_QUEUE, 7, 0);
        self.write_peripheral(0x00a0_2c10, 0xff);
        for channel in 0..8 {
            self.write(0x1d00 + 0x20 * channel, 0x8000_0008);
        }
        self.set_bits(0x1e98, 2);
        for (queue, fifo) in [(0, 3), (1, 2), (2, 1), (3, 0)] {
            self.enable_queue(queue, fifo, 0);
        }
        self.command(0x5a, &[0; 68]);
        self.command(0xb0, &[15, 0, 1, 1, 0x40, 0x40, 0, 0]);
    }

    /// Activates a queue without agreement on a FIFO, its first entry at index `start`.
    pub fn enable_queue(&mut self, queue: u8, fifo: u32, start: u8) {
        self.disable_queue(queue);
        let aggregates = self.read_peripheral(0x00a0_2e48);
        self.write_peripheral(0x00a0_2e48, aggregates & !(1 << queue));
        self.place_queue(queue, u16::from(start));
        self.activate_queue(queue, fifo);
    }

    /// Sets both pointers of an inactive queue: to an index, or, for aggregation, a sequence number.
    pub(super) fn place_queue(&mut self, queue: u8, start: u16) {
        let index = start as u8;
        self.queues[usize::from(queue)] = DriverQueue {
            write: index,
            read: index,
        };
        self.write(0x460, u32::from(index) | u32::from(queue) << 8);
        self.write_peripheral(0x00a0_2c68 + 4 * u32::from(queue), u32::from(start));
    }

    pub(super) fn activate_queue(&mut self, queue: u8, fifo: u32) {
        self.write_peripheral(0x00a0_2d0c + 4 * u32::from(queue), 0x017f_0018 | fifo);
    }

    /// Deactivates a queue.
    pub fn disable_queue(&mut self, queue: u8) {
        self.write_peripheral(0x00a0_2d0c + 4 * u32::from(queue), 0x0008_0000);
    }

    fn calibrate(&mut self, flags: u32) {
        let mut payload = [0; 92];
        payload[0x28..0x2c].copy_from_slice(&flags.to_le_bytes());
        self.command(0x65, &payload);
    }
}

/// Destination and bytes of an image's sections, data first, from a file of records.
fn sections(file: &[u8], image: Image) -> [(u32, &[u8]); 2] {
    assert_eq!(u32_of(file, 0), 0, "a file of records");
    let (code, data) = match image {
        Image::Runtime => (1, 2),
        Image::Init => (3, 4),
    };
    [(0x0080_0000, section(file, data)), (0, section(file, code))]
}

/// The value of the record of this type.
fn section(file: &[u8], kind: u32) -> &[u8] {
    let mut at = 88;
    loop {
        let length = u32_of(file, at + 4) as usize;
        if u32_of(file, at) == kind {
            return &file[at + 8..at + 8 + length];
        }
        at += 8 + length.next_multiple_of(4);
    }
}
