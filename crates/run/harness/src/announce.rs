//! What is said when a run begins of the VMs that the user starts: how to attach each, and what to join inside it.

use crate::cards::Cards;
use crate::session::Session;
use airlane_guests::external::{self, ExternalVm};
use airlane_guests::joining;
use anyhow::{Context, Result};

/// Tells how to attach the external VMs, if there are any.
pub fn external_vms(session: &mut Session, cards: &Cards) -> Result<()> {
    let numbered = session.scenario.vms.iter().enumerate();
    for (index, vm) in numbered.filter(|(_, vm)| vm.external) {
        let attached = ExternalVm {
            name: &vm.name,
            memory: vm.memory,
            card: cards.card(index)?,
        };
        session.progress.say(&format!(
            "waiting for your VM `{}`; start it with this command, your own disk in place of disk.qcow2:",
            vm.name
        ));
        let command = external::command(session.setup, attached);
        session.progress.say_plain(&command);
        write_domain(session, attached)?;
        for line in joining::how_to_join(session.output.path(), session.scenario, vm) {
            session.progress.say(&line);
        }
    }
    if session.scenario.vms.iter().any(|vm| vm.external) {
        for_other_users(session);
    }
    Ok(())
}

/// The libvirt domain, as a file beside the report.
fn write_domain(session: &mut Session, vm: ExternalVm) -> Result<()> {
    let path = session.output.file(&format!("{}.xml", vm.name));
    let text = external::domain(session.setup, vm);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    let command = "virsh -c qemu:///system define";
    session
        .progress
        .say(&format!("or with libvirt: {command} {}", path.display()));
    Ok(())
}

/// A VMM of another user, as libvirt's is, needs a socket that it reaches and a QEMU that it may run.
fn for_other_users(session: &mut Session) {
    let Some(folder) = &session.shared else {
        let way = "only your own QEMU reaches these cards; for libvirt's, which is another user, run with \
                   --run-dir /run/airlane --run-group libvirt-qemu";
        return session.progress.say(way);
    };
    let mut lines = external::for_other_users(session.setup, folder);
    if let Some(barrier) = folder.barrier() {
        lines.insert(0, format!(
            "the group cannot pass {}: name a --run-dir elsewhere, such as /run/airlane, or let it in (chmod g+x, chgrp)",
            barrier.display()
        ));
    }
    for line in lines {
        match line.strip_prefix("  ") {
            Some(command) => session.progress.say_plain(command),
            None => session.progress.say(&line),
        }
    }
}
