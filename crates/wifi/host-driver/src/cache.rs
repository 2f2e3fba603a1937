//! The scan cache: what the radio heard a moment ago (Virtual WiFi, section 3.3, "scan request": results that were
//! just obtained are returned without a command to the NIC).
//!
//! Beacons are for everybody, and so are the answers to probe requests that named no network. An
//! answer to a VM that asked for a network by its name is that VM's own, unless a beacon says the
//! name to all: which hidden networks a VM asks for is nobody else's business. For the same reason a
//! name counts as asked for only by the VM that asked.
//!
//! Not here: which channel is scanned next, and the VMs' notifications.

use std::collections::BTreeMap;

use airlane_dot11::elements::{BEACON_FIXED, Elements};
use airlane_dot11::frame::{FrameKind, THREE_ADDRESSES};
use airlane_dot11::{Buffer, Channel, MacAddr};
use airlane_lane::{Instant, Micros};
use airlane_waist::{ReceiveFilter, Received, ScanChannel, ScanRequest, VmId};

/// Frames kept. With one that is evicted, the entries of its channel go.
const FRAMES: usize = 128;

/// First octet of a beacon and of a probe response (IEEE 802.11-2020 table 9-1).
const BEACON: u8 = FrameKind::BEACON.octet();
const PROBE_RESPONSE: u8 = FrameKind::PROBE_RESPONSE.octet();
/// Where the elements of a beacon or probe response begin.
const ELEMENTS: usize = THREE_ADDRESSES + BEACON_FIXED;

/// What is known of a channel: when the radio last scanned it, and how.
struct Entry {
    /// When the radio came to the channel.
    at: Instant,
    /// How long it stayed.
    dwell: Micros,
    /// A probe request that names no network was sent.
    wildcard: bool,
    /// SSIDs of the probe requests that name one.
    names: Vec<Vec<u8>>,
}

/// Where a frame is kept: one of each kind for each BSS, channel and owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    channel: Channel,
    /// The only VM that may have it; `None`: every VM may.
    owner: Option<VmId>,
    bssid: MacAddr,
    kind: u8,
}

/// The results of the last scan of each channel.
pub(crate) struct ScanCache {
    age: Micros,
    /// By channel and by the VM that may use the entry; `None`: every VM may.
    entries: BTreeMap<(Channel, Option<VmId>), Entry>,
    frames: BTreeMap<Place, Received>,
}

impl ScanCache {
    /// Gives nothing that is older than `age`; zero is no cache.
    pub(crate) fn new(age: Micros) -> Self {
        Self {
            age,
            entries: BTreeMap::new(),
            frames: BTreeMap::new(),
        }
    }

    /// Notes what VM `vm` heard when its `request` took the radio to a channel.
    pub(crate) fn hear(&mut self, vm: VmId, request: &ScanRequest, received: &Received) {
        let Some((kind, bssid)) = announcement(&received.frame) else {
            return;
        };
        if self.age == Micros(0) {
            return;
        }
        let channel = received.channel.primary();
        let private = kind == PROBE_RESPONSE
            && names(request).any(|name| Some(name) == ssid(&received.frame))
            && !self.is_announced(channel, bssid, &received.frame);
        let place = Place {
            channel,
            owner: private.then_some(vm),
            bssid,
            kind,
        };
        self.keep(place, received);
    }

    fn is_announced(&self, channel: Channel, bssid: MacAddr, frame: &[u8]) -> bool {
        let beacon = self.frames.get(&Place {
            channel,
            owner: None,
            bssid,
            kind: BEACON,
        });
        beacon.is_some_and(|beacon| ssid(&beacon.frame) == ssid(frame))
    }

    fn keep(&mut self, place: Place, received: &Received) {
        // A beacon reaches every participant; once is enough.
        let known = self.frames.get_mut(&place);
        if known.as_ref().is_some_and(|known| known.at >= received.at) {
            return;
        }
        // A copy: the frame's own buffer goes back to its pool.
        let Some(frame) = Buffer::from_slice(&received.frame) else {
            return;
        };
        let kept = Received {
            frame,
            ..received.clone()
        };
        self.frames.insert(place, kept);
        if self.frames.len() > FRAMES {
            self.evict();
        }
    }

    fn evict(&mut self) {
        let oldest = self.frames.iter().min_by_key(|(_, frame)| frame.at);
        if let Some(place) = oldest.map(|(place, _)| *place) {
            self.frames.remove(&place);
            self.entries
                .retain(|&(channel, _), _| channel != place.channel);
        }
    }

    /// Notes that the radio went to `channel` at `at` and stayed for the whole of `dwell`, for these VMs.
    pub(crate) fn scanned<'a>(
        &mut self,
        at: Instant,
        channel: Channel,
        dwell: Micros,
        participants: impl Iterator<Item = (VmId, bool, &'a ScanRequest)>,
    ) {
        let channel = channel.primary();
        let (mut wildcard, mut heard) = (false, false);
        for (vm, active, request) in participants {
            if !listens(request) {
                continue;
            }
            let entry = Entry {
                at,
                dwell,
                wildcard: active && asks_all(request),
                names: names(request)
                    .filter(|_| active)
                    .map(<[u8]>::to_vec)
                    .collect(),
            };
            heard = true;
            wildcard |= entry.wildcard;
            self.entries.insert((channel, Some(vm)), entry);
        }
        if heard {
            // Where an answer is somebody's own, others must ask for themselves.
            let wildcard = wildcard && !self.holds_private(at, channel);
            let names = Vec::new();
            let entry = Entry {
                at,
                dwell,
                wildcard,
                names,
            };
            self.entries.insert((channel, None), entry);
        }
    }

