//! The libvirt domain that attaches a VM's card, and what libvirt's own user must be given for it. libvirt knows no
//! vfio-user device: the card is handed to QEMU past it (`qemu:commandline`).

use super::emulator::Emulator;
use super::folder::RunFolder;
use super::vm::ExternalVm;
use crate::qemu::{CARD, card_in, root_port};
use crate::setup::Setup;

/// The port's number: libvirt counts its own from 1.
const CHASSIS: u8 = 200;
/// Its place on the root bus: libvirt fills that from 0x1 on, and 0x1f is the machine's own. Without one QEMU takes the first
/// that is free, before it makes the devices that libvirt has placed.
const ADDRESS: &str = "addr=0x1e";

/// A whole domain: its disk is the user's to name.
pub fn domain(setup: &Setup, vm: ExternalVm) -> String {
    let (kind, cpu) = match setup.accel.as_str() {
        "kvm" => ("kvm", "host-passthrough"),
        _ => ("qemu", "maximum"),
    };
    let emulator = Emulator::of(setup);
    let (port, card) = (
        format!("{},{ADDRESS}", root_port(CHASSIS)),
        card_in(crate::qemu::SLOT, CARD, vm.card),
    );
    let arguments = ["-device", &port, "-device", &card.to_string()]
        .map(|word| format!("    <qemu:arg value='{}'/>\n", escaped(word)));
    format!(
        "<domain type='{kind}' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\n  \
           <name>{name}</name>\n  \
           <memory unit='MiB'>{memory}</memory>\n  \
           <memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>\n  \
           <vcpu>2</vcpu>\n  \
           <os><type arch='x86_64' machine='q35'>hvm</type></os>\n  \
           <features><acpi/><apic/></features>\n  \
           <cpu mode='{cpu}'/>\n  \
           <devices>\n    \
             <emulator>{emulator}</emulator>\n    \
             <disk type='file' device='disk'>\n      \
               <driver name='qemu' type='qcow2'/>\n      \
               <source file='/var/lib/libvirt/images/{name}.qcow2'/>\n      \
               <target dev='vda' bus='virtio'/>\n    \
             </disk>\n    \
             <console type='pty'/>\n  \
           </devices>\n  \
           <qemu:commandline>\n{arguments}  </qemu:commandline>\n\
         </domain>\n",
        name = escaped(vm.name),
        memory = vm.memory,
        emulator = escaped(&emulator.program().to_string_lossy()),
        arguments = arguments.concat(),
    )
}

/// What is needed once so that QEMUs of another user attach: lines for people, commands indented.
pub fn for_other_users(setup: &Setup, folder: &RunFolder) -> Vec<String> {
    let emulator = Emulator::of(setup);
    let mut lines = Vec::new();
    let commands = emulator.preparation();
    if !commands.is_empty() {
        let why =
            "airlane's own QEMU lies in your cache, which other users cannot enter; copy it once:";
        lines.push(why.to_owned());
        lines.extend(commands.iter().map(|command| format!("  {command}")));
    }
    let (of_vms, of_libvirtd) = emulator.rules();
    let sockets = format!("\"{}/*.sock\" rw,", folder.path().display());
    let of_vms = [vec![sockets], of_vms].concat();
    lines.push(
        "where AppArmor confines libvirt's VMs (`aa-status`), allow it once, then restart libvirtd:"
            .to_owned(),
    );
    lines.push(format!(
        "  echo '{}' | sudo tee -a /etc/apparmor.d/local/abstractions/libvirt-qemu",
        of_vms.join(" ")
    ));
    if !of_libvirtd.is_empty() {
        lines.push(format!(
            "  echo '{}' | sudo tee -a /etc/apparmor.d/local/usr.sbin.libvirtd && sudo apparmor_parser -r /etc/apparmor.d/usr.sbin.libvirtd",
            of_libvirtd.join(" ")
        ));
    }
    lines
}

/// Text within an attribute in single quotes, or between tags.
fn escaped(text: &str) -> String {
    let escape = |c| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '\'' => "&apos;".to_owned(),
        '"' => "&quot;".to_owned(),
        c => String::from(c),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::sample;
    use std::path::Path;

    #[test]
    fn a_domain_has_shared_memory_and_its_card_behind_a_port_of_its_own() {
        let vm = ExternalVm {
            name: "yours",
            memory: 512,
            card: Path::new("/run/a'b/yours.sock"),
        };
        let text = domain(&sample(), vm);
        for part in [
            "<memory unit='MiB'>512</memory>",
            "<source type='memfd'/><access mode='shared'/>",
            "<qemu:arg value='pcie-root-port,id=card-slot,chassis=200,slot=1,addr=0x1e'/>",
            "&quot;path&quot;:&quot;/run/a&apos;b/yours.sock&quot;",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn another_user_is_given_the_sockets_and_a_qemu() {
        let folder = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&folder.path().join("lab"), None).unwrap();
        let mut setup = sample();
        let said = for_other_users(&setup, &folder).join("\n");
        assert!(said.contains("cp -rT /opt "), "{said}");
        assert!(said.contains("/lab/*.sock\" rw,"), "{said}");
        assert!(said.contains("/opt/airlane-qemu/** rmix,"), "{said}");
        setup.qemu.argv = vec!["qemu-system-x86_64".to_owned()];
        let said = for_other_users(&setup, &folder).join("\n");
        assert!(
            !said.contains("cp ") && !said.contains("libvirtd &&"),
            "{said}"
        );
    }
}
