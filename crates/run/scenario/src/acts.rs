//! From written words to what can happen in a run: those of a `[[step]]`, and those of a client of the control socket,
//! which have no file and no line.

use super::error::{ScenarioError, Source};
use super::{fields, raw, width};
use crate::model::{ACCESS_POINT_VM, Act, ApKind, Scenario};
use airlane_dot11::{Channel, Width};
use serde::{Deserialize, Serialize};
use std::path::Path;
use toml::Spanned;

type Result<T> = std::result::Result<T, ScenarioError>;

/// Longest command, bytes: a guest's shell gets it in one piece.
const LONGEST_COMMAND: usize = 16 * 1024;

/// The keys that say what happens; each word of `do` has its own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ActWords {
    /// What happens.
    #[serde(rename = "do")]
    pub act: String,
    /// To this VM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<String>,
    /// For its shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Seconds that the command may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// To this access point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_point: Option<String>,
    /// To this card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
    /// Where it transmits from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<i64>,
    /// What it wants to hear from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passphrase: Option<String>,
    /// Why a VM is sent away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<u16>,
    /// Where it stands from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Vec<f64>>,
}

impl Scenario {
    /// What these words mean in this scenario, or what is wrong with them and what to say instead.
    pub fn act(&self, words: &ActWords) -> std::result::Result<Act, String> {
        let source = Source {
            path: Path::new(""),
            text: "",
        };
        act(source, self, &words.clone().into()).map_err(|error| match error {
            ScenarioError::Invalid {
                message, remedy, ..
            } => format!("{message}\n  remedy: {remedy}"),
            other => other.to_string(),
        })
    }
}

impl Scenario {
    /// The name of what something happens to: a VM, an access point or a card.
    pub fn about(&self, act: &Act) -> &str {
        let point = |ap: usize| self.access_points.get(ap).map(|ap| ap.name.as_str());
        let card = |card: usize| self.cards.get(card).map(|card| card.name.as_str());
        let vm = |vm: usize| match self.vms.get(vm) {
            Some(vm) => Some(vm.name.as_str()),
            None => Some(ACCESS_POINT_VM),
        };
        let name = match act {
            Act::ApOff { ap } | Act::ApOn { ap } | Act::MoveAp { ap, .. } => point(*ap),
            Act::Channel { ap, .. } | Act::Passphrase { ap, .. } => point(*ap),
            Act::MoveCard { card: number, .. } => card(*number),
            Act::Exec { vm: number, .. }
            | Act::Deauthenticate { vm: number, .. }
            | Act::Rekey { vm: number }
            | Act::Kill { vm: number }
            | Act::Start { vm: number } => vm(*number),
        };
        name.unwrap_or_default()
    }
}

impl From<ActWords> for raw::Act {
    fn from(words: ActWords) -> Self {
        fn at<T>(value: Option<T>) -> Option<Spanned<T>> {
            value.map(|value| Spanned::new(0..0, value))
        }
        Self {
            act: Spanned::new(0..0, words.act),
            vm: at(words.vm),
            command: at(words.command),
            timeout: at(words.timeout),
            access_point: at(words.access_point),
            card: at(words.card),
            channel: at(words.channel),
            passphrase: at(words.passphrase),
            reason: at(words.reason),
            to: at(words.to),
        }
    }
}

/// What the words mean.
pub fn act(source: Source, scenario: &Scenario, raw: &raw::Act) -> Result<Act> {
    refuse_stray_keys(source, raw)?;
    let words = Words {
        source,
        scenario,
        raw,
    };
    Ok(match raw.act.get_ref().as_str() {
        "exec" => Act::Exec {
            vm: words.guest()?,
            command: words.command()?,
            timeout: fields::seconds(source, "timeout", raw.timeout.as_ref(), 60)?,
        },
        "ap-off" => Act::ApOff {
            ap: words.hostapd()?,
        },
        "ap-on" => Act::ApOn {
            ap: words.hostapd()?,
        },
        "channel" => {
            let ap = words.hostapd()?;
            Act::Channel {
                ap,
                channel: words.channel(ap)?,
            }
        }
        "passphrase" => {
            let ap = words.hostapd()?;
            Act::Passphrase {
                ap,
                passphrase: words.passphrase(ap)?,
            }
        }
        "deauthenticate" => Act::Deauthenticate {
            vm: words.vm_of_hostapd()?,
            // IEEE 802.11-2020 table 9-49: LEAVING_NETWORK_DEAUTH, as hostapd says it unasked, is 3; 2 says that the authentication
            // holds no more.
            reason: fields::within(source, "reason", raw.reason.as_ref(), 1..=u16::MAX, 2)?,
        },
        "rekey" => Act::Rekey {
            vm: words.vm_of_hostapd()?,
        },
        "move" => words.moved()?,
        "kill" => Act::Kill {
            vm: words.own_vm()?,
        },
        "start" => Act::Start {
            vm: words.own_vm()?,
        },
        other => {
            let message = format!("there is nothing to do named `{other}`");
            let all: Vec<&str> = KEYS.iter().map(|(word, _)| *word).collect();
            let remedy = format!("use one of: {}", all.join(", "));
            return Err(source.error(&raw.act.span(), message, remedy));
        }
    })
}

