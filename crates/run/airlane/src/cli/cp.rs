//! `airlane cp`: one file into a VM of a run, or out of it, byte for byte, by commands in the guest. What has come is
//! compared with what was sent, and takes its name only then.

mod progress;

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use self::progress::Progress;
use super::output::print;
use crate::client::{Run, choose};
use crate::guest::{Command, End, Printed};
use airlane_control::LONGEST_INPUT;

pub const EXAMPLES: &str = "\
Examples:
  airlane cp my-test it:/bin/my-test             Into the VM `it`; its mode goes with it
  airlane cp it:/run/wpa_supplicant.log .        Out of it, into this folder
  airlane cp results.tar it:/root/ && airlane exec it -- tar -xf /root/results.tar -C /root

One regular file of at most 16 MiB, at some 30 kB a second: it goes through the guest's serial port. Guests keep
files in their memory. What a VM needs from the beginning is quicker in the scenario: `files` of [[vm]].";

/// A larger file would take longer than ten minutes.
const LARGEST: u64 = 16 * 1024 * 1024;
/// Seconds that one command in the guest may take.
const PATIENCE: f64 = 120.0;
/// Seconds that a whole file may take out of a guest.
const LONGEST: f64 = 3_600.0;
/// What a guest says of its errors is shown up to here.
const MOST_SAID: usize = 4_096;

/// Arguments of `airlane cp`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Which run, when several go on
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// What was copied as one JSON object
    #[arg(long)]
    json: bool,
    /// A file here, or VM:PATH
    from: String,
    /// A file or folder here, or VM:PATH
    to: String,
}

/// Copies, with progress where it takes long.
pub fn cp(arguments: &Arguments) -> Result<()> {
    let (from, to) = (place(&arguments.from), place(&arguments.to));
    let run = choose(arguments.run.as_deref())?;
    let bytes = match (from, to) {
        (Place::Here(from), Place::There { vm, path }) => upload(&Guest { run, vm }, from, path)?,
        (Place::There { vm, path }, Place::Here(to)) => download(&Guest { run, vm }, path, to)?,
        _ => bail!(
            "one of the two is in a VM, the other is not\n  remedy: airlane cp FILE VM:PATH, or airlane cp VM:PATH FILE"
        ),
    };
    if arguments.json {
        let (from, to) = (&arguments.from, &arguments.to);
        print(&serde_json::json!({"from": from, "to": to, "bytes": bytes}).to_string());
    }
    Ok(())
}

/// Where a file is.
#[derive(Debug, PartialEq, Eq)]
enum Place<'a> {
    Here(&'a Path),
    There { vm: &'a str, path: &'a str },
}

/// As `scp` reads it: a colon before the first slash stands behind a VM's name.
fn place(text: &str) -> Place<'_> {
    match text.split_once(':') {
        Some((vm, path)) if !vm.is_empty() && !vm.contains('/') => Place::There { vm, path },
        _ => Place::Here(Path::new(text)),
    }
}

/// The VM that is copied from or to.
struct Guest<'a> {
    run: Run,
    vm: &'a str,
}

