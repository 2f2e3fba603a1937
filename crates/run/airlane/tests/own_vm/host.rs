//! The machine on which the stranger's VM runs: the Debian 13 folder of the set-up, the root of namespaces of
//! its own. What is written there goes into a layer above it, which is removed before the next test.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{self, Need};

/// Set in the process that runs on that machine.
const INSIDE: &str = "AIRLANE_TEST_HOST";
const NAMESPACES: [&str; 6] = [
    "--mount",
    "--pid",
    "--net",
    "--ipc",
    "--fork",
    "--kill-child",
];
/// Where the disk, as it was set up, is seen there: libvirt's user cannot enter the cache of root.
const DISK: &str = "/srv/stranger.raw";

/// `$1`: the machine, `$2`: the disk, `$3`: a folder for the layer, `$4`: this program, `$5`: the test; then folders that
/// are the same there.
const ENTER: &str = r#"set -e
system=$1 disk=$2 layer=$3 program=$4 test=$5
shift 5
mount --make-rprivate /
mkdir -p "$layer/upper" "$layer/work" "$layer/root"
mount -t overlay overlay -o "lowerdir=$system,upperdir=$layer/upper,workdir=$layer/work" "$layer/root"
cd "$layer/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
mount -t tmpfs tmpfs run
mkdir -p run/lock
mount -t tmpfs tmpfs tmp
for folder in "$@"; do
    mkdir -p ".$folder"
    mount --rbind "$folder" ".$folder"
done
touch srv/stranger.raw
mount --bind "$disk" srv/stranger.raw
mount -o remount,bind,ro srv/stranger.raw
ip link set lo up
# Not `chroot` alone: libvirt enters the namespace of a VM by `setns`, which leads to the namespace's own root.
mkdir -p old
pivot_root . old
# The shell stays: as the first process it reaps those that libvirt waits for to vanish.
exec chroot . sh -c 'umount -l /old && "$@"; exit $?' sh "$program" --exact "$test" --ignored --nocapture
"#;
/// What must work for that.
const TOOLS: [&str; 4] = [
    "ip -V >/dev/null",
    "chroot --version >/dev/null",
    "mount -t tmpfs tmpfs /mnt && cd /mnt && mkdir lower upper work",
    "mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work lower",
];

/// The machine, as seen by a process on it.
pub struct Host {
    folder: PathBuf,
}

impl Host {
    /// Runs the test of this name again on that machine, and fails where it does; the machine in the run there. Nothing where
    /// this machine cannot do it.
    pub fn enter(test: &str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-vm");
        if std::env::var_os(INSIDE).is_some() {
            return Some(Self { folder });
        }
        let (system, disk) = set_up(test)?;
        if !common::has_namespaces_for(test, Need::OwnVm, &NAMESPACES, &TOOLS) {
            return None;
        }
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let program = std::env::current_exe().expect("a program");
        let cache = airlane_guests::setup::cache_folder().expect("a home directory");
        let target = Path::new(env!("CARGO_BIN_EXE_airlane"))
            .parent()
            .expect("a folder");
        let mut inner = Command::new("unshare")
            .args(NAMESPACES)
            .args(["--", "sh", "-c", ENTER, "enter"])
            .args([&system, &disk, &folder.join("layer"), &program])
            .arg(test)
            .args([target, program.parent().expect("a folder"), &folder, &cache])
            .env(INSIDE, "1")
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare starts");
        show(inner.stdout.take().expect("a pipe"));
        let status = inner.wait().expect("a child");
        let _ = std::fs::remove_dir_all(folder.join("layer"));
        assert!(status.success(), "on the machine with libvirt: see above");
        None
    }

    /// A scenario's file.
    pub fn scenario(&self, text: &str) -> PathBuf {
        let path = self.folder.join("scenario.toml");
        std::fs::write(&path, text).expect("the scenario can be written");
        path
    }

    /// Where the run's report and logs go.
    pub fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// The VM's own disk, where the announced domain expects it.
    pub fn make_disk(&self, vm: &str) {
        let path = format!("/var/lib/libvirt/images/{vm}.qcow2");
        succeed(Command::new("qemu-img").args([
            "create", "-q", "-f", "qcow2", "-F", "raw", "-b", DISK, &path,
        ]));
    }
}

/// Passes on what the inner run prints, but what libtest says of it: its counts are not those of this run.
fn show(stream: impl Read) {
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        if !["test ", "running "]
            .iter()
            .any(|start| line.starts_with(start))
        {
            println!("{line}");
        }
    }
}

/// Machine and disk of the set-up. Without them the test is skipped.
fn set_up(test: &str) -> Option<(PathBuf, PathBuf)> {
    let cache = airlane_guests::setup::cache_folder().expect("a home directory");
    let setup = std::fs::read_to_string(cache.join("setup.json")).unwrap_or_default();
    let setup: Value = serde_json::from_str(&setup).unwrap_or(Value::Null);
    let path = |name: &str| setup["own_vm"][name].as_str().map(PathBuf::from);
    let both = path("libvirt_host").zip(path("disk"));
    if both.is_none() {
        let why = "disk and libvirt are not set up: as root, `cargo xtask setup --own-vm`";
        common::skip(test, Need::OwnVm, why);
    }
    both
}

/// Runs a command that must succeed; what it prints.
pub fn succeed(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{text}{errors}",
        output.status
    );
    text
}
