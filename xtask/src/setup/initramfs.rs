//! Writes initramfs archives (cpio "newc") without root: owners and device nodes are only numbers in it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use cpio::newc::{Builder, trailer};

const DIRECTORY: u32 = 0o040_755;
const SYMLINK: u32 = 0o120_777;
const CHARACTER_DEVICE: u32 = 0o020_600;
const REGULAR: u32 = 0o100_000;

/// An archive being written. Parent folders are added by themselves.
pub struct Archive {
    out: BufWriter<File>,
    folders: BTreeSet<String>,
    entries: u32,
}

impl Archive {
    /// Starts an archive.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self {
            out: BufWriter::new(file),
            folders: BTreeSet::new(),
            entries: 0,
        })
    }

    /// Adds a folder and its parents.
    pub fn folder(&mut self, path: &str) -> Result<()> {
        self.parents(path)?;
        if self.folders.insert(path.to_owned()) {
            let entry = self.entry(path, DIRECTORY);
            self.write(entry, b"")?;
        }
        Ok(())
    }

    /// Adds a file with the content and permissions of a file of this machine.
    pub fn copy(&mut self, path: &str, from: &Path) -> Result<()> {
        let content = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        let mode = fs::metadata(from)?.permissions().mode() & 0o755;
        self.file(path, mode, &content)
    }

    /// Adds a file.
    pub fn file(&mut self, path: &str, permissions: u32, content: &[u8]) -> Result<()> {
        self.parents(path)?;
        let entry = self.entry(path, REGULAR | permissions);
        self.write(entry, content)
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &str, target: &str) -> Result<()> {
        self.parents(path)?;
        let entry = self.entry(path, SYMLINK);
        self.write(entry, target.as_bytes())
    }

    /// Adds a character device.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) -> Result<()> {
        self.parents(path)?;
        let entry = self
            .entry(path, CHARACTER_DEVICE)
            .rdev_major(major)
            .rdev_minor(minor);
        self.write(entry, b"")
    }

    /// Ends the archive.
    pub fn finish(mut self) -> Result<()> {
        trailer(&mut self.out)
            .and_then(|out| out.flush())
            .context("cannot write the archive")
    }

    fn parents(&mut self, path: &str) -> Result<()> {
        match path.rsplit_once('/') {
            Some((parent, _)) => self.folder(parent),
            None => Ok(()),
        }
    }

    fn entry(&mut self, path: &str, mode: u32) -> Builder {
        self.entries += 1;
        Builder::new(path).ino(self.entries).mode(mode).nlink(1)
    }

    fn write(&mut self, entry: Builder, content: &[u8]) -> Result<()> {
        let size =
            u32::try_from(content.len()).context("a file of an initramfs must be below 4 GiB")?;
        let mut writer = entry.write(&mut self.out, size);
        writer
            .write_all(content)
            .context("cannot write the archive")?;
        writer.finish().context("cannot write the archive")?;
        Ok(())
    }
}
