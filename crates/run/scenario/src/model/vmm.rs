//! What a VM runs in, and the words for it.

use std::fmt;
use std::str::FromStr;

/// What a VM runs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vmm {
    /// QEMU: a distribution's own kernel on an emulated or virtualized machine, the card over vfio-user.
    #[default]
    Qemu,
    /// User Mode Linux: a kernel that is a process of the host, built from the distribution's source, the card over virtio.
    Uml,
}

/// A word that names none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no VMM `{0}`; use one of: qemu, uml")]
pub struct UnknownVmm(String);

impl FromStr for Vmm {
    type Err = UnknownVmm;

    fn from_str(word: &str) -> Result<Self, UnknownVmm> {
        match word {
            "qemu" => Ok(Self::Qemu),
            "uml" => Ok(Self::Uml),
            other => Err(UnknownVmm(other.to_owned())),
        }
    }
}

impl fmt::Display for Vmm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Qemu => "qemu",
            Self::Uml => "uml",
        })
    }
}
