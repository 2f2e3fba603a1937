//! The collector's thread: asleep while nobody traces; else it empties all rings every few milliseconds and gives
//! what it finds to all who listen. A listener that is too slow misses records, counted.

use std::sync::Arc;
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel,
};
use std::thread::JoinHandle;
use std::time::Duration;

use super::collector::{Collector, Scale};
use super::recorder::Record;

/// How often the rings are emptied.
pub const EVERY: Duration = Duration::from_millis(10);
/// Chunks that may wait for one listener: two seconds' worth.
const CHUNKS: usize = 200;

/// What was recorded in a while.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// In order of time.
    pub records: Arc<[Record]>,
    /// Records that did not come to this listener since the last chunk.
    pub lost: u64,
}

/// A listener's end.
pub struct Traces {
    /// What ticks are.
    pub scale: Scale,
    /// The tick at which it began.
    pub origin: u64,
    chunks: Receiver<Chunk>,
}

impl Traces {
    /// The next chunk; perhaps an empty one.
    pub fn next(&self, patience: Duration) -> Result<Chunk, RecvTimeoutError> {
        self.chunks.recv_timeout(patience)
    }
}

struct Listener {
    chunks: SyncSender<Chunk>,
    lost: u64,
}

/// The collector's thread. Ends, after a last look, when it and all its [`Tap`]s are gone.
pub struct Tracer {
    tap: Tap,
    thread: JoinHandle<()>,
}

/// The way to the collector's thread.
#[derive(Clone)]
pub struct Tap {
    scale: Scale,
    clock: quanta::Clock,
    asks: Sender<Ask>,
}

enum Ask {
    Listen(Listener),
    Stop,
}

impl Tap {
    /// What is recorded from now on.
    pub fn listen(&self) -> anyhow::Result<Traces> {
        let (chunks, receiver) = sync_channel(CHUNKS);
        let listener = Listener { chunks, lost: 0 };
        let asked = self.asks.send(Ask::Listen(listener));
        asked.map_err(|_| anyhow::anyhow!("the trace has ended"))?;
        Ok(Traces {
            scale: self.scale,
            origin: self.clock.raw(),
            chunks: receiver,
        })
    }
}

impl Tracer {
    /// Starts the thread.
    pub fn start(collector: Collector) -> std::io::Result<Self> {
        let (asks, asked) = channel();
        let (scale, clock) = (collector.scale(), collector.clock().clone());
        let thread = std::thread::Builder::new()
            .name("trace".to_owned())
            .spawn(move || Loop::new(collector, asked).run())?;
        let tap = Tap { scale, clock, asks };
        Ok(Self { tap, thread })
    }

    /// The way to it.
    pub fn tap(&self) -> &Tap {
        &self.tap
    }

    /// Gives all that is recorded to all who listen, and ends.
    pub fn stop(self) {
        let _ = self.tap.asks.send(Ask::Stop);
        let _ = self.thread.join();
    }
}

struct Loop {
    collector: Collector,
    asked: Receiver<Ask>,
    listeners: Vec<Listener>,
    lost: u64,
}

impl Loop {
    fn new(collector: Collector, asked: Receiver<Ask>) -> Self {
        Self {
            collector,
            asked,
            listeners: Vec::new(),
            lost: 0,
        }
    }

    fn run(mut self) {
        while let Some(ask) = self.wait() {
            match ask {
                Some(Ask::Listen(listener)) => self.join(listener),
                Some(Ask::Stop) => break,
                None => self.pass_on(Collector::collect),
            }
        }
        self.collector.switch_off();
        self.pass_on(Collector::collect_all);
    }

    /// What is asked next; `Some(None)`: nothing for a while. `None`: nobody can ask any more.
    fn wait(&self) -> Option<Option<Ask>> {
        if self.listeners.is_empty() {
            return self.asked.recv().ok().map(Some);
        }
        match self.asked.recv_timeout(EVERY) {
            Ok(ask) => Some(Some(ask)),
            Err(RecvTimeoutError::Timeout) => Some(None),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    fn join(&mut self, listener: Listener) {
        if self.listeners.is_empty() {
            self.collector.switch_on();
            self.lost = 0;
        }
        self.listeners.push(listener);
    }

    fn pass_on(&mut self, collect: impl FnOnce(&mut Collector, &mut Vec<Record>)) {
        let mut records = Vec::new();
        collect(&mut self.collector, &mut records);
        let records: Arc<[Record]> = records.into();
        let lost = std::mem::replace(&mut self.lost, self.collector.lost());
        let lost = self.lost.saturating_sub(lost);
        self.listeners
            .retain_mut(|listener| listener.give(&records, lost));
        if self.listeners.is_empty() {
            self.collector.switch_off();
        }
    }
}

impl Listener {
    /// False when nobody listens any more.
    fn give(&mut self, records: &Arc<[Record]>, lost: u64) -> bool {
        let chunk = Chunk {
            records: Arc::clone(records),
            lost: self.lost + lost,
        };
        match self.chunks.try_send(chunk) {
            Ok(()) => self.lost = 0,
            Err(TrySendError::Full(_)) => self.lost += lost + records.len() as u64,
            Err(TrySendError::Disconnected(_)) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::collector::Recorders;
    use super::*;
    use airlane_waist::stamp::Point;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn started() -> (Tracer, Recorders) {
        let (collector, recorders) = Collector::new(1, 1);
        (Tracer::start(collector).unwrap(), recorders)
    }

    #[test]
    fn what_is_stamped_reaches_who_listens_and_the_last_of_it_when_it_stops() {
        let (tracer, mut recorders) = started();
        recorders.radios[0].mark(Point::Pick);
        assert!(!recorders.radios[0].on(), "nobody listens");
        let traces = tracer.tap().listen().unwrap();
        traces.next(PATIENCE).unwrap();
        assert!(recorders.radios[0].on());
        recorders.radios[0].mark(Point::Heard);
        tracer.stop();
        let mut seen = Vec::new();
        while let Ok(chunk) = traces.next(PATIENCE) {
            seen.extend(chunk.records.iter().map(|record| record.point));
        }
        assert_eq!(seen, [Point::Heard]);
        assert!(!recorders.radios[0].on());
    }

    #[test]
    fn it_is_switched_off_when_the_last_listener_has_gone() {
        let (tracer, recorders) = started();
        let (one, other) = (tracer.tap().listen(), tracer.tap().listen());
        one.unwrap().next(PATIENCE).unwrap();
        let other = other.unwrap();
        other.next(PATIENCE).unwrap();
        assert!(recorders.radios[0].on());
        drop(other);
        while recorders.radios[0].on() {
            std::thread::yield_now();
        }
        tracer.stop();
    }

    #[test]
    fn a_listener_that_is_too_slow_is_told_how_much_it_has_missed() {
        let (chunks, receiver) = sync_channel(1);
        let mut listener = Listener { chunks, lost: 0 };
        let record = Record::new(1, Point::Pick, None, airlane_waist::stamp::FrameId::NONE);
        let records: Arc<[Record]> = [record; 3].into();
        for _ in 0..3 {
            assert!(listener.give(&records, 1));
        }
        assert_eq!(receiver.recv().unwrap().lost, 1);
        assert!(listener.give(&records, 0));
        assert_eq!(
            receiver.recv().unwrap().lost,
            8,
            "two chunks and two records"
        );
        drop(receiver);
        assert!(!listener.give(&records, 0));
    }
}
