//! Picks the vMAC whose turn it is, hands its frame to the air, and reports on it when the air is done with it.

use airlane_air::{Outcome, Protection, Transmission};
use airlane_dot11::{
    AccessCategory, Buffer, BufferPool, Channel, EdcaParameters, Rate, RateTable, frame::set_retry,
};
use airlane_lane::{Instant, Micros};
use airlane_waist::stamp::{FrameId, Point};
use airlane_waist::{Event, Reply, Tag, Transmit, TxReport, TxStatus, VmId};

use crate::card::Card;
use crate::config::NicConfig;
use crate::counters::{DropReason, VmCounters};
use crate::phy::Phy;
use crate::radio::Radio;
use crate::tx::airtime::{Airtime, LastAggregate, Readiness, contention};
use crate::tx::frame::{Ended, Prepared, status, unsent};
use crate::tx::in_flight::{InFlight, Kind};
use crate::tx::prepare::{nominal_rate, prepare};
use crate::tx::queue::{Flush, Identity, Waiting, Work};
use crate::vmac::Vmac;

/// Frames of one vMAC and category that the air has at most: one A-MPDU's window.
const BURST: usize = 64;

/// Default parameters of AC_VO (IEEE 802.11-2020 table 9-155, OFDM).
const VOICE: EdcaParameters = EdcaParameters {
    cw_min: 3,
    cw_max: 7,
    aifsn: 2,
    txop: Micros(0),
};

/// A frame of the card's own, in the highest category.
pub(crate) struct OwnFrame {
    pub(crate) kind: Kind,
    pub(crate) frame: Buffer,
    pub(crate) channel: Channel,
    pub(crate) rate: Rate,
    /// Attempts beyond the first; `None`: no acknowledgement is asked for.
    pub(crate) retries: Option<u8>,
}

/// Everything between the queues of the vMACs and the air.
pub(crate) struct Transmitter {
    pub(crate) config: NicConfig,
    pool: BufferPool,
    pub(crate) airtime: Airtime,
    in_flight: InFlight,
    last_aggregate: LastAggregate,
    /// The last number given to a frame, a token or a flush; none is used twice.
    serial: u64,
}

impl Transmitter {
    pub(crate) fn new(config: NicConfig) -> Self {
        Self {
            config,
            pool: BufferPool::new(config.tx_buffers),
            airtime: Airtime::default(),
            in_flight: InFlight::default(),
            last_aggregate: LastAggregate::default(),
            serial: 0,
        }
    }

    /// Transmissions whose end is not known yet.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Buffers made because the pool was in use.
    pub(crate) fn pool_misses(&self) -> u64 {
        self.pool.misses()
    }

    fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Takes a frame in. It is looked at when its turn has come.
    pub(crate) fn accept(&mut self, card: &mut Card, vm: VmId, tag: Tag, transmit: Transmit) {
        let serial = self.next_serial();
        card.out.vms[vm].offered += 1;
        let Some(vmac) = card.vmacs.get_mut(vm) else {
            return refuse(card, vm, tag, DropReason::NotConfigured, Rate::OFDM_6);
        };
        if vmac.tx.len() >= self.config.queue_limit {
            let rate = nominal_rate(vmac, &transmit);
            return refuse(card, vm, tag, DropReason::QueueFull, rate);
        }
        self.airtime.queue(vm, transmit.category);
        vmac.tx.push(serial, tag, transmit);
        card.out.vms[vm].queued += 1;
    }

    /// Fills the air's queues, highest category first, in turn by airtime. `here`: the channel that the radio is tuned
    /// to.
    pub(crate) fn feed<P: Phy>(
        &mut self,
        now: Instant,
        here: Option<Channel>,
        card: &mut Card,
        radio: &mut Radio<'_, P>,
    ) {
        for category in AccessCategory::ALL.into_iter().rev() {
            let ready = |vm| readiness(card.vmacs.get(vm), here, category);
            let mut waits = self.airtime.refresh(category, ready);
            while waits && self.air_has_room(category, radio) {
                card.stamps.mark(Point::Pick);
                let picked = self.airtime.pick(category);
                let Some((vm, vmac)) = picked.and_then(|vm| Some((vm, card.vmacs.get(vm)?))) else {
                    card.out.broken("a vMAC that wants to send exists");
                    break;
                };
                // Were it passed over for what it has in the air already, others would get its share.
                if !self.fits(vmac, category, radio) {
                    break;
                }
                self.dispatch(now, here, vm, category, card, radio);
                // A dispatch empties no other vMAC's queue.
                match readiness(card.vmacs.get(vm), here, category) {
                    Readiness::Ready => {}
                    rest => waits = self.airtime.rest(vm, category, rest),
                }
            }
        }
    }

