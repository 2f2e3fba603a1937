//! The guest image: one initramfs that is station or access point, as the overlay of a VM says.
//!
//! Everything lies in `/bin` and `/lib`, without linked folders, so an overlay may name any folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::cache::{Artefact, Cache, Recipe};
use super::initramfs::Archive;
use super::tool;
use super::tree::Tree;

const BASE: &str = "base.cpio";
const PROGRAMS: [&str; 7] = [
    "wpa_supplicant",
    "wpa_cli",
    "iw",
    "iperf3",
    "hostapd",
    "hostapd_cli",
    "ip",
];
/// The shell: that of busybox prefers its own applets to programs of the same name.
const SHELL: &str = "dash";
const KMOD_LINKS: [&str; 5] = ["modprobe", "insmod", "rmmod", "lsmod", "modinfo"];
const LOADER: &str = "lib64/ld-linux-x86-64.so.2";
const LIBRARIES: &str = "lib/x86_64-linux-gnu";
/// The regulatory database and the signature that Debian's kernels accept.
const FIRMWARE: [&str; 2] = ["regulatory.db", "regulatory.db.p7s"];
/// Old digests that OpenSSL has in a module of its own, looked for in the place where it was built to
/// be: MSCHAPv2 needs MD4.
const OPENSSL_MODULE: &str = "usr/lib/x86_64-linux-gnu/ossl-modules/legacy.so";
const FOLDERS: [&str; 7] = [
    "proc",
    "sys",
    "tmp",
    "run",
    "root",
    "etc/airlane",
    "lib/modules",
];

macro_rules! scripts {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_bytes!(concat!("../../../guest/scripts/", $path)) as &[u8])),*]
    };
}

/// Scripts of the guest, by their place in `guest/scripts/`.
const SCRIPTS: [(&str, &[u8]); 10] = scripts![
    "init",
    "airlane/common",
    "airlane/agent",
    "airlane/job",
    "airlane/stream",
    "airlane/station",
    "airlane/dhcp-event",
    "airlane/access-point",
    "airlane/serve-ap",
    "airlane/probe",
];

/// Builds the image from the unpacked programs.
pub fn ensure(cache: &Cache, userland: &Artefact) -> Result<Artefact> {
    let mut recipe = Recipe::new("image")
        .with(userland.path.as_os_str().as_encoded_bytes())
        .with("3");
    for (path, content) in SCRIPTS {
        recipe = recipe.with(path).with(content);
    }
    cache.ensure(&recipe, |folder| {
        write(&Tree::new(&userland.path), &folder.join(BASE))?;
        Ok(userland.version.clone())
    })
}

/// The archive of an image.
pub fn base(image: &Artefact) -> PathBuf {
    image.path.join(BASE)
}

fn write(tree: &Tree, path: &Path) -> Result<()> {
    let mut archive = Archive::create(path)?;
    for folder in FOLDERS {
        archive.folder(folder)?;
    }
    archive.device("dev/console", 5, 1)?;
    archive.device("dev/null", 1, 3)?;
    archive.link("var/run", "/run")?;
    for (path, content) in SCRIPTS {
        archive.file(path, 0o755, content)?;
    }
    add_programs(&mut archive, tree)?;
    add_busybox(&mut archive, tree)?;
    for name in FIRMWARE {
        let from = tree.root().join(format!("lib/firmware/{name}-debian"));
        archive.copy(&format!("lib/firmware/{name}"), &from)?;
    }
    archive.finish()
}

fn add_programs(archive: &mut Archive, tree: &Tree) -> Result<()> {
    let mut libraries = BTreeMap::new();
    for program in PROGRAMS.into_iter().chain([SHELL, "kmod"]) {
        archive.copy(&format!("bin/{program}"), &tree.program(program)?)?;
        libraries.extend(
            tree.libraries(program)?
                .into_iter()
                .map(|one| (one.name, one.path)),
        );
    }
    archive.copy(LOADER, &tree.loader()?)?;
    archive.copy(OPENSSL_MODULE, &tree.root().join(OPENSSL_MODULE))?;
    for (name, path) in libraries {
        archive.copy(&format!("{LIBRARIES}/{name}"), &path)?;
    }
    for name in KMOD_LINKS {
        archive.link(&format!("bin/{name}"), "kmod")?;
    }
    archive.link("bin/sh", SHELL)?;
    // Where the kernel looks for it.
    archive.link("sbin/modprobe", "/bin/kmod")
}

fn add_busybox(archive: &mut Archive, tree: &Tree) -> Result<()> {
    let busybox = tree.program("busybox")?;
    let applets = tool::text(Command::new(&busybox).arg("--list"))?;
    archive.copy("bin/busybox", &busybox)?;
    let taken = |name: &str| {
        ["busybox", "sh"].contains(&name) || PROGRAMS.contains(&name) || KMOD_LINKS.contains(&name)
    };
    for applet in applets.lines().filter(|name| !taken(name)) {
        archive.link(&format!("bin/{applet}"), "busybox")?;
    }
    Ok(())
}
