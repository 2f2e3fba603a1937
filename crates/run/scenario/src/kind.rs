//! Who runs an access point: hostapd in a VM, or the daemon itself.

use super::error::{ScenarioError, Source};
use super::raw;
use crate::model::{ApKind, Scenario, Security, Uplink};

type Result<T> = std::result::Result<T, ScenarioError>;

/// The kind of `raw`, the next access point, in the network that begins with number `first`.
pub fn of(
    source: Source,
    scenario: &Scenario,
    raw: &raw::AccessPoint,
    security: Security,
    first: usize,
) -> Result<ApKind> {
    let kind = match raw.kind.as_ref().map(|kind| kind.get_ref().as_str()) {
        None | Some("hostapd") => ApKind::Hostapd,
        Some("built-in") => ApKind::BuiltIn(uplink(source, raw)?),
        Some(other) => {
            let message = format!("there is no kind of access point `{other}`");
            return Err(error(source, raw, message, "use one of: hostapd, built-in"));
        }
    };
    match &kind {
        ApKind::Hostapd => refuse_uplink(source, raw)?,
        ApKind::BuiltIn(_) => refuse_beyond(source, raw, security)?,
    }
    refuse_mixture(source, scenario, raw, &kind, first)?;
    Ok(kind)
}

fn uplink(source: Source, raw: &raw::AccessPoint) -> Result<Uplink> {
    let Some(value) = &raw.uplink else {
        return Ok(Uplink::default());
    };
    match value.get_ref().as_str() {
        "isolated" => Ok(Uplink::Isolated),
        "tap" => Ok(Uplink::Tap(None)),
        "user" => Ok(Uplink::User),
        other => {
            let device = other.strip_prefix("tap:").filter(|name| is_device(name));
            device
                .map(|name| Uplink::Tap(Some(name.to_owned())))
                .ok_or_else(|| {
                    let message = format!("there is no uplink `{other}`");
                    source.error(
                        &value.span(),
                        message,
                        "use one of: isolated, tap, tap:DEVICE, user",
                    )
                })
        }
    }
}

/// True for what may be the name of a network device (Linux `dev_valid_name`).
fn is_device(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"/:%".contains(&byte);
    (1..=15).contains(&name.len()) && name.bytes().all(plain) && name != "." && name != ".."
}

/// How often a built-in access point replaces its group key, in seconds.
pub fn group_rekey(source: Source, raw: &raw::AccessPoint, kind: &ApKind) -> Result<Option<u64>> {
    let Some(value) = &raw.group_rekey else {
        return Ok(None);
    };
    if *kind == ApKind::Hostapd {
        let message = "the key `group_rekey` is of a built-in access point";
        let remedy = "write hostapd = [\"wpa_group_rekey=600\"]";
        return Err(source.error(&value.span(), message, remedy));
    }
    let seconds = *value.get_ref();
    if (1..=86_400).contains(&seconds) {
        return Ok(Some(seconds));
    }
    let message = format!("a group key is not replaced every {seconds} s");
    Err(source.error(&value.span(), message, "write 1 to 86400"))
}

/// hostapd's networks end in their VM.
fn refuse_uplink(source: Source, raw: &raw::AccessPoint) -> Result<()> {
    let Some(value) = &raw.uplink else {
        return Ok(());
    };
    let message = "an access point of kind `hostapd` has no uplink";
    let remedy = "remove the key, or write kind = \"built-in\"";
    Err(source.error(&value.span(), message, remedy))
}

/// What only hostapd can do.
fn refuse_beyond(source: Source, raw: &raw::AccessPoint, security: Security) -> Result<()> {
    let remedy = "write kind = \"hostapd\"";
    if !matches!(security, Security::Open | Security::Wpa2Psk) {
        let message = format!(
            "a built-in access point has no security `{}`",
            security.word()
        );
        return Err(error(source, raw, message, remedy));
    }
    if let Some(width) = &raw.width {
        let message = "a built-in access point is not one of 802.11n";
        let remedy = "remove the key, or write kind = \"hostapd\"";
        return Err(source.error(&width.span(), message, remedy));
    }
    let Some(line) = raw.hostapd.first() else {
        return Ok(());
    };
    let message = "a built-in access point has no hostapd.conf";
    let remedy = "remove the lines, or write kind = \"hostapd\"";
    Err(source.error(&line.span(), message, remedy))
}

/// Built-in access points share no distribution system.
fn refuse_mixture(
    source: Source,
    scenario: &Scenario,
    raw: &raw::AccessPoint,
    kind: &ApKind,
    first: usize,
) -> Result<()> {
    let Some(before) = scenario.access_points.get(first) else {
        return Ok(());
    };
    if *kind == ApKind::Hostapd && before.kind == ApKind::Hostapd {
        return Ok(());
    }
    let message = format!(
        "the network `{}` has several access points, and not all are hostapd's",
        before.ssid
    );
    let remedy = "give a built-in access point an ssid of its own, or use hostapd for all of one";
    Err(error(source, raw, message, remedy))
}

