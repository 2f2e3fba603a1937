//! A stranger's VM under libvirt: Debian 13 as its packages install it, started by `libvirt-qemu`, attached to a run with
//! nothing but what the run announces. It scans with NetworkManager, joins WPA2 and WPA3, is started anew and restarted.
//!
//! Needs what `cargo xtask setup --own-vm` sets up, and root: `make test-own-vm`.
#![expect(
    clippy::disallowed_methods,
    reason = "time-outs of real machines need the real clock"
)]

#[path = "own_vm/announced.rs"]
mod announced;
mod common;
#[path = "own_vm/console.rs"]
mod console;
#[path = "own_vm/host.rs"]
mod host;
#[path = "own_vm/libvirt.rs"]
mod libvirt;

use std::time::{Duration, Instant};

use announced::Run;
use console::Console;
use host::Host;
use libvirt::Libvirt;

const TEST: &str = "a_strangers_vm_under_libvirt_joins_restarts_and_attaches_again";
const VM: &str = "yours";

#[test]
#[ignore = "needs root, and cargo xtask setup --own-vm"]
fn a_strangers_vm_under_libvirt_joins_restarts_and_attaches_again() {
    let Some(host) = Host::enter(TEST) else {
        return;
    };
    let begin = Instant::now();
    let told = |what: &str| println!("{:6.1} s  {what}", begin.elapsed().as_secs_f64());
    let libvirt = Libvirt::start();
    let mut run = Run::start(&host.scenario(SCENARIO), &host.out());
    told("airlane has announced its VM");

    run.follow_commands();
    host.make_disk(VM);
    libvirt.virsh(&["define", &run.domain()]);
    libvirt.virsh(&["start", VM]);
    assert_eq!(libvirt.user_of(VM), "libvirt-qemu");
    let mut vm = Console::open(VM);
    told("the VM has booted");

    vm.sees(&["home", "vault"]);
    told("NetworkManager lists both networks");
    vm.joins("home", "home has this one", "192.168.1.1");
    assert!(!vm.protects_frames());
    told("joined WPA2, with Debian's own microcode");

    vm.installs_firmware(&run.firmware());
    vm.sees(&["home", "vault"]);
    vm.joins("vault", "vault has another", "192.168.2.1");
    assert!(vm.protects_frames());
    run.says("pass  yours: associated");
    told("joined WPA3, with the microcode that the run has named");

    vm.shut_down();
    libvirt.until_off(VM);
    libvirt.virsh(&["start", VM]);
    let mut vm = Console::open(VM);
    vm.is_connected("vault", "192.168.2.1");
    told("started anew: NetworkManager is back in WPA3 by itself");

    vm.reboots();
    vm.is_connected("vault", "192.168.2.1");
    assert!(vm.protects_frames());
    told("rebooted: NetworkManager is back in WPA3 by itself");

    vm.shut_down();
    libvirt.until_off(VM);
    run.ends_well(Duration::from_secs(60));
    told("the run has ended");
}

/// The VM is expected in the second network, for which it needs microcode of airlane's.
const SCENARIO: &str = r#"title = "A stranger's VM"

[run]
external_timeout = 900

[[access_point]]
name = "home"
channel = 36
passphrase = "home has this one"
address = "192.168.1.1/24"

[[access_point]]
name = "vault"
channel = 36
security = "wpa3-sae"
passphrase = "vault has another"
address = "192.168.2.1/24"

[[vm]]
name = "yours"
join = "vault"
external = true
memory = 1024

[[check]]
kind = "associated"
"#;
