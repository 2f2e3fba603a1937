//! What is on the air, as pcapng with radiotap headers: to a file from the first frame on, and to
//! whoever listens later. Each listener has a thread of its own, so that a slow disk or reader costs
//! captured frames, counted, and never airtime. That thread empties its ring every few milliseconds: a
//! wake-up for each frame and each ACK would cost more than writing them.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::Duration;

use airlane_air::capture::radiotap;
use airlane_air::{Captured, Tap};
use airlane_dot11::MacAddr;
use airlane_lane::Instant;
use airlane_lane::ring::{self, NoWake};
use anyhow::Context;
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};

/// Frames that may wait for one listener: forty times what the air carries in [`EVERY`], ACKs included.
const BACKLOG: usize = 4_096;
/// How often a ring is emptied, and what was in it handed on.
const EVERY: Duration = Duration::from_millis(10);
/// Bytes that are written at one go: more than the air carries in [`EVERY`] at 450 Mb/s.
const AT_ONE_GO: usize = 1 << 20;

/// A captured frame behind its radiotap header.
struct Packet {
    at: Instant,
    bytes: Arc<[u8]>,
}

/// The tap that the air holds: what it sees goes to every sink.
pub struct Taps {
    sinks: Vec<Sink>,
    joining: Receiver<Sink>,
}

/// The air's end of one capture.
pub struct Sink {
    packets: ring::Sender<Packet>,
    dropped: Arc<AtomicU64>,
    only: Option<MacAddr>,
}

/// The listener's end of one capture.
pub struct Tapped {
    packets: ring::Receiver<Packet>,
    dropped: Arc<AtomicU64>,
    epoch: Duration,
}

/// What a capture holds.
#[derive(Clone, Copy, Debug)]
pub struct CaptureCount {
    /// Frames written.
    pub written: u64,
    /// Frames that the listener was too slow for.
    pub dropped: u64,
}

/// Both ends of a capture. `epoch` is the time of day when the air's clock read zero; `only` leaves
/// the frames that carry this address.
pub fn pair(epoch: Duration, only: Option<MacAddr>) -> (Sink, Tapped) {
    let (sender, packets) = ring::ring(BACKLOG, Arc::new(NoWake));
    let dropped = Arc::new(AtomicU64::new(0));
    let sink = Sink {
        packets: sender,
        dropped: Arc::clone(&dropped),
        only,
    };
    let tapped = Tapped {
        packets,
        dropped,
        epoch,
    };
    (sink, tapped)
}

impl Taps {
    /// No sinks yet but those that come by `joining`.
    pub fn new(joining: Receiver<Sink>) -> Self {
        let sinks = Vec::new();
        Self { sinks, joining }
    }
}

impl Tap for Taps {
    fn frame(&mut self, captured: &Captured<'_>) {
        self.sinks.extend(self.joining.try_iter());
        let mut bytes: Option<Arc<[u8]>> = None;
        self.sinks.retain_mut(|sink| {
            if !sink.wants(captured.frame) {
                return true;
            }
            let bytes = bytes
                .get_or_insert_with(|| [&radiotap(captured)[..], captured.frame].concat().into());
            sink.give(Packet {
                at: captured.start,
                bytes: Arc::clone(bytes),
            })
        });
    }
}

impl Sink {
    fn wants(&self, frame: &[u8]) -> bool {
        self.only.is_none_or(|address| carries(frame, address))
    }

    /// False when nobody listens any more.
    fn give(&mut self, packet: Packet) -> bool {
        if self.packets.is_abandoned() {
            return false;
        }
        if self.packets.push(packet).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        true
    }
}

/// Addresses 1, 2 and 3 of a MAC header, as far as it has them (IEEE 802.11-2020 9.2.3).
fn carries(frame: &[u8], address: MacAddr) -> bool {
    [4..10, 10..16, 16..22]
        .into_iter()
        .any(|place| frame.get(place) == Some(&address.0))
}

impl Tapped {
    /// Writes all that is captured until the air or the reader has gone.
    pub fn write_to(mut self, out: impl Write) -> anyhow::Result<CaptureCount> {
        let mut writer = begin(BufWriter::with_capacity(AT_ONE_GO, out))?;
        writer.get_mut().flush()?;
        let mut written = 0;
        loop {
            let over = self.packets.is_abandoned();
            // What was put into the ring before the air's end of it went is seen below.
            fence(Ordering::Acquire);
            written += self.empty(&mut writer)?;
            if over {
                break;
            }
            std::thread::sleep(EVERY);
        }
        let dropped = self.dropped.load(Ordering::Relaxed);
        Ok(CaptureCount { written, dropped })
    }

