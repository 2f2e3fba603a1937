//! The augmented host driver: requests in from VMs and out to the NIC, events the other way.

use std::collections::VecDeque;

use airlane_lane::{MAX_VMS, VmId};
use airlane_wlan::{
    Command, Event, Micros, PowerSave, Refusal, Reply, Request, ScanEvent, ScanRequest, Tag,
};

use crate::policy::{Answer, CommandKind, answer};
use crate::power::consolidate;
use crate::scans::Scans;

/// Settings.
#[derive(Clone, Copy, Debug)]
pub struct HostConfig {
    /// A sweep that takes longer than this is ended when others wait. The 5000 series' driver
    /// gives a scan up after 15 s (dvm/scan.c IWL_SCAN_CHECK_WATCHDOG).
    pub sweep_limit: Micros,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            sweep_limit: Micros::from_millis(14_000),
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
    /// Events of VMs that are gone.
    pub discarded: u64,
    /// Sweeps ended because they took too long.
    pub overdue_sweeps: u64,
}

/// What is known of one VM.
#[derive(Default)]
struct Vm {
    initialized: bool,
    power: Option<PowerSave>,
    /// Resets that the NIC has not confirmed.
    resets: u32,
    /// As many of those confirmations, and all before them, go to nobody: the VM they were for is gone.
    discard: u32,
    /// Answers of our own that come after a reset that is not confirmed yet.
    held: Vec<Event>,
}

/// The augmented host driver of one card.
#[derive(Default)]
pub struct Host {
    config: HostConfig,
    vms: [Vm; MAX_VMS],
    scans: Scans,
    power: PowerSave,
    to_nic: VecDeque<(VmId, Request)>,
    to_vms: VecDeque<(VmId, Event)>,
    counters: HostCounters,
}

impl Host {
    /// A host driver without VMs.
    pub fn new(config: HostConfig) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// Takes a request of a VM and decides by the policy table.
    pub fn request(&mut self, now: Micros, vm: VmId, request: Request) {
        match answer(CommandKind::from(&request.command)) {
            Answer::PassOn => self.pass_on(now, vm, request),
            Answer::Consolidate => {
                self.counters.consolidated += 1;
                self.consolidate(now, vm, request);
            }
            Answer::AnswerLocally => {
                self.counters.answered_locally += 1;
                self.reply(vm, request.tag, Reply::Ok);
            }
        }
    }

    /// Takes an event of the NIC and routes it.
    pub fn event(&mut self, now: Micros, vm: VmId, event: Event) {
        if let Event::Done(Tag::HOST, reply) = &event {
            return self.own_request_done(now, vm, reply.clone());
        }
        let Some(state) = self.vms.get_mut(vm.index()) else {
            return;
        };
        let confirmed = matches!(event, Event::ResetDone);
        state.resets -= u32::from(confirmed && state.resets > 0);
        if state.discard > 0 {
            state.discard -= u32::from(confirmed);
            self.counters.discarded += 1;
        } else {
            self.deliver(now, vm, event);
        }
        if confirmed {
            self.release_held(vm);
        }
    }

    /// The next request for the NIC.
    pub fn next_for_nic(&mut self) -> Option<(VmId, Request)> {
        self.to_nic.pop_front()
    }

    /// The next event for a VM.
    pub fn next_for_vm(&mut self) -> Option<(VmId, Event)> {
        self.to_vms.pop_front()
    }

    /// Ends an overdue sweep; says when to look again.
    pub fn step(&mut self, now: Micros) -> Option<Micros> {
        let waits = self.scans.anyone_waits();
        let running = self.scans.running.as_mut();
        let running = running.filter(|running| waits && !running.ending)?;
        let due = running.since + self.config.sweep_limit;
        if now < due {
            return Some(due);
        }
        running.ending = true;
        let vm = running.vm;
        self.counters.overdue_sweeps += 1;
        self.ask_nic(vm, Command::AbortScan);
        None
    }

    /// The VM is gone: as a reset, and nobody is told anything.
    pub fn release(&mut self, now: Micros, vm: VmId) {
        self.to_vms.retain(|&(owner, _)| owner != vm);
        let request = Request {
            tag: Tag::HOST,
            command: Command::Reset,
        };
        self.pass_on(now, vm, request);
        if let Some(state) = self.vms.get_mut(vm.index()) {
            state.discard = state.resets;
        }
    }

    /// Counters so far.
    pub fn counters(&self) -> HostCounters {
        self.counters
    }

    /// The sleep schedule that the NIC was last told.
    pub fn power_save(&self) -> PowerSave {
        self.power
    }

    fn pass_on(&mut self, now: Micros, vm: VmId, request: Request) {
        self.counters.passed_on += 1;
        let reset = matches!(request.command, Command::Reset);
        let initialize = matches!(request.command, Command::Initialize);
        self.to_nic.push_back((vm, request));
        if reset || initialize {
            self.forget(now, vm, reset, initialize);
        }
    }

