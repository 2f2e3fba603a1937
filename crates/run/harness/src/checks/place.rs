//! Where VMs are in their networks, before something happens and after it: for the VM that it happens
//! to, and for one that must not notice.

use super::echo::Stream;
use super::findings::{Findings, vm_name};
use super::signal;
use crate::session::Session;
use crate::stop::Stop;
use airlane_scenario::Check;

/// Where a VM is in its network.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Its access point.
    pub bssid: Option<String>,
    /// Its own address.
    pub ip: Option<String>,
    /// How many it has made so far.
    pub associations: u32,
    /// dBm.
    pub signal: Option<i64>,
    /// Its access point holds a key for it.
    pub known: bool,
}

/// Of each VM, now.
pub fn places(session: &mut Session, vms: &[usize]) -> Result<Vec<Place>, Stop> {
    let signals = signal::look(session, vms)?;
    let place = |(&vm, signal): (&usize, Option<i64>)| {
        let view = &session.members.get(vm)?.view;
        Some(Place {
            bssid: view.bssid.clone(),
            ip: view.ip.clone(),
            associations: view.associations,
            signal,
            known: known(session, vm).unwrap_or(false),
        })
    };
    Ok(vms.iter().zip(signals).filter_map(place).collect())
}

/// Whether the access point where the VM says it is holds a key for it.
fn known(session: &Session, vm: usize) -> Option<bool> {
    let view = &session.members.get(vm)?.view;
    let vm = session.scenario.vms.get(vm)?;
    let ap = session
        .scenario
        .access_point_of(vm, view.bssid.as_deref())?;
    let stations = &session.members.get(session.access_points())?.view.stations;
    Some(stations.contains(&(ap.name.clone(), vm.mac.to_string())))
}

/// Notes whether the witness of `check` was left alone.
pub fn witness(
    session: &mut Session,
    findings: &mut Findings,
    check: &Check,
    (before, after): (&Place, &Place),
    stream: Option<Stream>,
) {
    let Some(witness) = check.kind.witness() else {
        return;
    };
    let (passed, detail) = undisturbed(before, after, stream);
    let name = vm_name(session.scenario, witness).to_owned();
    let what = format!("{}: witness", check.name);
    findings.add(session, &what, &name, passed, detail);
}

/// A VM that stayed where it was and lost none of its answers.
fn undisturbed(before: &Place, after: &Place, stream: Option<Stream>) -> (bool, String) {
    let Some(stream) = stream else {
        return (false, "its echo requests have no result".to_owned());
    };
    let stayed = before.bssid == after.bssid && before.associations == after.associations;
    let detail = format!(
        "{} associations since, {} of {} echo requests answered, longest gap {:.1} s",
        after.associations.saturating_sub(before.associations),
        stream.answered,
        stream.sent,
        stream.gap
    );
    let detail = match &stream.lost[..] {
        [] => detail,
        lost => format!("{detail}, without an answer: {lost:?}"),
    };
    let answered = stream.answered > 0 && stream.lost.is_empty();
    (stayed && answered, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(lost: &[u64]) -> Option<Stream> {
        Some(Stream {
            sent: 10,
            answered: 10 - lost.len() as u64,
            lost: lost.to_vec(),
            gap: 0.0,
        })
    }

    #[test]
    fn a_witness_stays_and_loses_nothing() {
        let a = Place {
            bssid: Some("a".to_owned()),
            ip: Some("10.0.0.100".to_owned()),
            associations: 1,
            signal: Some(-50),
            known: true,
        };
        assert!(undisturbed(&a, &a, stream(&[])).0);
        let (passed, detail) = undisturbed(&a, &a, stream(&[3]));
        assert!(!passed && detail.contains("without an answer: [3]"));
        assert!(!undisturbed(&a, &a, Some(Stream::default())).0);
        let again = Place {
            associations: 2,
            ..a.clone()
        };
        assert!(!undisturbed(&a, &again, stream(&[])).0);
    }
}
