//! How things stand behind the lanes, as reports and live tables show it.

use std::collections::BTreeMap;

use airlane_dot11::{Channel, MacAddr};
use airlane_lane::{Instant, Micros, VmId};

use super::built_in::Served;
use super::counters as named;
use super::journal::Link;
use super::radio::Radio;

/// One VM's vMAC, as the NIC sees it.
#[derive(Clone, Debug, Default)]
pub struct VmacStatus {
    /// Its address, once the driver has set one.
    pub address: Option<MacAddr>,
    /// Its BSS, once it has chosen one.
    pub bssid: Option<MacAddr>,
    /// Its channel.
    pub channel: Option<Channel>,
    /// Associated to that BSS.
    pub associated: bool,
    /// What its link is like.
    pub link: Link,
    /// Counters, by name.
    pub counters: BTreeMap<String, u64>,
}

/// One built-in access point.
#[derive(Clone, Debug, Default)]
pub struct BuiltInStatus {
    /// Its name.
    pub name: String,
    /// Stations that have joined.
    pub joined: Vec<MacAddr>,
    /// Stations that have tried another passphrase.
    pub wrong_keys: Vec<MacAddr>,
}

/// The radio as a whole.
#[derive(Clone, Debug, Default)]
pub struct RadioStatus {
    /// When this was taken.
    pub at: Instant,
    /// Where the radio is tuned to.
    pub channel: Option<Channel>,
    /// How its time is divided: what is known of each channel that has been a home, by name.
    pub channels: Vec<(Channel, BTreeMap<String, u64>)>,
    /// vMACs by VM-ID, those that exist.
    pub vmacs: BTreeMap<usize, VmacStatus>,
    /// The built-in access points.
    pub built_ins: Vec<BuiltInStatus>,
    /// Counters of air, host, NIC and built-in access points, by name.
    pub counters: BTreeMap<String, u64>,
}

impl RadioStatus {
    /// The status of `radio`.
    pub fn of(
        radio: &Radio,
        at: Instant,
        lag: Micros,
        lanes: impl Iterator<Item = (VmId, [(&'static str, u64); 3])>,
    ) -> Self {
        let mut counters = BTreeMap::new();
        counters.insert("radio_lag_max_us".to_owned(), lag.0);
        let mut add = |prefix: &str, name: &str, value: u64| {
            counters.insert(format!("{prefix}_{name}"), value);
        };
        for (name, value) in named::air(radio.air().counters()) {
            add("air", name, value);
        }
        for (name, value) in named::nic(&radio.nic().counters()) {
            add("nic", name, value);
        }
        for (name, value) in named::awake(&radio.nic().awake_time(at)) {
            add("nic", name, value);
        }
        for (name, value) in named::host(&radio.host().counters()) {
            add("host", name, value);
        }
        let refused = radio.access_points().counters();
        add("hwsim", "too_many_radios", refused.too_many_radios);
        add("hwsim", "malformed_frames", refused.malformed_frames);
        add("hwsim", "queue_full", refused.queue_full);
        for served in radio.built_ins().iter() {
            for (name, value) in named::built_in(served) {
                add(&format!("ap_{}", served.name), name, value);
            }
        }
        let mut vmacs: BTreeMap<usize, VmacStatus> = radio
            .nic()
            .vmacs()
            .map(|view| {
                let status = VmacStatus {
                    address: Some(view.address).filter(|address| address.is_station()),
                    bssid: Some(view.bssid).filter(|bssid| bssid.is_station()),
                    channel: view.channel,
                    associated: view.associated,
                    link: radio.journal().link(view.vm),
                    counters: named::vmac(&view.counters),
                };
                (view.vm.index(), status)
            })
            .collect();
        for (vm, counts) in lanes {
            if let Some(vmac) = vmacs.get_mut(&vm.index()) {
                let counts = counts.map(|(name, count)| (name.to_owned(), count));
                vmac.counters.extend(counts);
            }
        }
        Self {
            at,
            channel: radio.nic().channel(),
            channels: radio
                .nic()
                .contexts(at)
                .map(|home| (home.channel, named::home(&home)))
                .collect(),
            vmacs,
            built_ins: radio.built_ins().iter().map(built_in).collect(),
            counters,
        }
    }
}

fn built_in(served: &Served) -> BuiltInStatus {
    BuiltInStatus {
        name: served.name.clone(),
        joined: served.bss.joined().map(|(station, _)| station).collect(),
        wrong_keys: served.wrong_keys.iter().copied().collect(),
    }
}
