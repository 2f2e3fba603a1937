//! Scan slots: the radio listens on one channel for all VMs that want to know what is there, and
//! each has its own probe requests sent under its own address. One slot at a time.
//!
//! Not here: which channel is next, whose scan is over, what is still known (the host driver).

use airlane_dot11::elements::{Element, LONGEST_SSID, id};
use airlane_dot11::frame::{FrameKind, THREE_ADDRESSES};
use airlane_dot11::{Buffer, Channel, MacAddr};
use airlane_lane::{Instant, Micros};
use airlane_waist::{
    Event, NicEvent, Participant, ReceiveFilter, Refusal, ScanEvent, ScanSlot, VmId,
};

use crate::card::Card;
use crate::channel::scheduler::Dwell;
use crate::tx::frame::{Kind, OwnFrame};
use crate::vmac::Vmac;

/// Longest time that one scan lets neighbours join their networks undisturbed.
const PATIENCE: Micros = Micros::from_millis(2_000);
/// Bounds of a dwell. Shorter ones would run a whole scan in no time, longer ones keep the radio from others;
/// the driver asks for 20 to 120 ms.
const SHORTEST_DWELL: Micros = Micros::from_millis(5);
const LONGEST_DWELL: Micros = Micros::from_millis(150);

/// The scan slot at hand, and how long the scan still lets VMs join undisturbed.
#[derive(Default)]
pub(crate) struct Scan {
    running: Option<Running>,
    paused_since: Option<Instant>,
    patience: Micros,
    /// Number of the last slot; slots are numbered from 1.
    last: u64,
}

/// The scan slot that the host driver has asked for, until it is answered.
struct Running {
    id: u64,
    /// One VM alone took part when the slot began, and asks actively: a dwell stays the same when a participant leaves.
    brief: bool,
    slot: ScanSlot,
}

impl Scan {
    /// Where the scan wants the radio to listen, and how long; `None` without a slot.
    pub(crate) fn dwell(&self) -> Option<Dwell> {
        let Running {
            id, slot, brief, ..
        } = self.running.as_ref()?;
        Some(Dwell {
            slot: *id,
            channel: slot.channel,
            // The answers to one VM's probe requests come soon; those to many take their time.
            active: *brief,
            time: slot.dwell.clamp(SHORTEST_DWELL, LONGEST_DWELL),
            max_away: slot.max_away,
        })
    }

    /// The slot of this dwell, if it has not been given up.
    fn of(&self, dwell: Dwell) -> Option<&ScanSlot> {
        let running = self.running.as_ref();
        let own = running.filter(|running| running.id == dwell.slot);
        own.map(|running| &running.slot)
    }

    /// True when this VM wants to hear foreign beacons on `channel` during `dwell`.
    pub(crate) fn listens(&self, vm: VmId, channel: Channel, dwell: Option<Dwell>) -> bool {
        let wants = |participant: &Participant| {
            let filter = participant.request.filter;
            participant.vm == vm && filter.contains(ReceiveFilter::FOREIGN_BEACONS)
        };
        let there = dwell.filter(|dwell| dwell.channel.shares_primary(channel));
        let slot = there.and_then(|dwell| self.of(dwell));
        slot.is_some_and(|slot| slot.participants.iter().any(wants))
    }

    /// True while the scan waits for neighbours that join until `joining`. Its patience is
    /// bounded, so that nobody can stop a scan for good.
    pub(crate) fn waits(&mut self, now: Instant, joining: Option<Instant>) -> bool {
        let spent = self
            .paused_since
            .take()
            .map(|since| now.saturating_since(since));
        self.patience = self.patience.saturating_sub(spent.unwrap_or_default());
        let waits = joining.is_some() && self.patience > Micros(0);
        self.paused_since = waits.then_some(now);
        waits
    }

    /// Until when the scan's patience lasts, while it waits.
    pub(crate) fn patience_until(&self) -> Option<Instant> {
        self.paused_since.map(|since| since + self.patience)
    }

