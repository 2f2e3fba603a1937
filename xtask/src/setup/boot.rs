//! How a guest is started: the arguments that boot fastest, found by measurement (see `guest/README.md`).

use std::path::Path;
use std::process::Command;

use super::kernel::Kernel;
use super::qemu::Qemu;

/// The kernel's command line.
pub const CMDLINE: &str = "console=ttyS0 quiet mitigations=off rodata=off tsc=reliable no_timer_check \
                           random.trust_cpu=on cryptomgr.notests audit=0";
/// The emulated machine.
pub const MACHINE: &str = "q35";
/// The emulated processor.
pub const CPU: &str = "max";

/// QEMU for a guest without devices but a console on standard output.
pub fn guest(qemu: &Qemu, accel: &str, kernel: &Kernel, initrd: &Path, extra: &str) -> Command {
    let mut command = qemu.command();
    command
        .args([
            "-machine", MACHINE, "-accel", accel, "-cpu", CPU, "-smp", "1", "-m", "256",
        ])
        .args([
            "-nodefaults",
            "-nographic",
            "-no-reboot",
            "-serial",
            "stdio",
        ])
        .arg("-kernel")
        .arg(kernel.image())
        .arg("-initrd")
        .arg(initrd)
        .arg("-append")
        .arg(format!("{CMDLINE} {extra}"));
    command
}
