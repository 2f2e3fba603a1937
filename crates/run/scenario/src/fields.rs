//! The rules for single values of a scenario.

use super::error::{ScenarioError, Source};
use crate::model::{Position, Subnet, SubnetError};
use airlane_dot11::{Band, Channel, MacAddr};
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;
use std::time::Duration;
use toml::Spanned;

type Result<T> = std::result::Result<T, ScenarioError>;

/// 5 GHz channels of 20 MHz (IEEE 802.11-2020 table E-4, operating classes 115 to 125).
const GHZ5: [u16; 25] = [
    36, 40, 44, 48, 52, 56, 60, 64, 100, 104, 108, 112, 116, 120, 124, 128, 132, 136, 140, 144,
    149, 153, 157, 161, 165,
];

/// Between one and `most` entries.
pub fn count<T>(source: Source, what: &str, entries: &[Spanned<T>], most: usize) -> Result<()> {
    if entries.is_empty() {
        let message = format!("the scenario has no {what}");
        return Err(source.error(&(0..0), message, format!("add at least one {what}")));
    }
    let Some(extra) = entries.get(most) else {
        return Ok(());
    };
    let message = format!("there are more than {most} {what}");
    Err(source.error(&extra.span(), message, "remove the ones beyond"))
}

/// A name: of a file, of a table row, of a socket.
pub fn name(source: Source, value: &Spanned<String>) -> Result<String> {
    let text = value.get_ref();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=15).contains(&text.len()) && text.chars().all(plain) && !text.starts_with('-') {
        return Ok(text.clone());
    }
    Err(source.error(
        &value.span(),
        format!("the name `{text}` cannot be used for files and interfaces"),
        "use 1 to 15 small letters, digits and hyphens, beginning with a letter or digit",
    ))
}

/// A station's address.
pub fn mac(source: Source, value: &Spanned<String>) -> Result<MacAddr> {
    let remedy = "write six bytes in hexadecimal, the first one even, as in 02:00:00:00:00:01";
    let parsed = value.get_ref().parse::<MacAddr>();
    let address = parsed.map_err(|_| {
        let message = format!("`{}` is not a MAC address", value.get_ref());
        source.error(&value.span(), message, remedy)
    })?;
    if address.is_station() {
        return Ok(address);
    }
    let message = format!("{address} is not the address of one station");
    Err(source.error(&value.span(), message, remedy))
}

/// A 20 MHz channel; the number tells the band.
pub fn channel(source: Source, value: &Spanned<i64>) -> Result<Channel> {
    let number = u16::try_from(*value.get_ref()).ok();
    let channel = number.and_then(|number| match number {
        1..=13 => Channel::new(Band::Ghz2, number).ok(),
        _ if GHZ5.contains(&number) => Channel::new(Band::Ghz5, number).ok(),
        _ => None,
    });
    channel.ok_or_else(|| {
        source.error(
            &value.span(),
            format!("{} is not a 20 MHz channel", value.get_ref()),
            "use 1 to 13 (2.4 GHz) or one of 36, 40, 44, 48, 52, … 64, 100, 104, … 144, 149, 153, … 165 (5 GHz)",
        )
    })
}

/// An access point's address and subnet: the guest's address server leases .100 to .199 of a /24.
pub fn subnet(source: Source, value: &Spanned<String>) -> Result<Subnet> {
    let remedy =
        "write a host address of a /24 whose last number is not 100 to 199, as in 192.168.1.1/24";
    let error = |message: String| source.error(&value.span(), message, remedy);
    let subnet: Subnet = value
        .get_ref()
        .parse()
        .map_err(|reason: SubnetError| error(reason.to_string()))?;
    let [.., last] = subnet.address.octets();
    if subnet.prefix == 24 && !(100..=199).contains(&last) {
        return Ok(subnet);
    }
    Err(error(format!(
        "{subnet} leaves no room for the addresses that VMs get"
    )))
}

/// A network's name (IEEE 802.11-2020 9.4.2.2: at most 32 bytes).
pub fn ssid(source: Source, value: &Spanned<String>) -> Result<String> {
    let text = value.get_ref();
    let writable = !text.chars().any(|c| c.is_control() || c == '"');
    if (1..=32).contains(&text.len()) && writable {
        return Ok(text.clone());
    }
    let message = format!("{text:?} cannot be an SSID here");
    let remedy = "use 1 to 32 bytes without control characters and double quotes";
    Err(source.error(&value.span(), message, remedy))
}

