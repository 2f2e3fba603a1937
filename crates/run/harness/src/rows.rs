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
    let view = &member.view;
    // An external VM is where its user has put it, which need not be where the scenario wants it.
    let network = vm.map(|vm| match vm.external {
        true => view.ssid.clone().unwrap_or_default(),
        false => scenario
            .network_of(vm)
            .map_or_else(String::new, |ap| ap.ssid.clone()),
    });
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
pub fn show_external(view: &mut View, vmac: &Vmac, scenario: &Scenario) {
    view.state = match vmac {
        vmac if vmac.exists && vmac.associated => State::Associated,
        vmac if vmac.exists && vmac.ibss && vmac.bssid.is_some() => State::Ibss,
        vmac if vmac.exists => State::Scanning,
        vmac if vmac.attached => State::Attached,
        _ => State::Waiting,
    };
    let joined = matches!(view.state, State::Associated | State::Ibss);
    view.bssid = vmac.bssid.clone().filter(|_| joined);
    view.mac = vmac.address.clone();
    let mut points = scenario.access_points.iter();
    let at = points.find(|ap| view.bssid.as_deref() == Some(ap.bssid.to_string().as_str()));
    view.ssid = at.map(|ap| ap.ssid.clone());
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

    fn scenario() -> Scenario {
        let text = "[[access_point]]\nname='corp'\nchannel=36\naddress='10.0.0.1/24'\n\
                    [[access_point]]\nname='cafe'\nchannel=40\naddress='10.0.1.1/24'\n\
                    [[vm]]\nname='it'\njoin='corp'\nexternal=true\n";
        Scenario::parse(std::path::Path::new("s.toml"), text).unwrap()
    }

    fn at(bssid: &str) -> Vmac {
        Vmac {
            attached: true,
            exists: true,
            associated: true,
            bssid: Some(bssid.to_owned()),
            ..Vmac::default()
        }
    }

    #[test]
    fn an_external_vm_is_what_its_vmac_is() {
        let (scenario, mut view) = (scenario(), View::default());
        let cafe = "02:00:00:00:01:02";
        let mut shown = |vmac: &Vmac| {
            show_external(&mut view, vmac, &scenario);
            (view.state, view.ssid.clone(), view.bssid.clone())
        };
        let ssid = Some("cafe".to_owned());
        assert_eq!(
            shown(&at(cafe)),
            (State::Associated, ssid, Some(cafe.to_owned()))
        );
        let starting = Vmac {
            attached: true,
            ..Vmac::default()
        };
        assert_eq!(shown(&starting), (State::Attached, None, None));
        assert_eq!(shown(&Vmac::default()), (State::Waiting, None, None));
    }

    #[test]
    fn progress_of_an_external_vm_names_the_network_that_it_is_in() {
        let scenario = scenario();
        let mut member = Member::new("it", None);
        show_external(&mut member.view, &at("02:00:00:00:01:02"), &scenario);
        assert_eq!(row(&scenario, 0, &member, &[]).network, "cafe");
        show_external(&mut member.view, &Vmac::default(), &scenario);
        assert_eq!(row(&scenario, 0, &member, &[]).network, "");
    }

    #[test]
    fn a_member_of_an_ibss_is_not_associated() {
        let mut view = View::default();
        let member = Vmac {
            associated: false,
            ibss: true,
            ..at("02:aa:bb:cc:dd:ee")
        };
        show_external(&mut view, &member, &scenario());
        assert_eq!((view.state, view.ssid), (State::Ibss, None));
    }
}
