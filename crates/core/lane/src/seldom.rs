//! Something that may happen as often as a virtual machine likes, and is told seldom: a line in the log, an event.

use crate::{Instant, Micros};

/// Tells of what happens at most once in a while, and then how often it has happened.
///
/// ```
/// use airlane_lane::{Instant, Micros, Seldom};
///
/// let (mut refusals, every) = (Seldom::default(), Micros(1_000));
/// assert_eq!(refusals.happened(Instant(5), every), Some(1), "the first is told at once");
/// assert_eq!(refusals.happened(Instant(6), every), None);
/// assert_eq!(refusals.happened(Instant(1_005), every), Some(2));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Seldom {
    told: Option<Instant>,
    untold: u64,
}

impl Seldom {
    /// It has happened. If it was not told within `every`: how often it has happened since it was, this time included.
    pub fn happened(&mut self, now: Instant, every: Micros) -> Option<u64> {
        self.untold = self.untold.saturating_add(1);
        let told = self.told.map(|told| now.saturating_since(told));
        if told.is_some_and(|since| since < every) {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}
