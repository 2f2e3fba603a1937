//! Steps as checked: what happens in a run, and when.

use super::place::Position;
use airlane_dot11::Channel;
use std::time::Duration;

/// Something that happens in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name in the report; unique among steps.
    pub name: String,
    /// When it happens.
    pub when: When,
    /// What happens.
    pub act: Act,
}

/// When a step happens.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// So long after all VMs were up, whatever is being checked then.
    At(Duration),
    /// When the checks, or the step, of this name have been made.
    After(String),
    /// When all checks have been made that wait for no step, and the steps before it.
    InTurn,
}

/// What can happen. Numbers are those of [`crate::Scenario`]'s lists.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// A command in a VM, which must succeed.
    Exec {
        /// The VM; one more than there are: the one in which hostapd runs.
        vm: usize,
        /// For its shell.
        command: String,
        /// How long it may take.
        timeout: Duration,
    },
    /// An access point dies without a farewell.
    ApOff {
        /// The access point.
        ap: usize,
    },
    /// It comes back.
    ApOn {
        /// The access point.
        ap: usize,
    },
    /// An access point goes to another channel, and announces it (CSA).
    Channel {
        /// The access point.
        ap: usize,
        /// Where to, as wide as the access point is.
        channel: Channel,
    },
    /// An access point lets in only those who know another passphrase, from now on; all must come anew.
    Passphrase {
        /// The access point.
        ap: usize,
        /// The new one.
        passphrase: String,
    },
    /// A VM's access point sends it away.
    Deauthenticate {
        /// The VM.
        vm: usize,
        /// IEEE 802.11-2020 table 9-49.
        reason: u16,
    },
    /// A VM's access point replaces the VM's own key, then the group's.
    Rekey {
        /// The VM.
        vm: usize,
    },
    /// A card goes elsewhere, with all VMs on it.
    MoveCard {
        /// The card.
        card: usize,
        /// Where to.
        to: Position,
    },
    /// An access point goes elsewhere.
    MoveAp {
        /// The access point.
        ap: usize,
        /// Where to.
        to: Position,
    },
    /// A VM dies.
    Kill {
        /// The VM.
        vm: usize,
    },
    /// A VM starts: one that was killed, or that waits for this.
    Start {
        /// The VM.
        vm: usize,
    },
}

impl Act {
    /// The word for it in a scenario and on the command line.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Exec { .. } => "exec",
            Self::ApOff { .. } => "ap-off",
            Self::ApOn { .. } => "ap-on",
            Self::Channel { .. } => "channel",
            Self::Passphrase { .. } => "passphrase",
            Self::Deauthenticate { .. } => "deauthenticate",
            Self::Rekey { .. } => "rekey",
            Self::MoveCard { .. } | Self::MoveAp { .. } => "move",
            Self::Kill { .. } => "kill",
            Self::Start { .. } => "start",
        }
    }
}
