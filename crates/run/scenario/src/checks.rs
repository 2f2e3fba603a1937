//! From a written check to what is checked: its kind, its keys, the VMs that it is made of.

use super::error::{ScenarioError, Source};
use super::{fields, raw};
use crate::model::{Action, ApKind, Check, CheckKind, Scenario, Uplink, Walk};
use toml::Spanned;

type Result<T> = std::result::Result<T, ScenarioError>;

/// What the check `power-save` was called; it never showed that anything sleeps. Scenarios may still say so, and then
/// find the check under this name in the report.
const FORMERLY_POWER_SAVE: &str = "slept";

/// One entry per VM: of the VM named, else of all.
pub fn check(source: Source, scenario: &Scenario, raw: &raw::Check) -> Result<Vec<Check>> {
    let kind = check_kind(source, scenario, raw)?;
    refuse_stray_keys(source, &kind, raw)?;
    let vms = match &raw.vm {
        Some(value) => vec![vm_named(source, scenario, value)?],
        // A VM that comes later is not there for checks which do not name it.
        None => {
            let vms = scenario.vms.iter().enumerate();
            let there = vms.filter(|(_, vm)| !vm.later || raw.after.is_some());
            there.map(|(number, _)| number).collect()
        }
    };
    let name = raw.name.as_ref().unwrap_or(&raw.kind).get_ref();
    for &vm in &vms {
        allowed(source, scenario, raw, &kind, name, vm)?;
    }
    let entry = |vm| Check {
        name: name.to_owned(),
        vm,
        kind: kind.clone(),
        after: raw.after.as_ref().map(|after| after.get_ref().clone()),
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
        "downlink" => CheckKind::Downlink {
            seconds: seconds(5)?,
            udp_mbps: fields::within(source, "udp_mbps", raw.udp_mbps.as_ref(), 1..=100, 4)?,
            min_percent: fields::within(
                source,
                "min_percent",
                raw.min_percent.as_ref(),
                0.0..=100.0,
                90.0,
            )?,
        },
        "throughput" => CheckKind::Throughput {
            seconds: seconds(5)?,
            udp_mbps: fields::within(source, "udp_mbps", raw.udp_mbps.as_ref(), 1..=1000, 8)?,
            min_mbps: fields::within(source, "min_mbps", raw.min_mbps.as_ref(), 0.0..=1000.0, 0.1)?,
        },
        "steady" => CheckKind::Steady {
            seconds: seconds(10)?,
            min_percent: fields::within(
                source,
                "min_percent",
                raw.min_percent.as_ref(),
                0.0..=1000.0,
                0.0,
            )?,
        },
        "rekeyed" => CheckKind::Rekeyed {
            seconds: seconds(12)?,
        },
        "roamed" => CheckKind::Roamed(walk(source, scenario, raw)?),
        "high-throughput" => CheckKind::HighThroughput {
            seconds: seconds(8)?,
        },
        "outage" => CheckKind::Outage {
            witness: witness(source, scenario, raw)?,
            seconds: seconds(15)?,
        },
        "power-save" | FORMERLY_POWER_SAVE => CheckKind::PowerSave {
            seconds: seconds(5)?,
        },
        "life-cycle" => CheckKind::LifeCycle {
            action: action(source, raw)?,
            times: fields::within(source, "times", raw.times.as_ref(), 1..=1000, 50)?,
            witness: witness(source, scenario, raw)?,
        },
        "killed" => CheckKind::Killed {
            witness: witness(source, scenario, raw)?,
            seconds: seconds(12)?,
        },
        other => {
            let message = format!("there is no check `{other}`");
            let remedy = "use one of: associated, refused, ping, isolated, downlink, throughput, steady, rekeyed, power-save, life-cycle, high-throughput, roamed, outage, killed";
            return Err(source.error(&raw.kind.span(), message, remedy));
        }
    })
}

/// What happens to the VM.
fn action(source: Source, raw: &raw::Check) -> Result<Action> {
    let words: Vec<&str> = Action::ALL.map(Action::word).to_vec();
    let remedy = format!("write action = \"WORD\" with one of: {}", words.join(", "));
    let Some(value) = &raw.action else {
        let message = "a check `life-cycle` says what happens to the VM";
        return Err(source.error(&raw.kind.span(), message, remedy));
    };
    let known = |action: &Action| action.word() == value.get_ref();
    Action::ALL.into_iter().find(known).ok_or_else(|| {
        let message = format!("there is no action `{}`", value.get_ref());
        source.error(&value.span(), message, remedy)
    })
}

/// A walk of the card, made with one VM of a network with several access points.
fn walk(source: Source, scenario: &Scenario, raw: &raw::Check) -> Result<Walk> {
    let place = raw.kind.span();
    let (Some(vm), Some(to)) = (&raw.vm, &raw.to) else {
        let message = "a check `roamed` names the VM that roams and where the card walks to";
        let remedy = "write vm = \"NAME\" and to = [30, 0]";
        return Err(source.error(&place, message, remedy));
    };
    let moves = vm_named(source, scenario, vm)?;
    let network = scenario.vms.get(moves).map_or(0, |vm| vm.joins);
    if scenario.access_points_of(network).count() < 2 {
        let message = format!("`{}` has nowhere to roam", vm.get_ref());
        let remedy = "give its network a second access point of the same ssid";
        return Err(source.error(&vm.span(), message, remedy));
    }
    Ok(Walk {
        to: fields::position(source, to)?,
        seconds: fields::within(source, "seconds", raw.seconds.as_ref(), 1..=600, 20)?,
        max_gap: fields::within(source, "max_gap", raw.max_gap.as_ref(), 0.0..=60.0, 3.0)?,
        witness: raw
            .witness
            .as_ref()
            .map(|_| witness(source, scenario, raw))
            .transpose()?,
    })
}

