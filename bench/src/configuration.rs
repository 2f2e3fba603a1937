//! What is compared: paths through the daemon, and how they are tuned.

use airlane_dma::Translation;
use airlane_lane::{Coalescing, Threads};
use serde::Serialize;

use airlane_daemon::{DataPath, Tuning};

/// A way from the VM's card to the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Configuration {
    /// Card, NIC and medium in one thread, nothing that sharing needs.
    Native,
    /// Frames pass the host driver; the rest of the tuning is off.
    Passthrough,
    /// Frames go through the host driver; everything is off.
    Virtual,
    /// As virtual, with ten reports to an interrupt.
    Coalescing,
    /// As virtual, with the paper's merged table instead of a look-up in software.
    Merged,
    /// Both of these.
    MergedCoalescing,
    /// As it is tuned by default.
    Default,
    /// As by default, with all VMs served by the engine's own thread.
    EngineThread,
}

/// As many reports to an interrupt as the paper has.
const COALESCED: u32 = 10;

impl Configuration {
    /// All that reports compare: those behind the paper's, and the default.
    pub const ALL: [Self; 7] = [
        Self::Native,
        Self::Passthrough,
        Self::Virtual,
        Self::Coalescing,
        Self::Merged,
        Self::MergedCoalescing,
        Self::Default,
    ];

    /// As tables and plots name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Passthrough => "passthrough",
            Self::Virtual => "virtual",
            Self::Coalescing => "virtual + coalescing 10",
            Self::Merged => "virtual + merged table",
            Self::MergedCoalescing => "virtual + both",
            Self::Default => "default",
            Self::EngineThread => "engine thread",
        }
    }

    /// The paper's processor use at full rate, in per cent (Virtual WiFi, figures 7 and 8).
    pub fn paper_processor(self) -> Option<f64> {
        match self {
            Self::Native => Some(19.3),
            Self::Passthrough => Some(23.1),
            Self::Virtual => Some(50.4),
            Self::Coalescing => Some(34.2),
            Self::Merged => Some(44.2),
            Self::MergedCoalescing => Some(28.0),
            Self::Default | Self::EngineThread => None,
        }
    }

    /// What the daemon is told.
    pub fn tuning(self) -> Tuning {
        let untuned = Tuning::UNTUNED;
        let interrupts = Coalescing::Count(COALESCED);
        let translation = Translation::Merged;
        match self {
            Self::Native | Self::Virtual => untuned,
            // Alone on the card: its translation is as good as hardware's.
            Self::Passthrough => Tuning {
                data_path: DataPath::Passthrough,
                translation: Translation::default(),
                ..untuned
            },
            Self::Coalescing => Tuning {
                interrupts,
                ..untuned
            },
            Self::Merged => Tuning {
                translation,
                ..untuned
            },
            Self::MergedCoalescing => Tuning {
                interrupts,
                translation,
                ..untuned
            },
            Self::Default => Tuning::default(),
            Self::EngineThread => Tuning {
                threads: Threads::Engine,
                ..Tuning::default()
            },
        }
    }
}
