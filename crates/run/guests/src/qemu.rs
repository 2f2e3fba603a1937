//! The arguments with which QEMU runs a guest. Pure text: nothing is started here.

use crate::setup::Setup;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// QEMU's name for the card.
pub const CARD: &str = "card";
/// QEMU's name for the port that the card is plugged into.
pub(crate) const SLOT: &str = "card-slot";

/// What a guest is attached to, besides its console and agent.
#[derive(Clone, Debug)]
pub enum Device {
    /// A card that is served over vfio-user.
    Card(PathBuf),
    /// The radios of mac80211_hwsim, over vhost-user.
    Hwsim(PathBuf),
}

/// What one guest is started with, whatever VMM runs it.
#[derive(Clone, Debug)]
pub struct Machine<'a> {
    /// Its name, as the host's process list shows it.
    pub name: &'a str,
    /// Its memory, in MiB.
    pub memory: u64,
    /// Kernel image.
    pub kernel: &'a Path,
    /// Its initial file system.
    pub initramfs: &'a Path,
    /// What its kernel is told beyond what all are told.
    pub append: &'a str,
    /// Where its console goes.
    pub console: &'a Path,
    /// Where we listen for its agent.
    pub agent: &'a Path,
    /// Where QEMU listens for orders.
    pub monitor: &'a Path,
    /// Its card or radios.
    pub device: &'a Device,
}

/// The program and all its arguments.
pub fn command(setup: &Setup, machine: &Machine) -> Vec<String> {
    let mut words = setup.qemu.argv.clone();
    let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
    let (memory, agent) = (machine.memory.to_string(), value(machine.agent));
    add(&["-name", machine.name]);
    add(&[
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
    ]);
    if exits_with_parent(&setup.qemu.version) {
        add(&["-run-with", "exit-with-parent=on"]);
    }
    add(&[
        "-M",
        &setup.machine,
        "-accel",
        &setup.accel,
        "-cpu",
        &setup.cpu,
        "-smp",
        "1",
        "-m",
        &memory,
    ]);
    add(&shared_memory(machine.memory).each_ref().map(String::as_str));
    add(&[
        "-kernel",
        &plain(machine.kernel),
        "-initrd",
        &plain(machine.initramfs),
    ]);
    let told = format!("{} panic=-1 {}", setup.cmdline, machine.append);
    add(&["-append", told.trim_end()]);
    add(&["-serial", &format!("file:{}", plain(machine.console))]);
    add(&[
        "-chardev",
        &format!("socket,id=agent,path={agent}"),
        "-serial",
        "chardev:agent",
    ]);
    let monitor = value(machine.monitor);
    add(&[
        "-chardev",
        &format!("socket,id=monitor,path={monitor},server=on,wait=off"),
        "-qmp",
        "chardev:monitor",
    ]);
    words.extend(device(machine.device));
    words
}

/// Memory that the card's process can map.
pub(crate) fn shared_memory(megabytes: u64) -> [String; 4] {
    [
        "-object".to_owned(),
        format!("memory-backend-memfd,id=mem,size={megabytes}M,share=on"),
        "-machine".to_owned(),
        "memory-backend=mem".to_owned(),
    ]
}

/// QEMU's device for a card over vfio-user.
const CARD_DEVICE: &str = "vfio-user-pci";

/// The address of a card that is served at `socket`.
fn address(socket: &Path) -> Value {
    json!({"type": "unix", "path": plain(socket)})
}

/// The card in the slot that can be emptied and filled while the VM runs; for `-device` and `device_add`.
pub fn card_in_slot(socket: &Path) -> Value {
    card_in(SLOT, CARD, socket)
}

/// A card that is served at `socket`, behind the port `bus`.
pub(crate) fn card_in(bus: &str, id: &str, socket: &Path) -> Value {
    json!({"driver": CARD_DEVICE, "socket": address(socket), "id": id, "bus": bus})
}

