//! Stops of sweeps: the radio looks at one channel for all VMs that want to know what is there, and
//! each has its own probe requests sent under its own address. One stop at a time.
//!
//! Not here: which channel is next, whose scan is over, what is still known (the host driver).

use airlane_dot11::elements::{Element, LONGEST_SSID, id};
use airlane_dot11::frame::{FrameKind, THREE_ADDRESSES};
use airlane_dot11::{Buffer, MacAddr, Rate};
use airlane_lane::{Instant, Micros, VmId};
use airlane_waist::{Event, Participant, ReceiveFilter, Refusal, Reply, ScanEvent, ScanSlot, Tag};

use crate::channel::scheduler::Stop;
use crate::nic::Nic;
use crate::vmac::Vmac;

/// Longest time that one sweep lets neighbours join their networks undisturbed.
const PATIENCE: Micros = Micros::from_millis(2_000);
/// Bounds of a stop. Shorter ones would run a whole scan in no time, longer ones keep the radio from others;
/// the driver asks for 20 to 120 ms.
const SHORTEST_STOP: Micros = Micros::from_millis(5);
const LONGEST_STOP: Micros = Micros::from_millis(150);

/// The stop that is made, and the sweep's patience.
#[derive(Default)]
pub(crate) struct Sweep {
    running: Option<Running>,
    paused_since: Option<Instant>,
    patience: Micros,
}

/// A visit, and how to answer it.
struct Running {
    id: u64,
    carrier: VmId,
    tag: Tag,
    /// One VM alone asks, actively. As at the start: a stop stays the same when a participant leaves.
    brief: bool,
    visit: ScanSlot,
}

impl Sweep {
    /// Where to look now.
    pub(crate) fn stop(&self) -> Option<Stop> {
        let running = self.running.as_ref()?;
        let Running { id, visit, .. } = running;
        Some(Stop {
            sweep: *id,
            index: 0,
            channel: visit.channel,
            // The answers to one VM's probe requests come soon; those to many take their time.
            active: running.brief,
            dwell: visit.dwell.clamp(SHORTEST_STOP, LONGEST_STOP),
            max_away: visit.max_away,
        })
    }

    /// True for the stop that is made.
    fn owns(&self, stop: Stop) -> bool {
        self.running
            .as_ref()
            .is_some_and(|running| running.id == stop.sweep)
    }

    fn participants(&self) -> &[Participant] {
        let running = self.running.as_ref();
        running.map_or(&[], |running| &running.visit.participants)
    }

    /// True when this VM wants to hear foreign beacons during `stop`.
    pub(crate) fn listens(&self, vm: VmId, stop: Stop) -> bool {
        let wants = |participant: &Participant| {
            let filter = participant.request.filter;
            participant.vm == vm && filter.contains(ReceiveFilter::FOREIGN_BEACONS)
        };
        self.owns(stop) && self.participants().iter().any(wants)
    }

    /// True while the sweep waits for neighbours that join until `joining`. Its patience is
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

    /// Until when the sweep's patience lasts, while it waits.
    pub(crate) fn patience_until(&self) -> Option<Instant> {
        self.paused_since.map(|since| since + self.patience)
    }

    /// The VM takes no part any more; `None` when it took none. With the last participant the visit is
    /// over: then `Some(Some(…))` says whom to tell.
    fn leave(&mut self, vm: VmId) -> Option<Option<(VmId, Tag)>> {
        let participants = &mut self.running.as_mut()?.visit.participants;
        let before = participants.len();
        participants.retain(|participant| participant.vm != vm);
        let (left, deserted) = (participants.len() < before, participants.is_empty());
        left.then(|| self.running.take_if(|_| deserted).map(answer_to))
    }
}

fn answer_to(running: Running) -> (VmId, Tag) {
    (running.carrier, running.tag)
}

impl Nic {
    /// Takes a visit; it is answered when it is over.
    pub(crate) fn visit(&mut self, carrier: VmId, tag: Tag, mut visit: ScanSlot) {
        visit.participants.retain(|v| self.vmac(v.vm).is_some());
        if self.sweep.running.is_some() {
            let busy = Reply::Refused(Refusal::Busy);
            return self.emit(carrier, Event::Done(tag, busy));
        }
        if visit.participants.is_empty() {
            return self.emit(carrier, Event::Done(tag, Reply::Ok));
        }
        self.sweep.paused_since = None;
        if visit.begins {
            self.sweep.patience = PATIENCE;
        }
        let id = self.next_serial();
        self.sweep.running = Some(Running {
            id,
            carrier,
            tag,
            brief: matches!(visit.participants.as_slice(), [only] if only.active),
            visit,
        });
    }

    /// The VM's part in the running visit ends.
    pub(crate) fn leave_visit(&mut self, vm: VmId) -> Result<Reply, Refusal> {
        let over = self.sweep.leave(vm).ok_or(Refusal::NoScan)?;
        if let Some((carrier, tag)) = over {
            self.emit(carrier, Event::Done(tag, Reply::Ok));
        }
        Ok(Reply::Ok)
    }

    /// The radio is there: every participant is told, and what is to be sent for it.
    pub(crate) fn begin_stop(&mut self, stop: Stop) -> Vec<(VmId, Rate, Buffer)> {
        if !self.sweep.owns(stop) {
            return Vec::new();
        }
        let mut probes = Vec::new();
        for Participant {
            vm,
            active,
            request,
        } in self.sweep.participants().to_vec()
        {
            self.emit(vm, Event::Scan(ScanEvent::Started(stop.channel)));
            let own = self.vmac(vm).and_then(Vmac::address).filter(|_| active);
            if let Some(own) = own {
                let asked = probe_requests(&request.probe, &request.ssids, own);
                probes.extend(asked.map(|probe| (vm, request.rate, probe)));
            }
        }
        probes
    }

    /// The radio leaves: every participant is told, and the visit is answered.
    pub(crate) fn end_stop(&mut self, stop: Stop) {
        let owned = self.sweep.owns(stop);
        let Some(running) = self.sweep.running.take_if(|_| owned) else {
            return;
        };
        for participant in &running.visit.participants {
            self.emit(participant.vm, Event::Scan(ScanEvent::Left(stop.channel)));
        }
        self.emit(running.carrier, Event::Done(running.tag, Reply::Ok));
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