    /// True when the air may get a frame of this category, if it is a fitting one.
    fn air_has_room<P: Phy>(&self, category: AccessCategory, radio: &Radio<'_, P>) -> bool {
        self.air_has_place(category, radio)
            || self.airtime.held(category).cost < self.config.air_ahead
    }

    fn air_has_place<P: Phy>(&self, category: AccessCategory, radio: &Radio<'_, P>) -> bool {
        radio.queued(category) < self.config.air_depth
    }

    /// True when the vMAC's next frame may go to the air: there is place, or it shares PPDUs, or it shares the
    /// medium with frames that do and would wait behind too many of them.
    fn fits<P: Phy>(&self, vmac: &Vmac, category: AccessCategory, radio: &Radio<'_, P>) -> bool {
        let deep = vmac.tx.next_aggregates(category) || self.airtime.held(category).aggregates > 0;
        self.air_has_place(category, radio) || (deep && vmac.tx.in_air(category) < BURST)
    }

    /// Takes the vMAC's next frame out of its queue, makes it ready, and gives it to the air or drops it.
    fn dispatch<P: Phy>(
        &mut self,
        now: Instant,
        here: Option<Channel>,
        vm: VmId,
        category: AccessCategory,
        card: &mut Card,
        radio: &mut Radio<'_, P>,
    ) {
        let Card {
            vmacs,
            keys,
            out,
            stamps,
        } = card;
        let Some(vmac) = vmacs.get_mut(vm) else {
            return out.broken("a vMAC that was picked exists");
        };
        let Some(Waiting { id, work }) = vmac.tx.pop(category) else {
            return out.broken("a vMAC that was picked has a frame");
        };
        let frame = FrameId::sent(id.tag.0);
        stamps.of(Point::Dispatched, vm, frame);
        let prepared = match work {
            Work::Resend(prepared) => Ok(prepared),
            Work::Prepare(transmit) => {
                let pool = &mut self.pool;
                let owner = (vm, &mut *vmac);
                let prepared = prepare(owner, here, keys, pool, &transmit, stamps);
                vmac.tx.begin(id);
                prepared
            }
        };
        match prepared {
            Ok(prepared) => {
                self.submit(now, here, (vm, vmac), id, prepared, radio);
                stamps.of(Point::OnAir, vm, frame);
            }
            Err(rejected) => {
                let counters = &mut out.vms[vm];
                counters.drop_frame(rejected.drop);
                counters.queued = counters.queued.saturating_sub(1);
                finish(card, vm, id.serial, rejected.report);
            }
        }
    }

    fn submit<P: Phy>(
        &mut self,
        now: Instant,
        here: Option<Channel>,
        (vm, vmac): (VmId, &mut Vmac),
        id: Identity,
        mut prepared: Prepared,
        radio: &mut Radio<'_, P>,
    ) {
        let token = self.next_serial();
        let transmission = &mut prepared.transmission;
        transmission.token = token;
        transmission.channel = here.unwrap_or(transmission.channel);
        set_access(transmission, vmac);
        let transmission = transmission.clone();
        self.airtime.charge(vm, &prepared);
        vmac.sent_at = now;
        let begun = vmac.tx.submit(id.serial, token, prepared);
        debug_assert!(begun, "a frame on the air is to be reported");
        let serial = id.serial;
        self.in_flight.add(token, Kind::Frame { vm, serial });
        radio.transmit(now, transmission);
    }

    /// Sends a frame of the card's own.
    pub(crate) fn send_own<P: Phy>(
        &mut self,
        now: Instant,
        own: OwnFrame,
        radio: &mut Radio<'_, P>,
    ) {
        let token = self.next_serial();
        self.in_flight.add(token, own.kind);
        let transmission = Transmission {
            token,
            frame: own.frame,
            channel: own.channel,
            category: AccessCategory::Voice,
            edca: VOICE,
            rates: RateTable::from_iter([own.rate]),
            retry_limit: own.retries.unwrap_or(0),
            acknowledge: own.retries.is_some(),
            protect: Protection::None,
            short_slot: false,
            short_preamble: false,
            power: None,
            aggregation: None,
        };
        radio.transmit(now, transmission);
    }

