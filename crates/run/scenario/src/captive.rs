//! What a built-in access point's own name and address servers tell beyond addresses: names, and a captive portal.

use super::error::{ScenarioError, Source};
use super::raw;
use crate::model::{ApKind, CaptiveKit};

type Result<T> = std::result::Result<T, ScenarioError>;

/// Names that one access point may know.
const NAMES: usize = 256;

/// The keys `names` and `captive_portal` of `raw`.
pub fn of(source: Source, raw: &raw::AccessPoint, kind: &ApKind) -> Result<CaptiveKit> {
    let names = raw.names.as_ref().map(toml::Spanned::span);
    let portal = raw.captive_portal.as_ref().map(toml::Spanned::span);
    if let (Some(place), ApKind::Hostapd) = (names.or(portal), kind) {
        let message =
            "only a built-in access point has a name server and tells of a captive portal";
        let remedy = "remove the key, or write kind = \"built-in\"";
        return Err(source.error(&place, message, remedy));
    }
    let mut kit = CaptiveKit::default();
    if let Some(value) = &raw.names {
        let list = value.get_ref();
        let wrong = list.keys().find(|name| !is_name(name));
        let message = match wrong {
            Some(name) => format!("`{name}` is no name of a host"),
            None if list.len() > NAMES => format!("{} names", list.len()),
            None => String::new(),
        };
        if !message.is_empty() {
            let remedy = "write at most 256 names of letters, digits, hyphens and dots, or \"*\" for all others";
            return Err(source.error(&value.span(), message, remedy));
        }
        kit.names = list.clone().into_iter().collect();
    }
    if let Some(value) = &raw.captive_portal {
        let uri = value.get_ref();
        if !is_uri(uri) {
            let message = format!("`{uri}` is no URI of a captive portal");
            let remedy = "write one of at most 255 characters, as in \"https://portal.test/api\"";
            return Err(source.error(&value.span(), message, remedy));
        }
        kit.portal = Some(uri.clone());
    }
    Ok(kit)
}

/// A host's name (RFC 1123 2.1), or `*`.
fn is_name(name: &str) -> bool {
    let label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=63).contains(&label.len()) && label.bytes().all(inner)
    };
    name == "*" || (name.len() <= 253 && name.split('.').all(label))
}

/// What an option of DHCP can carry, and RFC 8910 2 wants.
fn is_uri(uri: &str) -> bool {
    let plain = uri.bytes().all(|byte| byte.is_ascii_graphic());
    let scheme = uri.starts_with("https://") || uri.starts_with("http://");
    plain && scheme && uri.len() <= 255
}

#[cfg(test)]
mod tests {
    use crate::tests::{parse, refused_at};

    const NETWORK: &str =
        "[[access_point]]\nname = 'cafe'\naddress = '10.0.1.1/24'\nchannel = 36\n";

    /// A scenario with these lines in its only network, and the number of the last of them.
    fn with(lines: &str) -> (usize, String) {
        let number = NETWORK.lines().count() + lines.lines().count();
        let text = format!("{NETWORK}{lines}\n[[vm]]\nname = 'it'\n");
        (number, text)
    }

    #[test]
    fn names_and_a_portal_are_taken() {
        let (_, text) = with(
            "kind = 'built-in'\nnames = { 'portal.test' = '10.0.1.1', '*' = '10.0.1.2' }\n\
                              captive_portal = 'https://portal.test/api'",
        );
        let kit = parse(&text).unwrap().access_points.remove(0).captive;
        let names: Vec<(&str, String)> = kit
            .names
            .iter()
            .map(|(name, at)| (name.as_str(), at.to_string()))
            .collect();
        assert_eq!(
            names,
            [
                ("*", "10.0.1.2".to_owned()),
                ("portal.test", "10.0.1.1".to_owned())
            ]
        );
        assert_eq!(kit.portal.as_deref(), Some("https://portal.test/api"));
    }

    #[test]
    fn hostapd_has_neither() {
        let (number, text) = with("names = { 'a.test' = '10.0.1.1' }");
        refused_at(&text, number, "only a built-in", "built-in");
        let (number, text) = with("captive_portal = 'https://portal.test'");
        refused_at(&text, number, "only a built-in", "built-in");
    }

    #[test]
    fn what_a_client_could_not_read_is_refused() {
        for name in ["", ".", "a..b", "a b", "-_-", &"a".repeat(64)] {
            let (number, text) = with(&format!(
                "kind = 'built-in'\nnames = {{ '{name}' = '10.0.1.1' }}"
            ));
            refused_at(&text, number, "no name of a host", "hyphens");
        }
        for uri in [
            "portal.test",
            "https://a b",
            &format!("https://{}", "a".repeat(250)),
        ] {
            let (number, text) = with(&format!("kind = 'built-in'\ncaptive_portal = '{uri}'"));
            refused_at(&text, number, "no URI", "255");
        }
    }
}
