//! How scans go on: what is answered from the cache, what the radio must scan, what each VM is
//! told, and in which order.
//!
//! A VM is told the same as by a card of its own: the command's answer, then for each channel that
//! it is begun, what was heard, that it is left, and at the end that all is complete.

use airlane_dot11::MacAddr;
use airlane_lane::Instant;
use airlane_waist::{
    Event, NicRequest, Received, Refusal, Reply, ScanChannel, ScanEvent, ScanRequest, Tag, VmId,
};

use crate::cache::announcement;
use crate::host::Host;
use crate::scans::Scan;

impl Host {
    /// A scan is answered at once, as a card does; when the radio goes to its channels is another matter.
    pub(crate) fn scan(&mut self, now: Instant, vm: VmId, tag: Tag, request: ScanRequest) {
        if self.scans.of(vm).is_some() {
            return self.reply(vm, tag, Reply::Refused(Refusal::Busy));
        }
        self.reply(vm, tag, Reply::Ok);
        let others = self.scans.anyone_scans();
        let due = now + self.config.scan_limit;
        self.scans.begin(vm, Scan::new(request, due));
        self.answer_from_cache(now, vm);
        match self.scans.of(vm) {
            Some(_) => self.counters.merged_scans += u64::from(others),
            None => self.counters.cached_scans += 1,
        }
        self.start_next_slot(now);
    }

    /// Ends the asking VM's scan and no other's.
    pub(crate) fn abort_scan(&mut self, now: Instant, vm: VmId, tag: Tag) {
        let known = self.scans.of(vm).is_some();
        let reply = match known {
            true => Reply::Ok,
            false => Reply::Refused(Refusal::NoScan),
        };
        self.reply(vm, tag, reply);
        self.cut_short(now, vm);
    }

    /// Ends a VM's scan now; the VM is told.
    pub(crate) fn cut_short(&mut self, now: Instant, vm: VmId) {
        let takes_part = self.scans.takes_part(vm);
        let Some(scan) = self.scans.end(vm) else {
            return;
        };
        self.tell(vm, Event::Scan(scan.complete(true)));
        if takes_part {
            self.to_nic.push_back(NicRequest::LeaveScan(vm));
        }
        self.start_next_slot(now);
    }

    /// A scan slot is over: every VM that still takes part is done with the channel.
    pub(crate) fn slot_done(&mut self, now: Instant, outcome: Result<(), Refusal>) {
        let Some(slot) = self.scans.slot.take() else {
            return;
        };
        let scans = &self.scans;
        let participants = slot.participants.iter();
        let participants =
            participants.filter_map(|&(vm, active)| Some((vm, active, &*scans.of(vm)?.request)));
        if outcome.is_ok() {
            let (at, dwell) = (slot.since, slot.dwell);
            self.cache.scanned(at, slot.channel, dwell, participants);
        }
        for (vm, _) in slot.participants {
            if let Some(scan) = self.scans.of_mut(vm) {
                scan.note(slot.channel);
            }
            self.complete_if_done(vm);
        }
        self.start_next_slot(now);
    }

    /// Asks the NIC for the next scan slot, unless one is going on. Channels that the cache can answer
    /// since the last slot need none.
    pub(crate) fn start_next_slot(&mut self, now: Instant) {
        if self.scans.slot.is_some() {
            return;
        }
        for vm in VmId::all() {
            self.answer_from_cache(now, vm);
        }
        if let Some(slot) = self.scans.next_slot(now) {
            self.counters.visits += 1;
            self.counters.sweeps += u64::from(slot.begins);
            self.to_nic.push_back(NicRequest::ScanSlot(Box::new(slot)));
        }
    }

    /// Tells a VM the results of all channels of its scan that the cache knows, and takes them off its list.
    fn answer_from_cache(&mut self, now: Instant, vm: VmId) {
        let identity = self.identity(vm);
        let Some(scan) = self.scans.of_mut(vm) else {
            return;
        };
        let cache = &self.cache;
        let answer = |wanted: &ScanChannel| cache.answer(now, vm, identity, wanted, &scan.request);
        let mut told: Vec<(ScanChannel, Vec<Received>)> = Vec::new();
        scan.left.retain(|wanted| match answer(wanted) {
            Some(frames) => {
                told.push((*wanted, frames));
                false
            }
            None => true,
        });
        for &(wanted, _) in &told {
            scan.note(wanted.channel);
        }
        for (wanted, frames) in told {
            self.tell_cached(vm, wanted, frames);
        }
        self.complete_if_done(vm);
    }

    fn tell_cached(&mut self, vm: VmId, wanted: ScanChannel, frames: Vec<Received>) {
        self.counters.cached_channels += 1;
        self.tell(vm, Event::Scan(ScanEvent::Started(wanted.channel)));
        for frame in frames {
            self.counters.cached_frames += 1;
            self.tell(vm, Event::Received(frame));
        }
        self.tell(vm, Event::Scan(ScanEvent::Left(wanted.channel)));
    }

    fn complete_if_done(&mut self, vm: VmId) {
        let done = |scan: &Scan| scan.left.is_empty();
        if self.scans.takes_part(vm) || !self.scans.of(vm).is_some_and(done) {
            return;
        }
        if let Some(scan) = self.scans.end(vm) {
            self.tell(vm, Event::Scan(scan.complete(false)));
        }
    }

    /// A step of the scan slot, as the NIC tells it. One for a VM that takes part no longer is counted and
    /// dropped.
    pub(crate) fn scan_step(&mut self, vm: VmId, step: ScanEvent) {
        if !self.scans.takes_part(vm) {
            self.counters.discarded += 1;
            return;
        }
        if matches!(step, ScanEvent::Left(_)) {
            self.share(vm);
        }
        self.to_vms.push_back((vm, Event::Scan(step)));
    }

    /// Gives a participant the answers that only the others' probe requests have brought.
    fn share(&mut self, vm: VmId) {
        let (Some(slot), Some(scan)) = (&self.scans.slot, self.scans.of(vm)) else {
            return;
        };
        if !slot.participants.contains(&(vm, true)) {
            return;
        }
        let identity = self.identity(vm);
        let heard = |bssid| slot.heard.contains(&(vm, bssid));
        let (since, channel) = (slot.since, slot.channel);
        let cache = &self.cache;
        let frames = cache.others_answers(since, channel, identity, &scan.request, heard);
        self.counters.shared_frames += frames.len() as u64;
        for frame in frames {
            self.to_vms.push_back((vm, Event::Received(frame)));
        }
    }

    /// A VM's own address and BSS.
    fn identity(&self, vm: VmId) -> (MacAddr, MacAddr) {
        let state = &self.vms[vm];
        (state.address, state.bssid)
    }

    /// Keeps a frame that a VM received during a scan slot, if it may answer a scan.
    pub(crate) fn overhear(&mut self, vm: VmId, received: &Received) {
        if self.scans.takes_part(vm)
            && let Some(scan) = self.scans.of(vm)
        {
            self.cache.hear(vm, &scan.request, received);
        }
        if let (Some(slot), Some((_, bssid))) =
            (&mut self.scans.slot, announcement(&received.frame))
        {
            slot.heard.insert((vm, bssid));
        }
    }

    /// Ends scans that take too long. Returns when the next of the others would be overdue.
    pub(crate) fn end_overdue(&mut self, now: Instant) -> Option<Instant> {
        while let Some((due, vm)) = self.scans.next_due() {
            if now < due {
                return Some(due);
            }
            self.counters.overdue_scans += 1;
            self.cut_short(now, vm);
        }
        None
    }
}
