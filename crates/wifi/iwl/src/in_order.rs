//! What was taken from one ring and is not answered yet. Answers come in any order and leave in the
//! ring's order.

use std::collections::VecDeque;

/// Entries of every ring of the card.
const RING: usize = 256;
/// One less than the ring: a full ring would look empty.
const CAPACITY: usize = RING - 1;

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