    fn holds_private(&self, since: Instant, channel: Channel) -> bool {
        self.frames.iter().any(|(place, frame)| {
            place.channel == channel && place.owner.is_some() && frame.at >= since
        })
    }

    /// Since when everything is known that VM `vm` would learn on `wanted`; `None` when the radio must scan it.
    fn known_since(
        &self,
        now: Instant,
        vm: VmId,
        wanted: &ScanChannel,
        request: &ScanRequest,
    ) -> Option<Instant> {
        let channel = wanted.channel.primary();
        let entries = [Some(vm), None].map(|viewer| self.entries.get(&(channel, viewer)));
        let fresh = entries.into_iter().flatten();
        let fresh = fresh
            .filter(|entry| now.saturating_since(entry.at) <= self.age && self.age > Micros(0));
        let enough = fresh.filter(|entry| entry.tells(wanted, request));
        enough.map(|entry| entry.at).max()
    }

    /// All frames that VM `vm` would hear on `wanted`, oldest first; `None` when the radio must scan it. Those
    /// of its own BSS are left out: it hears them live, and an old one must not pass for a sign of life.
    pub(crate) fn answer(
        &self,
        now: Instant,
        vm: VmId,
        (own, bss): (MacAddr, MacAddr),
        wanted: &ScanChannel,
        request: &ScanRequest,
    ) -> Option<Vec<Received>> {
        let since = self.known_since(now, vm, wanted, request)?;
        let channel = wanted.channel.primary();
        let for_it = |place: &Place| place.owner.is_none_or(|owner| owner == vm);
        let mut frames: Vec<Received> = self
            .frames
            .iter()
            .filter(|(place, frame)| {
                place.channel == channel
                    && for_it(place)
                    && place.bssid != bss
                    && frame.at >= since
                    && listens(request)
            })
            .filter_map(|(place, frame)| addressed(place.kind, frame, own))
            .collect();
        frames.sort_by_key(|frame| frame.at);
        Some(frames)
    }

    /// Answers to others' probe requests since `since`, of BSSs that VM `vm` has not `heard` itself: its
    /// own probe request may have been lost among so many. Only for a scan with a wildcard probe request.
    pub(crate) fn others_answers(
        &self,
        since: Instant,
        channel: Channel,
        (own, bss): (MacAddr, MacAddr),
        request: &ScanRequest,
        heard: impl Fn(MacAddr) -> bool,
    ) -> Vec<Received> {
        if !listens(request) || !asks_all(request) {
            return Vec::new();
        }
        let missed = |place: &Place, frame: &Received| {
            place.channel == channel.primary()
                && place.owner.is_none()
                && place.kind == PROBE_RESPONSE
                && frame.at >= since
                && place.bssid != bss
                && !heard(place.bssid)
        };
        let frames = self.frames.iter();
        let frames = frames.filter(|(place, frame)| missed(place, frame));
        frames
            .filter_map(|(place, frame)| addressed(place.kind, frame, own))
            .collect()
    }

    /// The VM starts afresh, or is another one: what was its own goes.
    pub(crate) fn forget(&mut self, vm: VmId) {
        self.entries.retain(|&(_, viewer), _| viewer != Some(vm));
        self.frames.retain(|place, _| place.owner != Some(vm));
    }

    /// Frames held.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }
}

impl Entry {
    /// True when a scan of `wanted` now would tell no more.
    fn tells(&self, wanted: &ScanChannel, request: &ScanRequest) -> bool {
        if !wanted.active {
            return self.dwell >= wanted.dwell;
        }
        let asked = |name: &[u8]| self.names.iter().any(|known| known == name);
        (self.wildcard || !asks_all(request)) && names(request).all(asked)
    }
}

fn listens(request: &ScanRequest) -> bool {
    request.filter.contains(ReceiveFilter::FOREIGN_BEACONS)
}

/// Every SSID that the request asks for: the template's, then the others; empty is the wildcard.
fn asked(request: &ScanRequest) -> impl Iterator<Item = &[u8]> {
    let template = request.probe.get(THREE_ADDRESSES..);
    let template = template.and_then(|elements| Elements::new(elements).ssid());
    let others = request.ssids.iter().map(Vec::as_slice);
    std::iter::once(template.unwrap_or_default()).chain(others)
}

fn names(request: &ScanRequest) -> impl Iterator<Item = &[u8]> {
    asked(request).filter(|ssid| !ssid.is_empty())
}

fn asks_all(request: &ScanRequest) -> bool {
    asked(request).any(<[u8]>::is_empty)
}

/// Kind and BSSID of a beacon or probe response.
pub(crate) fn announcement(frame: &[u8]) -> Option<(u8, MacAddr)> {
    let kind = *frame.first()?;
    let known = kind == BEACON || kind == PROBE_RESPONSE;
    let bssid = frame.get(16..22)?.try_into().ok()?;
    (known && frame.len() >= ELEMENTS).then_some((kind, MacAddr(bssid)))
}

/// The SSID of a beacon or probe response.
fn ssid(frame: &[u8]) -> Option<&[u8]> {
    Elements::new(frame.get(ELEMENTS..)?).ssid()
}

/// The frame as this station would have received it: an answer is addressed to who gets it.
fn addressed(kind: u8, frame: &Received, own: MacAddr) -> Option<Received> {
    let mut frame = frame.clone();
    if kind == PROBE_RESPONSE {
        if !own.is_station() {
            return None;
        }
        let receiver = frame.frame.bytes_mut().get_mut(4..10)?;
        receiver.copy_from_slice(&own.0);
    }
    Some(frame)
}
