//! Where each transmit queue stands: its read and write index, its FIFO, whether it may fetch (`iwl-scd.h`, `pcie/tx.c`),
//! and what was taken from it and is not answered yet. Answers come in any order and leave in the ring's order.

use std::collections::VecDeque;

use airlane_dot11::AccessCategory;
use airlane_waist::Tag;

use crate::registers::scd;

/// [`scd::QUEUES`], as the length of an array.
pub const QUEUES: usize = scd::QUEUES as usize;
/// The FIFO of the command queue.
const COMMAND_FIFO: u8 = 7;
/// Entries of every ring of the card.
const RING: usize = 256;
/// One less than the ring: a full ring would look empty.
const CAPACITY: usize = RING - 1;

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

/// Taken entries, oldest first, each with its answer once there is one.
pub struct InOrder<T, A> {
    head: u8,
    entries: VecDeque<(T, Option<A>)>,
}

impl<T, A> Default for InOrder<T, A> {
    fn default() -> Self {
        Self {
            head: 0,
            entries: VecDeque::new(),
        }
    }
}

impl<T, A> InOrder<T, A> {
    /// Forgets everything; the next entry taken has ring index `head`.
    pub fn clear(&mut self, head: u8) {
        self.head = head;
        self.entries.clear();
    }

    /// Appends the next entry of the ring. The caller has asked [`Self::is_full`].
    pub fn push(&mut self, item: T, answer: Option<A>) {
        self.entries.push_back((item, answer));
    }

    /// How many are outstanding, with those answered that must wait for the answers of older ones.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when no further entry may be taken.
    pub fn is_full(&self) -> bool {
        self.entries.len() >= CAPACITY
    }

    /// Ring index of the oldest entry, or of the next one when none is outstanding.
    pub fn head(&self) -> u8 {
        self.head
    }

    /// Answers the entry at ring index `index`; `false` when it is not outstanding or has its answer.
    pub fn answer(&mut self, index: u8, answer: A) -> bool {
        let position = usize::from(index.wrapping_sub(self.head));
        match self.entries.get_mut(position) {
            Some((_, slot @ None)) => {
                *slot = Some(answer);
                true
            }
            _ => false,
        }
    }

    /// Answers every entry that has no answer; says how many.
    pub fn answer_all(&mut self, answer: A) -> usize
    where
        A: Clone,
    {
        let mut answered = 0;
        for (_, slot) in self.entries.iter_mut().filter(|(_, slot)| slot.is_none()) {
            *slot = Some(answer.clone());
            answered += 1;
        }
        answered
    }

    /// What is outstanding, oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(item, _)| item)
    }

    /// How many have no answer yet.
    pub fn unanswered(&self) -> usize {
        self.entries
            .iter()
            .filter(|(_, slot)| slot.is_none())
            .count()
    }

    /// The oldest with its ring index, if it has its answer.
    pub fn pop_answered(&mut self) -> Option<(u8, T, A)> {
        let (item, answer) = match self.entries.pop_front()? {
            (item, Some(answer)) => (item, answer),
            unanswered => {
                self.entries.push_front(unanswered);
                return None;
            }
        };
        let index = self.head;
        self.head = index.wrapping_add(1);
        Some((index, item, answer))
    }
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

    #[test]
    fn late_answers_hold_back_earlier_ones_and_indices_wrap() {
        let mut outstanding = InOrder::default();
        outstanding.clear(255);
        outstanding.push('a', None);
        outstanding.push('b', None);
        assert!(outstanding.answer(0, 2));
        assert_eq!(outstanding.pop_answered(), None);
        assert!(outstanding.answer(255, 1));
        assert_eq!(outstanding.pop_answered(), Some((255, 'a', 1)));
        assert_eq!(outstanding.pop_answered(), Some((0, 'b', 2)));
        assert_eq!(outstanding.waiting().count(), 0);
    }

    #[test]
    fn an_index_that_is_not_outstanding_is_refused() {
        let mut outstanding = InOrder::default();
        outstanding.push('a', None);
        assert!(!outstanding.answer(1, 0));
        assert!(outstanding.answer(0, 0));
        assert!(!outstanding.answer(0, 0), "once");
    }
}
