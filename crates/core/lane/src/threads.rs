//! Which thread serves a VM's lane. Only the choice: the threads are the shell's.

use std::fmt;
use std::str::FromStr;

/// Which thread serves a VM's lane: its device, and the socket to which its VMM attaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// One for each VM; rings and wake-ups lie between it and the engine's thread.
    #[default]
    PerVm,
    /// The engine's own, which polls the sockets of all such lanes. A lane that cannot be polled (User Mode Linux, whose
    /// virtqueues have a thread of their own) has a thread all the same.
    Engine,
}

/// A text that names no way of serving lanes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are no threads `{0}`")]
pub struct ThreadsError(String);

impl Threads {
    /// Both, the default first.
    pub const ALL: [Self; 2] = [Self::PerVm, Self::Engine];
    /// What may be written, for messages.
    pub const FORMS: &str = r#""per-vm", "engine""#;
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PerVm => "per-vm",
            Self::Engine => "engine",
        })
    }
}

impl FromStr for Threads {
    type Err = ThreadsError;

    fn from_str(text: &str) -> Result<Self, ThreadsError> {
        let mut all = Self::ALL.into_iter();
        all.find(|threads| threads.to_string() == text)
            .ok_or_else(|| ThreadsError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for threads in Threads::ALL {
            let text = threads.to_string();
            assert_eq!(text.parse(), Ok(threads));
            assert!(Threads::FORMS.contains(&format!("{text:?}")), "{text}");
        }
        assert_eq!(Threads::ALL[0], Threads::default());
        assert!("both".parse::<Threads>().is_err());
    }
}
