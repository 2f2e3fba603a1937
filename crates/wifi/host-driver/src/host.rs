//! The augmented host driver: requests in from VMs and out to the NIC, events the other way.

use std::collections::VecDeque;

use airlane_dot11::MacAddr;
use airlane_lane::{Instant, Micros};
use airlane_waist::{
    Event, NicEvent, NicRequest, PerVm, PowerSave, Refusal, Reply, Request, Tag, VifCommand, VmId,
};

use crate::cache::ScanCache;
use crate::policy::{Shared, Sorted, sort};
use crate::power::consolidate;
use crate::scans::Scans;

/// Settings of a host driver.
#[derive(Clone, Copy, Debug)]
pub struct HostConfig {
    /// A scan that takes longer than this is ended. The 5000 series' driver gives a scan up after
    /// 15 s (dvm/scan.c IWL_SCAN_CHECK_WATCHDOG).
    pub scan_limit: Micros,
    /// Results of at most this age answer a scan without the radio; zero: none do.
    pub scan_cache: Micros,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            scan_limit: Micros::from_millis(14_000),
            scan_cache: Micros::from_millis(5_000),
        }
    }
}

/// What the host driver counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Requests handed to the NIC as they were.
    pub passed_on: u64,
    /// Requests merged with others'.
    pub consolidated: u64,
    /// Requests answered here.
    pub answered_locally: u64,
    /// Steps of scan slots for VMs that took part no longer.
    pub discarded: u64,
    /// Scans of the radio, each the merged scans of one VM or more.
    pub sweeps: u64,
    /// Scan slots: channels that the radio went to in those scans.
    pub visits: u64,
    /// VMs' scans that began while another VM's was going on.
    pub merged_scans: u64,
    /// VMs' scans that the cache answered as a whole.
    pub cached_scans: u64,
    /// Channels of VMs' scans that the cache answered.
    pub cached_channels: u64,
    /// Frames that VMs got from the cache.
    pub cached_frames: u64,
    /// Frames that only another participant's probe request has brought.
    pub shared_frames: u64,
    /// Scans ended because they took too long.
    pub overdue_scans: u64,
}

/// What is known of one VM.
#[derive(Default)]
pub(crate) struct Vm {
    initialized: bool,
    /// Its address and BSS, as last configured; zero when none.
    pub(crate) address: MacAddr,
    pub(crate) bssid: MacAddr,
    power: Option<PowerSave>,
    /// Resets that the NIC has not confirmed.
    resets: u32,
    /// Answers of our own that come after a reset that is not confirmed yet.
    held: Vec<Event>,
}

/// The augmented host driver of one card.
pub struct Host {
    pub(crate) config: HostConfig,
    pub(crate) vms: PerVm<Vm>,
    pub(crate) scans: Scans,
    pub(crate) cache: ScanCache,
    power: PowerSave,
    pub(crate) to_nic: VecDeque<NicRequest>,
    pub(crate) to_vms: VecDeque<(VmId, Event)>,
    pub(crate) counters: HostCounters,
}

impl Default for Host {
    fn default() -> Self {
        Self::new(HostConfig::default())
    }
}

impl Host {
    /// A host driver without VMs.
    pub fn new(config: HostConfig) -> Self {
        Self {
            config,
            vms: Default::default(),
            scans: Scans::default(),
            cache: ScanCache::new(config.scan_cache),
            power: PowerSave::default(),
            to_nic: VecDeque::new(),
            to_vms: VecDeque::new(),
            counters: HostCounters::default(),
        }
    }

    /// Takes a request of a VM and decides by the policy table.
    pub fn request(&mut self, now: Instant, vm: VmId, request: Request) {
        let Request { tag, command } = request;
        match sort(command) {
            Sorted::PassOn(command) => self.pass_on(now, vm, tag, command),
            Sorted::Consolidate(shared) => {
                self.counters.consolidated += 1;
                self.consolidate(now, vm, tag, shared);
            }
            Sorted::AnswerLocally => {
                self.counters.answered_locally += 1;
                self.reply(vm, tag, Reply::Ok);
            }
        }
    }

    /// Takes an event of the NIC and routes it.
    pub fn event(&mut self, now: Instant, event: NicEvent) {
        match event {
            NicEvent::Vif(vm, event) => self.vif_event(vm, event),
            NicEvent::ScanDone(outcome) => self.slot_done(now, outcome),
            // Nothing hangs on whether it still took part.
            NicEvent::LeftScan(..) => {}
        }
    }

