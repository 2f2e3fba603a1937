//! The way of a frame from a VM to the air, and of its report back.
//!
//! Reports come back in the order of the frames of one queue, as a driver's ring expects: a frame
//! that is refused while an older one of its queue is on the air waits for it.

use std::collections::VecDeque;

use airlane_air::{Outcome, Protection, Transmission};
use airlane_dot11::{AccessCategory, frame::set_retry};
use airlane_lane::stamp::{FrameId, Point};
use airlane_lane::{Instant, Micros, VmId};
use airlane_waist::{Event, Tag, Transmit, TxReport, TxStatus};

use crate::channel::context::same;
use crate::counters::DropReason;
use crate::nic::Nic;
use crate::phy::Phy;
use crate::tx::in_flight::Cargo;
use crate::tx::prepare::{Prepared, Shield, nominal_rate, prepare, report, status};
use crate::vmac::{Flush, Outstanding, Pending, Stage, Vmac, Work, in_mask};

/// How a transmission ended.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) attempts: u8,
    pub(crate) rts_failures: u8,
    pub(crate) rate: airlane_dot11::Rate,
    pub(crate) airtime: Micros,
    /// Frames that shared its last exchange.
    pub(crate) sharers: u64,
}

/// Frames of one vMAC and category that the air has at most: one A-MPDU's window.
const BURST: usize = 64;

impl Nic {
    /// Takes a frame in. It is looked at when its turn has come.
    pub(crate) fn accept(&mut self, vm: VmId, tag: Tag, transmit: Transmit) {
        let serial = self.next_serial();
        let limit = self.config.queue_limit;
        self.count(vm, |counters| counters.offered += 1);
        let Some(vmac) = self.vmac_mut(vm) else {
            let rate = airlane_dot11::Rate::OFDM_6;
            return self.refuse(vm, tag, DropReason::NotConfigured, rate);
        };
        let full = vmac.pending() >= limit;
        let rate = nominal_rate(vmac, &transmit);
        let Some(queue) = vmac.queue_mut(transmit.category).filter(|_| !full) else {
            return self.refuse(vm, tag, DropReason::QueueFull, rate);
        };
        let category = transmit.category;
        queue.push_back(Pending {
            serial,
            tag,
            work: Work::Fresh(transmit),
        });
        let has_bss = vmac.bssid().is_some();
        self.note_waiting(vm, category);
        if !has_bss {
            self.stir();
        }
        self.count(vm, |counters| counters.queued += 1);
    }

    fn refuse(&mut self, vm: VmId, tag: Tag, drop: DropReason, rate: airlane_dot11::Rate) {
        self.count(vm, |counters| counters.drop_frame(drop));
        self.emit(vm, Event::Transmitted(tag, report(status(drop), rate, 0)));
    }

    /// Fills the air's queues, highest category first, in turn by airtime.
    pub(crate) fn feed<M: Phy>(&mut self, now: Instant, air: &mut M) {
        if !self.schedule.is_open() {
            return;
        }
        for category in AccessCategory::ALL.into_iter().rev() {
            let mut wants = self.wanting(category);
            while wants != 0 && self.air_has_room(category, air) {
                self.stamps.mark(Point::Pick);
                let picked = self.dwrr_mut(category).and_then(|dwrr| dwrr.pick(wants));
                let Some(vm) = picked else {
                    break;
                };
                // Were it passed over for what it has in the air already, others would get its share.
                if !self.fits(vm, category, air) {
                    break;
                }
                self.launch(now, vm, category, air);
                // A launch empties no other vMAC's queue.
                if !self.wants(vm, category) {
                    wants &= !(1u16 << vm.index());
                }
            }
        }
    }

    /// True when the air may get a frame of this category, if it is a fitting one.
    fn air_has_room<M: Phy>(&self, category: AccessCategory, air: &M) -> bool {
        self.air_has_place(category, air) || self.in_air(category).cost < self.config.air_ahead
    }

    fn air_has_place<M: Phy>(&self, category: AccessCategory, air: &M) -> bool {
        air.queued(self.radio, category) < self.config.air_depth
    }

    /// True when the vMAC's next frame may go to the air: there is place, or it shares PPDUs, or it shares the
    /// medium with frames that do and would wait behind too many of them.
    fn fits<M: Phy>(&self, vm: VmId, category: AccessCategory, air: &M) -> bool {
        let Some(vmac) = self.vmac(vm) else {
            return false;
        };
        let next = vmac.queue(category).and_then(VecDeque::front);
        let aggregates = next.is_some_and(|pending| pending.work.aggregates());
        let held = vmac.in_air.get(category as usize).copied().unwrap_or(0);
        let deep = aggregates || self.in_air(category).aggregates > 0;
        self.air_has_place(category, air) || (deep && held < BURST)
    }

