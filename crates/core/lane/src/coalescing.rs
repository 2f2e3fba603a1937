//! Interrupt coalescing: whether a VM is interrupted for a completion at once, or later for several.
//!
//! Pure: it counts what is held back and says when that must go. It holds nothing itself, and knows
//! no interrupts: what it decides about is when events are handed to a card, which then fills few
//! receive buffers and raises one interrupt for all.
//!
//! Sources: *Virtual WiFi* (VEE 2011), section 4.4: one interrupt for ten responses; *vIC: Interrupt
//! Coalescing for Virtual Machine Storage Device IO* (USENIX ATC 2011): as many completions for one
//! interrupt as commands in flight allow, none held back when few are.

use std::fmt;
use std::str::FromStr;

use crate::{Instant, Micros};

/// Nothing is held back longer than this.
pub const LONGEST: Micros = Micros(5_000);
/// Adaptive: most events for one interrupt.
const MOST: u32 = 32;
/// With fewer than this in flight, or to be expected within [`LONGEST`], nothing is held back.
const FEW: u32 = 4;
/// Adaptive: events that go out at once after events had been waited for in vain; at first, and at most.
const PAUSE: (u32, u32) = (32, 1_024);

/// How a VM's interrupts are coalesced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coalescing {
    /// Not at all.
    Off,
    /// One for so many events, or for fewer after 5 ms; at once while few events come.
    Count(u32),
    /// One for all events of a span that begins with the first of them; at once while few events come.
    Time(Micros),
    /// By how many events are in flight or to be expected; at once when few are.
    #[default]
    Adaptive,
}

/// A text that names no way of coalescing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no interrupt coalescing `{0}`")]
pub struct CoalescingError(pub String);

impl Coalescing {
    /// What may be written, for messages.
    pub const FORMS: &str =
        r#""adaptive", "off", "count:10" (1 to 255 events), "time:500us" (1 to 5000 µs)"#;
}

impl fmt::Display for Coalescing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Count(count) => write!(f, "count:{count}"),
            Self::Time(span) => write!(f, "time:{}us", span.0),
            Self::Adaptive => f.write_str("adaptive"),
        }
    }
}

impl FromStr for Coalescing {
    type Err = CoalescingError;

    fn from_str(text: &str) -> Result<Self, CoalescingError> {
        let parsed = match text.split_once(':') {
            None if text == "off" => Some(Self::Off),
            None if text == "adaptive" => Some(Self::Adaptive),
            Some(("count", count)) => within(count, 255).map(Self::Count),
            Some(("time", span)) => span
                .strip_suffix("us")
                .and_then(|span| within(span, LONGEST.0))
                .map(|span| Self::Time(Micros(span.into()))),
            _ => None,
        };
        parsed.ok_or_else(|| CoalescingError(text.to_owned()))
    }
}

/// A number from 1 to `most`.
fn within(text: &str, most: u64) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number >= 1 && u64::from(number) <= most).then_some(number)
}

/// What is to be done with what has come so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing has come.
    Nothing,
    /// All of it goes out now, for one interrupt.
    Deliver,
    /// It waits for more, until this moment at the latest: ask again then.
    Hold(Instant),
}

/// Decides for one VM.
#[derive(Debug)]
pub struct Coalescer {
    setting: Coalescing,
    /// Events that wait, and when the first of them came.
    held: u32,
    since: Instant,
    urgent: bool,
    /// Most transmissions in flight since the last delivery.
    deepest: u32,
    last: Option<Instant>,
    arrivals: Arrivals,
}

impl Coalescer {
    /// Nothing has come yet.
    pub fn new(setting: Coalescing) -> Self {
        Self {
            setting,
            held: 0,
            since: Instant(0),
            urgent: false,
            deepest: 0,
            last: None,
            arrivals: Arrivals::default(),
        }
    }

    /// An event has come that may wait. `in_flight`: requests that the engine still owes an answer.
    pub fn event(&mut self, now: Instant, in_flight: usize) {
        let gap = self
            .last
            .replace(now)
            .map(|last| now.saturating_since(last));
        if self.held == 0 {
            self.since = now;
        }
        self.held = self.held.saturating_add(1);
        self.deepest = self.deepest.max(clamped(in_flight));
        self.arrivals.event(gap.unwrap_or(LONGEST));
    }

    /// Something has come that must not wait; nor does what came before it.
    pub fn urgent(&mut self) {
        self.urgent = true;
    }

