//! How a network decides who may join, and with which credentials a VM tries.

use super::error::{ScenarioError, Source};
use super::{fields, raw};
use crate::model::{AccessPoint, Eap, EapMethod, Security};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

type Result<T> = std::result::Result<T, ScenarioError>;

/// What is written for an access point: its kind, its passphrase, its users.
#[derive(Debug, PartialEq, Eq)]
pub struct Secrets {
    pub security: Security,
    pub passphrase: Option<String>,
    pub users: BTreeMap<String, String>,
}

impl Secrets {
    /// Those of an access point that was read before.
    pub fn of(ap: &AccessPoint) -> Self {
        Self {
            security: ap.security,
            passphrase: ap.passphrase.clone(),
            users: ap.users.clone(),
        }
    }
}

/// Checks the keys that belong together in an access point.
pub fn of_access_point(source: Source, raw: &raw::AccessPoint) -> Result<Secrets> {
    let written = raw.passphrase.as_ref();
    let passphrase = written.map(|value| fields::passphrase(source, value));
    let passphrase = passphrase.transpose()?;
    let security = kind(source, raw.security.as_ref(), passphrase.is_some())?;
    let place = raw
        .security
        .as_ref()
        .map_or_else(|| raw.name.span(), Spanned::span);
    if security.has_passphrase() != passphrase.is_some() {
        return Err(passphrase_error(source, &place, security));
    }
    Ok(Secrets {
        security,
        passphrase,
        users: users(source, security, raw.users.as_ref())?,
    })
}

fn kind(source: Source, raw: Option<&Spanned<String>>, passphrase: bool) -> Result<Security> {
    let Some(value) = raw else {
        return Ok(match passphrase {
            true => Security::Wpa2Psk,
            false => Security::Open,
        });
    };
    let found = Security::ALL
        .into_iter()
        .find(|kind| kind.word() == value.get_ref());
    found.ok_or_else(|| {
        let message = format!("there is no security `{}`", value.get_ref());
        let words = Security::ALL.map(Security::word).join(", ");
        source.error(&value.span(), message, format!("use one of: {words}"))
    })
}

fn passphrase_error(source: Source, place: &Range<usize>, security: Security) -> ScenarioError {
    let word = security.word();
    match security.has_passphrase() {
        true => {
            let message = format!("a network with security `{word}` needs a passphrase");
            source.error(place, message, "write passphrase = \"8 to 63 characters\"")
        }
        false => {
            let message = format!("a network with security `{word}` has no passphrase");
            source.error(
                place,
                message,
                "remove the passphrase, or write security = \"wpa2-psk\"",
            )
        }
    }
}

/// Names and passwords of a network with identities.
fn users(
    source: Source,
    security: Security,
    raw: Option<&Spanned<BTreeMap<String, String>>>,
) -> Result<BTreeMap<String, String>> {
    let Some(table) = raw else {
        return Ok(BTreeMap::new());
    };
    if security != Security::Wpa2Enterprise {
        let message = format!("a network with security `{}` has no users", security.word());
        let remedy = "remove the users, or write security = \"wpa2-enterprise\"";
        return Err(source.error(&table.span(), message, remedy));
    }
    let all = table.get_ref().iter().flat_map(|(name, word)| [name, word]);
    for text in all {
        credential(source, text, &table.span())?;
    }
    Ok(table.get_ref().clone())
}

/// A text that stands between quotation marks in the files of hostapd and wpa_supplicant.
fn credential(source: Source, text: &str, place: &Range<usize>) -> Result<()> {
    let plain = |c: char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
    if (1..=63).contains(&text.len()) && text.chars().all(plain) {
        return Ok(());
    }
    let message = format!("{text:?} cannot be an identity or a password here");
    let remedy = "use 1 to 63 printable ASCII characters without quotation mark and backslash";
    Err(source.error(place, message, remedy))
}

/// What a VM brings to the network that it joins.
pub fn of_vm(
    source: Source,
    network: Option<&AccessPoint>,
    entry: &Spanned<raw::Vm>,
    name: &str,
) -> Result<Option<Eap>> {
    let raw = entry.get_ref();
    let (security, place) = (
        network.map(|ap| ap.security).unwrap_or_default(),
        raw.name.span(),
    );
    if security == Security::WpaTkip && !raw.swcrypto && !raw.external {
        let message = format!("`{name}` joins a TKIP network, and the card has no TKIP");
        let remedy = "write swcrypto = true: the driver then uses its own crypto";
        return Err(source.error(&place, message, remedy));
    }
    match (&raw.eap, network, security) {
        (Some(eap), Some(network), Security::Wpa2Enterprise) => {
            eap_of(source, network, eap, name).map(Some)
        }
        // Its user chooses whom of them it is.
        (None, Some(network), Security::Wpa2Enterprise)
            if raw.external && !network.users.is_empty() =>
        {
            Ok(None)
        }
        (None, _, Security::Wpa2Enterprise) => {
            let message = format!("`{name}` does not say how it proves who it is");
            let remedy = "write eap = { method = \"tls\" }, or { method = \"peap\", identity = … }";
            Err(source.error(&place, message, remedy))
        }
        (Some(eap), ..) => {
            let message = format!("the network of `{name}` asks for no identity");
            let remedy = "remove eap, or give the network security = \"wpa2-enterprise\"";
            Err(source.error(&eap.span(), message, remedy))
        }
        (None, ..) => Ok(None),
    }
}

fn eap_of(
    source: Source,
    network: &AccessPoint,
    entry: &Spanned<raw::Eap>,
    name: &str,
) -> Result<Eap> {
    let raw = entry.get_ref();
    let identity = raw.identity.clone().unwrap_or_else(|| name.to_owned());
    credential(source, &identity, &entry.span())?;
    let method = match raw.method.as_str() {
        "tls" => tls(source, entry)?,
        "peap" => peap(source, network, entry, &identity)?,
        other => {
            let message = format!("there is no EAP method `{other}`");
            return Err(source.error(&entry.span(), message, "use one of: tls, peap"));
        }
    };
    Ok(Eap { identity, method })
}

fn tls(source: Source, entry: &Spanned<raw::Eap>) -> Result<EapMethod> {
    let raw = entry.get_ref();
    let error = |message, remedy| Err(source.error(&entry.span(), message, remedy));
    if raw.password.is_some() {
        return error(
            "EAP-TLS knows no password",
            "remove it: the VM gets a certificate",
        );
    }
    match raw.certificate.as_deref() {
        None | Some("own") => Ok(EapMethod::Tls { foreign: false }),
        Some("foreign") => Ok(EapMethod::Tls { foreign: true }),
        Some(_) => error(
            "there are two kinds of certificates",
            "write certificate = \"own\" (signed for this network) or \"foreign\"",
        ),
    }
}

fn peap(
    source: Source,
    network: &AccessPoint,
    entry: &Spanned<raw::Eap>,
    identity: &str,
) -> Result<EapMethod> {
    let (raw, place) = (entry.get_ref(), entry.span());
    if raw.certificate.is_some() {
        let message = "PEAP proves an identity by its password";
        return Err(source.error(&place, message, "remove the certificate"));
    }
    let known = network.users.get(identity);
    let Some(password) = raw.password.as_ref().or(known) else {
        let message = format!("`{identity}` has no password");
        let remedy = "write it here, or as users = { IDENTITY = \"PASSWORD\" } of the network";
        return Err(source.error(&place, message, remedy));
    };
    credential(source, password, &place)?;
    let password = password.clone();
    Ok(EapMethod::Peap { password })
}
