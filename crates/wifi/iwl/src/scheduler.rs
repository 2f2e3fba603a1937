//! Where each transmit queue stands: its read and write index, its FIFO, and whether it may fetch
//! (`iwl-scd.h`, `pcie/tx.c`).

use airlane_dot11::AccessCategory;
use airlane_waist::Tag;

use crate::registers::scd;

/// [`scd::QUEUES`], as the length of an array.
pub const QUEUES: usize = scd::QUEUES as usize;
/// The FIFO of the command queue.
const COMMAND_FIFO: u8 = 7;

/// Where a queue stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Queue {
    /// Index of the next descriptor to fetch.
    pub next: u8,
    /// Index of the first descriptor that the driver has not released.
    pub write: u8,
    /// The queue may fetch.
    pub active: bool,
    /// FIFO that it feeds, 0 to 7.
    pub fifo: u8,
    /// It serves a block-ack agreement: ring indices follow the sequence numbers of its frames.
    pub aggregates: bool,
    /// Tells apart what was asked before and after the queue was emptied by force; three bits.
    generation: u16,
}

impl Queue {
    /// True when a descriptor waits.
    pub fn has_work(&self) -> bool {
        self.active && self.next != self.write
    }

    /// True for the queue that feeds the command FIFO.
    pub fn feeds_commands(&self) -> bool {
        self.fifo == COMMAND_FIFO
    }

    /// Forgets what is in flight: its answers will not be recognised.
    pub fn renew(&mut self) {
        self.generation = (self.generation + 1) & 7;
    }

    /// Its access category (spec: FIFO 0 BK, 1 BE, 2 VI, 3 VO).
    pub fn category(&self) -> AccessCategory {
        let at = usize::from(self.fifo);
        AccessCategory::ALL.get(at).copied().unwrap_or_default()
    }
}

/// The queues, by number, and whose turn it is.
#[derive(Default)]
pub struct Scheduler {
    queues: [Queue; QUEUES],
    /// Number of the queue that is asked first.
    turn: u8,
}

impl Scheduler {
    /// Queue `number`.
    pub fn queue(&self, number: u8) -> Option<&Queue> {
        self.queues.get(usize::from(number))
    }

    /// Queue `number`, to change.
    pub fn queue_mut(&mut self, number: u8) -> Option<&mut Queue> {
        self.queues.get_mut(usize::from(number))
    }

    /// Everything inactive and at zero; answers still to come will not be recognised.
    pub fn reset(&mut self) {
        for queue in &mut self.queues {
            queue.renew();
            let generation = queue.generation;
            *queue = Queue {
                generation,
                ..Queue::default()
            };
        }
    }

    /// The queue that feeds the command FIFO.
    pub fn command_queue(&self) -> Option<u8> {
        let mut numbered = (0..scd::QUEUES).zip(&self.queues);
        let found = numbered.find(|(_, queue)| queue.active && queue.feeds_commands());
        found.map(|(number, _)| number)
    }

    /// True when no active queue has an entry that was not fetched.
    pub fn is_idle(&self) -> bool {
        !self.queues.iter().any(Queue::has_work)
    }

    /// The next data queue with work that `may` fetch; each in turn.
    pub fn next_queue(&mut self, may: impl Fn(u8, &Queue) -> bool) -> Option<u8> {
        for step in 0..scd::QUEUES {
            let number = (self.turn + step) % scd::QUEUES;
            let queue = self.queue(number)?;
            if queue.has_work() && !queue.feeds_commands() && may(number, queue) {
                self.turn = number + 1;
                return Some(number);
            }
        }
        None
    }

    /// The tag of ring entry `index` of queue `number`: the card's own sequence word, and above it
    /// the queue's generation.
    pub fn tag(&self, number: u8, index: u8) -> Tag {
        let generation = self.queue(number).map_or(0, |queue| queue.generation);
        Tag(generation << 13 | sequence(number, index))
    }

    /// The ring entry of a tag; `None` when it is of an earlier generation.
    pub fn entry(&self, tag: Tag) -> Option<(u8, u8)> {
        let [index, high] = tag.0.to_le_bytes();
        let number = high & 0x1f;
        (self.tag(number, index) == tag && usize::from(number) < QUEUES).then_some((number, index))
    }
}

/// The sequence word of a ring entry: index in bits 7:0, queue in 12:8.
pub fn sequence(queue: u8, index: u8) -> u16 {
    u16::from(queue & 0x1f) << 8 | u16::from(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_of_an_earlier_generation_is_not_recognised() {
        let mut scheduler = Scheduler::default();
        let tag = scheduler.tag(4, 200);
        assert_eq!(scheduler.entry(tag), Some((4, 200)));
        scheduler.reset();
        assert_eq!(scheduler.entry(tag), None);
    }

    #[test]
    fn queues_take_turns() {
        let mut scheduler = Scheduler::default();
        for number in [0, 2] {
            *scheduler.queue_mut(number).unwrap() = Queue {
                write: 5,
                active: true,
                ..Queue::default()
            };
        }
        let order: Vec<_> = (0..4)
            .filter_map(|_| scheduler.next_queue(|_, _| true))
            .collect();
        assert_eq!(order, [0, 2, 0, 2]);
    }
}
