//! `files`, `kernel`, `initrd` and `append` of a `[[vm]]`: what its user brings. Paths of the host are relative to the
//! scenario's file, and looked at here, before anything starts.

use super::error::{ScenarioError, Source};
use super::raw;
use crate::model::{Own, OwnFile};
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use toml::Spanned;

type Result<T> = std::result::Result<T, ScenarioError>;

/// The most of a VM's memory that its own files may take: one part of so many. They are unpacked into it, and lie there
/// packed while that is done.
const PART: u64 = 4;

/// Longest addition to a kernel's command line (Linux takes 2048 bytes on x86, `COMMAND_LINE_SIZE`).
const LONGEST_APPEND: usize = 1_024;

/// Places in a VM in which airlane's own scripts and settings lie.
const OURS: [&str; 3] = ["airlane/", "etc/airlane/", "init"];

/// What the VM has of its own; of `memory` MiB.
pub fn of_vm(source: Source, raw: &raw::Vm, memory: u64) -> Result<Own> {
    if raw.external {
        refuse_of_external(source, raw)?;
    }
    let kernel = raw
        .kernel
        .as_ref()
        .filter(|kernel| is_path(kernel.get_ref()));
    let own = Own {
        files: files(source, raw, memory)?,
        kernel: kernel
            .map(|value| file(source, value).map(|(path, _)| path))
            .transpose()?,
        initrd: raw
            .initrd
            .as_ref()
            .map(|value| file(source, value).map(|(path, _)| path))
            .transpose()?,
        append: raw
            .append
            .as_ref()
            .map(|value| append(source, value))
            .transpose()?,
    };
    Ok(own)
}

/// The version of a kernel that is set up, where the VM names one.
pub fn version(raw: &raw::Vm) -> Option<String> {
    let kernel = raw.kernel.as_ref().map(Spanned::get_ref);
    kernel.filter(|kernel| !is_path(kernel)).cloned()
}

/// A kernel of the user's own has a slash in its name, a version has none.
fn is_path(kernel: &str) -> bool {
    kernel.contains('/')
}

fn refuse_of_external(source: Source, raw: &raw::Vm) -> Result<()> {
    let written = [
        ("files", raw.files.as_ref().map(Spanned::span)),
        ("initrd", raw.initrd.as_ref().map(Spanned::span)),
        ("append", raw.append.as_ref().map(Spanned::span)),
    ];
    for (key, span) in written {
        if let Some(span) = span {
            let message = format!("an external VM has no key `{key}`: you start it yourself");
            return Err(source.error(&span, message, "remove the key"));
        }
    }
    Ok(())
}

/// A path of the host, as the scenario's file names it.
fn resolved(source: Source, path: &str) -> PathBuf {
    let folder = source.path.parent().unwrap_or(Path::new(""));
    folder.join(path)
}

fn file(source: Source, value: &Spanned<String>) -> Result<(PathBuf, Metadata)> {
    let path = resolved(source, value.get_ref());
    let wrong = |why: String| {
        let remedy = "name a file; a path is relative to the scenario's file";
        source.error(&value.span(), format!("{}: {why}", path.display()), remedy)
    };
    let data = std::fs::metadata(&path).map_err(|error| wrong(error.to_string()))?;
    match data.is_file() {
        true => Ok((path, data)),
        false => Err(wrong("no regular file".to_owned())),
    }
}

fn files(source: Source, raw: &raw::Vm, memory: u64) -> Result<Vec<OwnFile>> {
    let Some(written) = &raw.files else {
        return Ok(Vec::new());
    };
    let mut files = Vec::new();
    let mut bytes: u64 = 0;
    for (from, to) in written.get_ref() {
        let from = Spanned::new(to.span(), from.clone());
        let (from, data) = file(source, &from)?;
        let to = place(source, to, &from)?;
        bytes = bytes.saturating_add(data.len());
        let executable = data.permissions().mode() & 0o111 != 0;
        files.push(OwnFile {
            from,
            to,
            executable,
        });
    }
    if bytes <= (memory << 20) / PART {
        return Ok(files);
    }
    let message = format!(
        "the files are larger than a quarter of the VM's memory ({memory} MiB), in which they lie"
    );
    let remedy = format!(
        "write memory = {} in that VM, or more",
        (bytes * PART).div_ceil(1 << 20)
    );
    Err(source.error(&written.span(), message, remedy))
}