    /// A frame has come into a vMAC's queue.
    fn note_waiting(&mut self, vm: VmId, category: AccessCategory) {
        if let Some(mask) = self.waiting.get_mut(category as usize) {
            *mask |= 1u16 << vm.index();
        }
    }

    /// Bit n: VM n has a frame of this category for the present channel. Looks only at those that may have.
    fn wanting(&mut self, category: AccessCategory) -> u16 {
        let waiting = self.waiting.get(category as usize).copied().unwrap_or(0);
        let (mut mask, mut left, mut gone) = (0, waiting, 0);
        while let Ok(vm) = VmId::new(left.trailing_zeros() as usize) {
            let bit = 1u16 << vm.index();
            left &= !bit;
            if self.wants(vm, category) {
                mask |= bit;
            } else if !self.has_waiting(vm, category) {
                gone |= bit;
            }
        }
        if let Some(waiting) = self.waiting.get_mut(category as usize) {
            *waiting &= !gone;
        }
        mask
    }

    fn has_waiting(&self, vm: VmId, category: AccessCategory) -> bool {
        let queue = self.vmac(vm).and_then(|vmac| vmac.queue(category));
        queue.is_some_and(|queue| !queue.is_empty())
    }

    fn wants(&self, vm: VmId, category: AccessCategory) -> bool {
        let Some(vmac) = self.vmac(vm) else {
            return false;
        };
        let here = self.schedule.here();
        self.has_waiting(vm, category) && vmac.channel().is_none_or(|channel| same(here, channel))
    }

    fn launch<M: Phy>(&mut self, now: Instant, vm: VmId, category: AccessCategory, air: &mut M) {
        let Self {
            vmacs,
            keys,
            tx_pool,
            stamps,
            ..
        } = self;
        let Some(vmac) = vmacs.get_mut(vm.index()).and_then(Option::as_deref_mut) else {
            return;
        };
        let Some(pending) = vmac.queue_mut(category).and_then(|q| q.pop_front()) else {
            return;
        };
        let frame = FrameId::sent(pending.tag.0);
        stamps.of(Point::Dispatched, vm, frame);
        let queue = pending.work.queue();
        let prepared = match pending.work {
            Work::Again(prepared, _) => Ok(prepared),
            Work::Fresh(transmit) => {
                let prepared = prepare(vm, vmac, keys, tx_pool, &transmit, stamps);
                vmac.outstanding.push_back(Outstanding {
                    serial: pending.serial,
                    tag: pending.tag,
                    queue,
                    stage: Stage::Back,
                });
                prepared
            }
        };
        match prepared {
            Ok(prepared) => {
                self.fly(now, vm, pending.serial, prepared, air);
                self.stamps.of(Point::OnAir, vm, frame);
            }
            Err(rejected) => {
                self.count(vm, |counters| {
                    counters.drop_frame(rejected.drop);
                    counters.queued = counters.queued.saturating_sub(1);
                });
                self.set_stage(vm, pending.serial, Stage::Ended(rejected.report));
                self.give_reports(vm);
            }
        }
    }

    fn fly<M: Phy>(
        &mut self,
        now: Instant,
        vm: VmId,
        serial: u64,
        prepared: Prepared,
        air: &mut M,
    ) {
        let Some(channel) = self.schedule.here() else {
            return;
        };
        let token = self.next_serial();
        let Some(vmac) = self.vmac(vm) else {
            return;
        };
        let transmission = Transmission {
            token,
            frame: prepared.frame.clone(),
            channel,
            category: prepared.category,
            edca: vmac.edca(prepared.category),
            rates: prepared.rates.clone(),
            retry_limit: prepared.retry_limit,
            acknowledge: prepared.acknowledge,
            protect: protection(prepared.shield),
            short_slot: vmac.config.as_ref().is_some_and(|config| config.short_slot),
            short_preamble: vmac
                .config
                .as_ref()
                .is_some_and(|config| config.short_preamble),
            power: vmac.tx_power,
            aggregation: prepared.aggregation,
        };
        self.charge(vm, &prepared);
        if let Some(vmac) = self.vmac_mut(vm) {
            vmac.sent_at = now;
            vmac.note_in_air(prepared.category, true);
        }
        self.set_stage(vm, serial, Stage::InAir(token, prepared));
        self.flights.add(token, Cargo::Frame { vm, serial });
        air.transmit(now, self.radio, transmission);
    }

