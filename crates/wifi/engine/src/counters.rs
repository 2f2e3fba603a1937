//! Counters by name, as reports show them.

use std::collections::BTreeMap;

use super::built_in::Served;

use airlane_air::AirCounters;
use airlane_host_driver::HostCounters;
use airlane_nic::{ContextView, DropReason, VmCounters};

type Named = Vec<(&'static str, u64)>;

/// The named fields of `$counters`, each with its name.
macro_rules! named {
    ($counters:expr; $($field:ident),* $(,)?) => {
        vec![$((stringify!($field), $counters.$field)),*]
    };
}

/// Counters of the medium.
pub fn air(counters: &AirCounters) -> Named {
    let mut named = named!(counters;
        offered, acknowledged, given_up, unacknowledged, cancelled, malformed, frames, bytes, retries,
        received, rts, cts, acks, aggregates, block_acks, collisions, noise_errors, receiver_sending,
        too_wide, no_receiver, answer_withheld, internal_collisions,
    );
    named.push(("lag_max_us", counters.lag_max.0));
    let busy = counters.channels.iter().map(|channel| channel.busy.0).sum();
    named.push(("busy_us", busy));
    named
}

/// Counters of the NIC.
pub fn nic(counters: &airlane_nic::Counters) -> Named {
    named!(counters;
        heard, malformed, unwanted, delivered, announcements, unheard_announcements, probes, probes_skipped, aggregates,
        aggregated_frames, tunes,
        orphans, pool_misses, broken_invariants,
    )
}

/// Time that the NIC's radio has spent awake and asleep.
pub fn awake(time: &airlane_nic::AwakeTime) -> Named {
    vec![
        ("awake_us", time.awake.0),
        ("asleep_us", time.asleep.0),
        ("naps", time.naps),
    ]
}

/// Counters of the host driver.
pub fn host(counters: &HostCounters) -> Named {
    named!(counters;
        passed_on, consolidated, answered_locally, discarded, sweeps, visits, merged_scans, cached_scans,
        cached_channels, cached_frames, shared_frames, overdue_scans,
    )
}

/// Counters of a built-in access point and of its gateway.
pub fn built_in(served: &Served) -> Named {
    let counters = served.bss.counters();
    let mut named = named!(counters;
        beacons, probe_responses, authenticated, associated, refused, joined, wrong_keys, sent_away,
        group_rekeys, received, received_bytes, sent, sent_bytes, group_sent, retries, put_back, polls,
    );
    let drops = airlane_ap::Drop::ALL.into_iter();
    named.extend(drops.map(|reason| (reason.word(), counters.dropped_for(reason))));
    let counters = served.gateway.counters();
    named.extend(named!(counters; arp, echo, offers, leases, exhausted));
    named.push(("gateway_refused", counters.refused));
    named.push(("gateway_malformed", counters.malformed));
    named.push(("unrouted", served.unrouted));
    named
}

/// Counters of a vMAC.
pub fn vmac(counters: &VmCounters) -> BTreeMap<String, u64> {
    let mut named = named!(counters;
        offered, sent, sent_bytes, failed, queued, retries, received, received_bytes, decrypted,
        undecryptable, addresses_refused, keys_set,
    );
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
    let named = named!(home; visits, beacons_heard, beacons_missed);
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
