//! From what is known of the guests to the rows of the table.

use super::cards::Vmac;
use super::member::Member;
use super::table::Row;
use airlane_guests::state::{State, View};
use airlane_scenario::{AccessPoint, ApKind, Scenario};

/// One row for each VM, then one for the access-point VM, then one for each built-in access point.
pub fn rows(scenario: &Scenario, members: &[Member], rates: &[Option<(f64, f64)>]) -> Vec<Row> {
    let numbered = members.iter().enumerate();
    let members = numbered.map(|(index, member)| row(scenario, index, member, rates));
    let points = scenario.access_points.iter();
    let built_ins = points.filter(|ap| ap.kind != ApKind::Hostapd);
    members.chain(built_ins.map(built_in)).collect()
}

/// A built-in access point serves as soon as there is a run.
fn built_in(ap: &AccessPoint) -> Row {
    Row {
        name: ap.name.clone(),
        state: State::Serving,
        network: ap.ssid.clone(),
        bssid: ap.bssid.to_string(),
        address: ap.subnet.address.to_string(),
        mbps: None,
    }
}

fn row(scenario: &Scenario, index: usize, member: &Member, rates: &[Option<(f64, f64)>]) -> Row {
    let vm = scenario.vms.get(index);
    let numbered = scenario.access_points.iter().enumerate();
    let names: Vec<&str> = numbered
        .filter(|(index, ap)| ap.network == *index && ap.kind == ApKind::Hostapd)
        .map(|(_, ap)| ap.ssid.as_str())
        .collect();
    let network = vm
        .and_then(|vm| scenario.network_of(vm))
        .map(|ap| ap.ssid.clone());
    let view = &member.view;
    Row {
        name: member.name.clone(),
        state: view.state,
        network: network.unwrap_or_else(|| names.join(", ")),
        bssid: view.bssid.clone().unwrap_or_default(),
        address: view.ip.clone().unwrap_or_default(),
        mbps: rates.get(index).copied().flatten(),
    }
}

/// Mb/s each way between two readings of byte counters.
pub fn rate(
    before: Option<(u64, u64)>,
    after: Option<(u64, u64)>,
    seconds: f64,
) -> Option<(f64, f64)> {
    let ((sent_before, received_before), (sent, received)) = before.zip(after)?;
    let mbps = |bytes: u64| bytes as f64 * 8e-6 / seconds.max(0.001);
    Some((
        mbps(sent.saturating_sub(sent_before)),
        mbps(received.saturating_sub(received_before)),
    ))
}

/// An external VM has no agent: what its vMAC does is all that is known.
pub fn show_external(view: &mut View, vmac: &Vmac) {
    view.state = match (vmac.exists, vmac.associated) {
        (false, _) => State::Waiting,
        (true, false) => State::Scanning,
        (true, true) => State::Associated,
    };
    view.bssid = vmac.bssid.clone().filter(|_| vmac.associated);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_megabits_each_way() {
        let rate = rate(Some((0, 1_000_000)), Some((250_000, 1_000_000)), 2.0);
        assert_eq!(rate, Some((1.0, 0.0)));
        assert_eq!(super::rate(None, Some((1, 1)), 1.0), None);
    }

    #[test]
    fn an_external_vm_is_what_its_vmac_is() {
        let mut view = View::default();
        let bssid = Some("02:00:00:00:01:01".to_owned());
        show_external(
            &mut view,
            &Vmac {
                keys: 0,
                exists: true,
                associated: true,
                bssid: bssid.clone(),
                bytes: None,
            },
        );
        assert_eq!((view.state, view.bssid.clone()), (State::Associated, bssid));
        show_external(&mut view, &Vmac::default());
        assert_eq!((view.state, view.bssid), (State::Waiting, None));
    }
}