/// Every word, and the keys that it looks at.
const KEYS: [(&str, &[&str]); 10] = [
    ("exec", &["vm", "command", "timeout"]),
    ("ap-off", &["access_point"]),
    ("ap-on", &["access_point"]),
    ("channel", &["access_point", "channel"]),
    ("passphrase", &["access_point", "passphrase"]),
    ("deauthenticate", &["vm", "reason"]),
    ("rekey", &["vm"]),
    ("move", &["card", "access_point", "to"]),
    ("kill", &["vm"]),
    ("start", &["vm"]),
];

/// Keys that are not looked at would mislead.
fn refuse_stray_keys(source: Source, raw: &raw::Act) -> Result<()> {
    let word = raw.act.get_ref();
    let known = KEYS.iter().find(|(known, _)| known == word);
    let Some((_, used)) = known else {
        return Ok(());
    };
    let written = [
        ("vm", raw.vm.as_ref().map(Spanned::span)),
        ("command", raw.command.as_ref().map(Spanned::span)),
        ("timeout", raw.timeout.as_ref().map(Spanned::span)),
        ("access_point", raw.access_point.as_ref().map(Spanned::span)),
        ("card", raw.card.as_ref().map(Spanned::span)),
        ("channel", raw.channel.as_ref().map(Spanned::span)),
        ("passphrase", raw.passphrase.as_ref().map(Spanned::span)),
        ("reason", raw.reason.as_ref().map(Spanned::span)),
        ("to", raw.to.as_ref().map(Spanned::span)),
    ];
    for (key, span) in written {
        if let (Some(span), false) = (span, used.contains(&key)) {
            let message = format!("`{word}` has no key `{key}`");
            return Err(source.error(&span, message, "remove the key"));
        }
    }
    Ok(())
}

/// What is written, and what it is about.
struct Words<'a> {
    source: Source<'a>,
    scenario: &'a Scenario,
    raw: &'a raw::Act,
}

