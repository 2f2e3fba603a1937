//! How scans go on: what is answered from the cache, what the radio must look at, what each VM is
//! told, and in which order.
//!
//! A VM is told the same as by a card of its own: the command's answer, then for each channel that
//! it is begun, what was heard, that it is left, and at the end that all is complete.

use airlane_dot11::MacAddr;
use airlane_lane::{Instant, VmId};
use airlane_waist::{
    Event, NicRequest, Received, Refusal, Reply, ScanChannel, ScanEvent, ScanRequest, Tag,
};

use crate::cache::announcement;
use crate::host::Host;
use crate::scans::Scan;

impl Host {
    /// A scan is answered at once, as a card does; when the radio looks is another matter.
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
        self.visit_next(now);
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
        let visits = self.scans.visits(vm);
        let Some(scan) = self.scans.end(vm) else {
            return;
        };
        self.tell(vm, Event::Scan(scan.complete(true)));
        if visits {
            self.to_nic.push_back(NicRequest::LeaveScan(vm));
        }
        self.visit_next(now);
    }

    /// A visit is over: whoever still takes part is done with the channel.
    pub(crate) fn slot_done(&mut self, now: Instant, outcome: Result<(), Refusal>) {
        let Some(visiting) = self.scans.visiting.take() else {
            return;
        };
        let scans = &self.scans;
        let participants = visiting.participants.iter();
        let participants =
            participants.filter_map(|&(vm, active)| Some((vm, active, &*scans.of(vm)?.request)));
        if outcome.is_ok() {
            let (at, dwell) = (visiting.since, visiting.dwell);
            self.cache.looked(at, visiting.channel, dwell, participants);
        }
        for (vm, _) in visiting.participants {
            if let Some(scan) = self.scans.of_mut(vm) {
                scan.note(visiting.channel);
            }
            self.complete_if_done(vm);
        }
        self.visit_next(now);
    }

    /// Sends the radio to the next channel, unless it is at one. What the last visit has taught may
    /// spare it some.
    pub(crate) fn visit_next(&mut self, now: Instant) {
        if self.scans.visiting.is_some() {
            return;
        }
        for vm in VmId::all() {
            self.answer_from_cache(now, vm);
        }
        if let Some(visit) = self.scans.next_visit(now) {
            self.counters.visits += 1;
            self.counters.sweeps += u64::from(visit.begins);
            self.to_nic.push_back(NicRequest::ScanSlot(Box::new(visit)));
        }
    }

    /// Does all channels of a VM's scan that need no radio.
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
        if self.scans.visits(vm) || !self.scans.of(vm).is_some_and(done) {
            return;
        }
        if let Some(scan) = self.scans.end(vm) {
            self.tell(vm, Event::Scan(scan.complete(false)));
        }
    }

    /// A step of the visit, as the NIC tells it; late ones are for nobody.
    pub(crate) fn scan_step(&mut self, vm: VmId, step: ScanEvent) {
        if !self.scans.visits(vm) {
            self.counters.discarded += 1;
            return;
        }
        if matches!(step, ScanEvent::Left(_)) {
            self.share(vm);
        }
        self.to_vms.push_back((vm, Event::Scan(step)));
    }

    /// Gives a participant what only the others' probe requests have brought.
    fn share(&mut self, vm: VmId) {
        let (Some(visiting), Some(scan)) = (&self.scans.visiting, self.scans.of(vm)) else {
            return;
        };
        if !visiting.participants.contains(&(vm, true)) {
            return;
        }
        let identity = self.identity(vm);
        let heard = |bssid| visiting.heard.contains(&(vm, bssid));
        let (since, channel) = (visiting.since, visiting.channel);
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

    /// A frame that came during a visit may be of use to others soon.
    pub(crate) fn overhear(&mut self, vm: VmId, received: &Received) {
        if self.scans.visits(vm)
            && let Some(scan) = self.scans.of(vm)
        {
            self.cache.hear(vm, &scan.request, received);
        }
        if let (Some(visiting), Some((_, bssid))) =
            (&mut self.scans.visiting, announcement(&received.frame))
        {
            visiting.heard.insert((vm, bssid));
        }
    }

    /// Ends scans that take too long; says when to look again.
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
