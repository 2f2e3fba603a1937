//! Access points as checked: who runs them, and what is behind them.

use super::place::Position;
use super::security::Security;
use super::subnet::Subnet;
use airlane_dot11::{Channel, MacAddr, Width};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// `[[access_point]]`
#[derive(Clone, Debug)]
pub struct AccessPoint {
    /// Unique among access points.
    pub name: String,
    /// 1 to 32 bytes.
    pub ssid: String,
    /// Unique among all stations.
    pub bssid: MacAddr,
    /// Whether hostapd runs it in the access-point VM, or airlane itself.
    pub kind: ApKind,
    /// Seconds after which a built-in one replaces its group key; none: never.
    pub group_rekey: Option<u64>,
    /// What a built-in one tells beyond addresses.
    pub captive: CaptiveKit,
    /// The first 20 MHz of it.
    pub channel: Channel,
    /// How wide it is with 802.11n; none: it is not one of 802.11n.
    pub width: Option<Width>,
    /// The modulation and coding scheme of all that it sends to stations; none: its rate control decides.
    pub mcs: Option<u8>,
    /// What it asks of a station.
    pub security: Security,
    /// One for all stations, where [`Security`] has one.
    pub passphrase: Option<String>,
    /// Passwords by identity, of a network that asks for one.
    pub users: BTreeMap<String, String>,
    /// Index of the first access point of its network: of those with its SSID.
    pub network: usize,
    /// The network's gateway, and its subnet.
    pub subnet: Subnet,
    /// Where it stands.
    pub position: Position,
    /// Further lines for hostapd.conf, which win over ours.
    pub hostapd: Vec<String>,
}

impl AccessPoint {
    /// True when no station joins it that cannot protect management frames: its security, or the last of the lines for
    /// hostapd that says something about it, asks that.
    pub fn requires_frame_protection(&self) -> bool {
        let written = |key: &str| {
            let mut lines = self.hostapd.iter().rev();
            lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
        };
        // IEEE 802.11-2020 12.4.1 and RFC 8110 5: SAE and OWE come with it.
        let comes_with = |suite: &str| suite.contains("SAE") || suite == "OWE";
        let by_suite = match written("wpa_key_mgmt") {
            Some(suites) => !suites.is_empty() && suites.split_whitespace().all(comes_with),
            None => self.security.protects_management(),
        };
        by_suite || written("ieee80211w").is_some_and(|value| value.trim() == "2")
    }
}

/// What the name and address servers of a built-in access point tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptiveKit {
    /// Names of hosts and their addresses; `*` is every other name. Without any there is no name server.
    pub names: BTreeMap<String, Ipv4Addr>,
    /// The URI of a captive portal (RFC 8910).
    pub portal: Option<String>,
}

/// Who runs an access point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ApKind {
    /// hostapd on mac80211_hwsim, in the access-point VM.
    #[default]
    Hostapd,
    /// airlane itself, in the daemon; what is behind it.
    BuiltIn(Uplink),
}

/// What is behind a built-in access point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Uplink {
    /// Its own address, and nothing else.
    #[default]
    Isolated,
    /// A TAP device of the host: this existing one, or one that the run makes.
    Tap(Option<String>),
    /// The host's own connections, through passt.
    User,
}
