//! What decides who may join, in the words of hostapd.conf and wpa_supplicant.conf.

use airlane_scenario::{AccessPoint, EapMethod, Security, Vm};
use std::collections::{BTreeMap, BTreeSet};

/// Where the files of a network with identities lie in the guests.
pub const FOLDER: &str = "etc/airlane";

/// What a user with a password comes through, and how the password is told inside.
const TUNNELS: [&str; 2] = ["PEAP", "TTLS"];
const INSIDE: &str = "MSCHAPV2,TTLS-PAP,TTLS-CHAP,TTLS-MSCHAP,TTLS-MSCHAPV2";

/// Lines of hostapd.conf for access point `index`.
pub fn access_point(index: usize, ap: &AccessPoint) -> Vec<String> {
    let lines: &[&str] = match ap.security {
        Security::Open => &[],
        Security::Wpa2Psk => &["wpa=2", "wpa_key_mgmt=WPA-PSK", "rsn_pairwise=CCMP"],
        Security::Wpa3Sae => &[
            "wpa=2",
            "wpa_key_mgmt=SAE",
            "rsn_pairwise=CCMP",
            "ieee80211w=2",
            "sae_require_mfp=1",
        ],
        Security::Wpa2Enterprise => &[
            "wpa=2",
            "wpa_key_mgmt=WPA-EAP",
            "rsn_pairwise=CCMP",
            "ieee8021x=1",
            "eap_server=1",
        ],
        Security::WpaTkip => &["wpa=1", "wpa_key_mgmt=WPA-PSK", "wpa_pairwise=TKIP"],
    };
    let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    lines.extend(passphrase(ap));
    if ap.security == Security::Wpa2Enterprise {
        lines.extend(server_files(index));
    }
    lines
}

fn passphrase(ap: &AccessPoint) -> Option<String> {
    let passphrase = ap.passphrase.as_ref()?;
    Some(match ap.security {
        Security::Wpa3Sae => format!("sae_password={passphrase}"),
        _ => format!("wpa_passphrase={passphrase}"),
    })
}

fn server_files(index: usize) -> [String; 4] {
    [
        ("ca_cert", "ca.pem".to_owned()),
        ("server_cert", "server.pem".to_owned()),
        ("private_key", "server.key".to_owned()),
        ("eap_user_file", format!("eap{index}.users")),
    ]
    .map(|(key, file)| format!("{key}=/{FOLDER}/{file}"))
}

/// The users of an access point, as hostapd reads them: for the first phase by the identity that a VM tells in clear,
/// for the second by the one inside the tunnel. hostapd takes the first line that fits, so what fits every identity
/// (`*`) stands behind the others: a user may be anybody outside the tunnel.
pub fn users<'a>(ap: &AccessPoint, members: impl Iterator<Item = &'a Vm>) -> String {
    let mut first: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for eap in members.filter_map(|vm| vm.eap.as_ref()) {
        let method = match eap.method {
            EapMethod::Tls { .. } => "TLS",
            EapMethod::Peap { .. } => "PEAP",
        };
        first.entry(&eap.identity).or_default().insert(method);
    }
    for identity in ap.users.keys() {
        first.entry(identity).or_default().extend(TUNNELS);
    }
    let known = first.iter().map(|(identity, methods)| {
        let methods: Vec<&str> = methods.iter().copied().collect();
        format!("\"{identity}\" {}\n", methods.join(","))
    });
    let anybody = (!ap.users.is_empty()).then(|| format!("* {}\n", TUNNELS.join(",")));
    let users = ap.users.iter();
    let inside = users.map(|(name, word)| format!("\"{name}\" {INSIDE} \"{word}\" [2]\n"));
    known.chain(anybody).chain(inside).collect()
}

/// Lines for the network block of wpa_supplicant.conf.
pub fn station(network: &AccessPoint, vm: &Vm) -> Vec<String> {
    let quoted = |key: &str, text: &str| format!("{key}=\"{text}\"");
    let passphrase = vm.passphrase.as_deref().unwrap_or_default();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let mut lines: Vec<String> = words(match network.security {
        Security::Open => &["key_mgmt=NONE"],
        Security::Wpa2Psk => &["key_mgmt=WPA-PSK"],
        Security::Wpa3Sae => &["key_mgmt=SAE", "ieee80211w=2"],
        Security::Wpa2Enterprise => &["key_mgmt=WPA-EAP", "proto=RSN", "pairwise=CCMP"],
        Security::WpaTkip => &[
            "key_mgmt=WPA-PSK",
            "proto=WPA",
            "pairwise=TKIP",
            "group=TKIP",
        ],
    });
    match network.security {
        Security::Open => {}
        Security::Wpa3Sae => lines.push(quoted("sae_password", passphrase)),
        Security::Wpa2Psk | Security::WpaTkip => lines.push(quoted("psk", passphrase)),
        Security::Wpa2Enterprise => lines.extend(identity(vm)),
    }
    lines
}

