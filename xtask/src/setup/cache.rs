//! The cache folder: finished artefacts, each a folder `<name>-<version>-<recipe hash>`.
//!
//! An artefact is built in `partial/` and renamed into place when it is whole, so whatever stands under its
//! final name is complete. The recipe hash covers everything the project decides about the artefact; a changed
//! recipe gives a new folder and leaves the old one to the clones that still use it.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use rustix::fs::FlockOperation;
use sha2::{Digest, Sha256};

/// The cache folder of the current user.
pub struct Cache {
    root: PathBuf,
    refresh: bool,
}

/// A finished artefact.
#[derive(Clone, Debug)]
pub struct Artefact {
    /// Where it lies.
    pub path: PathBuf,
    /// Version of what it was made from, e.g. `11.1.3`.
    pub version: String,
}

impl fmt::Display for Artefact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.version)
    }
}

/// What an artefact is made of: its name and every input that the project chooses.
pub struct Recipe {
    name: String,
    hash: Sha256,
}

impl Recipe {
    /// The recipe of the artefact `name`; the name must not contain a version.
    pub fn new(name: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(name);
        Self {
            name: name.to_owned(),
            hash,
        }
    }

    /// Adds one input.
    pub fn with(mut self, input: impl AsRef<[u8]>) -> Self {
        let input = input.as_ref();
        self.hash.update(input.len().to_le_bytes());
        self.hash.update(input);
        self
    }

    fn suffix(&self) -> String {
        let digest = self.hash.clone().finalize();
        let hex: String = digest
            .iter()
            .take(5)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("-{hex}")
    }
}

impl Cache {
    /// Opens (and makes) `$XDG_CACHE_HOME/airlane`, by default `~/.cache/airlane`.
    pub fn open(refresh: bool) -> Result<Self> {
        let root = cache_home()?.join("airlane");
        fs::create_dir_all(root.join("partial"))
            .with_context(|| format!("cannot make the cache folder {}", root.display()))?;
        Ok(Self { root, refresh })
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Waits until no other setup runs, and keeps others away until the file is closed.
    pub fn lock(&self) -> Result<File> {
        let path = self.root.join("lock");
        let file =
            File::create(&path).with_context(|| format!("cannot open {}", path.display()))?;
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            eprintln!("waiting for another setup to finish …");
            rustix::fs::flock(&file, FlockOperation::LockExclusive)
                .with_context(|| format!("cannot lock {}", path.display()))?;
        }
        Ok(file)
    }

    /// Removes what an interrupted run left half-made. Call with the lock held.
    pub fn remove_leftovers(&self) -> Result<()> {
        let partial = self.root.join("partial");
        fs::remove_dir_all(&partial)
            .and_then(|()| fs::create_dir(&partial))
            .with_context(|| format!("cannot empty {}", partial.display()))
    }

    /// The artefact if it is there, whether or not a refresh is asked for.
    pub fn find(&self, recipe: &Recipe) -> Result<Option<Artefact>> {
        let prefix = format!("{}-", recipe.name);
        let suffix = recipe.suffix();
        let entries = fs::read_dir(&self.root)
            .with_context(|| format!("cannot list {}", self.root.display()))?;
        for entry in entries {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let version = name
                .strip_prefix(&prefix)
                .and_then(|rest| rest.strip_suffix(&suffix));
            if let Some(version) = version {
                let version = version.to_owned();
                return Ok(Some(Artefact {
                    path: self.root.join(name),
                    version,
                }));
            }
        }
        Ok(None)
    }

    /// The artefact, built now if needed. `build` fills the folder it is given and returns the version.
    pub fn ensure(
        &self,
        recipe: &Recipe,
        build: impl FnOnce(&Path) -> Result<String>,
    ) -> Result<Artefact> {
        let old = self.find(recipe)?;
        match old {
            Some(artefact) if !self.refresh => Ok(artefact),
            old => self.build(recipe, build, old),
        }
    }

    fn build(
        &self,
        recipe: &Recipe,
        build: impl FnOnce(&Path) -> Result<String>,
        old: Option<Artefact>,
    ) -> Result<Artefact> {
        let partial = self.partial(&recipe.name)?;
        let version = build(&partial)?;
        if let Some(old) = old {
            remove(&old.path)?;
        }
        let path = self
            .root
            .join(format!("{}-{version}{}", recipe.name, recipe.suffix()));
        fs::rename(&partial, &path)
            .with_context(|| format!("cannot move {} to {}", partial.display(), path.display()))?;
        Ok(Artefact { path, version })
    }

    /// A new empty folder for something that is only needed for a while.
    pub fn partial(&self, name: &str) -> Result<PathBuf> {
        let path = self.root.join("partial").join(name);
        if path.exists() {
            remove(&path)?;
        }
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(path)
    }
}

/// Removes a folder and everything in it.
pub fn remove(path: &Path) -> Result<()> {
    fs::remove_dir_all(path).with_context(|| format!("cannot remove {}", path.display()))
}

fn cache_home() -> Result<PathBuf> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("XDG_CACHE_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .ok_or_else(|| anyhow!("neither XDG_CACHE_HOME nor HOME is set: set one of them"))
}
