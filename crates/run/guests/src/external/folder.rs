//! A folder with a name that stays from run to run, in which each external VM finds its card's socket: a domain that is
//! defined once can name it. A group may be let in, for VMMs of another user.

use anyhow::{Context, Result, bail};
use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// Longest path of a Unix socket (`man 7 unix`: 108 bytes with the final zero).
const LONGEST_SOCKET: usize = 107;
/// The longest name of a VM, and what is put behind it.
const LONGEST_NAME: usize = 15 + ".sock".len();

/// The folder.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    group: Option<(String, u32)>,
}

impl RunFolder {
    /// The folder at `path`: a new one is for the user alone, or for the user and `group`; one that is there keeps its
    /// mode and group.
    pub fn create(path: &Path, group: Option<&str>) -> Result<Self> {
        let group = group.map(|name| Ok::<_, anyhow::Error>((name.to_owned(), group_of(name)?)));
        let group = group.transpose()?;
        if !path.is_dir() {
            make(path, group.as_ref().map(|(_, gid)| *gid))
                .with_context(|| format!("cannot make the folder {}", path.display()))?;
        }
        let whole = path.canonicalize();
        let path = whole.with_context(|| format!("cannot enter {}", path.display()))?;
        if path.as_os_str().len() + 1 + LONGEST_NAME > LONGEST_SOCKET {
            let path = path.display();
            bail!("{path} is too long for sockets\n  remedy: name a folder with a shorter path");
        }
        Ok(Self { path, group })
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the VM of this name finds its card.
    pub fn socket(&self, vm: &str) -> PathBuf {
        self.path.join(format!("{vm}.sock"))
    }

    /// Lets the user, and the group if there is one, attach to the socket of the VM of this name, and nobody else.
    pub fn open(&self, vm: &str) -> Result<()> {
        let socket = self.socket(vm);
        let mode = if self.group.is_some() { 0o660 } else { 0o600 };
        if let Some((name, gid)) = &self.group {
            give(&socket, *gid).with_context(|| {
                format!("cannot give {} to the group {name}\n  remedy: be a member of that group, or run as root", socket.display())
            })?;
        }
        let set = std::fs::set_permissions(&socket, Permissions::from_mode(mode));
        set.with_context(|| format!("cannot set the mode of {}", socket.display()))
    }

    /// The first folder on the way here that other users cannot pass, if a group is to be let in.
    pub fn barrier(&self) -> Option<&Path> {
        let (_, gid) = self.group.as_ref()?;
        let passes = |folder: &Path| {
            folder.metadata().is_ok_and(|data| {
                let of_group = data.gid() == *gid && data.mode() & 0o010 != 0;
                of_group || data.mode() & 0o001 != 0
            })
        };
        let mut way: Vec<&Path> = self.path.ancestors().collect();
        way.reverse();
        way.into_iter().find(|folder| !passes(folder))
    }
}

/// Those above it may be passed by everybody: what is in them has modes of its own.
fn make(path: &Path, group: Option<u32>) -> Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(parent)?;
    }
    DirBuilder::new().mode(0o700).create(path)?;
    if let Some(gid) = group {
        give(path, gid)
            .context("it cannot be given to the group: be a member of it, or run as root")?;
        std::fs::set_permissions(path, Permissions::from_mode(0o750))?;
    }
    Ok(())
}

fn give(path: &Path, gid: u32) -> std::io::Result<()> {
    chown(path, None, Some(gid))
}

/// The number of a group of this machine: by its name in /etc/group, or given as a number, as one must be that another
/// service knows.
fn group_of(name: &str) -> Result<u32> {
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    numbered(&groups, name).with_context(|| {
        format!("there is no group {name:?}\n  remedy: name one of /etc/group, or its number; libvirt's VMs are of libvirt-qemu or kvm")
    })
}

/// Lines of `groups` are `NAME:PASSWORD:NUMBER:MEMBERS` (`man 5 group`).
fn numbered(groups: &str, name: &str) -> Option<u32> {
    let entry = |line: &str| {
        let mut fields = line.split(':');
        let found = fields.next() == Some(name);
        found.then(|| fields.nth(1)?.parse().ok()).flatten()
    };
    let known = groups.lines().find_map(entry);
    known.or_else(|| name.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    /// The group that this process has anyway.
    fn own_group() -> String {
        rustix::process::getgid().as_raw().to_string()
    }

    #[test]
    fn without_a_group_folder_and_socket_are_the_users_own() {
        let parent = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&parent.path().join("a/lab"), None).unwrap();
        let _listener = UnixListener::bind(folder.socket("yours")).unwrap();
        folder.open("yours").unwrap();
        assert_eq!(mode(folder.path()), 0o700);
        assert_eq!(mode(&folder.socket("yours")), 0o600);
        assert_eq!(folder.barrier(), None);
    }

    #[test]
    fn a_group_is_let_in_and_told_what_stands_in_its_way() {
        let parent = tempfile::tempdir().unwrap();
        std::fs::set_permissions(parent.path(), Permissions::from_mode(0o700)).unwrap();
        let group = own_group();
        let folder = RunFolder::create(&parent.path().join("lab"), Some(&group)).unwrap();
        let _listener = UnixListener::bind(folder.socket("yours")).unwrap();
        folder.open("yours").unwrap();
        assert_eq!(mode(folder.path()), 0o750);
        assert_eq!(mode(&folder.socket("yours")), 0o660);
        assert_eq!(folder.barrier(), Some(folder.path().parent().unwrap()));
    }

    #[test]
    fn a_group_has_a_name_or_a_number() {
        let groups = "root:x:0:\nkvm:x:104:qemu,me\n";
        assert_eq!(numbered(groups, "kvm"), Some(104));
        assert_eq!(numbered(groups, "105"), Some(105));
        assert_eq!(numbered(groups, "kv"), None);
    }

    #[test]
    fn a_folder_that_is_there_keeps_its_mode() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("lab");
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o711)).unwrap();
        RunFolder::create(&path, Some(&own_group())).unwrap();
        assert_eq!(mode(&path), 0o711);
    }

    #[test]
    fn a_group_that_is_not_there_and_a_folder_too_deep_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let refused = |path: &Path, group| RunFolder::create(path, group).unwrap_err().to_string();
        let error = refused(parent.path(), Some("no-such-group"));
        assert!(
            error.contains("there is no group \"no-such-group\""),
            "{error}"
        );
        let error = refused(&parent.path().join("d".repeat(90)), None);
        assert!(error.contains("too long for sockets"), "{error}");
    }
}
