//! A guest's initial file system: the base image, the kernel's modules and the VM's own files, three
//! cpio archives one behind the other (Linux Documentation/driver-api/early-userspace/buffer-format.rst).

use anyhow::{Context, Result};
use cpio::newc::{Builder, trailer};
use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::path::Path;

/// A file of an overlay: its path without the leading slash, and its content.
pub type File = (String, Vec<u8>);

/// A file of the user's own, and whether it may be run.
pub type OwnFile = (File, bool);

/// Directory, regular file that all may read, and one that all may run (`man 7 inode`).
const DIRECTORY: u32 = 0o040_755;
const REGULAR: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;

/// Writes `archives`, then an archive of `files` and of the user's `own`, into `path`.
pub fn write_initramfs(
    path: &Path,
    archives: &[&Path],
    files: &[File],
    own: &[OwnFile],
) -> Result<()> {
    let file =
        std::fs::File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    let mut out = BufWriter::new(file);
    for archive in archives {
        let mut input = std::fs::File::open(archive).with_context(|| {
            format!(
                "cannot open {}\n  remedy: {}",
                archive.display(),
                crate::setup::REMEDY
            )
        })?;
        let length = std::io::copy(&mut input, &mut out)
            .with_context(|| format!("cannot write {}", path.display()))?;
        pad(&mut out, length)?;
    }
    out.write_all(&archive(files, own)?)?;
    out.flush()
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The kernel looks for the next archive at a multiple of four.
fn pad(out: &mut impl Write, length: u64) -> Result<()> {
    padding(length).try_for_each(|byte| out.write_all(&[byte]))?;
    Ok(())
}

fn padding(length: u64) -> impl Iterator<Item = u8> {
    (0..(4 - length % 4) % 4).map(|_| 0)
}

/// A "newc" archive of all these files and the folders above them.
pub fn archive(files: &[File], own: &[OwnFile]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut inode = 0;
    let mut add = |out: &mut Vec<u8>, path: &str, mode: u32, content: &[u8]| -> Result<()> {
        inode += 1;
        let size = u32::try_from(content.len()).context("a guest's file is larger than 4 GiB")?;
        let mut writer = Builder::new(path)
            .ino(inode)
            .mode(mode)
            .nlink(1)
            .write(out, size);
        writer.write_all(content)?;
        writer.finish()?;
        Ok(())
    };
    let all = files.iter().chain(own.iter().map(|(file, _)| file));
    for folder in folders(all) {
        add(&mut out, folder, DIRECTORY, &[])?;
    }
    for (path, content) in files {
        add(&mut out, path, REGULAR, content)?;
    }
    for ((path, content), executable) in own {
        let mode = if *executable { PROGRAM } else { REGULAR };
        add(&mut out, path, mode, content)?;
    }
    Ok(trailer(out)?)
}

/// Every folder that a file lies in, outer ones first.
fn folders<'a>(files: impl Iterator<Item = &'a File>) -> BTreeSet<&'a str> {
    let above = |path: &str| -> Vec<usize> { path.match_indices('/').map(|(at, _)| at).collect() };
    let all = files.flat_map(|(path, _)| above(path).into_iter().filter_map(|at| path.get(..at)));
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpio::newc::Reader;
    use std::io::Read;

    /// (path, mode, content) of each entry of the archives in `bytes`.
    fn entries(mut bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut entries = Vec::new();
        while !bytes.is_empty() {
            let mut reader = Reader::new(bytes).unwrap();
            let (name, mode) = (reader.entry().name().to_owned(), reader.entry().mode());
            let mut content = Vec::new();
            reader.read_to_end(&mut content).unwrap();
            bytes = reader.finish().unwrap();
            if name != "TRAILER!!!" {
                entries.push((name, mode, content));
            }
        }
        entries
    }

    fn sample() -> Vec<File> {
        vec![
            ("etc/airlane/vm.conf".to_owned(), b"NAME=it\n".to_vec()),
            ("lib/firmware/card.ucode".to_owned(), vec![7; 33]),
        ]
    }

    fn own() -> Vec<OwnFile> {
        let file = |name: &str| (format!("root/{name}"), b"own".to_vec());
        vec![(file("tool"), true), (file("text"), false)]
    }

    #[test]
    fn folders_come_before_the_files_in_them() {
        let entries = entries(&archive(&sample(), &own()).unwrap());
        let names: Vec<&str> = entries.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "etc",
                "etc/airlane",
                "lib",
                "lib/firmware",
                "root",
                "etc/airlane/vm.conf",
                "lib/firmware/card.ucode",
                "root/tool",
                "root/text"
            ]
        );
        let modes: Vec<u32> = entries.iter().rev().map(|(_, mode, _)| *mode).collect();
        assert_eq!(modes[..3], [REGULAR, PROGRAM, REGULAR]);
        assert_eq!(entries[0].1, DIRECTORY);
        assert_eq!(
            entries[6],
            ("lib/firmware/card.ucode".to_owned(), REGULAR, vec![7; 33])
        );
    }

    #[test]
    fn archives_are_joined_at_multiples_of_four() {
        let folder = tempfile::tempdir().unwrap();
        let (base, joined) = (folder.path().join("base"), folder.path().join("joined"));
        let mut first = archive(&[("init".to_owned(), vec![1; 5])], &[]).unwrap();
        first.extend([0; 3]);
        std::fs::write(&base, &first).unwrap();
        write_initramfs(&joined, &[&base, &base], &sample(), &[]).unwrap();
        let bytes = std::fs::read(&joined).unwrap();
        let second = first.len().next_multiple_of(4);
        assert_eq!(&bytes[second..second + 6], b"070701");
        assert_eq!(&bytes[2 * second..2 * second + 6], b"070701");
    }

    #[test]
    fn a_missing_archive_names_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_initramfs(
            &folder.path().join("out"),
            &[Path::new("/nonexistent")],
            &[],
            &[],
        );
        assert!(error.unwrap_err().to_string().contains("make setup"));
    }
}