    /// The frames that end now shared an A-MPDU.
    pub(crate) fn aggregated(&mut self, at: Instant, frames: u8) {
        self.last_aggregate = LastAggregate { at, frames };
    }

    /// What the transmission with this token was; `None` when its vMAC is gone.
    pub(crate) fn complete(&mut self, token: u64) -> Option<Kind> {
        self.in_flight.complete(token)
    }

    /// A frame of a VM has ended on the air: it is reported, or waits again.
    pub(crate) fn ended(&mut self, card: &mut Card, vm: VmId, serial: u64, ended: &Ended) {
        let vmac = card.vmacs.get_mut(vm);
        let taken = vmac.and_then(|vmac| Some((vmac.tx.take_back(serial)?, vmac)));
        let Some(((id, prepared, flushed), vmac)) = taken else {
            return card
                .out
                .broken("a frame in flight stands in its vMAC's list");
        };
        let frame = FrameId::sent(id.tag.0);
        card.stamps.of(Point::Landed, vm, frame);
        let counters = &mut card.out.vms[vm];
        self.settle((vm, &mut *vmac), counters, &prepared, ended);
        if ended.outcome == Outcome::Cancelled && !flushed {
            self.put_back((vm, vmac), id, prepared, ended.attempts);
            return;
        }
        let report = ended.report(prepared.sequence_control);
        count_end(&mut card.out.vms[vm], report.status, &prepared);
        note_end(vmac, report.status, &prepared);
        finish(card, vm, serial, report);
    }

    /// The vMAC pays what the frame took, with its part in the contention.
    fn settle(
        &mut self,
        (vm, vmac): (VmId, &mut Vmac),
        counters: &mut VmCounters,
        prepared: &Prepared,
        ended: &Ended,
    ) {
        let waited = contention(vmac.edca[prepared.category()], ended.attempts);
        let sharers = self.last_aggregate.sharers(ended.at);
        let waited = Micros(waited.0 / sharers.max(1));
        self.airtime.settle(vm, prepared, ended.airtime + waited);
        let retries = ended.attempts.saturating_sub(1);
        counters.airtime += ended.airtime;
        counters.contention += waited;
        counters.retries += u64::from(retries);
        let statistics = &mut vmac.statistics;
        statistics.airtime += ended.airtime;
        statistics.retries = statistics.retries.wrapping_add(u32::from(retries));
    }

    fn put_back(
        &mut self,
        (vm, vmac): (VmId, &mut Vmac),
        id: Identity,
        mut prepared: Prepared,
        attempts: u8,
    ) {
        if attempts > 0 {
            set_retry(prepared.transmission.frame.bytes_mut());
        }
        self.airtime.queue(vm, prepared.category());
        vmac.tx.put_back(id, prepared);
    }

    /// Drops all frames of these rings; answers when those on the air have ended.
    pub(crate) fn flush<P: Phy>(
        &mut self,
        now: Instant,
        card: &mut Card,
        (vm, tag, rings): (VmId, Tag, u32),
        radio: &mut Radio<'_, P>,
    ) {
        let before = self.next_serial();
        let Some(vmac) = card.vmacs.get_mut(vm) else {
            return card.out.broken("a vMAC that is flushed exists");
        };
        let taken = vmac.tx.take_waiting(rings);
        let flushed = |waiting: Waiting| (waiting.id.tag, flushed_report(vmac, &waiting.work));
        let taken: Vec<_> = taken.into_iter().map(flushed).collect();
        let tokens = vmac.tx.tokens(rings);
        let counters = &mut card.out.vms[vm];
        counters.dropped[DropReason::Flushed] += taken.len() as u64;
        counters.queued = counters.queued.saturating_sub(taken.len() as u64);
        vmac.tx.add_flush(Flush {
            tag,
            rings,
            before,
            taken,
        });
        radio.cancel(now, &|token| tokens.contains(&token));
        give_reports(card, vm);
    }