impl Words<'_> {
    fn missing(&self, what: &str, remedy: &str) -> ScenarioError {
        let message = format!("`{}` does not say {what}", self.raw.act.get_ref());
        self.source.error(&self.raw.act.span(), message, remedy)
    }

    /// The number of the entry with that name.
    fn named(
        &self,
        what: &str,
        value: &Spanned<String>,
        mut names: impl Iterator<Item = String>,
    ) -> Result<usize> {
        let mut seen = Vec::new();
        let found = names.position(|name| {
            let same = name == *value.get_ref();
            seen.push(name);
            same
        });
        found.ok_or_else(|| {
            let message = format!("there is no {what} `{}`", value.get_ref());
            let remedy = format!("use one of: {}", seen.join(", "));
            self.source.error(&value.span(), message, remedy)
        })
    }

    fn vm(&self) -> Result<(usize, &Spanned<String>)> {
        let Some(value) = &self.raw.vm else {
            return Err(self.missing("to which VM", "write vm = \"NAME\""));
        };
        let vms = self.scenario.vms.iter().map(|vm| vm.name.clone());
        Ok((self.named("VM", value, vms)?, value))
    }

    /// A VM that airlane starts.
    fn own_vm(&self) -> Result<usize> {
        let (vm, value) = self.vm()?;
        if self.scenario.vms.get(vm).is_none_or(|vm| !vm.external) {
            return Ok(vm);
        }
        let message = format!("`{}` is a VM of your own", value.get_ref());
        let remedy = "name a VM that airlane starts";
        Err(self.source.error(&value.span(), message, remedy))
    }

    /// A VM that airlane starts, or the one in which hostapd runs.
    fn guest(&self) -> Result<usize> {
        let there = self.scenario.hostapds().next().is_some();
        let of_points = |value: &Spanned<String>| value.get_ref() == ACCESS_POINT_VM;
        match self.raw.vm.as_ref().is_some_and(of_points) && there {
            true => Ok(self.scenario.vms.len()),
            false => self.own_vm(),
        }
    }

    /// A VM whose network is hostapd's.
    fn vm_of_hostapd(&self) -> Result<usize> {
        let (vm, value) = self.vm()?;
        let network = self.scenario.vms.get(vm);
        let network = network.and_then(|vm| self.scenario.network_of(vm));
        match network.filter(|ap| ap.kind != ApKind::Hostapd) {
            None => Ok(vm),
            Some(ap) => Err(self.built_in(&ap.name, value)),
        }
    }

    fn built_in(&self, name: &str, place: &Spanned<String>) -> ScenarioError {
        let word = self.raw.act.get_ref();
        let message = format!("the built-in access point `{name}` cannot do `{word}`");
        let remedy = "write kind = \"hostapd\" in that access point";
        self.source.error(&place.span(), message, remedy)
    }

    fn access_point(&self) -> Result<(usize, &Spanned<String>)> {
        let Some(value) = &self.raw.access_point else {
            let remedy = "write access_point = \"NAME\"";
            return Err(self.missing("to which access point", remedy));
        };
        let points = self.scenario.access_points.iter();
        let number = self.named("access point", value, points.map(|ap| ap.name.clone()))?;
        Ok((number, value))
    }

    /// An access point that hostapd runs.
    fn hostapd(&self) -> Result<usize> {
        let (number, value) = self.access_point()?;
        let ap = self.scenario.access_points.get(number);
        match ap.filter(|ap| ap.kind != ApKind::Hostapd) {
            None => Ok(number),
            Some(ap) => Err(self.built_in(&ap.name, value)),
        }
    }

    fn command(&self) -> Result<String> {
        let Some(value) = &self.raw.command else {
            let remedy = "write command = \"ip address\"";
            return Err(self.missing("which command", remedy));
        };
        let text = value.get_ref();
        if !text.trim().is_empty() && !text.contains('\0') && text.len() <= LONGEST_COMMAND {
            return Ok(text.clone());
        }
        let message = "the command is empty, or too long, or has a byte of zero";
        let remedy = format!("write a line for a shell, of at most {LONGEST_COMMAND} bytes");
        Err(self.source.error(&value.span(), message, remedy))
    }

    fn channel(&self, ap: usize) -> Result<Channel> {
        let Some(value) = &self.raw.channel else {
            let remedy = "write channel = 44";
            return Err(self.missing("to which channel", remedy));
        };
        let channel = fields::channel(self.source, value)?;
        let Some(ap) = self.scenario.access_points.get(ap) else {
            return Ok(channel);
        };
        if channel.band() != ap.channel.band() {
            let message = "an access point announces no channel of another band";
            let remedy =
                "choose one of the band in which it is, as its clients do not look elsewhere";
            return Err(self.source.error(&value.span(), message, remedy));
        }
        let mhz = match ap.width {
            None => return Ok(channel),
            Some(Width::Mhz20) => 20,
            Some(Width::Mhz40Above | Width::Mhz40Below) => 40,
        };
        let mhz = Spanned::new(value.span(), mhz);
        let width = width::of(self.source, channel, Some(&mhz))?;
        Ok(width.map_or(channel, |width| channel.with_width(width)))
    }

    fn passphrase(&self, ap: usize) -> Result<String> {
        let Some(value) = &self.raw.passphrase else {
            let remedy = "write passphrase = \"another one\"";
            return Err(self.missing("which passphrase", remedy));
        };
        let passphrase = fields::passphrase(self.source, value)?;
        let ap = self.scenario.access_points.get(ap);
        match ap.filter(|ap| ap.passphrase.is_none()) {
            None => Ok(passphrase),
            Some(ap) => {
                let message = format!("the access point `{}` has no passphrase", ap.name);
                let remedy = "name one whose security has a passphrase";
                Err(self.source.error(&value.span(), message, remedy))
            }
        }
    }

    fn moved(&self) -> Result<Act> {
        let Some(value) = &self.raw.to else {
            return Err(self.missing("where to", "write to = [10, 0]"));
        };
        let to = fields::position(self.source, value)?;
        let Some(card) = &self.raw.card else {
            let (ap, _) = self.access_point()?;
            return Ok(Act::MoveAp { ap, to });
        };
        if let Some(other) = &self.raw.access_point {
            let message = "`move` names a card and an access point";
            let remedy = "write a step for each";
            return Err(self.source.error(&other.span(), message, remedy));
        }
        let cards = self.scenario.cards.iter().map(|card| card.name.clone());
        let card = self.named("card", card, cards)?;
        Ok(Act::MoveCard { card, to })
    }
}
