//! Networks of several access points: those of one SSID are one extended service set (IEEE 802.11-2020
//! 4.3.5) with one subnet and one security, so that a VM goes from one to another and keeps its
//! address. The first one written begins the network; the others take from it what they leave out.

use super::error::{ScenarioError, Source};
use super::security::{self, Secrets};
use super::{fields, raw};
use crate::model::{AccessPoint, Scenario, Subnet};
use std::ops::Range;
use toml::Spanned;

type Result<T> = std::result::Result<T, ScenarioError>;

/// What all access points of a network have in common.
pub struct Network {
    /// Index of its first access point, which may be the one being read.
    pub first: usize,
    /// What a station must know to join.
    pub secrets: Secrets,
    /// The gateway's address, and the subnet.
    pub subnet: Subnet,
}

/// The network that `raw`, the next access point, belongs to.
pub fn of(
    source: Source,
    scenario: &Scenario,
    raw: &raw::AccessPoint,
    ssid: &str,
) -> Result<Network> {
    let mut numbered = scenario.access_points.iter().enumerate();
    match numbered.find(|(_, ap)| ap.ssid == ssid) {
        Some((first, ap)) => joined(source, raw, first, ap),
        None => begun(source, scenario, raw),
    }
}

fn begun(source: Source, scenario: &Scenario, raw: &raw::AccessPoint) -> Result<Network> {
    let Some(address) = &raw.address else {
        let message = "the access point has no key `address`";
        let remedy =
            "add address = \"192.168.1.1/24\"; a further access point of one ssid may leave it out";
        return Err(source.error(&raw.name.span(), message, remedy));
    };
    let subnet = fields::subnet(source, address)?;
    let mut others = scenario.access_points.iter();
    if let Some(other) = others.find(|other| other.subnet.overlaps(subnet)) {
        let message = format!(
            "{subnet} overlaps the subnet {} of `{}`",
            other.subnet, other.name
        );
        let remedy = "give each network its own subnet";
        return Err(source.error(&address.span(), message, remedy));
    }
    Ok(Network {
        first: scenario.access_points.len(),
        secrets: security::of_access_point(source, raw)?,
        subnet,
    })
}

fn joined(
    source: Source,
    raw: &raw::AccessPoint,
    first: usize,
    ap: &AccessPoint,
) -> Result<Network> {
    let remedy = format!("remove the key: it is taken from `{}`", ap.name);
    let differs = |what| format!("{what} differs within the network `{}`", ap.ssid);
    if let Some(value) = &raw.address
        && fields::subnet(source, value)? != ap.subnet
    {
        return Err(source.error(&value.span(), differs("the address"), remedy));
    }
    let secrets = Secrets::of(ap);
    if let Some(place) = first_secret(raw)
        && security::of_access_point(source, raw)? != secrets
    {
        return Err(source.error(&place, differs("what is asked of a station"), remedy));
    }
    Ok(Network {
        first,
        secrets,
        subnet: ap.subnet,
    })
}

/// Where the first key stands that says who may join.
fn first_secret(raw: &raw::AccessPoint) -> Option<Range<usize>> {
    let security = raw.security.as_ref().map(Spanned::span);
    let passphrase = raw.passphrase.as_ref().map(Spanned::span);
    let users = raw.users.as_ref().map(Spanned::span);
    security.or(passphrase).or(users)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const WEST: &str = "[[access_point]]\nname = 'west'\nssid = 'corp'\nchannel = 36\n\
                        passphrase = 'a passphrase'\naddress = '10.0.0.1/24'\n";
    const VM: &str = "[[vm]]\nname = 'it'\n";

    /// With a second access point that has these lines besides its name and channel.
    fn with_east(lines: &str) -> Result<Scenario> {
        let east = format!("[[access_point]]\nname = 'east'\nchannel = 44\n{lines}\n");
        Scenario::parse(Path::new("s.toml"), &format!("{WEST}{east}{VM}"))
    }

    #[track_caller]
    fn refused(lines: &str, message: &str) {
        let error = with_east(lines).expect_err("it was accepted").to_string();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn access_points_of_one_ssid_have_one_subnet_and_one_security() {
        let scenario = with_east("ssid = 'corp'").unwrap();
        let [west, east] = &scenario.access_points[..] else {
            panic!()
        };
        assert_eq!((west.network, east.network), (0, 0));
        assert_eq!(east.subnet, west.subnet);
        assert_eq!(east.passphrase, west.passphrase);
        assert_eq!(scenario.vms[0].joins, 0, "one network need not be named");
        assert_eq!(scenario.access_points_of(0).count(), 2);
    }

    #[test]
    fn an_access_point_of_a_network_of_its_own_needs_an_address() {
        refused("", "no key `address`");
    }

    #[test]
    fn what_differs_within_a_network_is_refused() {
        refused(
            "ssid = 'corp'\naddress = '10.0.1.1/24'",
            "the address differs",
        );
        refused(
            "ssid = 'corp'\npassphrase = 'another one'",
            "asked of a station differs",
        );
        assert!(with_east("ssid = 'corp'\naddress = '10.0.0.1/24'").is_ok());
    }
}