    /// Frames go to the air at the end of the list.
    fn set_stage(&mut self, vm: VmId, serial: u64, stage: Stage) {
        let Some(vmac) = self.vmac_mut(vm) else {
            return;
        };
        let mut latest_first = vmac.outstanding.iter_mut().rev();
        if let Some(entry) = latest_first.find(|entry| entry.serial == serial) {
            entry.stage = stage;
        }
    }

    /// A frame of a VM has ended on the air.
    pub(crate) fn landed(&mut self, vm: VmId, serial: u64, ended: &Ended) {
        let Some(vmac) = self.vmac_mut(vm) else {
            return;
        };
        let mut outstanding = vmac.outstanding.iter_mut();
        let Some(entry) = outstanding.find(|entry| entry.serial == serial) else {
            return;
        };
        let Stage::InAir(_, prepared) = std::mem::replace(&mut entry.stage, Stage::Back) else {
            return;
        };
        let (tag, queue) = (entry.tag, entry.queue);
        vmac.note_in_air(prepared.category, false);
        let flushed = vmac
            .flushes
            .iter()
            .any(|flush| serial < flush.before && in_mask(flush.mask, queue));
        self.stamps.of(Point::Landed, vm, FrameId::sent(tag.0));
        self.settle_account(vm, &prepared, ended);
        if ended.outcome == Outcome::Cancelled && !flushed {
            self.requeue(vm, serial, tag, queue, prepared, ended.attempts);
        } else {
            self.finish(vm, serial, &prepared, ended);
        }
    }

    /// Back to its place in its queue, with its sequence number and its packet number.
    fn requeue(
        &mut self,
        vm: VmId,
        serial: u64,
        tag: Tag,
        ring: u8,
        mut prepared: Prepared,
        attempts: u8,
    ) {
        if attempts > 0 {
            set_retry(prepared.frame.bytes_mut());
        }
        let category = prepared.category;
        let Some(queue) = self.vmac_mut(vm).and_then(|v| v.queue_mut(category)) else {
            return;
        };
        let at = queue.partition_point(|pending| pending.serial < serial);
        let work = Work::Again(prepared, ring);
        queue.insert(at, Pending { serial, tag, work });
        self.note_waiting(vm, category);
    }

    fn finish(&mut self, vm: VmId, serial: u64, prepared: &Prepared, ended: &Ended) {
        let status = match ended.outcome {
            Outcome::Acknowledged | Outcome::Unacknowledged => TxStatus::Success,
            Outcome::NoAck => TxStatus::NoAck,
            Outcome::Cancelled => TxStatus::Flushed,
        };
        self.count(vm, |counters| {
            counters.queued = counters.queued.saturating_sub(1);
            match status {
                TxStatus::Success => {
                    counters.sent += 1;
                    counters.sent_bytes += prepared.frame.len() as u64;
                }
                TxStatus::NoAck => counters.failed += 1,
                _ => counters.drop_frame(DropReason::Flushed),
            }
        });
        if let Some(vmac) = self.vmac_mut(vm) {
            note_statistics(vmac, status, prepared);
        }
        let report = TxReport {
            status,
            retries: ended.attempts.saturating_sub(1),
            rts_failures: ended.rts_failures,
            rate: ended.rate,
            sequence_control: prepared.sequence_control,
            airtime: ended.airtime,
        };
        self.set_stage(vm, serial, Stage::Ended(report));
        self.give_reports(vm);
    }

    /// Gives every report that no older frame of its queue holds back, then the flushes that are done.
    pub(crate) fn give_reports(&mut self, vm: VmId) {
        let Self {
            vmacs,
            events,
            stamps,
            ..
        } = self;
        let Some(vmac) = vmacs.get_mut(vm.index()).and_then(Option::as_deref_mut) else {
            return;
        };
        let mut held = [false; 256];
        vmac.outstanding.retain(|entry| {
            let hold = held.get_mut(usize::from(entry.queue));
            match (&entry.stage, hold) {
                (Stage::Ended(report), Some(false)) => {
                    stamps.of(Point::Reported, vm, FrameId::sent(entry.tag.0));
                    events.push_back((vm, Event::Transmitted(entry.tag, *report)));
                    false
                }
                (_, Some(hold)) => {
                    *hold = true;
                    true
                }
                (_, None) => true,
            }
        });
        finish_flushes(vm, vmac, events);
    }

