//! A VM in power save is reachable: the driver says that power save is on, and after a quiet time echo requests reach the
//! VM and leave it, one at a time with quiet in between.
//!
//! Not shown: that the card sleeps, which its driver decides; `iwldvm` of Linux 6.1 never lets it while it is
//! associated (docs/control.md). That a sleeping radio loses nothing is shown by the daemon's stories.

use super::findings::Findings;
use super::gateway::gateway;
use super::ping_words as ping;
use crate::report::Ping;
use crate::session::Session;
use crate::stop::Stop;
use airlane_scenario::{Check, CheckKind};
use std::time::Duration;

/// Echo requests each way, a second apart: far enough for a card to sleep in between if its driver lets it.
const REQUESTS: u64 = 6;
/// What `iw` prints while power save is on.
const ON: &str = "Power save: on";

/// All VMs at the same time.
pub fn check(
    session: &mut Session,
    findings: &mut Findings,
    checks: &[&Check],
) -> Result<(), Stop> {
    let from: Vec<_> = checks
        .iter()
        .map(|check| (check.vm, from_vm(session, check)))
        .collect();
    let to: Vec<_> = checks
        .iter()
        .map(|check| (session.access_points(), to_vm(session, check)))
        .collect();
    let quiet = checks.iter().map(|check| seconds(check)).max().unwrap_or(0);
    let limit = Duration::from_secs(quiet + 2 * REQUESTS + 30);
    let from = session.exec_all(&from, limit)?;
    let to = session.exec_all(&to, limit)?;
    for ((check, from), to) in checks.iter().zip(from).zip(to) {
        let text = |output: Option<crate::jobs::Finished>| {
            output.map(|output| output.output).unwrap_or_default()
        };
        let (passed, detail) = outcome(&text(from), &text(to));
        findings.add_for(session, check, passed, detail);
    }
    // The checks behind this one find the card as it was.
    let off: Vec<_> = checks
        .iter()
        .map(|check| (check.vm, "iw dev wlan0 set power_save off".to_owned()))
        .collect();
    session.exec_all(&off, Duration::from_secs(20))?;
    Ok(())
}

fn seconds(check: &Check) -> u64 {
    match check.kind {
        CheckKind::PowerSave { seconds } => seconds,
        _ => 0,
    }
}

/// Switches power save on, is quiet, then asks the gateway.
fn from_vm(session: &Session, check: &Check) -> String {
    // Without a gateway the command fails in its own words.
    let gateway = gateway(session, check.vm).unwrap_or_else(|| "no-gateway".to_owned());
    format!(
        "iw dev wlan0 set power_save on && iw dev wlan0 get power_save && sleep {} && \
         ping -q -c {REQUESTS} -i 1 -W 2 {gateway}",
        seconds(check)
    )
}

/// The access point asks the VM, which is in power save.
fn to_vm(session: &Session, check: &Check) -> String {
    let address = session
        .members
        .get(check.vm)
        .and_then(|member| {
            member
                .view
                .ip
                .as_deref()?
                .parse::<std::net::Ipv4Addr>()
                .ok()
        })
        .map_or_else(|| "no-address".to_owned(), |address| address.to_string());
    let network = session.scenario.vms.get(check.vm).map_or(0, |vm| vm.joins);
    format!("ip netns exec ap{network} ping -q -c {REQUESTS} -i 1 -W 2 {address}")
}

fn outcome(from: &str, to: &str) -> (bool, String) {
    if !from.contains(ON) {
        return (false, "power save is off in its driver".to_owned());
    }
    let all = Some(Ping {
        sent: REQUESTS,
        received: REQUESTS,
    });
    let (from, to) = (ping::parse(from), ping::parse(to));
    let answered = |ping: Option<Ping>| ping.map_or(0, |ping| ping.received);
    let detail = format!(
        "power save is on: {} of {REQUESTS} echo requests from it and {} of {REQUESTS} to it answered",
        answered(from),
        answered(to)
    );
    (from == all && to == all, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "6 packets transmitted, 6 packets received, 0% packet loss\n";
    const LOST: &str = "6 packets transmitted, 5 packets received, 16% packet loss\n";

    #[test]
    fn it_passes_only_with_power_save_on_and_nothing_lost_either_way() {
        let on = |text| format!("{ON}\n{text}");
        assert!(outcome(&on(ALL), ALL).0);
        assert!(!outcome(&on(LOST), ALL).0);
        assert!(!outcome(&on(ALL), LOST).0);
        assert!(!outcome(&on(ALL), "").0);
        assert!(!outcome(&format!("Power save: off\n{ALL}"), ALL).0);
    }
}
