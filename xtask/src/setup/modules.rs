//! Chooses the kernel modules a guest needs, with all they depend on, and packs them as an initramfs part.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow};

use super::initramfs::Archive;
use super::tool;
use super::tree::Tree;

/// What guests load or the kernel asks for: the card, hwsim, a bridge between access points of one network, hwsim's
/// transport, and ciphers of mac80211.
pub const ROOTS: [&str; 16] = [
    "iwlwifi",
    "iwldvm",
    "mac80211_hwsim",
    "bridge",
    "virtio_pci",
    "virtio_ring",
    "ccm",
    "ctr",
    "cmac",
    "gcm",
    "ecb",
    "arc4",
    "libarc4",
    "michael_mic",
    "aesni_intel",
    "ghash_generic",
];
/// Lists that come with the kernel and say what is built in.
const LISTS: [&str; 3] = [
    "modules.builtin",
    "modules.builtin.modinfo",
    "modules.order",
];

/// Packs the modules of the kernel `release`, unpacked in `package`, into `archive`.
pub fn pack(package: &Path, release: &str, archive: &Path, tools: &Tree) -> Result<()> {
    let folder = Path::new("lib/modules").join(release);
    let source = [package.join(&folder), package.join("usr").join(&folder)];
    let source = source.iter().find(|path| path.is_dir());
    let source = source.ok_or_else(|| anyhow!("the package of kernel {release} has no modules"))?;

    let stage = package.join("stage");
    let target = stage.join(&folder);
    let library = Library::index(source, tools)?;
    library.stage(&target)?;
    for list in LISTS {
        let path = source.join(list);
        fs::copy(&path, target.join(list))
            .with_context(|| format!("cannot copy {}", path.display()))?;
    }
    tool::run(depmod(tools)?.arg("-b").arg(&stage).arg(release))?;

    let mut out = Archive::create(archive)?;
    add(&mut out, &stage, &stage)?;
    out.finish()
}

/// kmod acts as the program whose name it is called by.
fn depmod(tools: &Tree) -> Result<Command> {
    let argv = tools.argv("kmod")?;
    let mut command = Command::new(&argv[0]);
    command.args(["--argv0", "depmod"]).args(&argv[1..]);
    Ok(command)
}

fn add(archive: &mut Archive, root: &Path, folder: &Path) -> Result<()> {
    for path in sorted(folder)? {
        if path.is_dir() {
            add(archive, root, &path)?;
        } else {
            let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
            archive.copy(&name, &path)?;
        }
    }
    Ok(())
}

/// All modules of a kernel by name, dashes written as underscores.
struct Library<'a> {
    root: &'a Path,
    files: BTreeMap<String, PathBuf>,
    tools: &'a Tree,
}

impl<'a> Library<'a> {
    fn index(root: &'a Path, tools: &'a Tree) -> Result<Self> {
        let mut files = BTreeMap::new();
        collect(root, &mut files)?;
        Ok(Self { root, files, tools })
    }

    /// Copies the wanted modules, unpacked, to the same places below `target`.
    fn stage(&self, target: &Path) -> Result<()> {
        let mut seen = BTreeSet::new();
        let mut next: Vec<String> = ROOTS.iter().map(ToString::to_string).collect();
        while let Some(name) = next.pop() {
            // A name without a file is built in, or not part of this kernel.
            let Some(path) = self.files.get(&name).filter(|_| seen.insert(name.clone())) else {
                continue;
            };
            let content = self.read(path)?;
            next.extend(needed(&content));
            let place = target
                .join(path.strip_prefix(self.root)?)
                .with_extension("")
                .with_extension("ko");
            fs::create_dir_all(place.parent().context("a module must lie in a folder")?)?;
            fs::write(&place, content)
                .with_context(|| format!("cannot write {}", place.display()))?;
        }
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        match path.extension().and_then(|it| it.to_str()) {
            Some("xz") => tool::run(self.tools.command("xz")?.arg("-dc").arg(path)),
            Some("zst") => tool::run(self.tools.command("zstd")?.arg("-dc").arg(path)),
            _ => fs::read(path).with_context(|| format!("cannot read {}", path.display())),
        }
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    for path in sorted(folder)? {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        if path.is_dir() {
            collect(&path, files)?;
        } else if let Some((module, _)) = name.split_once(".ko") {
            files.insert(module.replace('-', "_"), path);
        }
    }
    Ok(())
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Names in the `depends=` field of a module's `.modinfo`.
fn needed(module: &[u8]) -> Vec<String> {
    let key = b"\0depends=";
    let start = module.windows(key.len()).position(|window| window == key);
    let field = start
        .map(|at| &module[at + key.len()..])
        .unwrap_or_default();
    let end = field.iter().position(|&byte| byte == 0).unwrap_or(0);
    let names = String::from_utf8_lossy(&field[..end]);
    names
        .split(',')
        .filter(|name| !name.is_empty())
        .map(|name| name.replace('-', "_"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read_from_modinfo() {
        assert_eq!(
            needed(b"x\0depends=mac80211,cfg-80211\0y"),
            ["mac80211", "cfg_80211"]
        );
        assert!(needed(b"x\0depends=\0y").is_empty());
        assert!(needed(b"\0depends=cut").is_empty());
    }
}