    /// Hands on what is in the ring now; how many frames that were.
    fn empty<W: Write>(&mut self, writer: &mut PcapNgWriter<BufWriter<W>>) -> anyhow::Result<u64> {
        let mut written = 0;
        for _ in 0..self.packets.len() {
            if let Some(packet) = self.packets.pop() {
                writer.write_pcapng_block(block(self.epoch, &packet))?;
                written += 1;
            }
        }
        if written > 0 {
            writer.get_mut().flush()?;
        }
        Ok(written)
    }
}

fn begin<W: Write>(out: W) -> anyhow::Result<PcapNgWriter<W>> {
    let mut writer = PcapNgWriter::new(out)?;
    writer.write_pcapng_block(InterfaceDescriptionBlock {
        linktype: DataLink::IEEE802_11_RADIOTAP,
        snaplen: 0,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed("air")),
            // 10^-9 s: pcap-file hands time stamps on in nanoseconds.
            InterfaceDescriptionOption::IfTsResol(9),
        ],
    })?;
    Ok(writer)
}

fn block(epoch: Duration, packet: &Packet) -> EnhancedPacketBlock<'_> {
    EnhancedPacketBlock {
        interface_id: 0,
        timestamp: epoch + Duration::from_micros(packet.at.0),
        original_len: u32::try_from(packet.bytes.len()).unwrap_or(u32::MAX),
        data: Cow::Borrowed(&packet.bytes),
        options: Vec::new(),
    }
}

/// A capture file. Ends, with everything on disk, once the tap is gone.
pub struct Capture {
    thread: JoinHandle<anyhow::Result<CaptureCount>>,
}

impl Capture {
    /// Creates `path` and starts writing what is captured.
    pub fn create(path: &Path, tapped: Tapped) -> anyhow::Result<Self> {
        let file = File::create(path)
            .with_context(|| format!("cannot create the capture file {}", path.display()))?;
        let thread = std::thread::Builder::new()
            .name("capture".into())
            .spawn(move || tapped.write_to(file))?;
        Ok(Self { thread })
    }

