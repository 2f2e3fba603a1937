//! What waits in each lane, and the order in which it goes out.

use std::collections::VecDeque;

use crate::LaneId;
use crate::dispatcher::{Cost, Dispatcher};

/// What has become of the items so far: `offered = sent + dropped + queued`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Items that came.
    pub offered: u64,
    /// Items that went out.
    pub sent: u64,
    /// Items refused because their lane was full, or is none.
    pub dropped: u64,
}

/// One bounded queue per lane, emptied by a [`Dispatcher`].
#[derive(Debug)]
pub struct LaneQueues<T, C> {
    dispatcher: Dispatcher<C>,
    queues: Vec<VecDeque<(T, C)>>,
    depth: usize,
    counters: QueueCounters,
}

impl<T, C: Cost> LaneQueues<T, C> {
    /// Empty queues for the first `lanes` lanes, each for at most `depth` items.
    pub fn new(lanes: usize, depth: usize, dispatcher: Dispatcher<C>) -> Self {
        Self {
            dispatcher,
            queues: std::iter::repeat_with(VecDeque::new).take(lanes).collect(),
            depth,
            counters: QueueCounters::default(),
        }
    }

    /// Appends an item that costs `cost` to send; gives it back when the lane is full, or is none.
    pub fn offer(&mut self, lane: LaneId, item: T, cost: C) -> Result<(), T> {
        self.counters.offered += 1;
        let queue = self.queues.get_mut(lane.index());
        let Some(queue) = queue.filter(|queue| queue.len() < self.depth) else {
            self.counters.dropped += 1;
            return Err(item);
        };
        queue.push_back((item, cost));
        self.dispatcher.set_waiting(lane, true);
        Ok(())
    }

    /// The next item to send.
    pub fn take(&mut self) -> Option<(LaneId, T)> {
        let lane = self.dispatcher.pick()?;
        let queue = self.queues.get_mut(lane.index())?;
        let (item, cost) = queue.pop_front()?;
        self.dispatcher.set_waiting(lane, !queue.is_empty());
        self.dispatcher.charge(lane, cost);
        self.counters.sent += 1;
        Some((lane, item))
    }

    /// For weights, refunds and lanes that get a new owner.
    pub fn dispatcher(&mut self) -> &mut Dispatcher<C> {
        &mut self.dispatcher
    }

    /// Items that wait, in all lanes.
    pub fn queued(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// What has become of the items so far.
    pub fn counters(&self) -> QueueCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, WhenEmpty};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_item_is_sent_dropped_or_queued_and_keeps_its_order(
            steps in prop::collection::vec((0..6usize, 1..3_000u64, any::<bool>()), 1..400),
        ) {
            let dispatcher = Dispatcher::new(4, Bytes(1_500), Bytes(64_000), WhenEmpty::Lose);
            let mut queues = LaneQueues::new(4, 8, dispatcher);
            let mut last = [None; 4];
            for (number, (lane, cost, offer)) in steps.into_iter().enumerate() {
                if offer {
                    let _ = queues.offer(LaneId::new(lane as u16), number, Bytes(cost));
                } else {
                    prop_assert_eq!(queues.queued() > 0, queues.queues.iter().any(|queue| !queue.is_empty()));
                    if let Some((lane, item)) = queues.take() {
                        prop_assert!(last[lane.index()].replace(item) < Some(item));
                    }
                }
                let QueueCounters { offered, sent, dropped } = queues.counters();
                prop_assert_eq!(offered, sent + dropped + queues.queued() as u64);
            }
            while queues.take().is_some() {}
            prop_assert_eq!(queues.queued(), 0, "no lane starves");
        }
    }
}
