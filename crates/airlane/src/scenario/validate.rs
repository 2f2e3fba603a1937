//! From what is written to what is meant: every rule that a scenario must keep.

use super::error::{ScenarioError, Source};
use super::{
    ACCESS_POINT_VM, AccessPoint, Air, Card, Check, CheckKind, MAX_ACCESS_POINTS, Position,
    RunSettings, Scenario, Vm, fields, raw,
};
use airlane_lane::MAX_VMS;
use airlane_wlan::MacAddr;
use std::ops::Range;
use toml::Spanned;

type Result<T> = std::result::Result<T, ScenarioError>;

/// Checks a whole scenario.
pub fn scenario(source: Source, raw: raw::Scenario) -> Result<Scenario> {
    let mut scenario = Scenario {
        name: stem(source),
        title: raw.title,
        run: run(source, &raw.run)?,
        air: air(source, &raw.air)?,
        card: card(source, &raw.card)?,
        access_points: Vec::new(),
        vms: Vec::new(),
        checks: Vec::new(),
    };
    count(
        source,
        "[[access_point]]",
        &raw.access_point,
        MAX_ACCESS_POINTS,
    )?;
    for entry in &raw.access_point {
        let entry = access_point(source, &scenario, entry.get_ref())?;
        scenario.access_points.push(entry);
    }
    count(source, "[[vm]]", &raw.vm, MAX_VMS)?;
    for entry in &raw.vm {
        let entry = vm(source, &scenario, entry)?;
        scenario.vms.push(entry);
    }
    for entry in &raw.check {
        let entries = check(source, &scenario, entry.get_ref())?;
        scenario.checks.extend(entries);
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

/// Between one and `most` entries.
fn count<T>(source: Source, what: &str, entries: &[Spanned<T>], most: usize) -> Result<()> {
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

fn run(source: Source, raw: &raw::Run) -> Result<RunSettings> {
    let seconds =
        |what, value: &Option<_>, default| fields::seconds(source, what, value.as_ref(), default);
    Ok(RunSettings {
        kernel: raw.kernel.clone(),
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

fn card(source: Source, raw: &raw::Card) -> Result<Card> {
    if let Some(model) = &raw.model
        && model.get_ref() != "5300"
    {
        let message = format!("there is no card model `{}`", model.get_ref());
        return Err(source.error(&model.span(), message, "write model = \"5300\""));
    }
    Ok(Card {
        model: "5300".to_owned(),
        position: position(source, raw.position.as_ref(), Position::default())?,
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
    let passphrase = raw
        .passphrase
        .as_ref()
        .map(|value| fields::passphrase(source, value));
    let hostapd = raw
        .hostapd
        .iter()
        .map(|line| fields::hostapd_line(source, line));
    Ok(AccessPoint {
        ssid: ssid.transpose()?.unwrap_or_else(|| name.clone()),
        name,
        bssid: address(
            source,
            scenario,
            raw.bssid.as_ref(),
            &raw.name.span(),
            default_mac(1, others.len()),
        )?,
        channel: fields::channel(source, &raw.channel)?,
        passphrase: passphrase.transpose()?,
        subnet: subnet(source, scenario, &raw.address)?,
        position: position(source, raw.position.as_ref(), Position([5.0, 0.0, 0.0]))?,
        hostapd: hostapd.collect::<Result<_>>()?,
    })
}

/// `02:00:00:00:KIND:NUMBER`, counted from 1.
fn default_mac(kind: u8, index: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, kind, u8::try_from(index + 1).unwrap_or(u8::MAX)])
}

/// The address written, else `default`; none may be used twice.
fn address(
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
    let stations = scenario.vms.iter().map(|vm| vm.mac);
    let taken = stations.chain(scenario.access_points.iter().map(|ap| ap.bssid));
    fields::unique(source, "address", &address, &span, taken)?;
    Ok(address)
}

fn subnet(source: Source, scenario: &Scenario, raw: &Spanned<String>) -> Result<super::Subnet> {
    let subnet = fields::subnet(source, raw)?;
    let clash = scenario
        .access_points
        .iter()
        .find(|other| other.subnet.overlaps(subnet));
    let Some(other) = clash else {
        return Ok(subnet);
    };
    let message = format!(
        "{subnet} overlaps the subnet {} of `{}`",
        other.subnet, other.name
    );
    Err(source.error(
        &raw.span(),
        message,
        "give each access point its own subnet",
    ))
}

fn vm(source: Source, scenario: &Scenario, entry: &Spanned<raw::Vm>) -> Result<Vm> {
    let raw = entry.get_ref();
    let name = fields::name(source, &raw.name)?;
    let names = scenario.vms.iter().map(|other| other.name.clone());
    let reserved = std::iter::once(ACCESS_POINT_VM.to_owned());
    fields::unique(
        source,
        "name",
        &name,
        &raw.name.span(),
        names.chain(reserved),
    )?;
    let joins = joins(source, scenario, entry)?;
    let own = raw
        .passphrase
        .as_ref()
        .map(|value| fields::passphrase(source, value));
    let network = scenario
        .access_points
        .get(joins)
        .and_then(|ap| ap.passphrase.clone());
    Ok(Vm {
        mac: address(
            source,
            scenario,
            raw.mac.as_ref(),
            &raw.name.span(),
            default_mac(0, scenario.vms.len()),
        )?,
        name,
        joins,
        passphrase: own.transpose()?.or(network),
        memory: fields::within(source, "memory", raw.memory.as_ref(), 128..=16_384, 256)?,
        kernel: raw.kernel.clone(),
        external: raw.external,
    })
}

/// Which network a VM joins; with one network it need not be written.
fn joins(source: Source, scenario: &Scenario, entry: &Spanned<raw::Vm>) -> Result<usize> {
    let names: Vec<&str> = scenario
        .access_points
        .iter()
        .map(|ap| ap.name.as_str())
        .collect();
    let remedy = format!("write join = \"NAME\" with one of: {}", names.join(", "));
    match &entry.get_ref().join {
        Some(value) => names
            .iter()
            .position(|name| name == value.get_ref())
            .ok_or_else(|| {
                let message = format!("there is no access point `{}`", value.get_ref());
                source.error(&value.span(), message, remedy)
            }),
        None if names.len() == 1 => Ok(0),
        None => Err(source.error(
            &entry.span(),
            "the VM does not say which network it joins",
            remedy,
        )),
    }
}

/// One entry per VM: of the VM named, else of all.
fn check(source: Source, scenario: &Scenario, raw: &raw::Check) -> Result<Vec<Check>> {
    let kind = check_kind(source, scenario, raw)?;
    refuse_stray_keys(source, &kind, raw)?;
    let vms = match &raw.vm {
        Some(value) => vec![vm_named(source, scenario, value)?],
        None => (0..scenario.vms.len()).collect(),
    };
    let name = raw.name.as_ref().map_or(kind.word(), |name| name.get_ref());
    for &vm in &vms {
        allowed(source, scenario, raw, &kind, name, vm)?;
    }
    let entry = |vm| Check {
        name: name.to_owned(),
        vm,
        kind: kind.clone(),
    };
    Ok(vms.into_iter().map(entry).collect())
}

fn check_kind(source: Source, scenario: &Scenario, raw: &raw::Check) -> Result<CheckKind> {
    let seconds =
        |default| fields::within(source, "seconds", raw.seconds.as_ref(), 1..=600, default);
    Ok(match raw.kind.get_ref().as_str() {
        "associated" => CheckKind::Associated,
        "refused" => CheckKind::Refused,
        "isolated" => CheckKind::Isolated,
        "ping" => CheckKind::Ping {
            count: fields::within(source, "count", raw.count.as_ref(), 1..=1000, 10)?,
        },
        "throughput" => CheckKind::Throughput {
            seconds: seconds(5)?,
            udp_mbps: fields::within(source, "udp_mbps", raw.udp_mbps.as_ref(), 1..=1000, 8)?,
            min_mbps: fields::within(source, "min_mbps", raw.min_mbps.as_ref(), 0.0..=1000.0, 0.1)?,
        },
        "killed" => CheckKind::Killed {
            witness: witness(source, scenario, raw)?,
            seconds: seconds(12)?,
        },
        other => {
            let message = format!("there is no check `{other}`");
            let remedy = "use one of: associated, refused, ping, isolated, throughput, killed";
            return Err(source.error(&raw.kind.span(), message, remedy));
        }
    })
}

/// The VM that goes on while another one is killed.
fn witness(source: Source, scenario: &Scenario, raw: &raw::Check) -> Result<usize> {
    let place = raw.kind.span();
    let (Some(witness), Some(victim)) = (&raw.witness, &raw.vm) else {
        let message = "a check `killed` names the VM that is killed and one that is not";
        return Err(source.error(
            &place,
            message,
            "write vm = \"NAME\" and witness = \"OTHER\"",
        ));
    };
    if witness.get_ref() == victim.get_ref() {
        let message = format!("`{}` cannot witness its own end", witness.get_ref());
        return Err(source.error(&witness.span(), message, "name another VM"));
    }
    vm_named(source, scenario, witness)
}

fn vm_named(source: Source, scenario: &Scenario, value: &Spanned<String>) -> Result<usize> {
    let found = scenario
        .vms
        .iter()
        .position(|vm| vm.name == *value.get_ref());
    found.ok_or_else(|| {
        let names: Vec<&str> = scenario.vms.iter().map(|vm| vm.name.as_str()).collect();
        let message = format!("there is no VM `{}`", value.get_ref());
        source.error(
            &value.span(),
            message,
            format!("use one of: {}", names.join(", ")),
        )
    })
}

/// Keys that the check's kind does not look at would mislead.
fn refuse_stray_keys(source: Source, kind: &CheckKind, raw: &raw::Check) -> Result<()> {
    let used: &[&str] = match kind {
        CheckKind::Associated | CheckKind::Refused | CheckKind::Isolated => &[],
        CheckKind::Ping { .. } => &["count"],
        CheckKind::Throughput { .. } => &["seconds", "udp_mbps", "min_mbps"],
        CheckKind::Killed { .. } => &["seconds", "witness"],
    };
    let written = [
        ("count", raw.count.as_ref().map(Spanned::span)),
        ("seconds", raw.seconds.as_ref().map(Spanned::span)),
        ("udp_mbps", raw.udp_mbps.as_ref().map(Spanned::span)),
        ("min_mbps", raw.min_mbps.as_ref().map(Spanned::span)),
        ("witness", raw.witness.as_ref().map(Spanned::span)),
    ];
    for (key, span) in written {
        if let (Some(span), false) = (span, used.contains(&key)) {
            let message = format!("a check `{}` has no key `{key}`", kind.word());
            return Err(source.error(&span, message, "remove the key"));
        }
    }
    Ok(())
}

/// Whether the check can be done with this VM, and only once under its name.
fn allowed(
    source: Source,
    scenario: &Scenario,
    raw: &raw::Check,
    kind: &CheckKind,
    name: &str,
    vm: usize,
) -> Result<()> {
    let external = |vm: usize| scenario.vms.get(vm).is_some_and(|vm| vm.external);
    let witness = match kind {
        CheckKind::Killed { witness, .. } => Some(*witness),
        _ => None,
    };
    let place = raw
        .vm
        .as_ref()
        .map_or_else(|| raw.kind.span(), Spanned::span);
    if *kind != CheckKind::Associated && (external(vm) || witness.is_some_and(external)) {
        let message = format!(
            "airlane cannot run the check `{}` inside an external VM",
            kind.word()
        );
        return Err(source.error(
            &place,
            message,
            "name a VM that airlane starts, or use the check `associated`",
        ));
    }
    let taken = scenario
        .checks
        .iter()
        .filter(|check| check.vm == vm)
        .map(|check| check.name.clone());
    fields::unique(source, "check name", &name.to_owned(), &place, taken)
}