    /// Drops all frames of these queues; answers when those on the air have ended.
    pub(crate) fn flush<M: Phy>(
        &mut self,
        now: Instant,
        vm: VmId,
        tag: Tag,
        mask: u32,
        air: &mut M,
    ) {
        let before = self.next_serial();
        let Some(vmac) = self.vmac_mut(vm) else {
            return;
        };
        let taken = take_pending(vmac, mask);
        let tokens = tokens_in(vmac, mask);
        vmac.flushes.push(Flush {
            tag,
            mask,
            before,
            taken,
        });
        self.count_flushed(vm);
        air.cancel(now, self.radio, &|token| tokens.contains(&token));
        self.give_reports(vm);
    }

    fn count_flushed(&mut self, vm: VmId) {
        let taken = self.vmac(vm).and_then(|vmac| vmac.flushes.last());
        let taken = taken.map_or(0, |flush| flush.taken.len());
        self.count(vm, |counters| {
            for _ in 0..taken {
                counters.drop_frame(DropReason::Flushed);
            }
            counters.queued = counters.queued.saturating_sub(taken as u64);
        });
    }
}

fn note_statistics(vmac: &mut Vmac, status: TxStatus, prepared: &Prepared) {
    let statistics = &mut vmac.statistics;
    match status {
        TxStatus::Success => statistics.transmitted = statistics.transmitted.wrapping_add(1),
        TxStatus::NoAck => statistics.failed = statistics.failed.wrapping_add(1),
        _ => {}
    }
    if let (TxStatus::Success, Some(dozes)) = (status, prepared.dozes) {
        vmac.dozes = dozes;
    }
}

fn protection(shield: Shield) -> Protection {
    match shield {
        Shield::None => Protection::None,
        Shield::Rts => Protection::RtsCts,
        Shield::CtsToSelf => Protection::CtsToSelf,
    }
}

/// Takes the waiting frames of these queues out, oldest first, each with its report.
fn take_pending(vmac: &mut Vmac, mask: u32) -> Vec<(Tag, TxReport)> {
    let mut taken = Vec::new();
    for category in AccessCategory::ALL {
        let Some(queue) = vmac.queue_mut(category).map(std::mem::take) else {
            continue;
        };
        let (out, keep) = queue
            .into_iter()
            .partition(|pending| in_mask(mask, pending.work.queue()));
        if let Some(queue) = vmac.queue_mut(category) {
            *queue = keep;
        }
        taken.extend::<VecDeque<Pending>>(out);
    }
    taken.sort_by_key(|pending| pending.serial);
    let serials: Vec<u64> = taken.iter().map(|pending| pending.serial).collect();
    vmac.outstanding
        .retain(|entry| !(matches!(entry.stage, Stage::Back) && serials.contains(&entry.serial)));
    let flushed = |pending: Pending| (pending.tag, flushed_report(vmac, &pending.work));
    taken.into_iter().map(flushed).collect()
}

fn flushed_report(vmac: &Vmac, work: &Work) -> TxReport {
    match work {
        Work::Fresh(transmit) => report(TxStatus::Flushed, nominal_rate(vmac, transmit), 0),
        Work::Again(prepared, _) => {
            let rate = prepared.rates.first().copied();
            let rate = rate.unwrap_or_else(|| crate::tx::prepare::lowest(vmac));
            report(TxStatus::Flushed, rate, prepared.sequence_control)
        }
    }
}

fn tokens_in(vmac: &Vmac, mask: u32) -> Vec<u64> {
    let outstanding = vmac.outstanding.iter();
    outstanding
        .filter(|entry| in_mask(mask, entry.queue))
        .filter_map(|entry| match entry.stage {
            Stage::InAir(token, _) => Some(token),
            _ => None,
        })
        .collect()
}

/// The flushes that wait for nothing any more: first the reports on what they took, then the answer.
fn finish_flushes(vm: VmId, vmac: &mut Vmac, events: &mut VecDeque<(VmId, Event)>) {
    if vmac.flushes.is_empty() {
        return;
    }
    let outstanding = &vmac.outstanding;
    let (done, waiting): (Vec<_>, Vec<_>) = std::mem::take(&mut vmac.flushes)
        .into_iter()
        .partition(|flush| {
            !outstanding
                .iter()
                .any(|entry| entry.serial < flush.before && in_mask(flush.mask, entry.queue))
        });
    vmac.flushes = waiting;
    for flush in done {
        for (tag, report) in flush.taken {
            events.push_back((vm, Event::Transmitted(tag, report)));
        }
        let done = Event::Done(flush.tag, airlane_waist::Reply::Ok);
        events.push_back((vm, done));
    }
}