    fn vif_event(&mut self, vm: VmId, event: Event) {
        match event {
            Event::ResetDone => self.reset_done(vm),
            Event::Scan(step) => self.scan_step(vm, step),
            Event::Received(received) => {
                if self.scans.slot.is_some() {
                    self.overhear(vm, &received);
                }
                self.to_vms.push_back((vm, Event::Received(received)));
            }
            other => self.to_vms.push_back((vm, other)),
        }
    }

    /// The next request for the NIC.
    pub fn next_for_nic(&mut self) -> Option<NicRequest> {
        self.to_nic.pop_front()
    }

    /// The next event for a VM.
    pub fn next_for_vm(&mut self) -> Option<(VmId, Event)> {
        self.to_vms.pop_front()
    }

    /// True while received frames may be of use to the scans of others: it is to see them.
    pub fn listens(&self) -> bool {
        self.scans.slot.is_some()
    }

    /// Ends overdue scans. Returns when the next scan would be overdue.
    pub fn step(&mut self, now: Instant) -> Option<Instant> {
        self.end_overdue(now)
    }

    /// Counters so far.
    pub fn counters(&self) -> HostCounters {
        self.counters
    }

    /// The sleep schedule that the NIC was last told.
    pub fn power_save(&self) -> PowerSave {
        self.power
    }

    fn pass_on(&mut self, now: Instant, vm: VmId, tag: Tag, command: VifCommand) {
        self.counters.passed_on += 1;
        let reset = matches!(command, VifCommand::Reset);
        let initialize = matches!(command, VifCommand::Initialize);
        if let VifCommand::Configure(new) = &command {
            let state = &mut self.vms[vm];
            (state.address, state.bssid) = (new.address, new.bssid);
        }
        self.to_nic.push_back(NicRequest::Vif(vm, tag, command));
        if reset || initialize {
            self.forget(now, vm, reset, initialize);
        }
    }

    /// The VM starts afresh: what it had asked of the whole card no longer counts. The NIC takes it
    /// out of the scan slot by itself.
    fn forget(&mut self, now: Instant, vm: VmId, reset: bool, initialized: bool) {
        let state = &mut self.vms[vm];
        let resets = state.resets + u32::from(reset);
        let held = std::mem::take(&mut state.held);
        *state = Vm {
            initialized,
            resets,
            held: if reset { Vec::new() } else { held },
            ..Vm::default()
        };
        self.scans.end(vm);
        self.cache.forget(vm);
        self.start_next_slot(now);
        self.update_power();
    }

    fn consolidate(&mut self, now: Instant, vm: VmId, tag: Tag, command: Shared) {
        if !self.vms[vm].initialized {
            return self.reply(vm, tag, Reply::Refused(Refusal::NotInitialized));
        }
        match command {
            Shared::Scan(request) => self.scan(now, vm, tag, *request),
            Shared::AbortScan => self.abort_scan(now, vm, tag),
            Shared::PowerSave(power) => self.power_save_of(vm, tag, power),
        }
    }

    fn power_save_of(&mut self, vm: VmId, tag: Tag, power: PowerSave) {
        self.vms[vm].power = Some(power);
        self.reply(vm, tag, Reply::Ok);
        self.update_power();
    }

    /// Tells the NIC when the common schedule has changed.
    fn update_power(&mut self) {
        let active = || self.vms.iter().filter(|(_, state)| state.initialized);
        let merged = consolidate(active().map(|(_, state)| state.power));
        if active().next().is_some() && merged != self.power {
            self.power = merged;
            self.to_nic.push_back(NicRequest::PowerSave(merged));
        }
    }

    pub(crate) fn reply(&mut self, vm: VmId, tag: Tag, reply: Reply) {
        self.tell(vm, Event::Done(tag, reply));
    }

    /// An event of our own. Nothing may overtake the confirmation of a reset.
    pub(crate) fn tell(&mut self, vm: VmId, event: Event) {
        let state = &mut self.vms[vm];
        if state.resets > 0 {
            state.held.push(event);
        } else {
            self.to_vms.push_back((vm, event));
        }
    }

    fn reset_done(&mut self, vm: VmId) {
        self.to_vms.push_back((vm, Event::ResetDone));
        let state = &mut self.vms[vm];
        state.resets = state.resets.saturating_sub(1);
        if state.resets == 0 {
            for event in std::mem::take(&mut state.held) {
                self.to_vms.push_back((vm, event));
            }
        }
    }
}
