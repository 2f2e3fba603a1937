//! The report while a run goes on and at its end, and the file that holds it.

use crate::checks::Findings;
use crate::folder::Output;
use crate::report::{self, Report};
use crate::session::Session;
use airlane_guests::state::View;
use airlane_scenario::{ApKind, Scenario};
use anyhow::{Context, Result};
use std::time::Instant;

/// What is known so far, with the counters of this moment. A run that goes on has not passed.
pub fn so_far(session: &Session, findings: &Findings, began: Instant) -> Report {
    let counters = session.cards.as_ref();
    let counters = counters.and_then(|cards| cards.counters(session.scenario).ok());
    Report {
        scenario: session.scenario.name.clone(),
        passed: false,
        running: true,
        error: None,
        seconds: began.elapsed().as_secs_f64(),
        vms: vms(session, findings),
        checks: findings.checks.clone(),
        steps: findings.steps.clone(),
        counters: counters.unwrap_or_default(),
    }
}

/// What is known of each VM.
fn vms(session: &Session, findings: &Findings) -> Vec<report::Vm> {
    let numbered = session.scenario.vms.iter().enumerate();
    let entry = |(index, vm): (usize, &airlane_scenario::Vm)| {
        let view = session.members.get(index).map(|member| member.view.clone());
        let measured = findings.measured.get(index).cloned().unwrap_or_default();
        // The card of an external VM says what nobody in it is asked.
        let card = session.vmacs.get(index).filter(|_| vm.external);
        let signal = card.and_then(|vmac| vmac.signal);
        let view = view.unwrap_or_default();
        let built_in = built_in_key_mgmt(session.scenario, &view).filter(|_| vm.external);
        report::Vm {
            signal_dbm: measured.signal.or(signal),
            key_mgmt: view
                .key_mgmt
                .clone()
                .or(measured.key_mgmt.clone())
                .or(built_in),
            ..of(session.scenario, vm, view, measured)
        }
    };
    numbered.map(entry).collect()
}

/// A built-in access point lets stations in by the one way that the scenario gives it.
fn built_in_key_mgmt(scenario: &Scenario, view: &View) -> Option<String> {
    let mut points = scenario.access_points.iter();
    let at = points.find(|ap| view.bssid.as_deref() == Some(ap.bssid.to_string().as_str()))?;
    (at.kind != ApKind::Hostapd).then(|| at.security.key_mgmt().to_owned())
}

fn of(
    scenario: &Scenario,
    vm: &airlane_scenario::Vm,
    view: View,
    measured: crate::checks::Measured,
) -> report::Vm {
    report::Vm {
        name: vm.name.clone(),
        card_name: scenario.card_name(vm).map(str::to_owned),
        driver: view.driver,
        kernel: view.kernel,
        mac: view.mac,
        ssid: view.ssid,
        bssid: view.bssid,
        key_mgmt: view.key_mgmt,
        pmf: measured.pmf,
        eap: measured.eap,
        signal_dbm: measured.signal,
        ping: measured.ping,
        tcp_mbps: measured.tcp,
        udp_mbps: measured.udp,
    }
}

/// Writes the report: a reader finds the one before or this one, never a part.
pub fn write(output: &Output, report: &Report) -> Result<()> {
    let path = output.file("report.json");
    let text = serde_json::to_string_pretty(report)? + "\n";
    let new = output.file("report.json.new");
    let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path));
    written.with_context(|| format!("cannot write {}", path.display()))
}