/// Where a file lies in the VM, without the leading slash.
fn place(source: Source, value: &Spanned<String>, from: &Path) -> Result<String> {
    let written = value.get_ref();
    let name = from.file_name().unwrap_or_default().to_string_lossy();
    let whole = match written.ends_with('/') {
        true => format!("{written}{name}"),
        false => written.clone(),
    };
    let wrong = |why: &str| {
        let message = format!("a VM has no place {written:?} for a file of yours: {why}");
        let remedy = "write a path like \"/root/name\", or \"/root/\" to keep the name";
        source.error(&value.span(), message, remedy)
    };
    let Some(path) = whole.strip_prefix('/') else {
        return Err(wrong("it does not begin with a slash"));
    };
    let odd = |part: &str| part.is_empty() || part == "." || part == "..";
    if path.split('/').any(odd) || path.contains(char::is_control) || path.len() > 1_024 {
        return Err(wrong("it is no plain path"));
    }
    let ours = |own: &&str| {
        path == own.trim_end_matches('/') || own.ends_with('/') && path.starts_with(*own)
    };
    match OURS.iter().any(ours) {
        true => Err(wrong("airlane's own files lie there")),
        false => Ok(path.to_owned()),
    }
}

fn append(source: Source, value: &Spanned<String>) -> Result<String> {
    let text = value.get_ref();
    let plain = text.bytes().all(|byte| (32..=126).contains(&byte));
    if plain && text.len() <= LONGEST_APPEND {
        return Ok(text.trim().to_owned());
    }
    let message = "append is no addition to a kernel's command line";
    let remedy = format!(
        "write at most {LONGEST_APPEND} printable ASCII characters, as in \"iwlwifi.debug=0x1\""
    );
    Err(source.error(&value.span(), message, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    /// A scenario in a folder with a file `tool` of 5 bytes that may be run, and a folder `folder`.
    fn with(lines: &str) -> std::result::Result<Own, String> {
        let folder = tempfile::tempdir().unwrap();
        let tool = folder.path().join("tool");
        std::fs::write(&tool, "12345").unwrap();
        std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        let large = std::fs::File::create(folder.path().join("large")).unwrap();
        large.set_len(65 << 20).unwrap();
        let text = format!(
            "[[access_point]]\nname = 'a'\nchannel = 1\naddress = '10.0.0.1/24'\n[[vm]]\nname = 'it'\n{lines}\n"
        );
        let scenario = Scenario::parse(&folder.path().join("s.toml"), &text);
        let mut scenario = scenario.map_err(|error| error.to_string())?;
        Ok(scenario.vms.remove(0).own)
    }

    #[track_caller]
    fn refused(line: &str, message: &str) {
        let error = with(line).unwrap_err();
        assert!(
            error.contains("s.toml:7: ") && error.contains(message),
            "{error}"
        );
    }

    #[test]
    fn a_file_keeps_its_name_in_a_folder_and_may_be_run() {
        let own = with("files = { tool = '/bin/', './tool' = '/root/x' }").unwrap();
        let places: Vec<&str> = own.files.iter().map(|file| file.to.as_str()).collect();
        assert_eq!(places, ["root/x", "bin/tool"]);
        assert!(
            own.files
                .iter()
                .all(|file| file.executable && file.from.ends_with("tool"))
        );
    }

    #[test]
    fn a_kernel_with_a_slash_is_the_users_own() {
        let own = with("kernel = './tool'\ninitrd = 'tool'\nappend = ' a=b '").unwrap();
        assert!(own.kernel.is_some() && own.initrd.is_some());
        assert_eq!(own.append.as_deref(), Some("a=b"));
        assert_eq!(with("kernel = '6.1'").unwrap(), Own::default());
    }

    #[test]
    fn what_is_not_there_or_has_no_place_is_refused() {
        refused("files = { nothing = '/x' }", "nothing: No such file");
        refused("files = { folder = '/x' }", "no regular file");
        refused("files = { large = '/x' }", "memory = 260");
        for place in ["x", "", "/a/../b", "//a", "/a\\tb"] {
            refused(&format!("files = {{ tool = \"{place}\" }}"), "no place");
        }
        for place in ["/init", "/airlane/agent", "/etc/airlane/", "/airlane"] {
            refused(&format!("files = {{ tool = '{place}' }}"), "airlane's own");
        }
        refused("kernel = './nothing'", "No such file");
        refused("append = \"a\\nb\"", "no addition");
        refused("initrd = 'tool'\nexternal = true", "external VM");
    }
}