impl Guest<'_> {
    /// What a script prints, whose arguments are `$1` and further. An error when it fails, in its own words.
    fn script(&self, script: &str, arguments: &[&str], input: &[u8]) -> Result<String> {
        let mut output = Vec::new();
        let print = |bytes: &[u8]| {
            let room = MOST_SAID.saturating_sub(output.len());
            output.extend(bytes.iter().take(room));
            Ok(())
        };
        self.stream(script, arguments, (input, PATIENCE), print)?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    /// Runs a script; `print` gets its output. What it has printed as errors.
    fn stream(
        &self,
        script: &str,
        arguments: &[&str],
        (input, timeout): (&[u8], f64),
        mut print: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<String> {
        let words = ["sh", "-c", script, "airlane-cp"];
        let words = words.iter().chain(arguments);
        let command = Command {
            vm: self.vm,
            argv: words.map(|word| (*word).to_owned()).collect(),
            input,
            timeout: Some(timeout),
        };
        let mut said = Vec::new();
        let end = self.run.exec(&command, |printed| match printed {
            Printed::Output(bytes) => print(bytes),
            Printed::Errors(bytes) => {
                let room = MOST_SAID.saturating_sub(said.len());
                said.extend(bytes.iter().take(room));
                Ok(())
            }
        })?;
        let said = String::from_utf8_lossy(&said).into_owned();
        match end {
            End::Exit(0) => Ok(said),
            End::Exit(_) => bail!("{}: {}", self.vm, said.trim()),
            End::TimedOut => bail!("{}: not done in {timeout} s", self.vm),
            End::Lost(why) => bail!("{}: {why}", self.vm),
        }
    }
}

/// Prints the path, of a file in the folder where one is named, and makes room for its content.
const BEGIN: &str = r#"to=$1; [ -n "$to" ] || to=.; [ ! -d "$to" ] || to=${to%/}/$2
: >"$to.airlane-cp" && printf %s "$to""#;
const APPEND: &str = r#"cat >>"$1.airlane-cp""#;
const SUM: &str = r#"sha256sum <"$1.airlane-cp""#;
const NAME: &str = r#"chmod "$2" "$1.airlane-cp" && mv -f "$1.airlane-cp" "$1""#;
const REMOVE: &str = r#"rm -f "$1.airlane-cp""#;

fn upload(guest: &Guest, from: &Path, to: &str) -> Result<u64> {
    let cannot = || format!("cannot read {}", from.display());
    let mut file = File::open(from).with_context(cannot)?;
    let data = file.metadata().with_context(cannot)?;
    let name = from.file_name().map(|name| name.to_string_lossy());
    let (true, Some(name)) = (data.is_file(), name) else {
        bail!(
            "{} is no regular file\n  remedy: copy one file, as a tar archive of a folder",
            from.display()
        );
    };
    ensure!(
        data.len() <= LARGEST,
        "{} is larger than {} MiB\n  remedy: give it to the VM from the beginning: files = {{ … }} in its [[vm]]",
        from.display(),
        LARGEST >> 20
    );
    let to = guest.script(BEGIN, &[to, &name], &[])?;
    let sent = send(guest, &mut file, data.len(), &to).and_then(|sent| {
        let mode = format!("{:o}", data.permissions().mode() & 0o777);
        guest.script(NAME, &[&to, &mode], &[]).map(|_| sent)
    });
    if sent.is_err() {
        let _ = guest.script(REMOVE, &[&to], &[]);
    }
    sent
}

/// All pieces, one after the other, and the comparison.
fn send(guest: &Guest, file: &mut File, length: u64, to: &str) -> Result<u64> {
    let mut progress = Progress::new(length);
    let (mut sum, mut sent) = (Sha256::new(), 0);
    loop {
        let mut piece = Vec::new();
        let read = Read::by_ref(file)
            .take(LONGEST_INPUT as u64)
            .read_to_end(&mut piece)?;
        if read == 0 {
            break;
        }
        sent += read as u64;
        ensure!(sent <= LARGEST, "the file grows while it is copied");
        sum.update(&piece);
        guest.script(APPEND, &[to], &piece)?;
        progress.at(sent);
    }
    progress.end();
    compare(&guest.script(SUM, &[to], &[])?, sum)?;
    Ok(sent)
}

/// An error when what `sha256sum` has said is not `sum`.
fn compare(said: &str, sum: Sha256) -> Result<()> {
    let sum = sum.finalize();
    let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    let said = said.split_ascii_whitespace().next();
    ensure!(
        said == Some(sum.as_str()),
        "the file has not arrived whole: its SHA-256 is {}, not {sum}\n  remedy: try again, with less else going on in the VM",
        said.unwrap_or("unknown")
    );
    Ok(())
}

/// Of files that have no size, as those in /proc, no sum is told: each reading may differ.
const READ: &str = r#"[ ! -d "$1" ] || { echo "$1: a folder; copy a tar archive of it" >&2; exit 1; }
length=$(stat -L -c %s "$1") || exit 1
[ "$length" -le "$2" ] || { echo "$1: larger than $2 bytes" >&2; exit 1; }
if [ "$length" -gt 0 ]; then head -c "$length" "$1" && head -c "$length" "$1" | sha256sum >&2; else cat "$1"; fi"#;

fn download(guest: &Guest, from: &str, to: &Path) -> Result<u64> {
    ensure!(!from.is_empty(), "no file in the VM is named");
    let name = Path::new(from)
        .file_name()
        .context("no file in the VM is named")?;
    let to: PathBuf = if to.is_dir() {
        to.join(name)
    } else {
        to.to_owned()
    };
    let mut part = to.clone().into_os_string();
    part.push(".airlane-cp");
    let part = PathBuf::from(part);
    let file = File::create(&part).with_context(|| format!("cannot create {}", part.display()))?;
    let came =
        receive(guest, from, file).and_then(|came| Ok(std::fs::rename(&part, &to).map(|()| came)?));
    if came.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    came
}

fn receive(guest: &Guest, from: &str, mut file: File) -> Result<u64> {
    let mut progress = Progress::new(0);
    let (mut sum, mut came) = (Sha256::new(), 0);
    let said = guest.stream(
        READ,
        &[from, &LARGEST.to_string()],
        (&[], LONGEST),
        |bytes| {
            came += bytes.len() as u64;
            // A guest may send more than it said.
            ensure!(came <= LARGEST, "the file is larger than {LARGEST} bytes");
            sum.update(bytes);
            file.write_all(bytes).context("cannot write the file")?;
            progress.at(came);
            Ok(())
        },
    )?;
    progress.end();
    if !said.trim().is_empty() {
        compare(&said, sum)?;
    }
    Ok(came)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_before_the_first_slash_names_a_vm() {
        let there = |vm, path| Place::There { vm, path };
        assert_eq!(place("it:/a:b"), there("it", "/a:b"));
        assert_eq!(place("it:"), there("it", ""));
        for here in ["/a:b", "./it:b", "a", ":a"] {
            assert_eq!(place(here), Place::Here(Path::new(here)));
        }
    }

    #[test]
    fn a_file_that_has_changed_on_its_way_is_refused() {
        let sum = || Sha256::new().chain_update(b"hello\n");
        let said = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03  -\n";
        compare(said, sum()).unwrap();
        for other in ["", "0", &said.replace('5', "6")] {
            assert!(compare(other, sum()).is_err(), "{other}");
        }
    }
}