    /// Waits until everything is on disk. The tap must have been dropped.
    pub fn finish(self) -> anyhow::Result<CaptureCount> {
        self.thread
            .join()
            .map_err(|_| anyhow::anyhow!("the capture writer has stopped unexpectedly"))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_air::{Air, AirConfig, Position, RadioConfig};
    use airlane_dot11::{Band, Channel, Dbm, Rate};
    use airlane_lane::Micros;
    use std::sync::mpsc::channel;

    const MINE: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    /// An ACK to `address`.
    fn ack(address: MacAddr) -> Vec<u8> {
        [&[0xd4, 0, 0, 0][..], &address.0].concat()
    }

    fn show(taps: &mut Taps, frame: &[u8]) {
        show_at(taps, Instant(1), frame);
    }

    fn show_at(taps: &mut Taps, start: Instant, frame: &[u8]) {
        let from = Air::new(AirConfig::default()).add_radio(RadioConfig {
            name: "r".into(),
            position: Position::default(),
            tx_power: Dbm(15.0),
        });
        taps.frame(&Captured {
            start,
            end: start + Micros(1),
            channel: Channel::new(Band::Ghz5, 36).unwrap(),
            rate: Rate::OFDM_6,
            power: Dbm(15.0),
            signal: None,
            from,
            overlapped: false,
            subframe: None,
            frame,
        });
    }

    fn count(tapped: &mut Tapped) -> usize {
        std::iter::from_fn(|| tapped.packets.pop()).count()
    }

    /// A reader that notes how much it is given at a time.
    #[derive(Clone, Default)]
    struct Reader(Arc<std::sync::Mutex<Vec<Vec<u8>>>>);

    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Times of the frames in a file, in microseconds.
    fn times(file: &[u8]) -> Vec<u128> {
        let mut reader = pcap_file::pcapng::PcapNgReader::new(file).unwrap();
        let mut times = Vec::new();
        while let Some(block) = reader.next_block() {
            if let pcap_file::pcapng::Block::EnhancedPacket(packet) = block.unwrap() {
                times.push(packet.timestamp.as_micros());
            }
        }
        times
    }

    #[test]
    fn all_that_is_in_the_ring_is_written_at_one_go() {
        let (sinks, joining) = channel();
        let mut taps = Taps::new(joining);
        let (sink, mut tapped) = pair(Duration::ZERO, None);
        sinks.send(sink).unwrap();
        let reader = Reader::default();
        let mut writer = begin(BufWriter::with_capacity(AT_ONE_GO, reader.clone())).unwrap();
        writer.get_mut().flush().unwrap();
        for at in 0..500 {
            show_at(&mut taps, Instant(at), &ack(MINE));
        }
        assert_eq!(tapped.empty(&mut writer).unwrap(), 500);
        assert_eq!(
            reader.0.lock().unwrap().len(),
            2,
            "its head, and all frames"
        );
        assert_eq!(tapped.empty(&mut writer).unwrap(), 0);
        assert_eq!(
            reader.0.lock().unwrap().len(),
            2,
            "nothing new, nothing written"
        );
        let file = reader.0.lock().unwrap().concat();
        assert_eq!(times(&file), Vec::from_iter(0..500));
    }

    #[test]
    fn a_file_is_complete_and_in_order_when_the_air_ends_while_it_is_written() {
        let (sinks, joining) = channel();
        let (sink, tapped) = pair(Duration::ZERO, None);
        sinks.send(sink).unwrap();
        let air = std::thread::spawn(move || {
            let mut taps = Taps::new(joining);
            for at in 0..3_000 {
                show_at(&mut taps, Instant(at), &ack(MINE));
            }
        });
        let mut file = Vec::new();
        let count = tapped.write_to(&mut file).unwrap();
        air.join().unwrap();
        assert_eq!((count.written, count.dropped), (3_000, 0));
        assert_eq!(times(&file), Vec::from_iter(0..3_000));
    }

    #[test]
    fn a_live_reader_gets_frames_while_the_air_goes_on() {
        let (sinks, joining) = channel();
        let mut taps = Taps::new(joining);
        let (sink, tapped) = pair(Duration::ZERO, None);
        sinks.send(sink).unwrap();
        let reader = Reader::default();
        let out = reader.clone();
        let writer = std::thread::spawn(move || tapped.write_to(out));
        show_at(&mut taps, Instant(7), &ack(MINE));
        let heads_and_frames = 2;
        while reader.0.lock().unwrap().len() < heads_and_frames {
            std::thread::yield_now();
        }
        assert_eq!(times(&reader.0.lock().unwrap().concat()), [7]);
        drop(taps);
        assert_eq!(writer.join().unwrap().unwrap().written, 1);
    }

    #[test]
    fn a_listener_gets_what_carries_its_address_and_one_that_left_is_forgotten() {
        let (sinks, joining) = channel();
        let mut taps = Taps::new(joining);
        let (all, mut everything) = pair(Duration::ZERO, None);
        let (some, mut mine) = pair(Duration::ZERO, Some(MINE));
        sinks.send(all).unwrap();
        sinks.send(some).unwrap();
        show(&mut taps, &ack(MINE));
        show(&mut taps, &ack(MacAddr([2; 6])));
        show(&mut taps, &[]);
        assert_eq!(count(&mut everything), 3);
        assert_eq!(count(&mut mine), 1);
        drop(mine);
        show(&mut taps, &ack(MINE));
        assert_eq!(taps.sinks.len(), 1);
    }

    #[test]
    fn a_reader_that_is_too_slow_misses_frames_which_are_counted() {
        let (sinks, joining) = channel();
        let mut taps = Taps::new(joining);
        let (sink, tapped) = pair(Duration::ZERO, None);
        sinks.send(sink).unwrap();
        for _ in 0..BACKLOG + 5 {
            show(&mut taps, &ack(MINE));
        }
        drop(taps);
        let mut file = Vec::new();
        let count = tapped.write_to(&mut file).unwrap();
        assert_eq!((count.written, count.dropped), (BACKLOG as u64, 5));
        assert_eq!(file[..4], [0x0a, 0x0d, 0x0d, 0x0a], "a section header");
    }
}
