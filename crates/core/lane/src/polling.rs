//! Dynamic polling: whether a thread that has found nothing to do looks again at once, or sleeps until it is
//! woken (Crossbow, section 2.2; the switch points are those of KVM's `halt_poll_ns`).
//!
//! Who looks again spares its partner a system call to wake it, and itself the way through the
//! scheduler; but the processor that it looks with may be wanted by the guests. So it looks again
//! only while work is in flight, and only as long as the last sleeps say that it pays.
//!
//! Pure: time is an argument. Not here: looking, yielding and sleeping.

use std::fmt;
use std::str::FromStr;

use crate::{Instant, Micros};

/// Adaptive: the first time to look again after a short sleep.
const FIRST: Micros = Micros(10);
/// Adaptive: the longest time to look again, unless told otherwise.
const LONGEST: Micros = Micros(50);
/// The most that may be told.
const LIMIT: u64 = 10_000;

/// When a thread looks again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Polling {
    /// Never: it sleeps when it finds nothing. The default: a medium at its own pace leaves nothing to be found by
    /// looking for less time than a frame takes (`docs/performance.md`).
    #[default]
    Off,
    /// Always: it never sleeps, and takes a processor of its own.
    Always,
    /// Where looking for no longer than this would have spared the last sleep.
    Adaptive(Micros),
}

/// A text that names no way of polling.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no polling `{0}`")]
pub struct PollingError(pub String);

impl Polling {
    /// Adaptive, with its usual switch point.
    pub const ADAPTIVE: Self = Self::Adaptive(LONGEST);

    /// What may be written, for messages.
    pub const FORMS: &str = r#""adaptive", "adaptive:50us" (1 to 10000 µs), "off", "always""#;
}

impl fmt::Display for Polling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Always => f.write_str("always"),
            Self::Adaptive(LONGEST) => f.write_str("adaptive"),
            Self::Adaptive(longest) => write!(f, "adaptive:{}us", longest.0),
        }
    }
}

impl FromStr for Polling {
    type Err = PollingError;

    fn from_str(text: &str) -> Result<Self, PollingError> {
        let longest = |text: &str| {
            let longest = text.strip_prefix("adaptive:")?.strip_suffix("us")?;
            let longest = longest.parse().ok()?;
            (1..=LIMIT).contains(&longest).then_some(Micros(longest))
        };
        match text {
            "off" => Ok(Self::Off),
            "always" => Ok(Self::Always),
            "adaptive" => Ok(Self::ADAPTIVE),
            _ => longest(text)
                .map(Self::Adaptive)
                .ok_or_else(|| PollingError(text.to_owned())),
        }
    }
}

/// What one thread's looking has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollCounters {
    /// Times that it went to sleep.
    pub sleeps: u64,
    /// Looks that found something without a sleep before.
    pub polls_paid: u64,
    /// Looks that found nothing.
    pub polls_empty: u64,
    /// Times that somebody else had the processor for longer than the thread wanted to look.
    pub polls_late: u64,
}

/// Decides for one thread.
#[derive(Debug)]
pub struct PollGovernor {
    setting: Polling,
    /// How long to look again before sleeping.
    window: Micros,
    /// Since when nothing has been found.
    idle: Option<Instant>,
    looked: Instant,
    asleep: bool,
    counters: PollCounters,
}

impl PollGovernor {
    /// Nothing has been found yet.
    pub fn new(setting: Polling) -> Self {
        Self {
            setting,
            window: Micros(0),
            idle: None,
            looked: Instant(0),
            asleep: false,
            counters: PollCounters::default(),
        }
    }

    /// What came of it so far.
    pub fn counters(&self) -> PollCounters {
        self.counters
    }

    /// A look has found something.
    pub fn found(&mut self, now: Instant) {
        if !self.woken(now) && self.idle.is_some() {
            self.counters.polls_paid += 1;
        }
        self.idle = None;
    }

    /// A look has found nothing. Says whether to look again (and let others run before): else the thread
    /// sleeps. `in_flight`: there is work that others will answer.
    pub fn again(&mut self, now: Instant, in_flight: bool) -> bool {
        self.woken(now);
        let first = self.idle.is_none();
        let idle = *self.idle.get_or_insert(now);
        let again = match self.setting {
            Polling::Off => false,
            Polling::Always => true,
            Polling::Adaptive(_) => in_flight && self.pays(now, idle, first),
        };
        self.looked = now;
        if again {
            self.counters.polls_empty += 1;
        } else {
            self.asleep = true;
            self.counters.sleeps += 1;
        }
        again
    }

    /// If there was a sleep, it is over. Had it been short enough, looking would have spared it.
    fn woken(&mut self, now: Instant) -> bool {
        if !std::mem::take(&mut self.asleep) {
            return false;
        }
        let slept = now.saturating_since(self.looked);
        if let Polling::Adaptive(longest) = self.setting {
            self.window = match slept <= longest {
                true => Micros((self.window.0 * 2).max(FIRST.0)).min(longest),
                false => Micros(self.window.0 / 2),
            };
        }
        self.idle = None;
        true
    }

    fn pays(&mut self, now: Instant, idle: Instant, first: bool) -> bool {
        if self.window.0 < FIRST.0.min(self.longest()) {
            return false;
        }
        // Yielding took longer than all looking should: the processor is wanted by others.
        if !first && now.saturating_since(self.looked) > self.window {
            self.counters.polls_late += 1;
            self.window = Micros(0);
            return false;
        }
        now.saturating_since(idle) < self.window
    }

    fn longest(&self) -> u64 {
        match self.setting {
            Polling::Adaptive(longest) => longest.0,
            Polling::Off | Polling::Always => 0,
        }
    }
}

#[cfg(test)]
#[path = "polling_tests.rs"]
mod tests;