    /// Takes a slot; it is answered when it is over.
    pub(crate) fn begin(&mut self, card: &mut Card, mut slot: ScanSlot) {
        slot.participants.retain(|p| card.vmacs.get(p.vm).is_some());
        if self.running.is_some() {
            return card.out.tell_host(NicEvent::ScanDone(Err(Refusal::Busy)));
        }
        if slot.participants.is_empty() {
            return card.out.tell_host(NicEvent::ScanDone(Ok(())));
        }
        self.paused_since = None;
        if slot.begins {
            self.patience = PATIENCE;
        }
        self.last += 1;
        self.running = Some(Running {
            id: self.last,
            brief: matches!(slot.participants.as_slice(), [only] if only.active),
            slot,
        });
    }

    /// The VM's part in the slot ends; with the last participant the slot is over, and is answered.
    pub(crate) fn leave(&mut self, card: &mut Card, vm: VmId) -> Result<(), Refusal> {
        let running = self.running.as_mut().ok_or(Refusal::NoScan)?;
        let participants = &mut running.slot.participants;
        let before = participants.len();
        participants.retain(|participant| participant.vm != vm);
        if participants.len() == before {
            return Err(Refusal::NoScan);
        }
        let deserted = |running: &mut Running| running.slot.participants.is_empty();
        if self.running.take_if(deserted).is_some() {
            card.out.tell_host(NicEvent::ScanDone(Ok(())));
        }
        Ok(())
    }

    /// The radio is on `channel` for this dwell: every participant is told. Gives the probe requests that are to be sent
    /// for them, without sequence numbers.
    pub(crate) fn begin_dwell(
        &self,
        card: &mut Card,
        dwell: Dwell,
        channel: Channel,
    ) -> Vec<OwnFrame> {
        let mut probes = Vec::new();
        let slot = self.of(dwell);
        for participant in slot.iter().flat_map(|slot| &slot.participants) {
            let (vm, request) = (participant.vm, &participant.request);
            let started = ScanEvent::Started(dwell.channel);
            card.out.emit(vm, Event::Scan(started));
            let own = card.vmacs.get(vm).and_then(Vmac::address);
            if let Some(own) = own.filter(|_| participant.active) {
                let asked = probe_requests(&request.probe, &request.ssids, own);
                probes.extend(asked.map(|frame| OwnFrame {
                    kind: Kind::Probe { vm },
                    frame,
                    channel,
                    rate: request.rate,
                    retries: None,
                }));
            }
        }
        probes
    }

    /// The radio leaves: every participant is told, and the slot is answered.
    pub(crate) fn end_dwell(&mut self, card: &mut Card, dwell: Dwell) {
        let own = |running: &mut Running| running.id == dwell.slot;
        let Some(running) = self.running.take_if(own) else {
            return;
        };
        for participant in &running.slot.participants {
            let left = ScanEvent::Left(dwell.channel);
            card.out.emit(participant.vm, Event::Scan(left));
        }
        card.out.tell_host(NicEvent::ScanDone(Ok(())));
    }
}

/// The probe requests of one VM: the template as it is, and one per network asked for by name.
fn probe_requests<'a>(
    template: &'a [u8],
    ssids: &'a [Vec<u8>],
    own: MacAddr,
) -> impl Iterator<Item = Buffer> + 'a {
    let named = ssids.iter().filter_map(|ssid| with_ssid(template, ssid));
    std::iter::once(template.to_vec())
        .chain(named)
        .filter_map(move |probe| under(probe, own))
}

/// The template with another SSID, which stands first (IEEE 802.11-2020 table 9-38).
fn with_ssid(probe: &[u8], ssid: &[u8]) -> Option<Vec<u8>> {
    if ssid.len() > LONGEST_SSID {
        return None;
    }
    let (header, elements) = probe.split_at_checked(THREE_ADDRESSES)?;
    let rest = match elements.first() {
        Some(&id::SSID) => Element::split_first(elements)?.1,
        _ => elements,
    };
    let mut named = header.to_vec();
    let element = Element {
        id: id::SSID,
        body: ssid,
    };
    element.write(&mut named);
    named.extend(rest);
    Some(named)
}

/// `None` when the template is no probe request: a scan sends nothing else.
fn under(mut probe: Vec<u8>, own: MacAddr) -> Option<Buffer> {
    if probe.len() < THREE_ADDRESSES || probe.first() != Some(&FrameKind::PROBE_REQUEST.octet()) {
        return None;
    }
    probe.get_mut(10..16)?.copy_from_slice(&own.0);
    Buffer::from_slice(&probe)
}
