//! What machines do in their lives, and how they are made to do it: by a command inside, or by the
//! monitor of their QEMU. Whether they return is looked at elsewhere.

use super::gateway::gateway;
use crate::session::Session;
use crate::stop::Stop;
use airlane_guests::qemu;
use airlane_scenario::Action;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Done, or what went wrong in the guest; a stop when the run cannot go on.
type Acted = Result<Result<(), String>, Stop>;

/// How long a command or a step of an action may take.
const COMMAND: Duration = Duration::from_secs(60);
/// How long a machine may take to boot again.
const BOOT: Duration = Duration::from_secs(120);

/// Does it; the VM is on its way back then.
pub fn act(session: &mut Session, vm: usize, action: Action) -> Acted {
    match action {
        Action::Reload => order(session, vm, RELOAD),
        Action::Ifdown => ifdown(session, vm),
        Action::Suspend => suspend(session, vm),
        Action::Reboot => reboot(session, vm),
        Action::HotPlug => hot_plug(session, vm),
    }
}

/// Both modules go, and with them the interface; both come back.
const RELOAD: &str = "modprobe -r iwldvm iwlwifi && [ ! -e /sys/class/net/wlan0 ] && \
                      modprobe iwlwifi && modprobe iwldvm";

/// Runs a command that must succeed.
fn order(session: &mut Session, vm: usize, command: &str) -> Acted {
    let results = session.exec_all(&[(vm, command.to_owned())], COMMAND)?;
    Ok(match results.into_iter().next().flatten() {
        Some(finished) if finished.code == 0 => Ok(()),
        Some(finished) => Err(format!(
            "the command failed ({}): {}",
            finished.code,
            finished.output.trim()
        )),
        None => Err("the command has not ended".to_owned()),
    })
}

/// The interface goes down while large echo requests and replies flow, some two hundred a second, and up again.
fn ifdown(session: &mut Session, vm: usize) -> Acted {
    let Some(gateway) = gateway(session, vm) else {
        return Ok(Err("it has no gateway".to_owned()));
    };
    order(
        session,
        vm,
        &format!(
            "ping -q -s 1400 -i 0.005 {gateway} >/dev/null 2>&1 & ping=$!; sleep 1; \
             kill -0 $ping && ip link set wlan0 down && sleep 0.3 && ip link set wlan0 up; code=$?; \
             kill -s INT $ping 2>/dev/null; exit $code"
        ),
    )
}

/// Puts back the place of the machine's power management registers afterwards (ICH9 LPC, PMBASE and ACPI_CNTL
/// at 0x40): QEMU's firmware forgets it in a wake-up, and the machine could not sleep again.
const SUSPEND: &str = "lpc=/sys/bus/pci/devices/0000:00:1f.0/config; \
                       dd if=$lpc of=/run/lpc bs=1 skip=64 count=8 2>/dev/null; \
                       echo mem >/sys/power/state; code=$?; \
                       dd if=/run/lpc of=$lpc bs=1 seek=64 conv=notrunc 2>/dev/null; exit $code";

/// To memory and back: the machine's own way to sleep, and the user's key to wake it.
fn suspend(session: &mut Session, vm: usize) -> Acted {
    let job = session.exec(vm, SUSPEND)?;
    let asleep = wait_for_status(session, vm, "suspended")?;
    if let Err(failure) = asleep {
        return Ok(Err(failure));
    }
    session.monitor(vm, "system_wakeup", json!({}))?;
    let result = session.finish(&[job], COMMAND)?;
    Ok(match result.into_iter().next().flatten() {
        Some(finished) if finished.code == 0 => Ok(()),
        Some(finished) => Err(format!("it does not sleep: {}", finished.output.trim())),
        None => Err("it does not wake up".to_owned()),
    })
}

fn wait_for_status(session: &mut Session, vm: usize, wanted: &str) -> Acted {
    poll(
        session,
        &format!("its machine is not {wanted}"),
        |session| {
            let status = session.monitor(vm, "query-status", json!({}))?;
            Ok(status.get("status").and_then(Value::as_str) == Some(wanted))
        },
    )
}

/// Looks now and then whether `done` holds; in the end says what was missing.
fn poll(
    session: &mut Session,
    missing: &str,
    mut done: impl FnMut(&mut Session) -> Result<bool, Stop>,
) -> Acted {
    let deadline = Instant::now() + COMMAND;
    while !done(session)? {
        if Instant::now() >= deadline {
            return Ok(Err(missing.to_owned()));
        }
        session.wait_until(Instant::now() + Duration::from_millis(100), |_| false)?;
    }
    Ok(Ok(()))
}

/// The machine starts anew, its QEMU and with it the card's connection stay.
fn reboot(session: &mut Session, vm: usize) -> Acted {
    session.monitor(vm, "set-action", json!({"reboot": "reset"}))?;
    session.exec(vm, "reboot -f")?;
    session.restarts(vm);
    let booted = |session: &Session| {
        let member = session.members.get(vm);
        member.is_some_and(|member| member.booted.is_some())
    };
    let booted = session.wait_until(Instant::now() + BOOT, booted)?;
    session.monitor(vm, "set-action", json!({"reboot": "shutdown"}))?;
    Ok(match booted {
        true => Ok(()),
        false => Err("it does not boot again".to_owned()),
    })
}

/// The card is pulled out of the running VM, and plugged in.
fn hot_plug(session: &mut Session, vm: usize) -> Acted {
    let pulled = unplug(session, vm)?;
    if pulled.is_err() {
        return Ok(pulled);
    }
    plug(session, vm)?;
    Ok(Ok(()))
}

/// Out: the guest gives its card up, QEMU closes the connection, the NIC holds nothing for the VM any more.
fn unplug(session: &mut Session, vm: usize) -> Acted {
    session.monitor(vm, "device_del", json!({"id": qemu::CARD}))?;
    let gone = poll(session, "QEMU does not give up the card", |session| {
        session.happened(vm, "DEVICE_DELETED")
    })?;
    if gone.is_err() {
        return Ok(gone);
    }
    let released = poll(session, "its virtual MAC is still held", |session| {
        Ok(session.vmacs.get(vm).is_none_or(|vmac| !vmac.exists))
    })?;
    if released.is_err() {
        return Ok(released);
    }
    order(session, vm, "[ ! -e /sys/class/net/wlan0 ]")
}

/// In: QEMU connects anew, the guest's driver finds the card by itself.
fn plug(session: &mut Session, vm: usize) -> Result<(), Stop> {
    let socket = session.card(vm)?;
    session.monitor(vm, "device_add", qemu::card_in_slot(&socket))?;
    Ok(())
}
