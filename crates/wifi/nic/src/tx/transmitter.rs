//! Picks the vMAC whose turn it is, hands its frame to the air, and reports on it when the air is done with it.

use airlane_air::{Ended, Outcome, Protection, Transmission};
use airlane_dot11::{
    AccessCategory, BufferPool, Channel, EdcaParameters, Rate, RateTable, frame::set_retry,
};
use airlane_lane::{Instant, Micros};
use airlane_waist::stamp::{FrameId, Point, Stamps};
use airlane_waist::{Event, Reply, Statistics, Tag, Transmit, TxStatus, VmId};

use crate::card::{Card, NicConfig, Output, Phy, Radio};
use crate::counters::{DropReason, VmCounters};
use crate::tx::airtime::{Airtime, LastAggregate, Readiness, contention};
use crate::tx::frame::{InFlight, Kind, OwnFrame, Prepared, report, status, unsent};
use crate::tx::prepare::{Rejected, nominal_rate, prepare};
use crate::tx::queue::{Flush, Waiting, Work};
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
        if vmac.tx.outstanding() >= self.config.queue_limit {
            let rate = nominal_rate(&vmac.stations, vmac.lowest_rate(), &transmit);
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
        if let Work::Prepare(transmit) = work {
            let owner = (vm, &mut *vmac);
            match prepare(owner, here, keys, &mut self.pool, &transmit, stamps) {
                Ok(prepared) => vmac.tx.begin(id, prepared),
                Err(Rejected { drop, report }) => {
                    out.vms[vm].drop_queued(drop);
                    vmac.tx.reject(id, report);
                    return give_reports((vm, vmac), out, stamps);
                }
            }
        }
        if !self.submit(now, here, (vm, vmac), id.serial, radio) {
            out.broken("a frame goes to the air once it is ready");
        }
        stamps.of(Point::OnAir, vm, frame);
    }

    /// Gives the air a frame that is ready; `false` when there is no such frame.
    #[must_use]
    fn submit<P: Phy>(
        &mut self,
        now: Instant,
        here: Option<Channel>,
        (vm, vmac): (VmId, &mut Vmac),
        serial: u64,
        radio: &mut Radio<'_, P>,
    ) -> bool {
        let token = self.next_serial();
        let Some(prepared) = vmac.tx.submit(serial, token) else {
            return false;
        };
        let transmission = &mut prepared.transmission;
        transmission.token = token;
        transmission.channel = here.unwrap_or(transmission.channel);
        // How the vMAC has its frames sent now.
        let config = vmac.config.as_ref();
        transmission.edca = vmac.edca[transmission.category];
        transmission.short_slot = config.is_some_and(|config| config.short_slot);
        transmission.short_preamble = config.is_some_and(|config| config.short_preamble);
        transmission.power = vmac.tx_power;
        vmac.sent_at = now;
        self.airtime.charge(vm, prepared);
        self.in_flight.add(token, Kind::Frame { vm, serial });
        radio.transmit(now, prepared.for_air());
        true
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
        let Card {
            vmacs, out, stamps, ..
        } = card;
        let Some(vmac) = vmacs.get_mut(vm) else {
            return out.broken("a vMAC whose frame ends exists");
        };
        let Vmac {
            tx,
            edca,
            statistics,
            driver_sleeps,
            ..
        } = vmac;
        let landed = tx.land(serial, |id, prepared, flushed| {
            stamps.of(Point::Landed, vm, FrameId::sent(id.tag.0));
            let waited = self.waited(edca[prepared.category()], ended);
            let took = ended.airtime + waited;
            if !self.airtime.settle(vm, prepared, took) {
                out.broken("a frame gives back no more airtime than the air holds");
            }
            let counters = &mut out.vms[vm];
            count_airtime(counters, statistics, ended, waited);
            if ended.outcome == Outcome::Cancelled && !flushed {
                if ended.attempts > 0 {
                    set_retry(prepared.transmission.frame.bytes_mut());
                }
                self.airtime.queue(vm, prepared.category());
                return None;
            }
            let report = report(ended, prepared.sequence_control);
            count_end(counters, statistics, report.status, prepared);
            if let (TxStatus::Success, Some(sleeps)) = (report.status, prepared.power_management) {
                *driver_sleeps = sleeps;
            }
            Some(report)
        });
        if !landed {
            return out.broken("a frame in flight stands in its vMAC's list");
        }
        give_reports((vm, vmac), out, stamps);
    }

    /// The vMAC's part in the contention for a frame, which it pays for besides the airtime.
    fn waited(&self, edca: EdcaParameters, ended: &Ended) -> Micros {
        let waited = contention(edca, ended.attempts);
        Micros(waited.0 / self.last_aggregate.sharers(ended.at).max(1))
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
        let Card {
            vmacs, out, stamps, ..
        } = card;
        let Some(vmac) = vmacs.get_mut(vm) else {
            return out.broken("a vMAC that is flushed exists");
        };
        let (lowest, stations) = (vmac.lowest_rate(), &vmac.stations);
        let nominal = |transmit: &Transmit| nominal_rate(stations, lowest, transmit);
        let taken = vmac.tx.take_waiting(rings, nominal);
        let tokens = vmac.tx.tokens(rings);
        let counters = &mut out.vms[vm];
        counters.dropped[DropReason::Flushed] += taken.len() as u64;
        counters.queued = counters.queued.saturating_sub(taken.len() as u64);
        vmac.tx.add_flush(Flush {
            tag,
            rings,
            before,
            taken,
        });
        radio.cancel(now, &|token| tokens.contains(&token));
        give_reports((vm, vmac), out, stamps);
    }

    /// Gives up all frames of a VM whose vMAC goes; `vmac`, if it had one.
    pub(crate) fn forget<P: Phy>(
        &mut self,
        now: Instant,
        (vm, vmac): (VmId, Option<&Vmac>),
        out: &mut Output,
        radio: &mut Radio<'_, P>,
    ) {
        for prepared in vmac.iter().flat_map(|vmac| vmac.tx.prepared()) {
            if !self.airtime.release(prepared) {
                out.broken("a frame gives back no more airtime than the air holds");
            }
        }
        self.airtime.forget(vm);
        let orphans = self.in_flight.forget(vm);
        radio.cancel(now, &|token| orphans.contains(&token));
        let counters = &mut out.vms[vm];
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

fn refuse(card: &mut Card, vm: VmId, tag: Tag, drop: DropReason, rate: Rate) {
    card.out.vms[vm].drop_frame(drop);
    let report = unsent(status(drop), rate, 0);
    card.out.emit(vm, Event::Transmitted(tag, report));
}

fn count_airtime(
    counters: &mut VmCounters,
    statistics: &mut Statistics,
    ended: &Ended,
    waited: Micros,
) {
    let retries = ended.retries();
    counters.airtime += ended.airtime;
    counters.contention += waited;
    counters.retries += u64::from(retries);
    statistics.airtime += ended.airtime;
    statistics.retries = statistics.retries.wrapping_add(u32::from(retries));
}

fn count_end(
    counters: &mut VmCounters,
    statistics: &mut Statistics,
    status: TxStatus,
    prepared: &Prepared,
) {
    counters.queued = counters.queued.saturating_sub(1);
    match status {
        TxStatus::Success => {
            counters.sent += 1;
            counters.sent_bytes += prepared.transmission.frame.len() as u64;
            statistics.transmitted = statistics.transmitted.wrapping_add(1);
        }
        TxStatus::NoAck => {
            counters.failed += 1;
            statistics.failed = statistics.failed.wrapping_add(1);
        }
        _ => counters.drop_frame(DropReason::Flushed),
    }
}

/// Gives every report that no older frame of its ring holds back, then the flushes that are done: first the reports
/// on what they took, then the answer.
fn give_reports((vm, vmac): (VmId, &mut Vmac), out: &mut Output, stamps: &mut Stamps) {
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
