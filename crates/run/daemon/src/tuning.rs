//! How the card is shared: the choices whose cost is measured. `[card]` of a scenario sets them.

use std::fmt;
use std::str::FromStr;

use airlane_dma::Translation;
use airlane_engine::DataPath;
use airlane_lane::{Coalescing, Polling};

/// The choices. The default is the best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// How guest addresses become pages.
    pub translation: Translation,
    /// When a VM is interrupted.
    pub interrupts: Coalescing,
    /// When the threads of the lanes and the radio look again before they sleep.
    pub polling: Polling,
    /// Which way frames go.
    pub data_path: DataPath,
    /// Which thread serves a VM's card.
    pub threads: Threads,
}

/// Which thread serves a VM's card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// One for each VM; rings and wake-ups lie between it and the engine's thread.
    #[default]
    PerVm,
    /// The engine's own, which polls all sockets. Cards of User Mode Linux keep a thread each: their virtqueues
    /// cannot be polled.
    Engine,
}

/// A text that names no way of serving cards.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are no threads `{0}`")]
pub struct ThreadsError(String);

impl Threads {
    /// Both.
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

impl Tuning {
    /// Everything off: what the choices are compared with.
    pub const UNTUNED: Self = Self {
        translation: Translation::Software,
        interrupts: Coalescing::Off,
        polling: Polling::Off,
        data_path: DataPath::Emulated,
        threads: Threads::PerVm,
    };
}
