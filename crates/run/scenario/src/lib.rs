//! What is run: air, access points, card, virtual machines, checks. One TOML file, read and checked
//! as a whole before anything starts. Every key is described in `docs/scenario.md`.

// A scenario is a file that anybody may have written.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]
#![cfg_attr(not(test), warn(clippy::panic, clippy::indexing_slicing))]

mod acts;
mod address;
mod captive;
mod card;
mod checks;
mod error;
mod fields;
mod hostapd;
mod kind;
mod model;
mod network;
mod own;
mod places;
mod raw;
mod security;
#[cfg(test)]
mod security_tests;
mod steps;
#[cfg(test)]
mod tests;
mod validate;
mod vmm;
mod width;

pub use acts::ActWords;
pub use error::ScenarioError;
pub use model::{
    ACCESS_POINT_VM, AccessPoint, Act, Action, Air, ApKind, CaptiveKit, Card, Check, CheckKind,
    Eap, EapMethod, Key, MAX_ACCESS_POINTS, MAX_CARDS, Own, OwnFile, Places, Position, RunSettings,
    Scenario, Security, Step, Subnet, Uplink, Vm, Vmm, Walk, When,
};

use std::path::Path;

impl Scenario {
    /// Reads and checks the scenario in `path`.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path).map_err(|reason| ScenarioError::Unreadable {
            file: path.to_owned(),
            reason,
        })?;
        Self::parse(path, &text)
    }

    /// Checks `text`; `path` names it in errors, and names the scenario.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ScenarioError> {
        let source = error::Source { path, text };
        let raw = toml::from_str(text).map_err(|error| source.syntax_error(&error))?;
        validate::scenario(source, raw)
    }
}