fn identity(vm: &Vm) -> Vec<String> {
    let Some(eap) = &vm.eap else {
        return Vec::new();
    };
    let mut lines = vec![
        format!("eap={}", eap.method.word().to_uppercase()),
        format!("identity=\"{}\"", eap.identity),
        format!("ca_cert=\"/{FOLDER}/ca.pem\""),
    ];
    match &eap.method {
        EapMethod::Tls { .. } => {
            lines.push(format!("client_cert=\"/{FOLDER}/client.pem\""));
            lines.push(format!("private_key=\"/{FOLDER}/client.key\""));
        }
        EapMethod::Peap { password } => {
            lines.push(format!("password=\"{password}\""));
            lines.push("phase2=\"auth=MSCHAPV2\"".to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_scenario::Scenario;
    use std::path::Path;

    /// One network with these lines and one VM with those.
    fn lines(network: &str, vm: &str) -> (Vec<String>, Vec<String>, String) {
        let text = format!(
            "[[access_point]]\nname = 'corp'\nchannel = 36\naddress = '10.0.0.1/24'\n{network}\n\
             [[vm]]\nname = 'it'\n{vm}\n"
        );
        let scenario = Scenario::parse(Path::new("s.toml"), &text).unwrap();
        let (ap, vm) = (&scenario.access_points[0], &scenario.vms[0]);
        (
            access_point(0, ap),
            station(ap, vm),
            users(ap, scenario.vms.iter()),
        )
    }

    #[track_caller]
    fn holds(lines: &[String], wanted: &[&str]) {
        for line in wanted {
            assert!(
                lines.iter().any(|other| other == line),
                "{line} in {lines:?}"
            );
        }
    }

    #[test]
    fn sae_requires_protected_management_frames_at_both_ends() {
        let (ap, vm, _) = lines("security = 'wpa3-sae'\npassphrase = 'password'", "");
        holds(
            &ap,
            &["wpa_key_mgmt=SAE", "ieee80211w=2", "sae_password=password"],
        );
        holds(
            &vm,
            &["key_mgmt=SAE", "ieee80211w=2", "sae_password=\"password\""],
        );
    }

    #[test]
    fn tkip_is_the_only_cipher_of_its_network() {
        let network = "security = 'wpa-tkip'\npassphrase = 'password'";
        let (ap, vm, _) = lines(network, "swcrypto = true");
        holds(
            &ap,
            &["wpa=1", "wpa_pairwise=TKIP", "wpa_passphrase=password"],
        );
        holds(&vm, &["proto=WPA", "pairwise=TKIP", "psk=\"password\""]);
    }

    #[test]
    fn the_server_knows_who_comes_with_what() {
        let network = "security = 'wpa2-enterprise'\nusers = { user = 'secret' }";
        let tls = "eap = { method = 'tls' }";
        let (ap, vm, users) = lines(network, tls);
        holds(
            &ap,
            &["eap_server=1", "eap_user_file=/etc/airlane/eap0.users"],
        );
        holds(
            &vm,
            &[
                "eap=TLS",
                "identity=\"it\"",
                "private_key=\"/etc/airlane/client.key\"",
            ],
        );
        assert_eq!(
            users,
            "\"it\" TLS\n\"user\" PEAP,TTLS\n* PEAP,TTLS\n\
             \"user\" MSCHAPV2,TTLS-PAP,TTLS-CHAP,TTLS-MSCHAP,TTLS-MSCHAPV2 \"secret\" [2]\n"
        );
        let (_, vm, users) = lines(network, "eap = { method = 'peap', identity = 'user' }");
        holds(
            &vm,
            &[
                "eap=PEAP",
                "password=\"secret\"",
                "ca_cert=\"/etc/airlane/ca.pem\"",
            ],
        );
        assert!(users.starts_with("\"user\" PEAP,TTLS\n"), "{users}");
    }

    #[test]
    fn an_identity_has_one_line_with_all_its_methods() {
        let network = "security = 'wpa2-enterprise'\nusers = { user = 'secret' }";
        let (_, _, users) = lines(network, "eap = { method = 'tls', identity = 'user' }");
        assert!(users.starts_with("\"user\" PEAP,TLS,TTLS\n* "), "{users}");
    }

    #[test]
    fn a_network_of_certificates_alone_opens_a_tunnel_for_nobody() {
        let network = "security = 'wpa2-enterprise'";
        let (_, _, users) = lines(network, "eap = { method = 'tls' }");
        assert_eq!(users, "\"it\" TLS\n");
    }

    #[test]
    fn a_secret_of_the_scenario_wins_over_the_networks_in_the_vm_alone() {
        let network = "security = 'wpa2-enterprise'\nusers = { user = 'secret' }";
        let wrong = "eap = { method = 'peap', identity = 'user', password = 'wrong' }";
        let (_, vm, users) = lines(network, wrong);
        holds(&vm, &["password=\"wrong\""]);
        assert!(
            users.contains("\"secret\"") && !users.contains("wrong"),
            "{users}"
        );
    }
}
