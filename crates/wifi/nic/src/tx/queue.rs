//! One vMAC's frames between its driver's request and the report to it.
//!
//! Reports come back in the order of the frames of one ring, as a driver expects it: a frame that is refused while an
//! older one of its ring is on the air waits for it.

use std::collections::VecDeque;

use airlane_dot11::{AccessCategory, PerAc};
use airlane_waist::{Tag, Transmit, TxReport};

use crate::tx::frame::Prepared;

/// Who a frame is: its number, which is its place in the order of arrival, and what its driver calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) serial: u64,
    pub(crate) tag: Tag,
    /// The driver's transmit queue: a ring of descriptors.
    pub(crate) ring: u8,
}

/// A frame that waits for the air.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) id: Identity,
    pub(crate) work: Work,
}

/// What is left to do about a frame.
#[derive(Debug)]
pub(crate) enum Work {
    /// Everything: it is in the guest's memory.
    Prepare(Transmit),
    /// Sending only: it came back from the air unsent.
    Resend(Prepared),
}

impl Work {
    /// True when the frame may share a PPDU.
    fn aggregates(&self) -> bool {
        match self {
            Self::Prepare(transmit) => transmit.aggregate,
            Self::Resend(prepared) => prepared.aggregates(),
        }
    }
}

/// A frame that has left its queue at least once, and whose report is still to be given.
#[derive(Debug)]
struct Unreported {
    id: Identity,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// In the air's queue under this token.
    InAir(u64, Prepared),
    /// Back in its own queue.
    Waiting,
    Ended(TxReport),
}

/// A flush that waits for the frames that are on the air.
#[derive(Debug)]
pub(crate) struct Flush {
    pub(crate) tag: Tag,
    /// Bit n: ring n.
    pub(crate) rings: u32,
    /// Younger frames are not its business.
    pub(crate) before: u64,
    /// Frames taken out of the queues, to be reported after those on the air.
    pub(crate) taken: Vec<(Tag, TxReport)>,
}

impl Flush {
    fn covers(&self, id: Identity) -> bool {
        id.serial < self.before && in_mask(self.rings, id.ring)
    }
}

fn in_mask(rings: u32, ring: u8) -> bool {
    1u32.checked_shl(u32::from(ring))
        .is_some_and(|bit| rings & bit != 0)
}

/// All frames of one vMAC.
#[derive(Debug, Default)]
pub(crate) struct TxQueues {
    /// Sorted by serial number.
    waiting: PerAc<VecDeque<Waiting>>,
    unreported: VecDeque<Unreported>,
    /// Frames that the air has.
    in_air: PerAc<usize>,
    flushes: Vec<Flush>,
}

impl TxQueues {
    /// Frames that wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }

