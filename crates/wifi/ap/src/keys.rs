//! Keys in use: packet numbers that rise, and those that were seen (IEEE 802.11-2020 12.5.3.4.4).

use airlane_dot11::ccmp::Ccmp;

/// One replay counter for each priority, as both ends announce.
const PRIORITIES: usize = 16;
/// Packet numbers have 48 bits; a key is spent when they are.
const LAST_NUMBER: u64 = (1 << 48) - 1;

/// The key between the access point and one station.
pub struct Pairwise {
    /// Encrypts and decrypts with the temporal key.
    pub cipher: Ccmp,
    sent: u64,
    heard: [u64; PRIORITIES],
}

impl Pairwise {
    /// A fresh key.
    pub fn new(key: &[u8; 16]) -> Self {
        Self {
            cipher: Ccmp::new(key),
            sent: 0,
            heard: [0; PRIORITIES],
        }
    }

    /// The next packet number; `None` when the key is spent.
    pub fn next_number(&mut self) -> Option<u64> {
        advance(&mut self.sent)
    }

    /// Notes a packet number that was received and genuine; `false` when it does not rise.
    pub fn accept(&mut self, tid: Option<u8>, number: u64) -> bool {
        let last = self.heard.get_mut(usize::from(tid.unwrap_or(0)));
        let Some(last) = last.filter(|last| number > **last) else {
            return false;
        };
        *last = number;
        true
    }
}

/// The key that all stations share.
pub struct Group {
    /// Encrypts with the group key; nobody but the access point may.
    pub cipher: Ccmp,
    /// The key and its ID, as handshakes hand it to stations.
    pub key: crate::authenticator::GroupKey,
}

impl Group {
    /// A fresh key under this ID.
    pub fn new(id: u8, bytes: [u8; 16]) -> Self {
        Self {
            cipher: Ccmp::new(&bytes),
            key: crate::authenticator::GroupKey { id, bytes, sent: 0 },
        }
    }

    /// The next packet number; `None` when the key is spent.
    pub fn next_number(&mut self) -> Option<u64> {
        advance(&mut self.key.sent)
    }
}

fn advance(sent: &mut u64) -> Option<u64> {
    *sent = sent.checked_add(1).filter(|next| *next <= LAST_NUMBER)?;
    Some(*sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_does_not_rise_is_refused_in_its_priority_only() {
        let mut key = Pairwise::new(&[1; 16]);
        assert!(key.accept(Some(0), 5) && !key.accept(Some(0), 5) && !key.accept(Some(0), 4));
        assert!(key.accept(Some(7), 4) && key.accept(Some(0), 6));
        assert!(!key.accept(None, 6), "no priority is priority 0");
        assert!(!key.accept(Some(16), 9), "no such priority");
    }

    #[test]
    fn a_spent_key_gives_no_number() {
        let mut key = Pairwise::new(&[1; 16]);
        assert_eq!((key.next_number(), key.next_number()), (Some(1), Some(2)));
        key.sent = LAST_NUMBER;
        assert_eq!(key.next_number(), None);
    }
}
