//! What is to happen, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use airlane_lane::Instant;

use crate::RadioId;
use crate::transmission::{ChannelId, PpduId};

/// Something due. At the same moment, earlier variants come first: what ends makes room, answers
/// keep their SIFS, then radios that contend see the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// A frame is over.
    End(PpduId),
    /// A frame begins that was planned a SIFS ago.
    Start(PpduId),
    /// No answer began.
    Timeout(RadioId, u32),
    /// A back-off counter reaches zero on this channel.
    Access(ChannelId, u32),
}

#[derive(Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<(Instant, u8, u64, Due)>>,
    order: u64,
}

impl EventQueue {
    pub fn at(&mut self, time: Instant, due: Due) {
        self.order += 1;
        let rank = match due {
            Due::End(_) => 0,
            Due::Start(_) => 1,
            Due::Timeout(..) => 2,
            Due::Access(..) => 3,
        };
        self.heap.push(Reverse((time, rank, self.order, due)));
    }

    pub fn next(&self) -> Option<(Instant, Due)> {
        let Reverse((time, _, _, due)) = self.heap.peek()?;
        Some((*time, *due))
    }

    /// All that is planned, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Instant, Due)> + '_ {
        self.heap
            .iter()
            .map(|Reverse((time, _, _, due))| (*time, *due))
    }

    pub fn pop(&mut self) {
        self.heap.pop();
    }
}