fn error(
    source: Source,
    raw: &raw::AccessPoint,
    message: impl Into<String>,
    remedy: &str,
) -> ScenarioError {
    let name = raw.name.span();
    let place = raw.kind.as_ref().map_or(name, toml::Spanned::span);
    source.error(&place, message, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{parse, refused_at};

    const NETWORK: &str = "[[access_point]]\nname = 'corp'\naddress = '10.0.1.1/24'\n\
        passphrase = 'a passphrase'\nchannel = 36\n";
    const VM: &str = "[[vm]]\nname = 'it'\njoin = 'corp'\n";

    /// A scenario with these lines in its only network, and the number of the first of them.
    fn with(lines: &str) -> (usize, String) {
        let number = NETWORK.lines().count() + 1;
        (number, format!("{NETWORK}{lines}\n{VM}"))
    }

    #[test]
    fn an_access_point_is_hostapds_unless_it_says_otherwise() {
        let (_, text) = with("");
        assert_eq!(parse(&text).unwrap().access_points[0].kind, ApKind::Hostapd);
        let (_, text) = with("kind = \"built-in\"\nuplink = \"isolated\"");
        let kind = parse(&text).unwrap().access_points[0].kind.clone();
        assert_eq!(kind, ApKind::BuiltIn(Uplink::Isolated));
    }

    #[test]
    fn an_uplink_is_a_tap_device_or_the_users_own_connections() {
        for (word, uplink) in [
            ("tap", Uplink::Tap(None)),
            ("tap:vms0", Uplink::Tap(Some("vms0".to_owned()))),
            ("user", Uplink::User),
        ] {
            let (_, text) = with(&format!("kind = \"built-in\"\nuplink = \"{word}\""));
            let kind = parse(&text).unwrap().access_points[0].kind.clone();
            assert_eq!(kind, ApKind::BuiltIn(uplink));
        }
        for word in ["tap:", "tap:a/b", "tap:sixteen-letters-", "tap:%d"] {
            let (number, text) = with(&format!("kind = \"built-in\"\nuplink = \"{word}\""));
            refused_at(&text, number + 1, "no uplink", "tap:DEVICE");
        }
    }

    #[test]
    fn a_built_in_access_point_may_replace_its_group_key() {
        let (_, text) = with("kind = \"built-in\"\ngroup_rekey = 30");
        assert_eq!(parse(&text).unwrap().access_points[0].group_rekey, Some(30));
        let (number, text) = with("kind = \"built-in\"\ngroup_rekey = 0");
        refused_at(&text, number + 1, "every 0 s", "86400");
        let (number, text) = with("group_rekey = 30");
        refused_at(&text, number, "of a built-in", "wpa_group_rekey");
    }

    #[test]
    fn an_unknown_kind_or_uplink_is_refused() {
        let (number, text) = with("kind = \"magic\"");
        refused_at(&text, number, "no kind of access point `magic`", "built-in");
        let (number, text) = with("kind = \"built-in\"\nuplink = \"magic\"");
        refused_at(&text, number + 1, "no uplink `magic`", "isolated");
    }

    #[test]
    fn only_a_built_in_access_point_has_an_uplink() {
        let (number, text) = with("uplink = \"isolated\"");
        refused_at(&text, number, "has no uplink", "built-in");
    }

    #[test]
    fn what_only_hostapd_can_do_is_refused() {
        let (number, text) = with("kind = \"built-in\"\nsecurity = \"wpa3-sae\"");
        refused_at(&text, number, "no security `wpa3-sae`", "hostapd");
        let (number, text) = with("kind = \"built-in\"\nwidth = 20");
        refused_at(&text, number + 1, "not one of 802.11n", "remove the key");
        let (number, text) = with("kind = \"built-in\"\nhostapd = [\"a=b\"]");
        refused_at(&text, number + 1, "has no hostapd.conf", "remove the lines");
    }

    #[test]
    fn a_check_that_needs_a_server_is_refused_where_there_is_none() {
        for (check, keys) in [("throughput", ""), ("steady", ""), ("rekeyed", "")] {
            let (_, text) = with("kind = \"built-in\"");
            let text = format!("{text}[[check]]\nkind = '{check}'\n{keys}");
            let number = text.lines().count();
            refused_at(&text, number, "has no iperf3 server", "ping");
        }
    }

    #[test]
    fn one_network_is_not_built_in_and_hostapds() {
        let more = "[[access_point]]\nname = 'east'\nssid = 'corp'\nchannel = 40\n";
        let (number, text) = with(&format!("kind = \"built-in\"\n{more}"));
        refused_at(
            &text,
            number + 2,
            "not all are hostapd's",
            "ssid of its own",
        );
    }
}
