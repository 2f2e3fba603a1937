//! The rules of security, broken once each.

use super::tests::{VALID, parse, refused_at, with_line};
use super::*;

/// [`VALID`] with security `word` in the network `home`, its passphrase line replaced by `more`.
fn secured(word: &str, more: &str) -> String {
    let network = format!("security = \"{word}\"\n{more}");
    with_line("passphrase = \"home passphrase\"", &network).1
}

fn line_of(text: &str, line: &str) -> usize {
    text.lines().position(|other| other == line).unwrap() + 1
}

#[test]
fn the_passphrase_tells_the_security_where_none_is_written() {
    let scenario = parse(VALID).unwrap();
    assert_eq!(scenario.access_points[0].security, Security::Wpa2Psk);
    let open = VALID.replace("passphrase = \"home passphrase\"\n", "");
    assert_eq!(
        parse(&open).unwrap().access_points[1].security,
        Security::Open
    );
}

#[test]
fn an_unknown_security_is_refused() {
    let text = secured("wpa4", "");
    let number = line_of(&text, "security = \"wpa4\"");
    refused_at(&text, number, "no security `wpa4`", "wpa3-sae");
}

#[test]
fn security_and_passphrase_must_fit() {
    let text = secured("wpa3-sae", "");
    let number = line_of(&text, "security = \"wpa3-sae\"");
    refused_at(&text, number, "needs a passphrase", "write passphrase");
    let text = secured("open", "passphrase = \"too much here\"");
    let number = line_of(&text, "security = \"open\"");
    refused_at(&text, number, "has no passphrase", "remove the passphrase");
}

#[test]
fn tkip_is_for_drivers_that_encrypt_themselves() {
    let text = secured("wpa-tkip", "passphrase = \"home passphrase\"");
    let number = line_of(&text, "name = \"user\"");
    refused_at(&text, number, "the card has no TKIP", "swcrypto = true");
    let text = text.replace("join = \"home\"", "join = \"home\"\nswcrypto = true");
    assert!(parse(&text).unwrap().vms[1].swcrypto);
}

#[test]
fn users_belong_to_networks_that_ask_for_one() {
    let text = secured("open", "users = { user = \"secret\" }");
    let number = line_of(&text, "users = { user = \"secret\" }");
    refused_at(&text, number, "has no users", "wpa2-enterprise");
    let text = secured("wpa2-enterprise", "users = { user = 'a \"' }");
    let number = line_of(&text, "users = { user = 'a \"' }");
    refused_at(&text, number, "cannot be an identity or a password", "63");
}

#[test]
fn frame_protection_is_required_by_the_last_line_that_speaks_of_it() {
    let requires = |security: &str, lines: &str| {
        let network = format!("passphrase = \"home passphrase\"\nhostapd = [{lines}]");
        let scenario = parse(&secured(security, &network)).unwrap();
        scenario.access_points[1].requires_frame_protection()
    };
    assert!(requires("wpa3-sae", ""));
    assert!(requires("wpa2-psk", "'ieee80211w=2'"));
    assert!(!requires("wpa2-psk", "'ieee80211w=2', 'ieee80211w=1'"));
    assert!(requires("wpa2-psk", "'wpa_key_mgmt=SAE FT-SAE'"));
    assert!(!requires("wpa2-psk", "'wpa_key_mgmt=SAE WPA-PSK'"));
    assert!(!requires(
        "wpa3-sae",
        "'wpa_key_mgmt=SAE WPA-PSK', 'ieee80211w=1'"
    ));
    assert!(!requires("wpa2-psk", ""));
}

/// The VM `user` with `eap`, in a network that knows the user `user`.
fn enterprise(eap: &str) -> String {
    let text = secured("wpa2-enterprise", "users = { user = \"secret\" }");
    text.replace("join = \"home\"", &format!("join = \"home\"\neap = {eap}"))
}

fn refused_eap(eap: &str, message: &str, remedy: &str) {
    let text = enterprise(eap);
    let number = line_of(&text, &format!("eap = {eap}"));
    refused_at(&text, number, message, remedy);
}

#[test]
fn an_identity_defaults_to_the_vms_name_and_its_password_to_the_networks() {
    let eap = |text: &str| {
        parse(&enterprise(text)).unwrap().vms[1]
            .eap
            .clone()
            .unwrap()
    };
    let peap = eap("{ method = \"peap\" }");
    let password = "secret".to_owned();
    assert_eq!(
        (peap.identity.as_str(), peap.method),
        ("user", EapMethod::Peap { password })
    );
    let tls = eap("{ method = \"tls\", identity = \"it@home\", certificate = \"foreign\" }");
    assert_eq!(
        (tls.identity.as_str(), tls.method),
        ("it@home", EapMethod::Tls { foreign: true })
    );
}

#[test]
fn each_rule_of_an_identity_is_checked() {
    refused_eap("{ method = \"md5\" }", "no EAP method `md5`", "tls, peap");
    refused_eap(
        "{ method = \"tls\", password = \"x\" }",
        "no password",
        "remove",
    );
    refused_eap(
        "{ method = \"tls\", certificate = \"x\" }",
        "two kinds",
        "foreign",
    );
    refused_eap(
        "{ method = \"peap\", certificate = \"own\" }",
        "by its password",
        "remove",
    );
    refused_eap(
        "{ method = \"peap\", identity = \"x\" }",
        "`x` has no password",
        "users =",
    );
    refused_eap("{ method = \"peap\", password = \"\" }", "cannot be", "63");
    refused_eap("{ method = \"tls\", identity = \"\" }", "cannot be", "63");
}

/// The VM `user` as its user's own, with no check that only an agent inside can make.
fn external(text: &str) -> String {
    let (vms, _) = text.split_once("[[check]]").unwrap_or((text, ""));
    vms.replace("name = \"user\"", "name = \"user\"\nexternal = true")
}

#[test]
fn an_external_vm_has_a_certificate_or_is_any_of_the_networks_users() {
    let certified = external(&enterprise("{ method = \"tls\" }"));
    let eap = parse(&certified).unwrap().vms[1].eap.clone().unwrap();
    assert_eq!(eap.method, EapMethod::Tls { foreign: false });
    let text = external(&secured("wpa2-enterprise", "users = { ann = \"secret\" }"));
    assert_eq!(parse(&text).unwrap().vms[1].eap, None);
    let text = external(&secured("wpa2-enterprise", ""));
    let number = line_of(&text, "name = \"user\"");
    refused_at(&text, number, "does not say how", "eap =");
}

#[test]
fn an_identity_is_written_where_it_is_asked_for_and_nowhere_else() {
    let text = secured("wpa2-enterprise", "");
    let number = line_of(&text, "name = \"user\"");
    refused_at(&text, number, "does not say how", "eap =");
    let eap = "eap = { method = \"tls\" }";
    let text = VALID.replace("join = \"home\"", &format!("join = \"home\"\n{eap}"));
    refused_at(
        &text,
        line_of(&text, eap),
        "asks for no identity",
        "remove eap",
    );
}