    /// How many events wait.
    pub fn held(&self) -> u32 {
        self.held
    }

    /// Asked when everything that has come by now has been told, and again when a hold ends.
    pub fn verdict(&mut self, now: Instant, in_flight: usize) -> Verdict {
        if self.held == 0 && !self.urgent {
            return Verdict::Nothing;
        }
        let in_flight = clamped(in_flight);
        let hold = (!self.urgent)
            .then(|| self.hold(in_flight))
            .flatten()
            .filter(|&until| now < until);
        match hold {
            Some(until) => Verdict::Hold(until),
            None => {
                self.delivered();
                Verdict::Deliver
            }
        }
    }

    /// Until when what waits may wait; `None` when not at all.
    fn hold(&self, in_flight: u32) -> Option<Instant> {
        let quiet = in_flight == 0 && self.arrivals.expected() < FEW;
        match self.setting {
            Coalescing::Off => None,
            Coalescing::Count(count) => {
                (!quiet && self.held < count).then_some(self.since + LONGEST)
            }
            Coalescing::Time(span) => (!quiet).then_some(self.since + span),
            Coalescing::Adaptive => self.hold_adaptively(in_flight),
        }
    }

    fn hold_adaptively(&self, in_flight: u32) -> Option<Instant> {
        // Those come for sure; but a sender whose window is small must not wait for its own completions.
        let sure = (self.deepest / 2).min(MOST);
        let runs_dry = in_flight < FEW / 2;
        let waits_for_sure = self.deepest >= FEW && !runs_dry && self.held < sure;
        if waits_for_sure {
            return Some(self.since + LONGEST);
        }
        if self.deepest >= FEW && runs_dry || self.held >= self.arrivals.aim() {
            return None;
        }
        Some(self.since + self.arrivals.patience())
    }

    fn delivered(&mut self) {
        if self.held > 0 && !self.urgent {
            self.arrivals.delivered(self.held);
        }
        (self.held, self.deepest, self.urgent) = (0, 0, false);
    }
}

fn clamped(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// How many events are worth waiting for: what the last ones lead to expect, as long as that comes true.
///
/// Nobody knows what the air will bring. A rate alone would mislead: one who answers each frame as soon
/// as he has it is fast only while nothing is held back. So the aim grows from two, and
/// falls back to one for a while when those waited for did not come.
#[derive(Debug)]
struct Arrivals {
    /// Mean time between two events.
    gap: Micros,
    /// Events to deliver together; 1 is at once.
    aim: u32,
    /// Events to deliver at once before the next try, and how many after the next disappointment.
    pause: u32,
    next_pause: u32,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self {
            gap: LONGEST,
            aim: 1,
            pause: 0,
            next_pause: PAUSE.0,
        }
    }
}

impl Arrivals {
    fn event(&mut self, gap: Micros) {
        // After a long gap the mean says at once that few are to be expected.
        let gap = gap.0.min(4 * LONGEST.0);
        self.gap = Micros((self.gap.0 * 7 + gap) / 8);
        self.pause = self.pause.saturating_sub(1);
    }

    /// Events to be expected within [`LONGEST`].
    fn expected(&self) -> u32 {
        let expected = LONGEST.0 / self.gap.0.max(1);
        u32::try_from(expected).unwrap_or(u32::MAX).min(MOST)
    }

    fn aim(&self) -> u32 {
        if self.expected() < FEW { 1 } else { self.aim }
    }

    /// How long those aimed at may take: twice as long as they should.
    fn patience(&self) -> Micros {
        Micros((self.gap.0 * 2 * u64::from(self.aim)).min(LONGEST.0))
    }

    fn delivered(&mut self, held: u32) {
        if self.expected() < FEW {
            self.aim = 1;
        } else if self.aim == 1 {
            self.aim = if self.pause == 0 { 2 } else { 1 };
        } else if held >= self.aim {
            self.succeeded();
        } else if held * 4 < self.aim * 3 {
            self.aim = 1;
            self.pause = self.next_pause;
            self.next_pause = (self.next_pause * 2).min(PAUSE.1);
        } else {
            self.aim = held;
        }
    }

    /// Two or three that come together may be all that one exchange brings: those teach no confidence.
    fn succeeded(&mut self) {
        if self.aim >= FEW {
            self.next_pause = (self.next_pause / 2).max(PAUSE.0);
        }
        self.aim = (self.aim * 2).min(self.expected());
    }
}

#[cfg(test)]
#[path = "coalescing_tests.rs"]
mod tests;
