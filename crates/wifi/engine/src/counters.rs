//! Counters by name, as reports show them. A field that is added to any of the counters and not named here does not
//! compile.

use std::collections::BTreeMap;

use airlane_air::AirCounters;
use airlane_ap::Counters as ApCounters;
use airlane_ap::gateway::GatewayCounters;
use airlane_host_driver::HostCounters;
use airlane_nic::{AwakeTime, ContextView, Counters as NicCounters, DropReason, VmCounters};

use super::access_points::ApCounters as HwsimCounters;
use super::built_in::Served;

/// Counters with their names.
pub type Named = Vec<(&'static str, u64)>;

/// All fields of counters: those before `and` with their names, those behind it to be named otherwise.
#[macro_export]
macro_rules! named {
    ($counters:expr, $type:ident { $($field:ident),* $(,)? } $(and $($other:ident),*)?) => {{
        let $type { $($field,)* $($($other: _,)*)? } = $counters;
        vec![$((stringify!($field), *$field)),*]
    }};
}

/// Counters of the medium.
pub fn air(counters: &AirCounters) -> Named {
    let mut named = named!(counters, AirCounters {
        offered, acknowledged, given_up, unacknowledged, cancelled, malformed, removed_radio, frames, bytes, retries,
        received, rts, cts, acks, aggregates, block_acks, collisions, noise_errors, receiver_sending,
        too_wide, no_receiver, answer_withheld, internal_collisions,
    } and lag_max, channels);
    named.push(("lag_max_us", counters.lag_max.0));
    let busy = counters.channels.iter().map(|channel| channel.busy.0).sum();
    named.push(("busy_us", busy));
    named
}

/// Counters of the NIC.
pub fn nic(counters: &NicCounters) -> Named {
    named!(
        counters,
        NicCounters {
            heard,
            malformed,
            unwanted,
            delivered,
            announcements,
            unheard_announcements,
            probes,
            probes_skipped,
            aggregates,
            aggregated_frames,
            tunes,
            orphans,
            pool_misses,
            broken_invariants,
        }
    )
}

/// Time that the NIC's radio has spent awake and asleep.
pub fn awake(time: &AwakeTime) -> Named {
    let mut named = named!(time, AwakeTime { naps } and awake, asleep);
    named.push(("awake_us", time.awake.0));
    named.push(("asleep_us", time.asleep.0));
    named
}

/// Counters of the host driver.
pub fn host(counters: &HostCounters) -> Named {
    named!(
        counters,
        HostCounters {
            passed_on,
            consolidated,
            answered_locally,
            discarded,
            sweeps,
            visits,
            merged_scans,
            cached_scans,
            cached_channels,
            cached_frames,
            shared_frames,
            overdue_scans,
        }
    )
}

/// What was refused of access-point VMs.
pub fn access_points(counters: &HwsimCounters) -> Named {
    named!(
        counters,
        HwsimCounters {
            too_many_radios,
            malformed_frames,
            queue_full
        }
    )
}

/// Counters of a built-in access point and of its gateway.
pub fn built_in(served: &Served) -> Named {
    let counters = served.bss.counters();
    let mut named = named!(counters, ApCounters {
        beacons, probe_responses, authenticated, associated, refused, joined, wrong_keys, sent_away,
        group_rekeys, received, received_bytes, sent, sent_bytes, group_sent, retries, put_back, polls,
    } and dropped);
    let drops = airlane_ap::Drop::ALL.into_iter();
    named.extend(drops.map(|reason| (reason.word(), counters.dropped_for(reason))));
    let counters = served.gateway.counters();
    named.extend(named!(&counters, GatewayCounters {
        arp, echo, offers, leases, exhausted, names
    } and refused, malformed));
    named.push(("gateway_refused", counters.refused));
    named.push(("gateway_malformed", counters.malformed));
    named.push(("unrouted", served.unrouted));
    named
}

/// Counters of a vMAC.
pub fn vmac(counters: &VmCounters) -> BTreeMap<String, u64> {
    let mut named = named!(counters, VmCounters {
        offered, sent, sent_bytes, failed, queued, retries, received, received_bytes, decrypted,
        undecryptable, addresses_refused, keys_set,
    } and dropped, airtime, contention);
    named.push(("airtime_us", counters.airtime.0));
    named.push(("contention_us", counters.contention.0));
    let named = named
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    let drops = DropReason::ALL.into_iter().map(|reason| {
        (
            format!("dropped_{}", drop_name(reason)),
            counters.dropped_for(reason),
        )
    });
    named.chain(drops).collect()
}

/// What is known of a home channel.
pub fn home(home: &ContextView) -> BTreeMap<String, u64> {
    let named = named!(home, ContextView { visits, beacons_heard, beacons_missed } and channel, share, time);
    let named = named
        .into_iter()
        .chain([("share_thousandths", home.share), ("time_us", home.time.0)]);
    named
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn drop_name(reason: DropReason) -> &'static str {
    match reason {
        DropReason::NotConfigured => "not_configured",
        DropReason::QueueFull => "queue_full",
        DropReason::Malformed => "malformed",
        DropReason::Identity => "identity",
        DropReason::ForeignBss => "foreign_bss",
        DropReason::UnknownStation => "unknown_station",
        DropReason::Flushed => "flushed",
        DropReason::Reset => "reset",
    }
}
