//! From what is written to what is meant: every rule that a scenario must keep.

use super::error::{ScenarioError, Source};
use super::{
    address, captive, card, checks, fields, hostapd, kind, network, own, places, raw, security,
    steps, vmm, width,
};
use crate::model::{
    ACCESS_POINT_VM, AccessPoint, Air, MAX_ACCESS_POINTS, Position, RunSettings, Scenario, Vm,
};
use airlane_dot11::MacAddr;
use airlane_nic::MAX_WEIGHT;
use airlane_waist::MAX_VMS;
use std::ops::Range;
use toml::Spanned;

type Result<T> = std::result::Result<T, ScenarioError>;

/// Checks a whole scenario.
pub fn scenario(source: Source, raw: raw::Scenario) -> Result<Scenario> {
    let mut scenario = Scenario {
        name: stem(source),
        places: places::of(source, &raw),
        title: raw.title,
        run: run(source, &raw.run)?,
        air: air(source, &raw.air)?,
        cards: card::cards(source, &raw.card)?,
        access_points: Vec::new(),
        vms: Vec::new(),
        checks: Vec::new(),
        steps: Vec::new(),
    };
    fields::count(
        source,
        "[[access_point]]",
        &raw.access_point,
        MAX_ACCESS_POINTS,
    )?;
    for entry in &raw.access_point {
        let entry = access_point(source, &scenario, entry.get_ref())?;
        scenario.access_points.push(entry);
    }
    fields::count(source, "[[vm]]", &raw.vm, MAX_VMS * scenario.cards.len())?;
    for entry in &raw.vm {
        let entry = vm(source, &scenario, entry)?;
        scenario.vms.push(entry);
    }
    // The daemon numbers VMs card by card.
    scenario.vms.sort_by_key(|vm| vm.on);
    for entry in &raw.check {
        let entries = checks::check(source, &scenario, entry.get_ref())?;
        scenario.checks.extend(entries);
    }
    for entry in &raw.step {
        let entry = steps::step(source, &scenario, entry)?;
        scenario.steps.push(entry);
    }
    let awaited = raw
        .check
        .iter()
        .filter_map(|check| check.get_ref().after.as_ref());
    for after in awaited {
        steps::awaited(source, &scenario, after)?;
    }
    Ok(scenario)
}

/// The file's name without its ending.
fn stem(source: Source) -> String {
    let stem = source.path.file_stem();
    stem.map_or_else(
        || "scenario".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

fn run(source: Source, raw: &raw::Run) -> Result<RunSettings> {
    let seconds =
        |what, value: &Option<_>, default| fields::seconds(source, what, value.as_ref(), default);
    Ok(RunSettings {
        kernel: raw.kernel.as_ref().map(|value| value.get_ref().clone()),
        vmm: vmm::of(source, raw.vmm.as_ref())?.unwrap_or_default(),
        boot_timeout: seconds("boot_timeout", &raw.boot_timeout, 120)?,
        join_timeout: seconds("join_timeout", &raw.join_timeout, 120)?,
        external_timeout: seconds("external_timeout", &raw.external_timeout, 600)?,
    })
}

fn air(source: Source, raw: &raw::Air) -> Result<Air> {
    let country = raw
        .country
        .as_ref()
        .map(|value| fields::country(source, value));
    let exponent = raw.path_loss_exponent.as_ref();
    let checked = fields::within(source, "path_loss_exponent", exponent, 1.0..=8.0, 3.0)?;
    Ok(Air {
        seed: raw.seed.unwrap_or(1),
        country: country.transpose()?.unwrap_or_else(|| "DE".to_owned()),
        path_loss_exponent: exponent.map(|_| checked),
    })
}

fn position(
    source: Source,
    raw: Option<&Spanned<Vec<f64>>>,
    default: Position,
) -> Result<Position> {
    raw.map_or(Ok(default), |value| fields::position(source, value))
}

fn access_point(
    source: Source,
    scenario: &Scenario,
    raw: &raw::AccessPoint,
) -> Result<AccessPoint> {
    let others = &scenario.access_points;
    let name = fields::name(source, &raw.name)?;
    let names = others.iter().map(|other| other.name.clone());
    fields::unique(source, "name", &name, &raw.name.span(), names)?;
    let ssid = raw.ssid.as_ref().map(|value| fields::ssid(source, value));
    let ssid = ssid.transpose()?.unwrap_or_else(|| name.clone());
    let network = network::of(source, scenario, raw, &ssid)?;
    let channel = fields::channel(source, &raw.channel)?;
    let lines = raw.hostapd.iter().map(|line| hostapd::line(source, line));
    let security = network.secrets.security;
    let kind = kind::of(source, scenario, raw, security, network.first)?;
    hostapd::refuse_radar_channel(source, raw, &kind, channel)?;
    Ok(AccessPoint {
        group_rekey: kind::group_rekey(source, raw, &kind)?,
        captive: captive::of(source, raw, &kind)?,
        kind,
        ssid,
        name,
        network: network.first,
        bssid: bssid(
            source,
            scenario,
            raw.bssid.as_ref(),
            &raw.name.span(),
            default_mac(1, others.len()),
        )?,
        width: width::of(source, channel, raw.width.as_ref())?,
        mcs: width::mcs(source, raw)?,
        channel,
        security,
        passphrase: network.secrets.passphrase,
        users: network.secrets.users,
        subnet: network.subnet,
        position: position(source, raw.position.as_ref(), Position([5.0, 0.0, 0.0]))?,
        hostapd: lines.collect::<Result<_>>()?,
    })
}

/// `02:00:00:00:KIND:NUMBER`, counted from 1.
fn default_mac(kind: u8, index: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, kind, u8::try_from(index + 1).unwrap_or(u8::MAX)])
}

