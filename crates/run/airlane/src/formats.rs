//! The report in the formats that CI systems read: JUnit's XML and TAP. Pure text here; the files are [`Files`].

mod junit;
mod names;
mod tap;

use airlane_harness::report::Report;
use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the report goes besides `report.json`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Files {
    /// Also write the report as JUnit XML, for CI systems
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also write the report in the Test Anything Protocol
    #[arg(long, value_name = "FILE")]
    tap: Option<PathBuf>,
}

/// The files, open and locked, so that no other run writes into them.
#[derive(Debug)]
pub struct Open {
    junit: Option<Target>,
    tap: Option<Target>,
}

#[derive(Debug)]
struct Target {
    path: PathBuf,
    file: File,
}

impl Files {
    /// Makes the files, empty, before anything is started: what an earlier run has left never looks like this one's, and a place
    /// that cannot be written is told at once.
    pub fn open(&self) -> Result<Open> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(Target::open).transpose();
        Ok(Open {
            junit: open(&self.junit)?,
            tap: open(&self.tap)?,
        })
    }
}

impl Open {
    /// Writes the report into each file that was asked for.
    pub fn write(&mut self, report: &Report) -> Result<()> {
        if let Some(target) = &mut self.junit {
            target.write(&junit::document(report)?)?;
        }
        if let Some(target) = &mut self.tap {
            target.write(&tap::document(report))?;
        }
        Ok(())
    }
}

impl Target {
    fn open(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        let file = file.with_context(|| {
            format!(
                "cannot write {}\n  remedy: name a file in a folder that you may write to",
                path.display()
            )
        })?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            bail!(
                "another report goes into {}\n  remedy: name another file",
                path.display()
            );
        }
        // A pipe has no length.
        let _ = file.set_len(0);
        let path = path.to_owned();
        Ok(Self { path, file })
    }

    fn write(&mut self, text: &str) -> Result<()> {
        let written = self.file.write_all(text.as_bytes());
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::report;

    #[test]
    fn both_files_are_there_from_the_start_and_are_filled_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files {
            junit: Some(folder.path().join("a/b/junit.xml")),
            tap: Some(folder.path().join("lab.tap")),
        };
        let read = || {
            let paths = [&files.junit, &files.tap].map(|path| path.clone().unwrap());
            paths.map(|path| std::fs::read_to_string(path).unwrap())
        };
        std::fs::write(files.tap.as_ref().unwrap(), "of an earlier run").unwrap();
        let mut open = files.open().unwrap();
        assert_eq!(read(), ["", ""]);
        let taken = files.open().unwrap_err().to_string();
        assert!(taken.starts_with("another report goes into"), "{taken}");
        open.write(&report(1, 0, 0)).unwrap();
        let [junit, tap] = read();
        assert!(junit.starts_with("<?xml") && tap.starts_with("TAP version"));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told_before_the_run() {
        let files = Files {
            junit: Some(PathBuf::from("/dev/null/junit.xml")),
            tap: None,
        };
        let error = format!("{:#}", files.open().unwrap_err());
        assert!(error.contains("/dev/null"), "{error}");
    }
}
