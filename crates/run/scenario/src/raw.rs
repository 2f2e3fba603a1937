//! A scenario as written: what the TOML reader accepts, before its meaning is checked. Values whose
//! meaning can be wrong keep their place in the file.

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use toml::Spanned;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub title: Option<String>,
    #[serde(default)]
    pub run: Run,
    #[serde(default)]
    pub air: Air,
    #[serde(default)]
    pub card: Cards,
    #[serde(default)]
    pub access_point: Vec<Spanned<AccessPoint>>,
    #[serde(default)]
    pub vm: Vec<Spanned<Vm>>,
    #[serde(default)]
    pub check: Vec<Spanned<Check>>,
    #[serde(default)]
    pub step: Vec<Spanned<Step>>,
}

/// `[run]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub kernel: Option<Spanned<String>>,
    pub vmm: Option<Spanned<String>>,
    pub boot_timeout: Option<Spanned<u64>>,
    pub join_timeout: Option<Spanned<u64>>,
    pub external_timeout: Option<Spanned<u64>>,
}

/// `[air]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Air {
    pub seed: Option<u64>,
    pub country: Option<Spanned<String>>,
    pub path_loss_exponent: Option<Spanned<f64>>,
}

/// `[card]`, a table, or `[[card]]`, an array of tables.
pub enum Cards {
    Table(Box<Card>),
    Array(Vec<Spanned<Card>>),
}

impl Default for Cards {
    fn default() -> Self {
        Self::Table(Box::default())
    }
}

impl<'de> Deserialize<'de> for Cards {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TableOrArray)
    }
}

/// An untagged enum would lose the places of its values, and its errors name no key.
struct TableOrArray;

impl<'de> Visitor<'de> for TableOrArray {
    type Value = Cards;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one table [card], or several [[card]]")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Cards, A::Error> {
        let only = Card::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Cards::Table(Box::new(only)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Cards, A::Error> {
        let mut cards = Vec::new();
        while let Some(card) = seq.next_element()? {
            cards.push(card);
        }
        Ok(Cards::Array(cards))
    }
}

/// The keys of `[card]`, and of each `[[card]]`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    pub name: Option<Spanned<String>>,
    pub model: Option<Spanned<String>>,
    pub mac: Option<Spanned<String>>,
    pub position: Option<Spanned<Vec<f64>>>,
    pub scan_cache: Option<Spanned<f64>>,
    pub interrupts: Option<Spanned<String>>,
    pub polling: Option<Spanned<String>>,
    pub data_path: Option<Spanned<String>>,
    pub threads: Option<Spanned<String>>,
    pub translation: Option<Spanned<String>>,
}

/// `[[access_point]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessPoint {
    pub name: Spanned<String>,
    pub ssid: Option<Spanned<String>>,
    pub bssid: Option<Spanned<String>>,
    pub channel: Spanned<i64>,
    pub kind: Option<Spanned<String>>,
    pub uplink: Option<Spanned<String>>,
    pub group_rekey: Option<Spanned<u64>>,
    pub names: Option<Spanned<BTreeMap<String, Ipv4Addr>>>,
    pub captive_portal: Option<Spanned<String>>,
    pub width: Option<Spanned<u64>>,
    pub mcs: Option<Spanned<u8>>,
    pub security: Option<Spanned<String>>,
    pub passphrase: Option<Spanned<String>>,
    pub users: Option<Spanned<BTreeMap<String, String>>>,
    pub address: Option<Spanned<String>>,
    pub position: Option<Spanned<Vec<f64>>>,
    #[serde(default)]
    pub hostapd: Vec<Spanned<String>>,
}

/// `[[vm]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vm {
    pub name: Spanned<String>,
    pub mac: Option<Spanned<String>>,
    pub change_mac: Option<bool>,
    pub weight: Option<Spanned<u16>>,
    pub card: Option<Spanned<String>>,
    pub card_name: Option<Spanned<String>>,
    pub join: Option<Spanned<String>>,
    pub passphrase: Option<Spanned<String>>,
    pub eap: Option<Spanned<Eap>>,
    #[serde(default)]
    pub swcrypto: bool,
    pub memory: Option<Spanned<u64>>,
    pub kernel: Option<Spanned<String>>,
    pub initrd: Option<Spanned<String>>,
    pub append: Option<Spanned<String>>,
    pub files: Option<Spanned<BTreeMap<String, Spanned<String>>>>,
    pub vmm: Option<Spanned<String>>,
    #[serde(default)]
    pub supplicant: Vec<Spanned<String>>,
    #[serde(default)]
    pub external: bool,
    #[serde(default)]
    pub later: bool,
}

/// `eap` of a `[[vm]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Eap {
    pub method: String,
    pub identity: Option<String>,
    pub password: Option<String>,
    pub certificate: Option<String>,
}

/// `[[check]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    pub kind: Spanned<String>,
    pub name: Option<Spanned<String>>,
    pub vm: Option<Spanned<String>>,
    pub count: Option<Spanned<u64>>,
    pub seconds: Option<Spanned<u64>>,
    pub udp_mbps: Option<Spanned<u64>>,
    pub min_mbps: Option<Spanned<f64>>,
    pub min_percent: Option<Spanned<f64>>,
    pub action: Option<Spanned<String>>,
    pub times: Option<Spanned<u64>>,
    pub witness: Option<Spanned<String>>,
    pub to: Option<Spanned<Vec<f64>>>,
    pub max_gap: Option<Spanned<f64>>,
    pub after: Option<Spanned<String>>,
}

/// `[[step]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub name: Option<Spanned<String>>,
    pub at: Option<Spanned<f64>>,
    pub after: Option<Spanned<String>>,
    #[serde(rename = "do")]
    pub act: Spanned<String>,
    pub vm: Option<Spanned<String>>,
    pub command: Option<Spanned<String>>,
    pub timeout: Option<Spanned<u64>>,
    pub access_point: Option<Spanned<String>>,
    pub card: Option<Spanned<String>>,
    pub channel: Option<Spanned<i64>>,
    pub passphrase: Option<Spanned<String>>,
    pub reason: Option<Spanned<u16>>,
    pub to: Option<Spanned<Vec<f64>>>,
}

impl Step {
    /// What happens, without when.
    pub fn act(&self) -> Act {
        Act {
            act: self.act.clone(),
            vm: self.vm.clone(),
            command: self.command.clone(),
            timeout: self.timeout.clone(),
            access_point: self.access_point.clone(),
            card: self.card.clone(),
            channel: self.channel.clone(),
            passphrase: self.passphrase.clone(),
            reason: self.reason.clone(),
            to: self.to.clone(),
        }
    }
}

/// The keys of a `[[step]]` that say what happens.
pub struct Act {
    pub act: Spanned<String>,
    pub vm: Option<Spanned<String>>,
    pub command: Option<Spanned<String>>,
    pub timeout: Option<Spanned<u64>>,
    pub access_point: Option<Spanned<String>>,
    pub card: Option<Spanned<String>>,
    pub channel: Option<Spanned<i64>>,
    pub passphrase: Option<Spanned<String>>,
    pub reason: Option<Spanned<u16>>,
    pub to: Option<Spanned<Vec<f64>>>,
}
