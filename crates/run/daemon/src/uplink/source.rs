//! All uplinks as a source of the reactor: frames between the built-in access points and what is behind them.

use airlane_dot11::Buffer;
use airlane_engine::Wifi;
use airlane_lane::Instant;
use airlane_lane::ring::{Receiver, Sender};

use crate::reactor::{BATCH, Report, Source, Took};

/// The radio thread's ends of one uplink.
pub struct UplinkEnds {
    /// Which of the built-in access points.
    pub built_in: usize,
    /// Frames of its stations.
    pub to: Sender<Buffer>,
    /// Frames for them.
    pub from: Receiver<Buffer>,
    /// Frames that found the ring full.
    pub ring_full: u64,
}

/// The reactor's ends of all uplinks.
pub struct Uplinks(pub Vec<UplinkEnds>);

impl Source<Wifi> for Uplinks {
    fn take(&mut self, _: Instant, engine: &mut Wifi) -> Took {
        let mut took = Took::Nothing;
        for ends in &mut self.0 {
            for _ in 0..BATCH {
                let Some(frame) = ends.from.pop() else {
                    break;
                };
                engine.built_ins_mut().from_uplink(ends.built_in, &frame);
                took = Took::Batch;
            }
        }
        took
    }

    fn give(&mut self, _: Instant, engine: &mut Wifi) -> Option<Instant> {
        while let Some((index, frame)) = engine.built_ins_mut().next_for_uplink() {
            if let Some(ends) = self.0.iter_mut().find(|ends| ends.built_in == index) {
                ends.ring_full += u64::from(ends.to.push(frame).is_err());
            }
        }
        None
    }

    fn announce_sleep(&mut self) -> bool {
        self.0.iter().all(|ends| ends.from.announce_sleep())
    }

    fn count(&self, report: &mut Report) {
        let full = self.0.iter().map(|ends| ends.ring_full).sum();
        report.add("uplink_ring_full", full);
    }
}
