//! What of a VM is its user's own: files, a kernel and what belongs to it.

use std::path::PathBuf;

/// What a VM has beyond airlane's images, or instead of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Files that are there from the beginning.
    pub files: Vec<OwnFile>,
    /// What it boots, instead of a kernel that is set up.
    pub kernel: Option<PathBuf>,
    /// A cpio archive that is unpacked over airlane's image: the modules of a kernel, for instance.
    pub initrd: Option<PathBuf>,
    /// Further arguments of the kernel's command line.
    pub append: Option<String>,
}

/// A file of the host that a VM has from the beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnFile {
    /// On the host.
    pub from: PathBuf,
    /// In the VM, without the leading slash.
    pub to: String,
    /// Whether it may be run.
    pub executable: bool,
}