/// The port that the card is plugged into; `chassis` is a number that no other port of the machine has.
pub(crate) fn root_port(chassis: u8) -> String {
    format!("pcie-root-port,id={SLOT},chassis={chassis},slot=1")
}

/// A card sits behind a port of its own: a root bus takes and gives up nothing while the VM runs. hwsim is
/// virtio device 29 and has two queues (Linux include/uapi/linux/virtio_ids.h).
fn device(device: &Device) -> Vec<String> {
    match device {
        Device::Card(socket) => vec![
            "-device".to_owned(),
            root_port(1),
            "-device".to_owned(),
            card_in_slot(socket).to_string(),
            "-vga".to_owned(),
            "none".to_owned(),
        ],
        Device::Hwsim(socket) => vec![
            "-chardev".to_owned(),
            format!("socket,id=hwsim,path={}", value(socket)),
            "-device".to_owned(),
            "vhost-user-test-device-pci,virtio-id=29,num_vqs=2,vq_size=256,chardev=hwsim"
                .to_owned(),
        ],
    }
}

/// `-run-with exit-with-parent` came with QEMU 11.
fn exits_with_parent(version: &str) -> bool {
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    major.is_some_and(|major| major >= 11)
}

fn plain(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A path within a comma-separated option, where a comma is written twice.
fn value(path: &Path) -> String {
    plain(path).replace(',', ",,")
}

/// The words as a line for a shell.
pub fn shell_line(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    quoted.join(" ")
}

fn quoted(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::sample;

    fn line(device: Device) -> String {
        let setup = sample();
        let machine = Machine {
            name: "it",
            memory: 256,
            kernel: &setup.kernel(None).unwrap().image,
            initramfs: Path::new("/run/a/it.cpio"),
            append: "",
            console: Path::new("/out/it.log"),
            agent: Path::new("/run/a/it.agent"),
            monitor: Path::new("/run/a/it.qmp"),
            device: &device,
        };
        shell_line(&command(&setup, &machine))
    }

    #[test]
    fn a_station_has_shared_memory_a_console_an_agent_and_a_card() {
        assert_eq!(
            line(Device::Card("/run/a/card0.sock".into())),
            "/opt/ld.so /opt/qemu -name it -nodefaults -no-user-config -display none -no-reboot \
             -run-with exit-with-parent=on -M q35 -accel tcg -cpu max -smp 1 -m 256 \
             -object memory-backend-memfd,id=mem,size=256M,share=on -machine memory-backend=mem \
             -kernel /opt/61 -initrd /run/a/it.cpio -append 'console=ttyS0 quiet panic=-1' \
             -serial file:/out/it.log -chardev socket,id=agent,path=/run/a/it.agent -serial chardev:agent \
             -chardev socket,id=monitor,path=/run/a/it.qmp,server=on,wait=off -qmp chardev:monitor \
             -device pcie-root-port,id=card-slot,chassis=1,slot=1 \
             -device '{\"bus\":\"card-slot\",\"driver\":\"vfio-user-pci\",\"id\":\"card\",\"socket\":{\"path\":\"/run/a/card0.sock\",\"type\":\"unix\"}}' -vga none"
        );
    }

    #[test]
    fn access_points_have_radios_instead_of_a_card() {
        let line = line(Device::Hwsim("/run/a/hwsim0.sock".into()));
        assert!(
            line.ends_with(
                "-chardev socket,id=hwsim,path=/run/a/hwsim0.sock \
                 -device vhost-user-test-device-pci,virtio-id=29,num_vqs=2,vq_size=256,chardev=hwsim"
            ),
            "{line}"
        );
    }

    #[test]
    fn only_a_qemu_that_knows_it_is_told_to_exit_with_us() {
        assert!(exits_with_parent("11.1.3"));
        assert!(!exits_with_parent("10.1.0") && !exits_with_parent("?"));
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        assert_eq!(
            shell_line(&["a'b".to_owned(), String::new(), "c d".to_owned()]),
            r"'a'\''b' '' 'c d'"
        );
    }
}
