//! One vMAC's frames between its driver's request and the report to it.
//!
//! Reports come back in the order of the frames of one ring, as a driver expects it: a frame that is refused while an
//! older one of its ring is on the air waits for it.

use std::collections::VecDeque;

use airlane_dot11::{AccessCategory, PerAc, Rate};
use airlane_waist::{Tag, Transmit, TxReport, TxStatus};
use arrayvec::ArrayVec;

use crate::tx::frame::{Prepared, unsent};

/// Rings that a driver can name: those of a byte.
const RINGS: usize = 1 << u8::BITS;

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
    /// All of it: the frame is in the guest's memory.
    Prepare(Transmit),
    /// Only sending: the frame came back from the air unsent, and stands in the list of those to be reported.
    Resend {
        /// Whether the frame may share a PPDU.
        aggregates: bool,
    },
}

impl Work {
    /// True when the frame may share a PPDU.
    fn aggregates(&self) -> bool {
        match self {
            Self::Prepare(transmit) => transmit.aggregate,
            Self::Resend { aggregates } => *aggregates,
        }
    }
}

/// A frame that has left its queue at least once, and whose report is still to be given. It stays in this place from
/// its preparation to its report.
#[derive(Debug)]
struct Unreported {
    id: Identity,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// The card's own copy, ready for the air.
    Ready {
        prepared: Prepared,
        /// What the air calls it while it has the frame; without one the frame is back in its own queue.
        token: Option<u64>,
    },
    /// Its report, which an older frame of its ring holds back.
    Ended(TxReport),
}

impl Unreported {
    /// What the air calls the frame, while it has it.
    fn token(&self) -> Option<u64> {
        match self.stage {
            Stage::Ready { token, .. } => token,
            Stage::Ended(_) => None,
        }
    }
}

/// A flush that waits for the frames that are on the air.
#[derive(Debug)]
pub(crate) struct Flush {
    pub(crate) tag: Tag,
    /// The rings that are flushed; bit n: ring n.
    pub(crate) rings: u32,
    /// Serial number of the flush: it covers older frames only.
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
    /// Frames in their queues, sorted by serial number.
    waiting: PerAc<VecDeque<Waiting>>,
    /// Frames that have left their queues, in the order in which they did.
    unreported: VecDeque<Unreported>,
    /// How many frames the air has.
    in_air: PerAc<usize>,
    /// How many frames have ended and are held back from being reported.
    ended: usize,
    flushes: Vec<Flush>,
}

impl TxQueues {
    /// How many frames are between request and report: those that wait for the air, those that it has, and those
    /// whose reports are held back.
    pub(crate) fn outstanding(&self) -> usize {
        let waiting: usize = self.waiting.values().map(VecDeque::len).sum();
        let in_air: usize = self.in_air.values().sum();
        let taken: usize = self.flushes.iter().map(|flush| flush.taken.len()).sum();
        waiting + in_air + self.ended + taken
    }

    /// True when no frame waits for the air.
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

    /// How many frames of this category the air has.
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

    /// A frame that is ready enters the list of those to be reported, in the order in which frames leave their queues.
    pub(crate) fn begin(&mut self, id: Identity, prepared: Prepared) {
        let token = None;
        let stage = Stage::Ready { prepared, token };
        self.unreported.push_back(Unreported { id, stage });
    }

    /// A frame that is not to be sent enters that list with the report on it.
    pub(crate) fn reject(&mut self, id: Identity, report: TxReport) {
        let stage = Stage::Ended(report);
        self.unreported.push_back(Unreported { id, stage });
        self.ended += 1;
    }

    /// The air gets a frame, under this token. Gives the frame; `None` when it had not begun, or has ended.
    pub(crate) fn submit(&mut self, serial: u64, token: u64) -> Option<&mut Prepared> {
        // Frames go to the air at the end of the list.
        let mut latest_first = self.unreported.iter_mut().rev();
        let entry = latest_first.find(|entry| entry.id.serial == serial)?;
        let Stage::Ready {
            prepared,
            token: known,
        } = &mut entry.stage
        else {
            return None;
        };
        *known = Some(token);
        self.in_air[prepared.category()] += 1;
        Some(prepared)
    }

