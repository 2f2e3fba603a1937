//! Where a run keeps things: a private folder for sockets and boot files that is gone afterwards, and
//! the output folder that stays.

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Longest path of a Unix socket (`man 7 unix`: 108 bytes with the final zero).
const LONGEST_SOCKET: usize = 107;
/// The longest file name that is made in a private folder.
const LONGEST_NAME: usize = 32;

/// How private folders' names begin.
pub const PRIVATE_PREFIX: &str = "airlane-";

/// The file that a living run holds locked: the folder of a killed one can be told by it.
const OWNER: &str = "owner";

/// The private folder.
pub struct Private {
    folder: TempDir,
    _owner: File,
}

impl Private {
    /// A new folder that only this user can enter.
    pub fn create() -> Result<Self> {
        Self::create_in(&std::env::temp_dir()).or_else(|_| Self::create_in(Path::new("/tmp")))
    }

    /// A new folder in `parent`, not in the usual one.
    pub fn create_in(parent: &Path) -> Result<Self> {
        remove_left_behind(parent);
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
        let _owner = own(folder.path())?;
        Ok(Self { folder, _owner })
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

/// Locks the folder's owner file. It gets its name when it is locked, so nobody ever finds it free.
fn own(folder: &Path) -> Result<File> {
    let (new, name) = (folder.join("owner.new"), folder.join(OWNER));
    let lock = || {
        let file = File::create(&new)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        std::fs::rename(&new, &name)?;
        Ok::<_, std::io::Error>(file)
    };
    lock().with_context(|| format!("cannot lock {}", name.display()))
}

/// Removes the folders of this user's runs that were killed and could not.
fn remove_left_behind(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry
            .file_name()
            .to_string_lossy()
            .starts_with(PRIVATE_PREFIX);
        if ours && is_left_behind(&entry) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// A folder of this user (no link to one) whose owner file nobody holds.
fn is_left_behind(entry: &std::fs::DirEntry) -> bool {
    let user = rustix::process::getuid().as_raw();
    let mine = entry
        .metadata()
        .is_ok_and(|data| data.is_dir() && data.uid() == user);
    let free = |file: File| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    mine && File::open(entry.path().join(OWNER)).is_ok_and(free)
}

/// The output folder, which is no other run's while this lives.
#[derive(Debug)]
pub struct Output {
    folder: PathBuf,
    _lock: Option<File>,
}

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
        let output = Self {
            _lock: lock(&path)?,
            folder: path,
        };
        for name in ["report.json", "air.pcapng"] {
            let _ = std::fs::remove_file(output.file(name));
        }
        Ok(output)
    }

    /// The folder itself, from the root.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The console log of a VM; the first one, or that of the `generation`th VM in the same place.
    pub fn console(&self, vm: &str, generation: u32) -> PathBuf {
        match generation {
            0 => self.file(&format!("{vm}.log")),
            _ => self.file(&format!("{vm}-{}.log", generation + 1)),
        }
    }
}

/// Locks the folder itself, so that no file is left in it; none on a file system that has no locks.
fn lock(folder: &Path) -> Result<Option<File>> {
    let file = File::open(folder).with_context(|| format!("cannot open {}", folder.display()))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => bail!(
            "another run writes into {}\n  remedy: name another folder with --out, or wait for the end of that run",
            folder.display()
        ),
        Err(_) => Ok(None),
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
    fn the_folder_of_a_killed_run_goes_at_the_next_start_and_no_other() {
        let parent = tempfile::tempdir().unwrap();
        let killed = Private::create_in(parent.path()).unwrap();
        let left = killed.path().to_owned();
        let Private { folder, _owner } = killed;
        let _ = folder.keep();
        drop(_owner);
        let foreign = parent.path().join("airlane-foreign");
        std::fs::create_dir(&foreign).unwrap();
        let living = Private::create_in(parent.path()).unwrap();
        let next = Private::create_in(parent.path()).unwrap();
        assert!(!left.exists());
        assert!(living.path().exists() && next.path().exists() && foreign.exists());
    }

    #[test]
    fn a_folder_too_deep_for_sockets_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let deep = parent.path().join("d".repeat(80));
        std::fs::create_dir(&deep).unwrap();
        assert!(Private::create_in(&deep).is_err());
    }

    #[test]
    fn two_runs_never_write_into_one_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = Output::create(folder.path()).unwrap();
        std::fs::write(first.file("report.json"), "the first run's").unwrap();
        let refused = Output::create(folder.path()).unwrap_err().to_string();
        assert!(refused.starts_with("another run writes into"), "{refused}");
        assert!(refused.contains("--out"), "{refused}");
        assert!(first.file("report.json").exists(), "nothing was removed");
        drop(first);
        assert!(Output::create(folder.path()).is_ok());
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
