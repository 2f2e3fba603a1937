//! Where keys stand whose values are not wrong in themselves: only a look at the machine, or at the options of a run, tells.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A key of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// `kernel` of `[run]`.
    Kernel,
    /// `vmm` of `[run]`.
    Vmm,
    /// `kernel` of the `[[vm]]` of this name.
    KernelOf(String),
    /// `vmm` of the `[[vm]]` of this name.
    VmmOf(String),
    /// `uplink` of the `[[access_point]]` of this name.
    UplinkOf(String),
    /// The `[[check]]` of this name; the first of several.
    Check(String),
}

/// The lines of those that are written.
#[derive(Clone, Debug, Default)]
pub struct Places {
    file: PathBuf,
    lines: BTreeMap<Key, usize>,
}

impl Places {
    /// Lines of `file`, counted from 1.
    pub fn new(file: &Path, lines: BTreeMap<Key, usize>) -> Self {
        let file = file.to_owned();
        Self { file, lines }
    }

    /// How an error begins that is about this key, as in `lab.toml:3: `; nothing for one that is not written.
    pub fn at(&self, key: &Key) -> String {
        let line = self.lines.get(key);
        line.map_or_else(String::new, |line| {
            format!("{}:{line}: ", self.file.display())
        })
    }
}
