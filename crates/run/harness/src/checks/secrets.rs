//! Keys of their own: where every VM's keys come from a secret of its own, both ends name the same secret
//! (its PMKID, IEEE 802.11-2020 12.7.1.3), and no two VMs have the same one.

use super::peers::Answers;
use crate::session::Session;
use airlane_scenario::Security;
use std::collections::BTreeMap;

/// Whose secret is whose, so far.
#[derive(Debug, Default)]
pub struct Secrets(BTreeMap<String, String>);

impl Secrets {
    /// What is wrong with the secret of VM `number`. Where a passphrase is the secret of all, or a VM
    /// is not asked, nothing is.
    pub fn contradiction(
        &mut self,
        session: &Session,
        number: usize,
        answers: &Answers,
    ) -> Option<String> {
        let vm = session.scenario.vms.get(number)?;
        let network = session.scenario.network_of(vm)?;
        let own = matches!(
            network.security,
            Security::Wpa3Sae | Security::Wpa2Enterprise
        );
        if !own || vm.external {
            return None;
        }
        let view = &session.members.get(number)?.view;
        let bssid = view.bssid.as_deref().unwrap_or_default();
        match answers.common_secret(&vm.mac.to_string(), bssid) {
            None => Some("the two ends do not name the same secret".to_owned()),
            Some(secret) => self.shared(&vm.name, secret),
        }
    }

    fn shared(&mut self, vm: &str, secret: &str) -> Option<String> {
        let other = self.0.insert(secret.to_owned(), vm.to_owned())?;
        Some(format!("it has the same secret as `{other}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_vms_with_one_secret_are_found() {
        let mut secrets = Secrets::default();
        assert_eq!(secrets.shared("it", "0123"), None);
        assert_eq!(secrets.shared("user", "4567"), None);
        let found = secrets.shared("guest", "0123").unwrap();
        assert!(found.contains("`it`"), "{found}");
    }
}