    /// Gives up all frames of a VM whose vMAC goes; `vmac`, if it had one.
    pub(crate) fn forget<P: Phy>(
        &mut self,
        now: Instant,
        (vm, vmac): (VmId, Option<&Vmac>),
        counters: &mut VmCounters,
        radio: &mut Radio<'_, P>,
    ) {
        for prepared in vmac.iter().flat_map(|vmac| vmac.tx.prepared()) {
            self.airtime.release(prepared);
        }
        self.airtime.forget(vm);
        let orphans = self.in_flight.forget(vm);
        radio.cancel(now, &|token| orphans.contains(&token));
        counters.dropped[DropReason::Reset] += std::mem::take(&mut counters.queued);
    }
}

/// Whether the vMAC has a frame of this category that may be sent where the radio is.
fn readiness(vmac: Option<&Vmac>, here: Option<Channel>, category: AccessCategory) -> Readiness {
    let Some(vmac) = vmac.filter(|vmac| vmac.tx.has(category)) else {
        return Readiness::Empty;
    };
    let there = |own: Channel| here.is_some_and(|here| own.shares_primary(here));
    match vmac.channel().is_none_or(there) {
        true => Readiness::Ready,
        false => Readiness::Elsewhere,
    }
}

/// How the vMAC has its frames sent now.
fn set_access(transmission: &mut Transmission, vmac: &Vmac) {
    let config = vmac.config.as_ref();
    transmission.edca = vmac.edca[transmission.category];
    transmission.short_slot = config.is_some_and(|config| config.short_slot);
    transmission.short_preamble = config.is_some_and(|config| config.short_preamble);
    transmission.power = vmac.tx_power;
}

fn refuse(card: &mut Card, vm: VmId, tag: Tag, drop: DropReason, rate: Rate) {
    card.out.vms[vm].drop_frame(drop);
    let report = unsent(status(drop), rate, 0);
    card.out.emit(vm, Event::Transmitted(tag, report));
}

fn count_end(counters: &mut VmCounters, status: TxStatus, prepared: &Prepared) {
    counters.queued = counters.queued.saturating_sub(1);
    match status {
        TxStatus::Success => {
            counters.sent += 1;
            counters.sent_bytes += prepared.transmission.frame.len() as u64;
        }
        TxStatus::NoAck => counters.failed += 1,
        _ => counters.drop_frame(DropReason::Flushed),
    }
}

fn note_end(vmac: &mut Vmac, status: TxStatus, prepared: &Prepared) {
    let statistics = &mut vmac.statistics;
    match status {
        TxStatus::Success => statistics.transmitted = statistics.transmitted.wrapping_add(1),
        TxStatus::NoAck => statistics.failed = statistics.failed.wrapping_add(1),
        _ => {}
    }
    if let (TxStatus::Success, Some(sleeps)) = (status, prepared.power_management) {
        vmac.driver_sleeps = sleeps;
    }
}

/// A frame has its report, which may be the one that others wait for.
fn finish(card: &mut Card, vm: VmId, serial: u64, report: TxReport) {
    let vmac = card.vmacs.get_mut(vm);
    if !vmac.is_some_and(|vmac| vmac.tx.end(serial, report)) {
        card.out.broken("a frame that ends is to be reported");
    }
    give_reports(card, vm);
}

/// Gives every report that no older frame of its ring holds back, then the flushes that are done: first the reports
/// on what they took, then the answer.
fn give_reports(card: &mut Card, vm: VmId) {
    let Card {
        vmacs, out, stamps, ..
    } = card;
    let Some(vmac) = vmacs.get_mut(vm) else {
        return out.broken("a vMAC whose frame ends exists");
    };
    vmac.tx.give_reports(|tag, report| {
        stamps.of(Point::Reported, vm, FrameId::sent(tag.0));
        out.emit(vm, Event::Transmitted(tag, report));
    });
    for flush in vmac.tx.finished_flushes() {
        for (tag, report) in flush.taken {
            out.emit(vm, Event::Transmitted(tag, report));
        }
        out.emit(vm, Event::Done(flush.tag, Reply::Ok));
    }
}

fn flushed_report(vmac: &Vmac, work: &Work) -> TxReport {
    match work {
        Work::Prepare(transmit) => unsent(TxStatus::Flushed, nominal_rate(vmac, transmit), 0),
        Work::Resend(prepared) => {
            let rate = prepared.transmission.rates.first().copied();
            let rate = rate.unwrap_or_else(|| vmac.lowest_rate());
            unsent(TxStatus::Flushed, rate, prepared.sequence_control)
        }
    }
}