/// A WPA2 passphrase (IEEE 802.11-2020 J.4.1: 8 to 63 printable ASCII characters).
pub fn passphrase(source: Source, value: &Spanned<String>) -> Result<String> {
    let text = value.get_ref();
    let printable = text.bytes().all(|byte| (32..=126).contains(&byte));
    if (8..=63).contains(&text.len()) && printable {
        return Ok(text.clone());
    }
    let message = format!(
        "the passphrase is no WPA2 passphrase ({} characters)",
        text.chars().count()
    );
    Err(source.error(
        &value.span(),
        message,
        "use 8 to 63 printable ASCII characters",
    ))
}

/// A country (ISO 3166-1 alpha-2).
pub fn country(source: Source, value: &Spanned<String>) -> Result<String> {
    let text = value.get_ref();
    if text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Ok(text.clone());
    }
    let message = format!("`{text}` is not a country code");
    Err(source.error(
        &value.span(),
        message,
        "write two capital letters, as in DE",
    ))
}

/// A place of two or three coordinates.
pub fn position(source: Source, value: &Spanned<Vec<f64>>) -> Result<Position> {
    let sane = |metres: &f64| metres.is_finite() && metres.abs() <= 100_000.0;
    let coordinates = value.get_ref();
    let position = match *coordinates.as_slice() {
        _ if !coordinates.iter().all(sane) => None,
        [x, y] => Some([x, y, 0.0]),
        [x, y, z] => Some([x, y, z]),
        _ => None,
    };
    position.map(Position).ok_or_else(|| {
        let message = "a position has two or three coordinates of at most 100000 m";
        source.error(
            &value.span(),
            message,
            "write metres east and north, as in [5, 0]",
        )
    })
}

/// What is written as one of `forms`, else the default.
pub fn parsed<T>(source: Source, value: Option<&Spanned<String>>, forms: &str) -> Result<T>
where
    T: Default + FromStr<Err: Display>,
{
    let Some(value) = value else {
        return Ok(T::default());
    };
    let error = |error: T::Err| {
        let help = format!("write one of: {forms}");
        source.error(&value.span(), error.to_string(), help)
    };
    value.get_ref().parse().map_err(error)
}

/// A number within `range`, or `default` when not written.
pub fn within<T: Copy + PartialOrd + Display>(
    source: Source,
    what: &str,
    value: Option<&Spanned<T>>,
    range: RangeInclusive<T>,
    default: T,
) -> Result<T> {
    let Some(value) = value else {
        return Ok(default);
    };
    let number = *value.get_ref();
    if range.contains(&number) {
        return Ok(number);
    }
    let message = format!("{what} cannot be {number}");
    let remedy = format!("write a number from {} to {}", range.start(), range.end());
    Err(source.error(&value.span(), message, remedy))
}

/// A time-out in seconds.
pub fn seconds(
    source: Source,
    what: &str,
    value: Option<&Spanned<u64>>,
    default: u64,
) -> Result<Duration> {
    within(source, what, value, 1..=3600, default).map(Duration::from_secs)
}

/// A line of a network's block in wpa_supplicant.conf: `key=value`, and not one that airlane writes.
pub fn supplicant_line(source: Source, value: &Spanned<String>) -> Result<String> {
    const OURS: [&str; 3] = ["ssid", "psk", "key_mgmt"];
    let text = value.get_ref();
    let error = |message: String, remedy| Err(source.error(&value.span(), message, remedy));
    let plain = !text.contains(|c: char| c.is_control() || c == '{' || c == '}');
    match text.split_once('=') {
        Some((key, _)) if OURS.contains(&key) => error(
            format!("the supplicant line `{text}` sets what airlane sets itself"),
            "remove the line; `join` and `passphrase` are keys of the VM",
        ),
        Some((key, _)) if !key.is_empty() && plain => Ok(text.clone()),
        _ => error(
            format!("{text:?} is not a line of a network in wpa_supplicant.conf"),
            "write one key=value per entry, as in 'bgscan=\"simple:10:-65:60\"'",
        ),
    }
}

/// Refuses `value` when `taken` says that someone has it.
pub fn unique<T: PartialEq + Display>(
    source: Source,
    what: &str,
    value: &T,
    span: &Range<usize>,
    taken: impl IntoIterator<Item = T>,
) -> Result<()> {
    if taken.into_iter().all(|other| other != *value) {
        return Ok(());
    }
    let message = format!("the {what} `{value}` is used twice");
    Err(source.error(span, message, format!("give each its own {what}")))
}