/// The address written, else `default`; none may be used twice.
fn bssid(
    source: Source,
    scenario: &Scenario,
    raw: Option<&Spanned<String>>,
    place: &Range<usize>,
    default: MacAddr,
) -> Result<MacAddr> {
    let (address, span) = match raw {
        Some(value) => (fields::mac(source, value)?, value.span()),
        None => (default, place.clone()),
    };
    unused(source, scenario, address, &span)
}

/// `address`, if nobody has it yet.
fn unused(
    source: Source,
    scenario: &Scenario,
    address: MacAddr,
    span: &Range<usize>,
) -> Result<MacAddr> {
    let stations = scenario.vms.iter().map(|vm| vm.mac);
    let taken = stations.chain(scenario.access_points.iter().map(|ap| ap.bssid));
    fields::unique(source, "address", &address, span, taken)?;
    Ok(address)
}

/// A VM's name, which no other VM has: not that of the access points, either.
fn vm_name(source: Source, scenario: &Scenario, written: &Spanned<String>) -> Result<String> {
    let name = fields::name(source, written)?;
    if name == ACCESS_POINT_VM {
        let message = format!("the name `{name}` is reserved for the VM with the access points");
        let remedy = "give the VM another name";
        return Err(source.error(&written.span(), message, remedy));
    }
    let names = scenario.vms.iter().map(|other| other.name.clone());
    fields::unique(source, "name", &name, &written.span(), names)?;
    Ok(name)
}

fn vm(source: Source, scenario: &Scenario, entry: &Spanned<raw::Vm>) -> Result<Vm> {
    let raw = entry.get_ref();
    let name = vm_name(source, scenario, &raw.name)?;
    let (on, card) = card::of_vm(source, scenario, entry)?;
    let seed = scenario.air.seed;
    let (mac, span) = match &raw.mac {
        Some(value) => (
            address::of_vm(source, value, &name, seed, card.mac)?,
            value.span(),
        ),
        None => (default_mac(0, scenario.vms.len()), raw.name.span()),
    };
    let joins = joins(source, scenario, entry)?;
    let own = raw
        .passphrase
        .as_ref()
        .map(|value| fields::passphrase(source, value));
    let network = scenario.access_points.get(joins);
    let eap = security::of_vm(source, network, entry, &name)?;
    let network = network.and_then(|ap| ap.passphrase.clone());
    let memory = fields::within(source, "memory", raw.memory.as_ref(), 128..=16_384, 256)?;
    let supplicant = raw.supplicant.iter();
    let supplicant = supplicant.map(|line| fields::supplicant_line(source, line));
    Ok(Vm {
        mac: unused(source, scenario, mac, &span)?,
        on,
        model: card::model(source, raw.card.as_ref(), card.model, &scenario.cards)?,
        // Connection managers of others' guests scan under random addresses; our guests have none.
        change_mac: raw.change_mac.unwrap_or(raw.external),
        weight: fields::within(source, "weight", raw.weight.as_ref(), 1..=MAX_WEIGHT, 1)?,
        name,
        joins,
        passphrase: own.transpose()?.or(network),
        eap,
        swcrypto: raw.swcrypto,
        supplicant: supplicant.collect::<Result<_>>()?,
        own: own::of_vm(source, raw, memory)?,
        memory,
        kernel: own::version(raw),
        vmm: vmm::of(source, raw.vmm.as_ref())?,
        external: raw.external,
        later: later(source, entry)?,
    })
}

/// Whether airlane starts the VM later. One that it does not start at all has no time.
fn later(source: Source, entry: &Spanned<raw::Vm>) -> Result<bool> {
    let raw = entry.get_ref();
    if raw.later && raw.external {
        let message = "an external VM comes when you start it";
        return Err(source.error(&entry.span(), message, "remove the key `later`"));
    }
    Ok(raw.later)
}

/// The first access point of the network that a VM joins; with one network it need not be written.
fn joins(source: Source, scenario: &Scenario, entry: &Spanned<raw::Vm>) -> Result<usize> {
    let names: Vec<&str> = scenario
        .access_points
        .iter()
        .map(|ap| ap.name.as_str())
        .collect();
    let remedy = format!("write join = \"NAME\" with one of: {}", names.join(", "));
    let mut access_points = scenario.access_points.iter();
    match &entry.get_ref().join {
        Some(value) => access_points
            .find(|ap| ap.name == *value.get_ref())
            .map(|ap| ap.network)
            .ok_or_else(|| {
                let message = format!("there is no access point `{}`", value.get_ref());
                source.error(&value.span(), message, remedy)
            }),
        None if access_points.all(|ap| ap.network == 0) => Ok(0),
        None => Err(source.error(
            &entry.span(),
            "the VM does not say which network it joins",
            remedy,
        )),
    }
}
