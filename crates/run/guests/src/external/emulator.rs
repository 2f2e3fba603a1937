//! The QEMU that another user can run, as libvirt's does: the one of the set-up if it is installed, else a copy of the
//! private one outside of the cache, which only its owner enters.

use crate::qemu::shell_line;
use crate::setup::Setup;
use std::path::{Path, PathBuf};

/// Where the copy goes.
const COPY: &str = "/opt/airlane-qemu";
/// The program that starts it, one file as libvirt wants it.
const WRAPPER: &str = "/usr/local/bin/airlane-qemu";

/// A QEMU for other users.
#[derive(Debug, PartialEq, Eq)]
pub enum Emulator {
    /// An installed one.
    Installed(PathBuf),
    /// The private one, once its folder is copied.
    Copied {
        /// The private one's folder.
        from: PathBuf,
        /// Its words, with the copy's paths.
        words: Vec<String>,
    },
}

impl Emulator {
    /// That of the set-up.
    pub fn of(setup: &Setup) -> Self {
        match (&setup.qemu.argv[..], private_folder(&setup.qemu.argv)) {
            (words, Some(from)) if words.len() > 1 => {
                let old = from.to_string_lossy().into_owned();
                let moved = words.iter().map(|word| word.replacen(&old, COPY, 1));
                let words = moved.collect();
                Self::Copied { from, words }
            }
            (words, _) => {
                let program = words.first().map_or("qemu-system-x86_64", String::as_str);
                Self::Installed(Path::new("/usr/bin").join(program))
            }
        }
    }

    /// The program to name in a domain.
    pub fn program(&self) -> &Path {
        match self {
            Self::Installed(program) => program,
            Self::Copied { .. } => Path::new(WRAPPER),
        }
    }

    /// The commands that make it, once; none for an installed one.
    pub fn preparation(&self) -> Vec<String> {
        let Self::Copied { from, words } = self else {
            return Vec::new();
        };
        let from = shell_line(&[from.to_string_lossy().into_owned()]);
        let script = format!("{}exec {} \"$@\"", modules(words), shell_line(words));
        vec![
            format!("sudo cp -rT {from} {COPY} && sudo chmod -R a+rX {COPY}"),
            format!(
                "printf '%s\\n' '#!/bin/sh' {} | sudo tee {WRAPPER} >/dev/null && sudo chmod 755 {WRAPPER}",
                shell_line(&[script])
            ),
        ]
    }

    /// What AppArmor must allow for it: lines for the VMs' profile, and for libvirtd's.
    pub fn rules(&self) -> (Vec<String>, Vec<String>) {
        match self {
            Self::Installed(_) => (Vec::new(), Vec::new()),
            Self::Copied { .. } => (
                vec![format!("{COPY}/** rmix,"), format!("{WRAPPER} rmix,")],
                vec![format!("{WRAPPER} PUx,")],
            ),
        }
    }
}

/// Where QEMU finds its own modules, as a shell sets it for one command: it would look where the distribution's QEMU has
/// its modules, which is of another version, and aborts when it is asked for all that it knows, as libvirt asks it.
fn modules(words: &[String]) -> String {
    let behind = words.iter().skip_while(|word| *word != "--library-path");
    let libraries = behind.skip(1).flat_map(|paths| paths.split(':')).next();
    libraries.map_or_else(String::new, |folder| {
        let folder = shell_line(&[format!("{folder}/qemu")]);
        format!("QEMU_MODULE_DIR={folder} ")
    })
}

/// The deepest folder that holds all files that the words name.
fn private_folder(words: &[String]) -> Option<PathBuf> {
    let mut paths = words
        .iter()
        .map(Path::new)
        .filter(|path| path.is_absolute());
    let first = paths.next()?.parent()?;
    let rest: Vec<&Path> = paths.collect();
    let holds_all = |folder: &&Path| rest.iter().all(|path| path.starts_with(folder));
    let folder = first.ancestors().find(holds_all)?;
    // The root holds everything, and is nobody's private folder.
    folder.parent().map(|_| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::sample;

    fn with(words: &[&str]) -> Emulator {
        let mut setup = sample();
        setup.qemu.argv = words.iter().map(|word| (*word).to_owned()).collect();
        Emulator::of(&setup)
    }

    #[test]
    fn an_installed_one_needs_no_preparation() {
        let installed = with(&["qemu-system-x86_64"]);
        assert_eq!(
            installed.program(),
            Path::new("/usr/bin/qemu-system-x86_64")
        );
        assert!(installed.preparation().is_empty() && installed.rules().0.is_empty());
        assert_eq!(with(&["/opt/q/qemu"]).program(), Path::new("/opt/q/qemu"));
    }

    #[test]
    fn the_private_one_is_copied_whole_and_started_by_one_file() {
        let private = with(&[
            "/c/q1/usr/ld.so",
            "--library-path",
            "/c/q1/lib",
            "/c/q1/usr/bin/qemu",
            "-L",
            "/c/q1/share",
        ]);
        assert_eq!(private.program(), Path::new(WRAPPER));
        let [copy, wrapper] = &private.preparation()[..] else {
            panic!("two commands");
        };
        assert!(copy.contains("cp -rT /c/q1 /opt/airlane-qemu"), "{copy}");
        let started = "QEMU_MODULE_DIR=/opt/airlane-qemu/lib/qemu exec /opt/airlane-qemu/usr/ld.so --library-path /opt/airlane-qemu/lib \
                       /opt/airlane-qemu/usr/bin/qemu -L /opt/airlane-qemu/share \"$@\"";
        assert!(wrapper.contains(started), "{wrapper}");
    }
}