    /// The VM starts afresh: what it had asked of the whole card no longer counts.
    fn forget(&mut self, now: Micros, vm: VmId, reset: bool, initialized: bool) {
        if let Some(state) = self.vms.get_mut(vm.index()) {
            state.initialized = initialized;
            state.power = None;
            state.resets += u32::from(reset);
            if reset {
                state.held.clear();
            }
        }
        self.scans.withdraw(vm);
        self.scans.end(vm);
        self.start_sweep(now);
        self.update_power();
    }

    fn consolidate(&mut self, now: Micros, vm: VmId, Request { tag, command }: Request) {
        let known = self.vms.get(vm.index());
        if !known.is_some_and(|state| state.initialized) {
            return self.reply(vm, tag, Reply::Refused(Refusal::NotInitialized));
        }
        match command {
            Command::Scan(request) => self.scan(now, vm, tag, request),
            Command::AbortScan => self.abort_scan(vm, tag),
            Command::PowerSave(power) => self.power_save_of(vm, tag, power),
            // The table consolidates nothing else.
            _ => {}
        }
    }

    /// A scan is answered at once, as a card does; when it begins is another matter.
    fn scan(&mut self, now: Micros, vm: VmId, tag: Tag, request: Box<ScanRequest>) {
        if self.scans.runs(vm) || self.scans.waits(vm) {
            return self.reply(vm, tag, Reply::Refused(Refusal::Busy));
        }
        self.reply(vm, tag, Reply::Ok);
        self.scans.push(vm, request);
        self.start_sweep(now);
    }

    fn start_sweep(&mut self, now: Micros) {
        if let Some((vm, request)) = self.scans.start_next(now) {
            self.ask_nic(vm, Command::Scan(request));
        }
    }

    fn abort_scan(&mut self, vm: VmId, tag: Tag) {
        if self.scans.withdraw(vm) {
            self.reply(vm, tag, Reply::Ok);
            return self.tell(vm, Event::Scan(never_begun()));
        }
        if !self.scans.runs(vm) {
            return self.reply(vm, tag, Reply::Refused(Refusal::NoScan));
        }
        let request = Request {
            tag,
            command: Command::AbortScan,
        };
        self.to_nic.push_back((vm, request));
    }

    fn power_save_of(&mut self, vm: VmId, tag: Tag, power: PowerSave) {
        if let Some(state) = self.vms.get_mut(vm.index()) {
            state.power = Some(power);
        }
        self.reply(vm, tag, Reply::Ok);
        self.update_power();
    }

    /// Tells the NIC when the common schedule has changed; any vMAC may carry it there.
    fn update_power(&mut self) {
        let active = || self.vms.iter().filter(|state| state.initialized);
        let merged = consolidate(active().map(|state| state.power));
        let carrier = self.vms.iter().position(|state| state.initialized);
        let carrier = carrier.and_then(|number| VmId::new(number).ok());
        if let Some(vm) = carrier.filter(|_| merged != self.power) {
            self.power = merged;
            self.ask_nic(vm, Command::PowerSave(merged));
        }
    }

    /// A request of our own; its answer goes to no VM.
    fn ask_nic(&mut self, vm: VmId, command: Command) {
        let tag = Tag::HOST;
        self.to_nic.push_back((vm, Request { tag, command }));
    }

    /// The NIC could not start a sweep whose VM believes that it runs: it ends at once.
    fn own_request_done(&mut self, now: Micros, vm: VmId, reply: Reply) {
        let refused = matches!(
            reply,
            Reply::Refused(Refusal::Busy | Refusal::NotInitialized)
        );
        if refused && self.scans.runs(vm) {
            self.deliver(now, vm, Event::Scan(never_begun()));
        }
    }

    fn deliver(&mut self, now: Micros, vm: VmId, event: Event) {
        // One that comes before the confirmation of a reset ends a sweep that is forgotten already.
        let current = self
            .vms
            .get(vm.index())
            .is_some_and(|state| state.resets == 0);
        let complete = current && matches!(event, Event::Scan(ScanEvent::Complete { .. }));
        self.to_vms.push_back((vm, event));
        if complete {
            self.scans.end(vm);
            self.start_sweep(now);
        }
    }

    fn reply(&mut self, vm: VmId, tag: Tag, reply: Reply) {
        self.tell(vm, Event::Done(tag, reply));
    }

    /// An event of our own. Nothing may overtake the confirmation of a reset.
    fn tell(&mut self, vm: VmId, event: Event) {
        match self.vms.get_mut(vm.index()) {
            Some(state) if state.resets > 0 => state.held.push(event),
            _ => self.to_vms.push_back((vm, event)),
        }
    }

    fn release_held(&mut self, vm: VmId) {
        let state = self.vms.get_mut(vm.index());
        let Some(state) = state.filter(|state| state.resets == 0) else {
            return;
        };
        for event in std::mem::take(&mut state.held) {
            self.to_vms.push_back((vm, event));
        }
    }
}

fn never_begun() -> ScanEvent {
    ScanEvent::Complete {
        channels: 0,
        last: None,
        aborted: true,
    }
}
