//! Who scans, and what is left to do for each: several VMs' scans become one scan of the radio, a
//! sequence of scan slots of one channel each.
//!
//! The VMs choose the next channel in turn, each the first of its own list, and every other VM that
//! wants the channel takes part in its slot. So VMs that ask for the same channels cost one scan, a VM
//! that asks later joins what remains, and a VM with a long list of its own holds up nobody.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use airlane_dot11::{Band, Channel, MacAddr};
use airlane_lane::{Instant, Micros};
use airlane_waist::{
    MAX_VMS, Participant, PerVm, ScanChannel, ScanEvent, ScanRequest, ScanSlot, VmId,
};

/// What each further probe request adds to the dwell: as the driver reckons it for its own (dvm/scan.c
/// IWL_ACTIVE_DWELL_FACTOR_24GHZ, IWL_ACTIVE_DWELL_FACTOR_52GHZ).
const PER_PROBE_2GHZ: Micros = Micros::from_millis(3);
const PER_PROBE_5GHZ: Micros = Micros::from_millis(2);

/// One VM's scan.
pub(crate) struct Scan {
    pub(crate) request: Arc<ScanRequest>,
    /// Channels still to be scanned, each once, in the order of the request.
    pub(crate) left: VecDeque<ScanChannel>,
    /// When it is ended if it has not ended before.
    due: Instant,
    /// Channels that were scanned, or answered from the cache.
    done: u8,
    last: Option<Channel>,
}

impl Scan {
    pub(crate) fn new(request: ScanRequest, due: Instant) -> Self {
        let mut left: VecDeque<ScanChannel> = VecDeque::new();
        for &wanted in &request.channels {
            if !left.iter().any(|known| same(known, wanted.channel)) {
                left.push_back(wanted);
            }
        }
        Self {
            request: Arc::new(request),
            left,
            due,
            done: 0,
            last: None,
        }
    }

    /// A channel is done with.
    pub(crate) fn note(&mut self, channel: Channel) {
        self.done = self.done.saturating_add(1);
        self.last = Some(channel);
    }

    /// The closing notification.
    pub(crate) fn complete(&self, aborted: bool) -> ScanEvent {
        ScanEvent::Complete {
            channels: self.done,
            last: self.last,
            aborted,
        }
    }

    fn take(&mut self, channel: Channel) -> Option<ScanChannel> {
        let at = self.left.iter().position(|wanted| same(wanted, channel))?;
        self.left.remove(at)
    }

    fn probes(&self) -> u64 {
        self.request.ssids.len() as u64 + 1
    }
}

/// The scan slot that the NIC was asked for and is not done with.
pub(crate) struct CurrentSlot {
    pub(crate) channel: Channel,
    pub(crate) since: Instant,
    pub(crate) dwell: Micros,
    /// The VMs that take part, and whether each sends probe requests.
    pub(crate) participants: Vec<(VmId, bool)>,
    /// Which VM has heard which BSS in this slot.
    pub(crate) heard: BTreeSet<(VmId, MacAddr)>,
}

/// All VMs' scans, and the slot that is going on.
#[derive(Default)]
pub(crate) struct Scans {
    scans: PerVm<Option<Scan>>,
    /// The VM whose scan is the next to be overdue, and when: asked for at each step.
    next_due: Option<(Instant, VmId)>,
    pub(crate) slot: Option<CurrentSlot>,
    /// The radio's scan has begun: the next slot is not its first.
    begun: bool,
    /// Number of the VM whose turn it is to choose the channel.
    turn: usize,
}

impl Scans {
    pub(crate) fn of(&self, vm: VmId) -> Option<&Scan> {
        self.scans[vm].as_ref()
    }

    pub(crate) fn of_mut(&mut self, vm: VmId) -> Option<&mut Scan> {
        self.scans[vm].as_mut()
    }

    pub(crate) fn anyone_scans(&self) -> bool {
        self.scans.iter().any(|(_, scan)| scan.is_some())
    }