    /// True when no frame waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.values().all(VecDeque::is_empty)
    }

    /// True when a frame of this category waits.
    pub(crate) fn has(&self, category: AccessCategory) -> bool {
        !self.waiting[category].is_empty()
    }

    /// True when the next frame of this category may share a PPDU.
    pub(crate) fn next_aggregates(&self, category: AccessCategory) -> bool {
        let next = self.waiting[category].front();
        next.is_some_and(|waiting| waiting.work.aggregates())
    }

    /// Frames of this category that the air has.
    pub(crate) fn in_air(&self, category: AccessCategory) -> usize {
        self.in_air[category]
    }

    pub(crate) fn any_in_air(&self) -> bool {
        self.in_air.values().any(|&frames| frames > 0)
    }

    /// A new frame waits behind all others of its category.
    pub(crate) fn push(&mut self, serial: u64, tag: Tag, transmit: Transmit) {
        let ring = transmit.queue;
        self.waiting[transmit.category].push_back(Waiting {
            id: Identity { serial, tag, ring },
            work: Work::Prepare(transmit),
        });
    }

    /// Takes the next frame of this category out.
    pub(crate) fn pop(&mut self, category: AccessCategory) -> Option<Waiting> {
        self.waiting[category].pop_front()
    }

    /// A frame enters the list of those to be reported, in the order in which frames leave their queues. Its stage is
    /// set next.
    pub(crate) fn begin(&mut self, id: Identity) {
        let stage = Stage::Waiting;
        self.unreported.push_back(Unreported { id, stage });
    }

    /// The air gets a frame. `false` when it had not begun.
    #[must_use]
    pub(crate) fn submit(&mut self, serial: u64, token: u64, prepared: Prepared) -> bool {
        self.in_air[prepared.category()] += 1;
        match self.entry(serial) {
            Some(entry) => {
                entry.stage = Stage::InAir(token, prepared);
                true
            }
            None => false,
        }
    }

    /// A frame has ended. `false` when it had not begun.
    #[must_use]
    pub(crate) fn end(&mut self, serial: u64, report: TxReport) -> bool {
        match self.entry(serial) {
            Some(entry) => {
                entry.stage = Stage::Ended(report);
                true
            }
            None => false,
        }
    }

    /// Frames go to the air at the end of the list.
    fn entry(&mut self, serial: u64) -> Option<&mut Unreported> {
        let mut latest_first = self.unreported.iter_mut().rev();
        latest_first.find(|entry| entry.id.serial == serial)
    }

    /// The air is done with a frame; whether a flush waits for it. `None` when the air had no such frame.
    pub(crate) fn take_back(&mut self, serial: u64) -> Option<(Identity, Prepared, bool)> {
        let mut unreported = self.unreported.iter_mut();
        let entry = unreported.find(|entry| entry.id.serial == serial)?;
        let stage = std::mem::replace(&mut entry.stage, Stage::Waiting);
        let Stage::InAir(_, prepared) = stage else {
            entry.stage = stage;
            return None;
        };
        let id = entry.id;
        let held = &mut self.in_air[prepared.category()];
        *held = held.saturating_sub(1);
        let flushed = self.flushes.iter().any(|flush| flush.covers(id));
        Some((id, prepared, flushed))
    }

    /// Back to its place in its queue, with its sequence number and its packet number.
    pub(crate) fn put_back(&mut self, id: Identity, prepared: Prepared) {
        let queue = &mut self.waiting[prepared.category()];
        let at = queue.partition_point(|waiting| waiting.id.serial < id.serial);
        let work = Work::Resend(prepared);
        queue.insert(at, Waiting { id, work });
    }

    /// Gives every report that no older frame of its ring holds back.
    pub(crate) fn give_reports(&mut self, mut give: impl FnMut(Tag, TxReport)) {
        let mut held = [false; 1 << u8::BITS];
        self.unreported.retain(|entry| {
            let hold = held.get_mut(usize::from(entry.id.ring));
            let hold = hold.expect("there is a place for every number of a ring");
            match &entry.stage {
                Stage::Ended(report) if !*hold => {
                    give(entry.id.tag, *report);
                    false
                }
                _ => {
                    *hold = true;
                    true
                }
            }
        });
    }

    /// Takes the waiting frames of these rings out, oldest first.
    pub(crate) fn take_waiting(&mut self, rings: u32) -> Vec<Waiting> {
        let mut taken = Vec::new();
        for queue in self.waiting.values_mut() {
            let (out, keep): (VecDeque<_>, VecDeque<_>) = std::mem::take(queue)
                .into_iter()
                .partition(|waiting| in_mask(rings, waiting.id.ring));
            *queue = keep;
            taken.extend(out);
        }
        taken.sort_by_key(|waiting| waiting.id.serial);
        let took = |serial| taken.iter().any(|waiting| waiting.id.serial == serial);
        self.unreported
            .retain(|entry| !(matches!(entry.stage, Stage::Waiting) && took(entry.id.serial)));
        taken
    }

    /// Tokens of the frames of these rings that the air has.
    pub(crate) fn tokens(&self, rings: u32) -> Vec<u64> {
        let of_rings = self.unreported.iter();
        let of_rings = of_rings.filter(|entry| in_mask(rings, entry.id.ring));
        of_rings
            .filter_map(|entry| match entry.stage {
                Stage::InAir(token, _) => Some(token),
                Stage::Waiting | Stage::Ended(_) => None,
            })
            .collect()
    }

    pub(crate) fn add_flush(&mut self, flush: Flush) {
        self.flushes.push(flush);
    }

    /// Takes the flushes out that wait for nothing any more.
    pub(crate) fn finished_flushes(&mut self) -> Vec<Flush> {
        if self.flushes.is_empty() {
            return Vec::new();
        }
        let unreported = &self.unreported;
        let (waiting, done) = std::mem::take(&mut self.flushes)
            .into_iter()
            .partition(|flush| unreported.iter().any(|entry| flush.covers(entry.id)));
        self.flushes = waiting;
        done
    }

    /// The frames that the air has.
    pub(crate) fn prepared(&self) -> impl Iterator<Item = &Prepared> {
        self.unreported
            .iter()
            .filter_map(|entry| match &entry.stage {
                Stage::InAir(_, prepared) => Some(prepared),
                Stage::Waiting | Stage::Ended(_) => None,
            })
    }
}
