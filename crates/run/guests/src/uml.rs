//! The arguments with which a guest runs as User Mode Linux. Pure text: nothing is started here.
//!
//! Its console is the process's standard output, its second serial port, where the agent speaks, the process's standard
//! input: a socket, so both ways.

use super::qemu::{Device, Machine};
use std::path::Path;

/// Number of the PCI device of ours, as the guest's kernel is configured, and of hwsim (`include/uapi/linux/virtio_ids.h`).
const PCI: u32 = airlane_transport::pcidev::DEVICE_ID;
const HWSIM: u32 = 29;

/// Turns of the guest's delay loop in 10 ms, some seven times what processors do: what a guest measures at boot on a busy host makes
/// its delays far too short.
const LOOPS: u32 = 200_000_000;

/// Turns after which a read of a register gives up: more than a process waits for a processor on a host that still works.
const PATIENCE: u32 = 4_000_000;

/// The program and all its arguments; `folder` takes its files while it runs.
///
/// It takes its memory from a file in `/dev/shm` unless the environment names another place, which seldom is memory. It would
/// outlive us if it were not told of our end.
pub fn command(machine: &Machine, folder: &Path) -> Vec<String> {
    let mut words: Vec<String> = ["env", "-u", "TMPDIR", "-u", "TMP", "-u", "TEMP"]
        .into_iter()
        .chain(["setpriv", "--pdeathsig", "KILL"])
        .map(str::to_owned)
        .collect();
    let (socket, number) = match machine.device {
        Device::Card(socket) => (socket, PCI),
        Device::Hwsim(socket) => (socket, HWSIM),
    };
    words.extend([
        machine.kernel.display().to_string(),
        format!("mem={}M", machine.memory),
        format!("umid={}", machine.name),
        format!("uml_dir={}", folder.display()),
        format!("initrd={}", machine.initramfs.display()),
        "quiet".to_owned(),
        format!("lpj={LOOPS}"),
        format!("virtio_pcidev.max_delay_us={PATIENCE}"),
        "con0=null,fd:1".to_owned(),
        "con=null".to_owned(),
        "ssl=null".to_owned(),
        "ssl1=fd:0".to_owned(),
        format!("virtio_uml.device={}:{number}", socket.display()),
    ]);
    words.extend(machine.append.split_ascii_whitespace().map(str::to_owned));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qemu::shell_line;

    fn line(device: Device) -> String {
        let machine = Machine {
            name: "it",
            memory: 256,
            kernel: Path::new("/opt/linux"),
            initramfs: Path::new("/run/a/it.cpio"),
            append: "a=b c",
            console: Path::new("/out/it.log"),
            agent: Path::new("/run/a/it.agent"),
            monitor: Path::new("/run/a/it.qmp"),
            device: &device,
        };
        shell_line(&command(&machine, Path::new("/run/a")))
    }

    #[test]
    fn a_station_has_a_card_a_console_and_an_agent() {
        assert_eq!(
            line(Device::Card("/run/a/card0.sock".into())),
            "env -u TMPDIR -u TMP -u TEMP setpriv --pdeathsig KILL /opt/linux mem=256M umid=it uml_dir=/run/a \
             initrd=/run/a/it.cpio quiet lpj=200000000 virtio_pcidev.max_delay_us=4000000 con0=null,fd:1 con=null ssl=null ssl1=fd:0 \
             virtio_uml.device=/run/a/card0.sock:64 a=b c"
        );
    }

    #[test]
    fn access_points_have_radios_instead_of_a_card() {
        let line = line(Device::Hwsim("/run/a/hwsim0.sock".into()));
        assert!(
            line.ends_with("virtio_uml.device=/run/a/hwsim0.sock:29 a=b c"),
            "{line}"
        );
    }
}
