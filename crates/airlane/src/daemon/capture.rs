//! What was on the air, as a pcapng file with radiotap headers. Written by a thread of its own, so
//! that a slow disk costs captured frames, counted, and never airtime.

use std::borrow::Cow;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use airlane_air::capture::radiotap;
use airlane_air::{Captured, Tap};
use airlane_wlan::Micros;
use anyhow::Context;
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};

/// Frames that may wait for the disk.
const BACKLOG: usize = 4_096;

/// A captured frame behind its radiotap header.
struct Packet {
    at: Micros,
    bytes: Vec<u8>,
}

/// The end of the tap that the air holds.
pub struct CaptureTap {
    frames: SyncSender<Packet>,
    dropped: Arc<AtomicU64>,
}

/// The writer. Ends, with everything on disk, once the tap is gone.
pub struct Capture {
    thread: JoinHandle<anyhow::Result<u64>>,
    dropped: Arc<AtomicU64>,
}

/// What a capture file holds.
#[derive(Clone, Copy, Debug)]
pub struct CaptureCount {
    /// Frames written.
    pub written: u64,
    /// Frames that the disk was too slow for.
    pub dropped: u64,
}

impl Tap for CaptureTap {
    fn frame(&mut self, captured: &Captured<'_>) {
        let packet = Packet {
            at: captured.start,
            bytes: [&radiotap(captured)[..], captured.frame].concat(),
        };
        if let Err(TrySendError::Full(_)) = self.frames.try_send(packet) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Capture {
    /// Creates `path` and starts writing. `epoch` is the time of day when the air's clock read zero.
    pub fn create(path: &Path, epoch: Duration) -> anyhow::Result<(CaptureTap, Self)> {
        let file = File::create(path)
            .with_context(|| format!("cannot create the capture file {}", path.display()))?;
        let (frames, queue) = sync_channel(BACKLOG);
        let dropped = Arc::new(AtomicU64::new(0));
        let thread = std::thread::Builder::new()
            .name("capture".into())
            .spawn(move || write_all(file, epoch, &queue))?;
        let tap = CaptureTap {
            frames,
            dropped: Arc::clone(&dropped),
        };
        Ok((tap, Self { thread, dropped }))
    }

    /// Waits until everything is on disk. The tap must have been dropped.
    pub fn finish(self) -> anyhow::Result<CaptureCount> {
        let written = self
            .thread
            .join()
            .map_err(|_| anyhow::anyhow!("the capture writer has stopped unexpectedly"))??;
        Ok(CaptureCount {
            written,
            dropped: self.dropped.load(Ordering::Relaxed),
        })
    }
}

fn write_all(file: File, epoch: Duration, queue: &Receiver<Packet>) -> anyhow::Result<u64> {
    let mut writer = PcapNgWriter::new(BufWriter::new(file))?;
    writer.write_pcapng_block(InterfaceDescriptionBlock {
        linktype: DataLink::IEEE802_11_RADIOTAP,
        snaplen: 0,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed("air")),
            // 10^-9 s: pcap-file hands time stamps on in nanoseconds.
            InterfaceDescriptionOption::IfTsResol(9),
        ],
    })?;
    let mut written = 0;
    for Packet { at, bytes } in queue {
        writer.write_pcapng_block(EnhancedPacketBlock {
            interface_id: 0,
            timestamp: epoch + Duration::from_micros(at.0),
            original_len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            data: Cow::Owned(bytes),
            options: Vec::new(),
        })?;
        written += 1;
    }
    Ok(written)
}