    pub(crate) fn begin(&mut self, vm: VmId, scan: Scan) {
        self.scans[vm] = Some(scan);
        self.find_next_due();
    }

    /// Takes a VM's scan out, and the VM out of the slot.
    pub(crate) fn end(&mut self, vm: VmId) -> Option<Scan> {
        if let Some(slot) = &mut self.slot {
            slot.participants
                .retain(|&(participant, _)| participant != vm);
        }
        let scan = self.scans[vm].take();
        self.find_next_due();
        scan
    }

    /// True when the VM takes part in the slot that is going on.
    pub(crate) fn takes_part(&self, vm: VmId) -> bool {
        let slot = self.slot.as_ref();
        slot.is_some_and(|slot| slot.participants.iter().any(|&(other, _)| other == vm))
    }

    /// The VM whose scan is the next to be overdue, and when that is.
    pub(crate) fn next_due(&self) -> Option<(Instant, VmId)> {
        self.next_due
    }

    fn find_next_due(&mut self) {
        let due = |vm| Some((self.of(vm)?.due, vm));
        self.next_due = VmId::all().filter_map(due).min();
    }

    /// The next scan slot, which then is the current one; `None` while one is going on or no VM has a
    /// channel left.
    pub(crate) fn next_slot(&mut self, now: Instant) -> Option<ScanSlot> {
        if self.slot.is_some() {
            return None;
        }
        let Some((chooser, channel)) = self.choose() else {
            self.begun = false;
            return None;
        };
        self.turn = chooser.index() + 1;
        let begins = !std::mem::replace(&mut self.begun, true);
        let mut slot = ScanSlot {
            channel,
            dwell: Micros(0),
            max_away: Micros(0),
            begins,
            participants: Vec::new(),
        };
        for vm in VmId::all() {
            self.join(vm, &mut slot);
        }
        slot.dwell += self.for_further_probes(&slot);
        self.slot = Some(CurrentSlot {
            channel,
            since: now,
            dwell: slot.dwell,
            participants: slot.participants.iter().map(|v| (v.vm, v.active)).collect(),
            heard: BTreeSet::new(),
        });
        Some(slot)
    }

    fn choose(&self) -> Option<(VmId, Channel)> {
        let in_turn = (self.turn..).take(MAX_VMS).map(|number| number % MAX_VMS);
        let mut vms = in_turn.filter_map(|number| VmId::new(number).ok());
        vms.find_map(|vm| Some((vm, self.of(vm)?.left.front()?.channel)))
    }

    /// Makes a VM a participant of `slot` if its scan still wants the channel.
    fn join(&mut self, vm: VmId, slot: &mut ScanSlot) {
        let Some(scan) = self.of_mut(vm) else {
            return;
        };
        let Some(wanted) = scan.take(slot.channel) else {
            return;
        };
        slot.dwell = slot.dwell.max(wanted.dwell);
        slot.max_away = tighter(slot.max_away, scan.request.max_away);
        slot.participants.push(Participant {
            vm,
            active: wanted.active,
            request: Arc::clone(&scan.request),
        });
    }

    fn for_further_probes(&self, slot: &ScanSlot) -> Micros {
        let active = slot
            .participants
            .iter()
            .filter(|participant| participant.active);
        let counts = active.filter_map(|participant| Some(self.of(participant.vm)?.probes()));
        let (sum, most) = counts.fold((0u64, 0), |(sum, most), n| (sum + n, most.max(n)));
        let each = match slot.channel.band() {
            Band::Ghz2 => PER_PROBE_2GHZ,
            Band::Ghz5 => PER_PROBE_5GHZ,
        };
        Micros(sum.saturating_sub(most).saturating_mul(each.0))
    }
}

/// The tighter of two bounds of which zero is none.
fn tighter(a: Micros, b: Micros) -> Micros {
    match (a, b) {
        (Micros(0), bound) | (bound, Micros(0)) => bound,
        (a, b) => a.min(b),
    }
}

fn same(wanted: &ScanChannel, channel: Channel) -> bool {
    wanted.channel.primary() == channel.primary()
}
