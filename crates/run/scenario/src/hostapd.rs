//! What is refused of an access point that hostapd runs: lines of hostapd.conf that it would not take, and channels on which
//! it cannot start.

use super::error::{ScenarioError, Source, nearest};
use super::raw;
use crate::model::ApKind;
use airlane_dot11::{Band, Channel};
use toml::Spanned;

type Result<T> = std::result::Result<T, ScenarioError>;

/// Keys that airlane writes itself.
const OURS: [&str; 6] = [
    "interface",
    "driver",
    "ctrl_interface",
    "bssid",
    "ssid",
    "bridge",
];

/// All keys that the guests' hostapd takes; the file says where they come from.
const KEYS: &str = include_str!("hostapd_keys.txt");

/// A line of hostapd.conf: `key=value`, with a key that hostapd knows, and not one that would break the joint between us and it.
pub fn line(source: Source, value: &Spanned<String>) -> Result<String> {
    let text = value.get_ref();
    let error = |message: String, remedy: &str| Err(source.error(&value.span(), message, remedy));
    match text.split_once('=') {
        Some((key, _)) if OURS.contains(&key) => error(
            format!("the hostapd line `{text}` sets what airlane sets itself"),
            "remove the line; `ssid` and `bssid` are keys of the access point",
        ),
        Some((key, _)) if !key.is_empty() && !text.contains(char::is_control) => {
            if is_known(key) {
                return Ok(text.clone());
            }
            let near = nearest(key, keys());
            let near = near.map_or_else(String::new, |key| format!("did you mean `{key}`? "));
            error(
                format!("hostapd has no key `{key}`"),
                &format!("{near}write a key that Debian bookworm's hostapd 2.10 takes"),
            )
        }
        _ => error(
            format!("{text:?} is not a line of hostapd.conf"),
            "write one key=value per entry, as in \"wmm_enabled=0\"",
        ),
    }
}

fn keys() -> impl Iterator<Item = &'static str> {
    let lines = KEYS.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_ascii_whitespace)
}

/// A word of the list that ends with an underscore stands for all keys that begin with it.
fn is_known(key: &str) -> bool {
    keys().any(|known| key == known || (known.ends_with('_') && key.starts_with(known)))
}

/// What makes hostapd look for radar.
const LOOKS_FOR_RADAR: &str = "ieee80211h=1";

/// Refuses a channel on which an access point must look for radar before it sends (IEEE 802.11-2020 11.8, DFS), where hostapd is not
/// told to do so: it would not start. A built-in access point asks nobody.
pub fn refuse_radar_channel(
    source: Source,
    raw: &raw::AccessPoint,
    kind: &ApKind,
    channel: Channel,
) -> Result<()> {
    let told = || {
        raw.hostapd
            .iter()
            .any(|line| line.get_ref() == LOOKS_FOR_RADAR)
    };
    if *kind != ApKind::Hostapd || !needs_radar_detection(channel) || told() {
        return Ok(());
    }
    let message = format!(
        "hostapd does not start on channel {}: an access point must first look for radar there (DFS), and it is not told to",
        channel.number()
    );
    let remedy = "use 36 to 48, 149 to 165 or a channel of 2.4 GHz; or kind = \"built-in\", which takes any; \
                  or hostapd = [\"ieee80211d=1\", \"ieee80211h=1\"], with which it looks for a minute before it starts";
    Err(source.error(&raw.channel.span(), message, remedy))
}

/// 5250 to 5350 and 5470 to 5730 MHz: where nearly all countries protect radar.
fn needs_radar_detection(channel: Channel) -> bool {
    channel.band() == Band::Ghz5 && (52..=144).contains(&channel.number())
}

#[cfg(test)]
mod tests {
    use crate::tests::{parse, refused_at};

    const VM: &str = "[[vm]]\nname = 'it'\n";

    /// A scenario with one access point, whose last line is this.
    fn with(line: &str) -> (usize, String) {
        let text = format!("[[access_point]]\nname = 'corp'\naddress = '10.0.1.1/24'\n{line}\n");
        (text.lines().count(), text + VM)
    }

    #[test]
    fn a_key_that_hostapd_does_not_have_is_refused_with_the_nearest() {
        let lines = |line: &str| with(&format!("channel = 36\nhostapd = ['{line}']"));
        for known in [
            "wmm_enabled=0",
            "tx_queue_data0_cwmax=7",
            "wmm_ac_be_aifs=3",
            "gtk_rsc_override=1",
        ] {
            assert!(parse(&lines(known).1).is_ok(), "{known}");
        }
        let (number, text) = lines("wmm_enable=0");
        refused_at(
            &text,
            number,
            "hostapd has no key `wmm_enable`",
            "did you mean `wmm_enabled`?",
        );
        let (number, text) = lines("zzzzzzzzzzzz=1");
        refused_at(&text, number, "no key `zzzzzzzzzzzz`", "bookworm's hostapd");
        let (number, text) = lines("wmm_ac=1");
        refused_at(&text, number, "no key `wmm_ac`", "did you mean");
    }

    #[test]
    fn hostapd_starts_on_a_channel_with_radar_only_if_it_is_told_to_look() {
        for channel in [52, 64, 100, 144] {
            let (number, text) = with(&format!("channel = {channel}"));
            refused_at(&text, number, "look for radar", "built-in");
            let (_, text) = with(&format!("channel = {channel}\nkind = 'built-in'"));
            assert!(parse(&text).is_ok(), "{channel}, built-in");
            let lines = "hostapd = ['ieee80211d=1', 'ieee80211h=1']";
            let (_, text) = with(&format!("channel = {channel}\n{lines}"));
            assert!(parse(&text).is_ok(), "{channel}, told to look");
        }
        for channel in [11, 48, 149, 165] {
            let (_, text) = with(&format!("channel = {channel}"));
            assert!(parse(&text).is_ok(), "{channel}");
        }
    }
}
