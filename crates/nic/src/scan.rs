//! A sweep: one VM's scan on its way through its channels. One runs at a time on a card.

use airlane_lane::VmId;
use airlane_wlan::frame::subtype;
use airlane_wlan::{Buffer, Channel, MacAddr, Micros, ReceiveFilter, ScanEvent, ScanRequest};

use crate::schedule::Stop;

/// Longest time that one sweep lets neighbours join their networks undisturbed.
const PATIENCE: Micros = Micros::from_millis(2_000);
/// MAC header of a probe request.
const HEADER: usize = 24;
/// Element ID of the SSID (IEEE 802.11-2020 table 9-92), and its longest value.
const SSID: u8 = 0;
const SSID_LIMIT: usize = 32;

/// One running scan.
pub(crate) struct Sweep {
    pub(crate) vm: VmId,
    id: u64,
    request: ScanRequest,
    index: usize,
    last: Option<Channel>,
    paused_since: Option<Micros>,
    patience: Micros,
}

/// Bounds of a stop. Shorter ones would run a whole scan in no time, longer ones keep the radio from others;
/// the driver asks for 20 to 120 ms.
const SHORTEST_STOP: Micros = Micros::from_millis(5);
const LONGEST_STOP: Micros = Micros::from_millis(150);

impl Sweep {
    pub(crate) fn new(vm: VmId, id: u64, request: ScanRequest) -> Self {
        Self {
            vm,
            id,
            request,
            index: 0,
            last: None,
            paused_since: None,
            patience: PATIENCE,
        }
    }

    /// Where to look next; `None` at the end.
    pub(crate) fn stop(&self) -> Option<Stop> {
        let channel = self.request.channels.get(self.index)?;
        Some(Stop {
            sweep: self.id,
            index: self.index,
            channel: channel.channel,
            active: channel.active,
            dwell: channel.dwell.clamp(SHORTEST_STOP, LONGEST_STOP),
            max_away: self.request.max_away,
        })
    }

    /// True for a stop of this sweep.
    pub(crate) fn owns(&self, stop: Stop) -> bool {
        stop.sweep == self.id
    }

    /// The stop is done.
    pub(crate) fn advance(&mut self, stop: Stop) {
        self.last = Some(stop.channel);
        self.index = stop.index.saturating_add(1);
    }

    pub(crate) fn filter(&self) -> ReceiveFilter {
        self.request.filter
    }

    pub(crate) fn rate(&self) -> airlane_wlan::Rate {
        self.request.rate
    }

    /// The closing event.
    pub(crate) fn complete(&self, aborted: bool) -> ScanEvent {
        ScanEvent::Complete {
            channels: u8::try_from(self.index).unwrap_or(u8::MAX),
            last: self.last,
            aborted,
        }
    }

    /// True while the sweep waits for neighbours that join until `joining`. Its patience is
    /// bounded, so that nobody can stop a scan for good.
    pub(crate) fn waits(&mut self, now: Micros, joining: Option<Micros>) -> bool {
        let spent = self.paused_since.take().map(|since| now.since(since));
        self.patience = self.patience - spent.unwrap_or_default();
        let waits = joining.is_some() && self.patience > Micros(0);
        self.paused_since = waits.then_some(now);
        waits
    }

    /// Until when the sweep's patience lasts, while it waits.
    pub(crate) fn patience_until(&self) -> Option<Micros> {
        self.paused_since.map(|since| since + self.patience)
    }

    /// The probe requests of one stop, under the vMAC's own address: the template as it is, and
    /// one per network asked for by name.
    pub(crate) fn probes(&self, own: MacAddr) -> Vec<Buffer> {
        let template = std::iter::once(self.request.probe.clone());
        let named = self.request.ssids.iter();
        let named = named.filter_map(|ssid| with_ssid(&self.request.probe, ssid));
        template
            .chain(named)
            .filter_map(|probe| under(probe, own))
            .collect()
    }
}

/// The template with another SSID, which stands first (IEEE 802.11-2020 table 9-38).
fn with_ssid(probe: &[u8], ssid: &[u8]) -> Option<Vec<u8>> {
    let length = u8::try_from(ssid.len()).ok()?;
    if ssid.len() > SSID_LIMIT {
        return None;
    }
    let (header, elements) = probe.split_at_checked(HEADER)?;
    let rest = match elements {
        [SSID, length, rest @ ..] => rest.get(usize::from(*length)..)?,
        other => other,
    };
    Some([header, &[SSID, length], ssid, rest].concat())
}

/// `None` when the template is no probe request: a scan sends nothing else.
fn under(mut probe: Vec<u8>, own: MacAddr) -> Option<Buffer> {
    if probe.len() < HEADER || probe.first() != Some(&(subtype::PROBE_REQUEST << 4)) {
        return None;
    }
    probe.get_mut(10..16)?.copy_from_slice(&own.0);
    Buffer::from_slice(&probe)
}