    /// The air is done with a frame. `decide` is told whether a flush waits for the frame, and gives the report on it;
    /// without one the frame goes back to its place in its queue, with its sequence number and its packet number.
    /// `false` when the air had no such frame.
    #[must_use]
    pub(crate) fn land(
        &mut self,
        serial: u64,
        decide: impl FnOnce(Identity, &mut Prepared, bool) -> Option<TxReport>,
    ) -> bool {
        let mut oldest_first = self.unreported.iter_mut();
        let Some(Unreported { id, stage }) = oldest_first.find(|entry| entry.id.serial == serial)
        else {
            return false;
        };
        let Stage::Ready { prepared, token } = stage else {
            return false;
        };
        if token.take().is_none() {
            return false;
        }
        let category = prepared.category();
        let held = &mut self.in_air[category];
        *held = held.saturating_sub(1);
        let flushed = self.flushes.iter().any(|flush| flush.covers(*id));
        match decide(*id, prepared, flushed) {
            Some(report) => {
                *stage = Stage::Ended(report);
                self.ended += 1;
            }
            None => {
                let queue = &mut self.waiting[category];
                let at = queue.partition_point(|waiting| waiting.id.serial < serial);
                let aggregates = prepared.aggregates();
                let work = Work::Resend { aggregates };
                queue.insert(at, Waiting { id: *id, work });
            }
        }
        true
    }

    /// Gives every report that no older frame of its ring holds back.
    pub(crate) fn give_reports(&mut self, mut give: impl FnMut(Tag, TxReport)) {
        // Nearly always the oldest frame ends first, and no frame stands behind one that ended before it.
        while let Some(Unreported { id, stage }) = self.unreported.front()
            && let Stage::Ended(report) = stage
        {
            give(id.tag, *report);
            self.ended = self.ended.saturating_sub(1);
            self.unreported.pop_front();
        }
        if self.ended > 0 {
            self.give_behind_others(give);
        }
    }

    /// The same where frames of several rings, or of one ring out of order, have ended.
    fn give_behind_others(&mut self, mut give: impl FnMut(Tag, TxReport)) {
        let mut held = ArrayVec::<u8, RINGS>::new();
        self.unreported.retain(|entry| {
            let ring = entry.id.ring;
            let free = !held.contains(&ring);
            match &entry.stage {
                Stage::Ended(report) if free => {
                    give(entry.id.tag, *report);
                    self.ended = self.ended.saturating_sub(1);
                    return false;
                }
                _ if free => held.push(ring),
                _ => {}
            }
            true
        });
    }

    /// Takes the waiting frames of these rings out, and gives their reports, oldest first. `nominal` gives the rate
    /// that a report on a frame in the guest's memory names.
    pub(crate) fn take_waiting(
        &mut self,
        rings: u32,
        nominal: impl Fn(&Transmit) -> Rate,
    ) -> Vec<(Tag, TxReport)> {
        let mut taken = Vec::new();
        for queue in self.waiting.values_mut() {
            queue.retain(|Waiting { id, work }| {
                let flushed = in_mask(rings, id.ring);
                if let (true, Work::Prepare(transmit)) = (flushed, work) {
                    taken.push((*id, unsent(TxStatus::Flushed, nominal(transmit), 0)));
                }
                !flushed
            });
        }
        self.unreported
            .retain(|Unreported { id, stage }| match stage {
                Stage::Ready {
                    prepared,
                    token: None,
                } if in_mask(rings, id.ring) => {
                    taken.push((*id, prepared.flushed()));
                    false
                }
                _ => true,
            });
        taken.sort_by_key(|(id, _)| id.serial);
        taken
            .into_iter()
            .map(|(id, report)| (id.tag, report))
            .collect()
    }

    /// Tokens of the frames of these rings that the air has.
    pub(crate) fn tokens(&self, rings: u32) -> Vec<u64> {
        let of_rings = self.unreported.iter();
        let of_rings = of_rings.filter(|entry| in_mask(rings, entry.id.ring));
        of_rings.filter_map(Unreported::token).collect()
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
                Stage::Ready {
                    prepared,
                    token: Some(_),
                } => Some(prepared),
                _ => None,
            })
    }
}
