//! Whether frames pass the host driver or go straight to the NIC.

use std::fmt;
use std::str::FromStr;

/// Which way frames and their reports go between a lane and the NIC (Virtual WiFi, section 6, "data
/// passthrough"). The NIC keeps VMs apart and checks who they are on both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataPath {
    /// Through the host driver, as everything else.
    Emulated,
    /// Straight to the VM's queue in the NIC and back; the host driver has to do with management alone.
    #[default]
    Passthrough,
}

/// A text that names no data path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no data path `{0}`")]
pub struct DataPathError(String);

impl DataPath {
    /// Every data path, for stories that are told on each.
    pub const ALL: [Self; 2] = [Self::Emulated, Self::Passthrough];
    /// What may be written, for messages.
    pub const FORMS: &str = r#""passthrough", "emulated""#;
}

impl fmt::Display for DataPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Emulated => "emulated",
            Self::Passthrough => "passthrough",
        })
    }
}

impl FromStr for DataPath {
    type Err = DataPathError;

    fn from_str(text: &str) -> Result<Self, DataPathError> {
        let mut all = Self::ALL.into_iter();
        all.find(|path| path.to_string() == text)
            .ok_or_else(|| DataPathError(text.to_owned()))
    }
}