/// The VM that goes on while something happens to the VM of the check.
fn witness(source: Source, scenario: &Scenario, raw: &raw::Check) -> Result<usize> {
    let place = raw.kind.span();
    let (Some(witness), Some(victim)) = (&raw.witness, &raw.vm) else {
        let message = format!(
            "a check `{}` names the VM that it happens to and one that goes on",
            raw.kind.get_ref()
        );
        return Err(source.error(
            &place,
            message,
            "write vm = \"NAME\" and witness = \"OTHER\"",
        ));
    };
    if witness.get_ref() == victim.get_ref() {
        let message = format!("`{}` cannot be its own witness", witness.get_ref());
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
        CheckKind::Downlink { .. } => &["seconds", "udp_mbps", "min_percent"],
        CheckKind::Throughput { .. } => &["seconds", "udp_mbps", "min_mbps"],
        CheckKind::Steady { .. } => &["seconds", "min_percent"],
        CheckKind::Rekeyed { .. } => &["seconds"],
        CheckKind::HighThroughput { .. } => &["seconds"],
        CheckKind::Roamed(_) => &["to", "seconds", "max_gap", "witness"],
        CheckKind::Outage { .. } | CheckKind::Killed { .. } => &["seconds", "witness"],
        CheckKind::PowerSave { .. } => &["seconds"],
        CheckKind::LifeCycle { .. } => &["action", "times", "witness"],
    };
    let written = [
        ("count", raw.count.as_ref().map(Spanned::span)),
        ("seconds", raw.seconds.as_ref().map(Spanned::span)),
        ("udp_mbps", raw.udp_mbps.as_ref().map(Spanned::span)),
        ("min_mbps", raw.min_mbps.as_ref().map(Spanned::span)),
        ("min_percent", raw.min_percent.as_ref().map(Spanned::span)),
        ("action", raw.action.as_ref().map(Spanned::span)),
        ("times", raw.times.as_ref().map(Spanned::span)),
        ("witness", raw.witness.as_ref().map(Spanned::span)),
        ("to", raw.to.as_ref().map(Spanned::span)),
        ("max_gap", raw.max_gap.as_ref().map(Spanned::span)),
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
    let witness = kind.witness();
    let place = raw
        .vm
        .as_ref()
        .map_or_else(|| raw.kind.span(), Spanned::span);
    let inside = external(vm) && !kind.is_seen_from_outside();
    if inside || witness.is_some_and(external) {
        let message = format!(
            "airlane cannot run the check `{}` inside an external VM",
            kind.word()
        );
        return Err(source.error(
            &place,
            message,
            "name a VM that airlane starts, or use a check that needs nobody in the VM: associated, refused, ping, downlink",
        ));
    }
    refuse_without_hostapd(source, scenario, &place, kind, vm)?;
    refuse_behind_tap(source, scenario, &place, kind, vm)?;
    if let Some(witness) = witness {
        refuse_without_hostapd(source, scenario, &place, kind, witness)?;
    }
    let taken = scenario
        .checks
        .iter()
        .filter(|check| check.vm == vm)
        .map(|check| check.name.clone());
    fields::unique(source, "check name", &name.to_owned(), &place, taken)
}

/// What the gateway sends of its own accord it cannot send where the host is the gateway.
fn refuse_behind_tap(
    source: Source,
    scenario: &Scenario,
    place: &std::ops::Range<usize>,
    kind: &CheckKind,
    vm: usize,
) -> Result<()> {
    let vm = scenario.vms.get(vm);
    let network = vm.and_then(|vm| scenario.network_of(vm));
    let behind_tap = network.filter(|ap| matches!(ap.kind, ApKind::BuiltIn(Uplink::Tap(_))));
    let external = vm.is_some_and(|vm| vm.external);
    let is_sent = match kind {
        CheckKind::Downlink { .. } => true,
        CheckKind::Ping { .. } => external,
        _ => false,
    };
    let (Some(ap), true) = (behind_tap, is_sent) else {
        return Ok(());
    };
    let message = format!(
        "the gateway of `{}` is the host behind its TAP device, which airlane does not have send the check `{}`",
        ap.name,
        kind.word()
    );
    let remedy = "ping the VM from the host, or use another uplink";
    Err(source.error(place, message, remedy))
}

/// Some checks need what a built-in access point has not.
fn refuse_without_hostapd(
    source: Source,
    scenario: &Scenario,
    place: &std::ops::Range<usize>,
    kind: &CheckKind,
    vm: usize,
) -> Result<()> {
    let vm = scenario.vms.get(vm);
    let network = vm.and_then(|vm| scenario.network_of(vm));
    let built_in = network.filter(|ap| ap.kind != ApKind::Hostapd);
    let (Some(ap), Some(what)) = (built_in, kind.needs_of_hostapd()) else {
        return Ok(());
    };
    let message = format!(
        "the built-in access point `{}` has no {what}, which the check `{}` needs",
        ap.name,
        kind.word()
    );
    let remedy = "name a VM that joins hostapd's network, or use the check `ping`";
    Err(source.error(place, message, remedy))
}
