//! A folder of unpacked packages whose programs run with the packages' own C library and loader.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow};

use super::tool;

const PROGRAMS: [&str; 4] = ["usr/bin", "usr/sbin", "bin", "sbin"];
const LIBRARIES: [&str; 2] = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];
const LOADERS: [&str; 3] = [
    "usr/lib64/ld-linux-x86-64.so.2",
    "lib64/ld-linux-x86-64.so.2",
    "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
];
/// More links than this on one way are a circle (Linux `MAXSYMLINKS`).
const MOST_LINKS: usize = 40;
/// Parts of packages that nothing here needs.
const USELESS: [&str; 6] = [
    "var",
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "usr/share/lintian",
];

/// The folder.
pub struct Tree {
    root: PathBuf,
}

/// A shared library that a program needs.
#[derive(Debug, PartialEq)]
pub struct Library {
    /// The name by which the program asks for it.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

impl Tree {
    /// The tree in this folder.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Removes documentation and the like.
    pub fn trim(&self) -> Result<()> {
        for part in USELESS {
            let path = self.root.join(part);
            if path.is_dir() {
                fs::remove_dir_all(&path)
                    .with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        Ok(())
    }

    /// Where a program lies.
    pub fn program(&self, name: &str) -> Result<PathBuf> {
        self.first(PROGRAMS.iter().map(|folder| Path::new(folder).join(name)))
            .ok_or_else(|| anyhow!("there is no program {name} in {}", self.root.display()))
    }

    /// The dynamic loader.
    pub fn loader(&self) -> Result<PathBuf> {
        self.first(LOADERS.iter().map(PathBuf::from))
            .ok_or_else(|| anyhow!("there is no dynamic loader in {}", self.root.display()))
    }

    /// The start of the argument list that runs a program of this tree.
    pub fn argv(&self, program: &str) -> Result<Vec<String>> {
        let libraries: Vec<_> = LIBRARIES
            .iter()
            .map(|folder| self.root.join(folder))
            .filter(|path| path.is_dir())
            .collect();
        let libraries =
            std::env::join_paths(libraries).context("the cache folder's name has a colon")?;
        let parts = [
            self.loader()?,
            "--library-path".into(),
            libraries.into(),
            self.program(program)?,
        ];
        parts.into_iter().map(utf8).collect()
    }

    /// A program of this tree, ready to get more arguments.
    pub fn command(&self, program: &str) -> Result<Command> {
        let argv = self.argv(program)?;
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]);
        Ok(command)
    }

    /// The shared libraries of a program, the loader left out.
    pub fn libraries(&self, program: &str) -> Result<Vec<Library>> {
        let argv = self.argv(program)?;
        let (loader, rest) = argv.split_first().context("empty argument list")?;
        let list = tool::text(Command::new(loader).arg("--list").args(rest))?;
        Ok(list.lines().filter_map(listed).collect())
    }

    fn first(&self, mut candidates: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
        candidates.find_map(|path| self.resolve(&path))
    }

    /// Where the file lies that a path within the tree names, links followed as a program sees them whose root folder the tree
    /// is: an absolute one leads to the tree's own file, never to the machine's.
    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        let mut ahead: Vec<OsString> = names(path).rev().collect();
        let mut at = PathBuf::new();
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            if name == ".." {
                at.pop();
                continue;
            }
            let Ok(target) = fs::read_link(self.root.join(&at).join(&name)) else {
                at.push(name);
                continue;
            };
            links += 1;
            if links > MOST_LINKS {
                return None;
            }
            if target.is_absolute() {
                at.clear();
            }
            ahead.extend(names(&target).rev());
        }
        let found = self.root.join(at);
        found.exists().then_some(found)
    }
}

/// The names that a path is made of, `..` among them.
fn names(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

/// `libz.so.1 => /somewhere/libz.so.1 (0x00007f…)` → the library; lines without a file are skipped.
fn listed(line: &str) -> Option<Library> {
    let (name, rest) = line.trim().split_once(" => ")?;
    let (path, _) = rest.rsplit_once(" (")?;
    (!name.contains('/')).then(|| Library {
        name: name.to_owned(),
        path: path.into(),
    })
}

/// Paths go into JSON, which knows no others.
pub fn utf8(path: PathBuf) -> Result<String> {
    path.into_os_string()
        .into_string()
        .map_err(|path| anyhow!("{path:?} is not valid UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const LOADER: &str = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";

    /// A tree with these links beside the loader's own file.
    fn tree(links: &[(&str, &str)]) -> (tempfile::TempDir, Tree) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("lib/x86_64-linux-gnu")).unwrap();
        fs::write(root.join(LOADER), "the tree's").unwrap();
        for (link, target) in links {
            fs::create_dir_all(root.join(link).parent().unwrap()).unwrap();
            symlink(target, root.join(link)).unwrap();
        }
        let tree = Tree::new(root);
        (folder, tree)
    }

    /// bookworm's libc6 names its loader by an absolute link, which on another release leads to that release's loader; with
    /// bookworm's C library it ends every program.
    #[test]
    fn an_absolute_link_leads_to_the_tree_s_own_file() {
        let absolute = "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
        let (folder, tree) = tree(&[("lib64/ld-linux-x86-64.so.2", absolute)]);
        assert_eq!(tree.loader().unwrap(), folder.path().join(LOADER));
    }

    #[test]
    fn links_on_the_way_are_followed_and_none_leads_out() {
        let (folder, tree) = tree(&[
            ("usr/lib", "../lib"),
            ("bin/far", "/../../usr/lib/../lib/x86_64-linux-gnu/near"),
            ("lib/x86_64-linux-gnu/near", "ld-linux-x86-64.so.2"),
            ("bin/passwd", "/etc/passwd"),
            ("bin/round", "round"),
        ]);
        assert_eq!(tree.program("far").unwrap(), folder.path().join(LOADER));
        for missing in ["passwd", "round", "nothing"] {
            assert!(tree.program(missing).is_err(), "{missing}");
        }
    }

    #[test]
    fn the_loader_and_the_kernels_own_library_are_not_listed() {
        assert_eq!(listed("\tlinux-vdso.so.1 (0x00007ffc5a1f2000)"), None);
        assert_eq!(
            listed("\t/lib64/ld-linux-x86-64.so.2 => /a/ld-linux-x86-64.so.2 (0x1)"),
            None
        );
        let library = Library {
            name: "libz.so.1".into(),
            path: "/a/libz.so.1".into(),
        };
        assert_eq!(listed("\tlibz.so.1 => /a/libz.so.1 (0x1)"), Some(library));
    }
}
