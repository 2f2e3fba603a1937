//! Where a run keeps things: a private folder for sockets and boot files that is gone afterwards, and
//! the output folder that stays.

use anyhow::{Context, Result, ensure};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Longest path of a Unix socket (`man 7 unix`: 108 bytes with the final zero).
const LONGEST_SOCKET: usize = 107;
/// The longest file name that is made in a private folder.
const LONGEST_NAME: usize = 32;

/// How private folders' names begin.
pub const PRIVATE_PREFIX: &str = "airlane-";

/// The private folder.
pub struct Private(TempDir);

impl Private {
    /// A new folder that only this user can enter.
    pub fn create() -> Result<Self> {
        Self::create_in(&std::env::temp_dir()).or_else(|_| Self::create_in(Path::new("/tmp")))
    }

    fn create_in(parent: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix(PRIVATE_PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)
            .with_context(|| format!("cannot create a folder in {}", parent.display()))?;
        let length = folder.path().as_os_str().len() + 1 + LONGEST_NAME;
        ensure!(
            length <= LONGEST_SOCKET,
            "{} is too long for sockets",
            folder.path().display()
        );
        Ok(Self(folder))
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

/// The output folder.
pub struct Output(PathBuf);

impl Output {
    /// The folder at `path`, made if need be; what an earlier run left in it under our names is removed.
    pub fn create(path: &Path) -> Result<Self> {
        let made = std::fs::create_dir_all(path).and_then(|()| path.canonicalize());
        let path = made.with_context(|| {
            format!(
                "cannot use {} for output\n  remedy: name another folder with --out",
                path.display()
            )
        })?;
        let output = Self(path);
        for name in ["report.json", "air.pcapng"] {
            let _ = std::fs::remove_file(output.file(name));
        }
        Ok(output)
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The console log of a VM; the first one, or that of the `generation`th VM in the same place.
    pub fn console(&self, vm: &str, generation: u32) -> PathBuf {
        match generation {
            0 => self.file(&format!("{vm}.log")),
            _ => self.file(&format!("{vm}-{}.log", generation + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_private_folder_is_private_and_goes() {
        let folder = Private::create().unwrap();
        let path = folder.path().to_owned();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::write(folder.file("x"), "x").unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_too_deep_for_sockets_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let deep = parent.path().join("d".repeat(80));
        std::fs::create_dir(&deep).unwrap();
        assert!(Private::create_in(&deep).is_err());
    }

    #[test]
    fn an_old_report_never_survives_into_a_new_run() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("report.json"), "old").unwrap();
        let output = Output::create(folder.path()).unwrap();
        assert!(!output.file("report.json").exists());
        assert!(output.console("it", 0).ends_with("it.log"));
        assert!(output.console("it", 1).ends_with("it-2.log"));
    }
}
