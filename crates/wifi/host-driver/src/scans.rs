//! Who scans, and what is left to do for each: several VMs' scans are one sweep of visits.
//!
//! The VMs choose the next channel in turn, each the first of its own list, and whoever else wants it
//! comes along. So VMs that ask for the same channels cost one sweep, one that comes later joins
//! what remains, and one with a long list of its own holds up nobody.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use airlane_dot11::{Band, Channel, MacAddr};
use airlane_lane::{Instant, MAX_VMS, Micros, VmId};
use airlane_waist::{Participant, PerVm, ScanChannel, ScanEvent, ScanRequest, ScanSlot};

/// What each further probe request adds to the stay: as the driver reckons it for its own (dvm/scan.c
/// IWL_ACTIVE_DWELL_FACTOR_24GHZ, IWL_ACTIVE_DWELL_FACTOR_52GHZ).
const PER_PROBE_2GHZ: Micros = Micros::from_millis(3);
const PER_PROBE_5GHZ: Micros = Micros::from_millis(2);

/// One VM's scan.
pub(crate) struct Scan {
    pub(crate) request: Arc<ScanRequest>,
    /// Channels to come, each once.
    pub(crate) left: VecDeque<ScanChannel>,
    /// It is over by then, one way or another.
    pub(crate) due: Instant,
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

/// The visit that the NIC makes.
pub(crate) struct Visiting {
    pub(crate) channel: Channel,
    pub(crate) since: Instant,
    pub(crate) dwell: Micros,
    /// Who takes part, and whether actively.
    pub(crate) participants: Vec<(VmId, bool)>,
    /// Who has heard which BSS.
    pub(crate) heard: BTreeSet<(VmId, MacAddr)>,
}

/// All scans, and the visit.
#[derive(Default)]
pub(crate) struct Scans {
    scans: PerVm<Option<Scan>>,
    pub(crate) visiting: Option<Visiting>,
    /// A sweep has begun.
    sweeping: bool,
    /// Whose turn it is to choose.
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
    }

    /// Takes a VM's scan out, and the VM out of the visit.
    pub(crate) fn end(&mut self, vm: VmId) -> Option<Scan> {
        if let Some(visiting) = &mut self.visiting {
            visiting
                .participants
                .retain(|&(participant, _)| participant != vm);
        }
        self.scans[vm].take()
    }

    /// True when the VM takes part in the visit.
    pub(crate) fn visits(&self, vm: VmId) -> bool {
        let visiting = self.visiting.as_ref();
        visiting.is_some_and(|visiting| visiting.participants.iter().any(|&(other, _)| other == vm))
    }

    /// Whose scan is due next, and when.
    pub(crate) fn next_due(&self) -> Option<(Instant, VmId)> {
        let due = |vm| Some((self.of(vm)?.due, vm));
        VmId::all().filter_map(due).min()
    }

    /// The next visit, if anybody has a channel left and none is being made; it counts as being made.
    pub(crate) fn next_visit(&mut self, now: Instant) -> Option<ScanSlot> {
        if self.visiting.is_some() {
            return None;
        }
        let Some((chooser, channel)) = self.choose() else {
            self.sweeping = false;
            return None;
        };
        self.turn = chooser.index() + 1;
        let begins = !std::mem::replace(&mut self.sweeping, true);
        let mut visit = ScanSlot {
            channel,
            dwell: Micros(0),
            max_away: Micros(0),
            begins,
            participants: Vec::new(),
        };
        for vm in VmId::all() {
            self.come_along(vm, &mut visit);
        }
        visit.dwell += self.for_further_probes(&visit);
        self.visiting = Some(Visiting {
            channel,
            since: now,
            dwell: visit.dwell,
            participants: visit
                .participants
                .iter()
                .map(|v| (v.vm, v.active))
                .collect(),
            heard: BTreeSet::new(),
        });
        Some(visit)
    }

    fn choose(&self) -> Option<(VmId, Channel)> {
        let in_turn = (self.turn..).take(MAX_VMS).map(|number| number % MAX_VMS);
        let mut vms = in_turn.filter_map(|number| VmId::new(number).ok());
        vms.find_map(|vm| Some((vm, self.of(vm)?.left.front()?.channel)))
    }

    fn come_along(&mut self, vm: VmId, visit: &mut ScanSlot) {
        let Some(scan) = self.of_mut(vm) else {
            return;
        };
        let Some(wanted) = scan.take(visit.channel) else {
            return;
        };
        visit.dwell = visit.dwell.max(wanted.dwell);
        visit.max_away = tighter(visit.max_away, scan.request.max_away);
        visit.participants.push(Participant {
            vm,
            active: wanted.active,
            request: Arc::clone(&scan.request),
        });
    }

    fn for_further_probes(&self, visit: &ScanSlot) -> Micros {
        let active = visit
            .participants
            .iter()
            .filter(|participant| participant.active);
        let counts = active.filter_map(|participant| Some(self.of(participant.vm)?.probes()));
        let (sum, most) = counts.fold((0u64, 0), |(sum, most), n| (sum + n, most.max(n)));
        let each = match visit.channel.band() {
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
