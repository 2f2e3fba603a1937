//! The QEMU command that starts a VM of the user's, whole, for a shell.

use super::vm::ExternalVm;
use crate::qemu::{CARD, SLOT, card_in, root_port, shared_memory, shell_line};
use crate::setup::Setup;

/// What stands where the user's own disk belongs.
const DISK: &str = "file=disk.qcow2,if=virtio";

/// The command, over several lines: QEMU itself; machine, memory and card; last what is the user's to change. The card
/// is the guest's only network device.
pub fn command(setup: &Setup, vm: ExternalVm) -> String {
    let memory = vm.memory.to_string();
    let (port, card) = (root_port(1), card_in(SLOT, CARD, vm.card).to_string());
    let machine = [
        "-name",
        vm.name,
        "-M",
        &setup.machine,
        "-accel",
        &setup.accel,
        "-cpu",
        &setup.cpu,
        "-smp",
        "2",
        "-m",
        &memory,
    ];
    let mut parts = vec![
        setup.qemu.argv.clone(),
        machine.map(str::to_owned).to_vec(),
        shared_memory(vm.memory).to_vec(),
    ];
    let own = [
        &["-device", &port][..],
        &["-device", &card],
        &["-nic", "none", "-nographic", "-drive", DISK],
    ];
    parts.extend(own.map(|words| words.iter().map(|word| (*word).to_owned()).collect()));
    let lines: Vec<String> = parts.iter().map(|words| shell_line(words)).collect();
    lines.join(" \\\n  ")
}

/// What the command of a VM lacks whose memory the card cannot reach, for QEMU and for libvirt.
pub fn missing_arguments(memory: u64) -> String {
    format!(
        "QEMU: {}; libvirt: <memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>",
        shell_line(&shared_memory(memory))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::sample;
    use std::path::Path;

    #[test]
    fn the_command_is_whole_and_its_card_sits_behind_a_port_that_can_be_emptied() {
        let vm = ExternalVm {
            name: "yours",
            memory: 512,
            card: Path::new("/run/a b/yours.sock"),
        };
        assert_eq!(
            command(&sample(), vm),
            "/opt/ld.so /opt/qemu \\\n  \
             -name yours -M q35 -accel tcg -cpu max -smp 2 -m 512 \\\n  \
             -object memory-backend-memfd,id=mem,size=512M,share=on -machine memory-backend=mem \\\n  \
             -device pcie-root-port,id=card-slot,chassis=1,slot=1 \\\n  \
             -device '{\"bus\":\"card-slot\",\"driver\":\"vfio-user-pci\",\"id\":\"card\",\
             \"socket\":{\"path\":\"/run/a b/yours.sock\",\"type\":\"unix\"}}' \\\n  \
             -nic none -nographic -drive file=disk.qcow2,if=virtio"
        );
    }

    #[test]
    fn the_arguments_that_share_memory_are_named_for_both() {
        let said = missing_arguments(256);
        assert!(
            said.contains("-object memory-backend-memfd,id=mem,size=256M,share=on"),
            "{said}"
        );
        assert!(said.contains("<access mode='shared'/>"), "{said}");
    }
}
