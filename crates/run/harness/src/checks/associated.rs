//! Each VM is in its own BSS, under its own MAC address, with its own key: as the guest says, as the
//! access point says, and as the NIC says.

use super::findings::Findings;
use super::peers::{self, Answers};
use super::secrets::Secrets;
use crate::session::Session;
use crate::stop::Stop;
use airlane_guests::state::{State, View};
use airlane_scenario::Check;

/// Looks at what is known, and asks both ends of each association.
pub fn check(
    session: &mut Session,
    findings: &mut Findings,
    checks: &[&Check],
) -> Result<(), Stop> {
    let mut secrets = Secrets::default();
    for (check, answers) in checks.iter().zip(peers::ask(session, checks)?) {
        let mut wrong = contradictions(session, check.vm);
        wrong.extend(peers::contradictions(session, check.vm, &answers));
        wrong.extend(secrets.contradiction(session, check.vm, &answers));
        if let Some(measured) = findings.measured(check.vm) {
            measured.note_security(&answers);
        }
        let detail = match wrong.is_empty() {
            true => summary(session, check.vm, &answers),
            false => wrong.join("; "),
        };
        findings.add_for(session, check, wrong.is_empty(), detail);
    }
    Ok(())
}

/// Everything that is not as the scenario says.
pub fn contradictions(session: &Session, number: usize) -> Vec<String> {
    let scenario = session.scenario;
    let vm = scenario.vms.get(number);
    let (Some(vm), Some(member)) = (vm, session.members.get(number)) else {
        return vec!["no such VM".to_owned()];
    };
    let bssid = member.view.bssid.as_deref();
    let Some(network) = scenario.access_point_of(vm, bssid) else {
        return vec!["no such network".to_owned()];
    };
    let mac = session.address(number).unwrap_or_default();
    let (bssid, view) = (network.bssid.to_string(), &member.view);
    let mut facts = Facts::default();
    if !vm.external {
        facts.expect("its MAC address", view.mac.as_deref(), &mac);
        facts.expect("its SSID", view.ssid.as_deref(), &network.ssid);
        let key_mgmt = network.security.key_mgmt();
        facts.expect("its key management", view.key_mgmt.as_deref(), key_mgmt);
    }
    if let (true, Some(elsewhere)) = (vm.external, elsewhere(view, &network.ssid)) {
        return vec![elsewhere];
    }
    facts.expect("its BSSID", view.bssid.as_deref(), &bssid);
    let seen = session
        .vmacs
        .get(number)
        .and_then(|vmac| vmac.bssid.as_deref());
    facts.expect("the BSSID that the NIC holds for it", seen, &bssid);
    let mut wrong = facts.0;
    let same = scenario.access_points_of(vm.joins);
    let same: Vec<&str> = same.map(|ap| ap.name.as_str()).collect();
    let at: Vec<&str> = session.hosts_of(&mac).collect();
    if !is_there_only(&at, &network.name, &same) {
        let at = at.join(", ");
        wrong.push(format!("{mac} has joined [{at}], not [{}]", network.name));
    }
    wrong
}

/// Where an external VM is, if not in the network that it is to join: all else follows from that.
fn elsewhere(view: &View, expected: &str) -> Option<String> {
    let found = match (&view.ssid, view.state) {
        (Some(ssid), _) if ssid == expected => return None,
        (Some(ssid), _) => format!("in the network {ssid:?}"),
        (None, State::Associated) => "at an access point of nobody here".to_owned(),
        (None, state) => state.to_string(),
    };
    Some(format!("it is {found}, not in {expected:?}"))
}

/// Whether, of the access points that hold a key for an address, the one with this name is one, and none is outside of its network.
/// Within the network the one that a station has left may hold its key until the station has been idle for minutes.
fn is_there_only(at: &[&str], name: &str, same_network: &[&str]) -> bool {
    at.contains(&name) && at.iter().all(|one| same_network.contains(one))
}

fn summary(session: &Session, number: usize, answers: &Answers) -> String {
    let view = session.members.get(number).map(|member| &member.view);
    let text = |value: Option<&String>| value.cloned().unwrap_or_else(|| "?".to_owned());
    let mac = session.address(number).unwrap_or_default();
    let bssid = text(view.and_then(|view| view.bssid.as_ref()));
    let mut text = format!("{mac} at {bssid}");
    let told = view.and_then(|view| view.key_mgmt.clone());
    if let Some(key_mgmt) = told.or_else(|| answers.key_mgmt()) {
        text += &format!(" with {key_mgmt}");
    }
    if let Some(eap) = answers.eap() {
        text += &format!(" ({} as {})", eap.method, eap.identity);
    }
    if answers.pmf() {
        text += " and protected management frames";
    }
    text
}

/// Gathers what is otherwise than expected.
#[derive(Default)]
struct Facts(Vec<String>);

impl Facts {
    fn expect(&mut self, what: &str, seen: Option<&str>, expected: &str) {
        if seen != Some(expected) {
            self.0.push(format!(
                "{what} is {}, not {expected}",
                seen.unwrap_or("unknown")
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_external_vm_in_another_network_is_named_with_it() {
        let view = |ssid: Option<&str>, state| View {
            ssid: ssid.map(str::to_owned),
            state,
            ..View::default()
        };
        let found = |ssid, state| elsewhere(&view(ssid, state), "corp");
        assert_eq!(found(Some("corp"), State::Associated), None);
        let cafe = found(Some("cafe"), State::Associated).unwrap();
        assert!(
            cafe.contains("in the network \"cafe\", not in \"corp\""),
            "{cafe}"
        );
        let ibss = found(None, State::Ibss).unwrap();
        assert!(ibss.contains("in an IBSS"), "{ibss}");
    }

    #[test]
    fn a_key_in_another_network_is_none_in_the_own() {
        let corp = ["east", "west"];
        assert!(is_there_only(&["west"], "west", &corp));
        assert!(
            is_there_only(&["east", "west"], "west", &corp),
            "it came over"
        );
        assert!(!is_there_only(&["east"], "west", &corp));
        assert!(!is_there_only(&["home", "west"], "west", &corp));
        assert!(!is_there_only(&[], "west", &corp));
    }
}
