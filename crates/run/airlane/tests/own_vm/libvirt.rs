//! libvirt on the machine of the test, as its package sets it up, and `virsh`.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::host::succeed;

/// How long the daemon may take to answer, and a VM to end.
const PATIENCE: Duration = Duration::from_secs(120);

/// libvirt's daemons. They end with the test's namespaces, or when this is dropped.
pub struct Libvirt(Vec<Child>);

impl Libvirt {
    /// Starts them.
    pub fn start() -> Self {
        let start = |program: &str| Command::new(program).spawn().expect("libvirt is installed");
        let libvirt = Self(["virtlogd", "libvirtd"].map(start).into());
        let answers = || {
            virsh(&["list"])
                .output()
                .is_ok_and(|output| output.status.success())
        };
        wait("libvirtd to answer", answers);
        libvirt
    }

    /// A command of `virsh`, which must succeed; what it prints.
    pub fn virsh(&self, words: &[&str]) -> String {
        succeed(&mut virsh(words))
    }

    /// Who runs the VM's QEMU.
    pub fn user_of(&self, vm: &str) -> String {
        let path = format!("/run/libvirt/qemu/{vm}.pid");
        let pid = std::fs::read_to_string(path).expect("the VM runs");
        let user =
            succeed(Command::new("stat").args(["-c", "%U", &format!("/proc/{}", pid.trim())]));
        user.trim().to_owned()
    }

    /// Waits until the VM is off.
    pub fn until_off(&self, vm: &str) {
        wait("the VM to end", || {
            self.virsh(&["domstate", vm]).trim() == "shut off"
        });
    }
}

impl Drop for Libvirt {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn virsh(words: &[&str]) -> Command {
    let mut command = Command::new("virsh");
    command
        .args(["--quiet", "--connect", "qemu:///system"])
        .args(words);
    command
}

fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}
