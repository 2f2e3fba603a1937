//! Which frame an echo answers. An echo that comes back after its time was up must not pass for the next one:
//! from then on every round trip would be taken from its own departure to its predecessor's arrival.

use super::words::Word;

/// The numbers of one station's echo requests.
#[derive(Debug, Default)]
pub struct Echoes {
    /// Of the request that was sent last.
    number: u32,
    is_back: bool,
}

impl Echoes {
    /// The next request; what was asked before is no longer waited for.
    pub fn next(&mut self) -> Word {
        self.number = self.number.wrapping_add(1);
        self.is_back = false;
        Word::Echo {
            number: self.number,
        }
    }

    /// An echo has come back.
    pub fn heard(&mut self, number: u32) {
        self.is_back |= number == self.number;
    }

    /// Whether the last request has been answered.
    pub fn is_back(&self) -> bool {
        self.is_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the far end would send back.
    fn number(word: Word) -> u32 {
        match word {
            Word::Echo { number } => number,
            other => panic!("an echo request, not {other:?}"),
        }
    }

    #[test]
    fn a_late_echo_is_not_taken_for_the_next_one() {
        let mut echoes = Echoes::default();
        let given_up = number(echoes.next());
        let awaited = number(echoes.next());
        echoes.heard(given_up);
        assert!(!echoes.is_back(), "that was the answer to the one before");
        echoes.heard(awaited);
        assert!(echoes.is_back());
    }

    #[test]
    fn an_echo_answers_only_once() {
        let mut echoes = Echoes::default();
        let first = number(echoes.next());
        echoes.heard(first);
        echoes.next();
        echoes.heard(first);
        assert!(!echoes.is_back(), "a duplicate of the first");
    }
}
