//! A VM with the wrong passphrase never gets a key: as it says itself, and as its access point says.

use super::Findings;
use crate::guest::state::State;
use crate::run::session::Session;
use crate::scenario::Check;

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
    let access_points = session.members.get(session.access_points());
    let (Some(vm), Some(member), Some(access_points)) = (vm, member, access_points) else {
        return (false, "no such VM".to_owned());
    };
    let mac = vm.mac.to_string();
    let joined = access_points
        .view
        .stations
        .iter()
        .find(|(_, station)| *station == mac);
    if let Some((ap, _)) = joined {
        return (false, format!("`{ap}` has let it in"));
    }
    if member.view.state != State::Refused || member.view.associations > 0 {
        return (false, format!("it is {}, not refused", member.view.state));
    }
    let reason = member.view.reason.as_deref().unwrap_or("no reason");
    let told = access_points
        .view
        .wrong_keys
        .iter()
        .any(|(_, station)| *station == mac);
    let told = if told {
        "; the access point has seen a wrong key"
    } else {
        ""
    };
    (true, format!("{reason}{told}"))
}
