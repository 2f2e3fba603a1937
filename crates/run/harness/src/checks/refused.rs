//! A VM with wrong credentials never gets a key: as it says itself in the words that fit them, and as its
//! access point says.

use super::findings::Findings;
use crate::session::Session;
use airlane_guests::state::{State, View};
use airlane_scenario::{Check, Security};
use std::collections::BTreeSet;

/// Looks at what is known; nothing is asked.
pub fn check(session: &mut Session, findings: &mut Findings, checks: &[&Check]) {
    for check in checks {
        let (passed, detail) = outcome(session, check.vm);
        findings.add_for(session, check, passed, detail);
    }
}

fn outcome(session: &Session, number: usize) -> (bool, String) {
    let (vm, member) = (
        session.scenario.vms.get(number),
        session.members.get(number),
    );
    let (Some(vm), Some(member)) = (vm, member) else {
        return (false, "no such VM".to_owned());
    };
    let mac = session.address(number).unwrap_or_default();
    if let Some(ap) = session.hosts_of(&mac).next() {
        return (false, format!("`{ap}` has let it in"));
    }
    let mut told = session.seen_by_access_points().map(|view| told(view, &mac));
    let told = told.find(|told| !told.is_empty()).unwrap_or_default();
    if vm.external {
        let tried = member.tried.is_some();
        let word = if tried {
            "no access point let it in"
        } else {
            "it has not tried to join"
        };
        return (tried, format!("{word}{told}"));
    }
    if member.view.state != State::Refused || member.view.associations > 0 {
        return (false, format!("it is {}, not refused", member.view.state));
    }
    let Some(network) = session.scenario.network_of(vm) else {
        return (false, "no such network".to_owned());
    };
    let own = own_error(network.security);
    let refusals: Vec<&str> = member.view.refusals.iter().map(String::as_str).collect();
    let words = refusals.join(", ");
    if !refusals.iter().any(|refusal| refusal.starts_with(own)) {
        return (false, format!("it says {words}, and not {own}"));
    }
    (true, words + told)
}

/// What wpa_supplicant says when its credentials are wrong: a 4-way handshake that the access point does
/// not go on with, an authentication that it rejects, an EAP failure that it sends.
fn own_error(security: Security) -> &'static str {
    match security {
        Security::Wpa2Psk | Security::WpaTkip => "WRONG_KEY",
        Security::Wpa3Sae => "AUTH_REJECT",
        Security::Wpa2Enterprise => "EAP_FAILURE",
        Security::Open => "ASSOC_REJECT",
    }
}

/// What the access points have seen of the station `mac`.
fn told(view: &View, mac: &str) -> &'static str {
    let holds = |list: &BTreeSet<(String, String)>| list.iter().any(|(_, station)| station == mac);
    if holds(&view.wrong_keys) {
        "; the access point has seen a wrong key"
    } else if holds(&view.eap_failures) {
        "; the access point's EAP server has refused it"
    } else {
        ""
    }
}
