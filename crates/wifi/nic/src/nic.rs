//! The card: commands in, events out, and the clockwork between.

use std::collections::{BTreeMap, VecDeque};

use airlane_air::{AirEvent, RadioId};
use airlane_dot11::{AccessCategory, BufferPool, Channel, MacAddr};
use airlane_lane::stamp::{Point, Stamps};
use airlane_lane::{Instant, MAX_VMS, Micros, VmId};
use airlane_waist::{Event, MissedBeacons, PowerSave, Request};

use crate::channel::context::{find, same};
use crate::channel::scheduler::{Schedule, Step, Wishes};
use crate::counters::{Counters, DropReason, VmCounters};
use crate::identity::{AddressPolicy, Assignments};
use crate::phy::Phy;
use crate::power_save::Doze;
use crate::rx::filter::Heard;
use crate::rx::keys::KeyTable;
use crate::scan::Sweep;
use crate::tx::airtime::{InAir, LastAggregate};
use crate::tx::dwrr::{Dwrr, MAX_WEIGHT};
use crate::tx::in_flight::{Cargo, Flights};
use crate::tx::transmitter::Ended;
use crate::vmac::{Stage, Vmac};

/// Sizes of a card.
#[derive(Clone, Copy, Debug)]
pub struct NicConfig {
    /// Frames that one vMAC's queues hold.
    pub queue_limit: usize,
    /// Frames per access category that the air holds at a time. Few: what is with the air can be
    /// neither shared out anew nor flushed.
    pub air_depth: usize,
    /// The same where frames share PPDUs, as time: enough for the longest PPDU.
    pub air_ahead: Micros,
    /// Buffers for frames on their way out.
    pub tx_buffers: usize,
    /// Buffers for decrypted frames on their way in.
    pub rx_buffers: usize,
}

impl Default for NicConfig {
    fn default() -> Self {
        Self {
            queue_limit: 4_096,
            air_depth: 2,
            air_ahead: Micros::from_millis(6),
            tx_buffers: 512,
            rx_buffers: 512,
        }
    }
}

/// One vMAC, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmacView {
    /// Whose.
    pub vm: VmId,
    /// Its address; zero when no interface is up.
    pub address: MacAddr,
    /// Its BSS; zero when none.
    pub bssid: MacAddr,
    /// Its channel, once configured.
    pub channel: Option<Channel>,
    /// True once associated.
    pub associated: bool,
    /// Its share of the airtime, relative to the others'.
    pub weight: u16,
    /// Beacons of its BSS since it associated; only those are expected for which the radio was there.
    pub beacons: MissedBeacons,
    /// The longest time without a beacon since it associated, absence included.
    pub longest_silence: Micros,
    /// Its VM's counters.
    pub counters: VmCounters,
}

/// One home channel: how the radio divides its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeView {
    /// Where.
    pub channel: Channel,
    /// The part of the time that is its while all that compete now do, in thousandths; zero when no vMAC needs it
    /// any more.
    pub share: u64,
    /// Time that the radio has spent there, up to its last leaving for another channel.
    pub time: Micros,
    /// How often it has come there.
    pub visits: u64,
    /// Beacons that its vMACs have heard and missed since each associated.
    pub beacons_heard: u64,
    /// Missed though the radio was there.
    pub beacons_missed: u64,
}

/// Turns of one step of the clockwork: far more than any state needs, so that a defect stalls nobody.
const TURNS: usize = 64;

/// Nothing but data frames happens, and the schedule has nothing to do: before this time, if any.
#[derive(Clone, Copy)]
struct Calm {
    until: Option<Instant>,
}

/// The augmented NIC: one radio, up to [`MAX_VMS`] vMACs.
pub struct Nic {
    pub(crate) radio: RadioId,
    pub(crate) config: NicConfig,
    pub(crate) vmacs: [Option<Box<Vmac>>; MAX_VMS],
    pub(crate) addresses: BTreeMap<MacAddr, VmId>,
    /// vMACs that receive everything.
    pub(crate) promiscuous: usize,
    pub(crate) assignments: Assignments,
    pub(crate) keys: KeyTable,
    pub(crate) tx_pool: BufferPool,
    pub(crate) rx_pool: BufferPool,
    pub(crate) schedule: Schedule,
    pub(crate) sweep: Sweep,
    pub(crate) flights: Flights,
    pub(crate) counters: Counters,
    pub(crate) power: PowerSave,
    pub(crate) doze: Doze,
    dwrr: [Dwrr; 4],
    pub(crate) in_air: [InAir; 4],
    last_aggregate: LastAggregate,
    weights: [u16; MAX_VMS],
    vm_counters: [VmCounters; MAX_VMS],
    serial: u64,
    pub(crate) events: VecDeque<(VmId, Event)>,
    calm: Option<Calm>,
    /// Bit n: VM n may have frames of this category. A bit that is not set is a promise.
    pub(crate) waiting: [u16; 4],
    pub(crate) stamps: Stamps,
}

impl Nic {
    /// A card on this radio, of the usual size, without vMACs.
    pub fn new(radio: RadioId) -> Self {
        Self::with_config(radio, NicConfig::default())
    }

    /// A card of other sizes.
    pub fn with_config(radio: RadioId, config: NicConfig) -> Self {
        Self {
            radio,
            config,
            vmacs: Default::default(),
            addresses: BTreeMap::new(),
            promiscuous: 0,
            assignments: Assignments::default(),
            keys: KeyTable::default(),
            tx_pool: BufferPool::new(config.tx_buffers),
            rx_pool: BufferPool::new(config.rx_buffers),
            schedule: Schedule::default(),
            sweep: Sweep::default(),
            flights: Flights::default(),
            counters: Counters::default(),
            power: PowerSave::default(),
            doze: Doze::default(),
            dwrr: Default::default(),
            in_air: Default::default(),
            last_aggregate: LastAggregate::default(),
            weights: [1; MAX_VMS],
            vm_counters: Default::default(),
            serial: 0,
            events: VecDeque::new(),
            calm: None,
            waiting: [0; 4],
            stamps: Stamps::default(),
        }
    }

    /// Its thread's stamps, to put them in and for the thread's own.
    pub fn stamps(&mut self) -> &mut Stamps {
        &mut self.stamps
    }

    /// Takes a command of a VM. Call [`Nic::step`] after a batch of them.
    pub fn request<M: Phy>(&mut self, now: Instant, vm: VmId, request: Request, air: &mut M) {
        self.execute(now, vm, request, air);
    }

    /// Takes an event of this card's own radio. Call [`Nic::step`] after a batch of them.
    pub fn air_event<M: Phy>(&mut self, now: Instant, event: AirEvent, air: &mut M) {
        let _ = air;
        match event {
            AirEvent::Received {
                frame,
                channel,
                rate,
                signal,
                at,
                aggregated,
                ..
            } => {
                self.stamps.mark(Point::Heard);
                self.heard(&Heard {
                    frame,
                    channel,
                    rate,
                    signal,
                    at,
                    aggregated,
                });
            }
            AirEvent::Aggregated { frames, at, .. } => {
                self.counters.aggregates += 1;
                self.counters.aggregated_frames += u64::from(frames);
                self.last_aggregate = LastAggregate { at, frames };
            }
            AirEvent::Sent {
                token,
                outcome,
                attempts,
                rts_failures,
                rate,
                airtime,
                at,
                ..
            } => self.sent(
                now,
                token,
                &Ended {
                    outcome,
                    attempts,
                    rts_failures,
                    rate,
                    airtime,
                    sharers: self.last_aggregate.sharers(at),
                },
            ),
        }
    }

    fn sent(&mut self, now: Instant, token: u64, ended: &Ended) {
        match self.flights.land(token) {
            Some(Cargo::Frame { vm, serial }) => self.landed(vm, serial, ended),
            Some(Cargo::Announcement { vm, sleeps }) => {
                self.stir();
                self.announced(now, vm, sleeps, ended.outcome);
            }
            Some(Cargo::Probe { .. }) => {}
            None => self.counters.orphans += 1,
        }
    }

    /// Lets due things happen and gives the air what it has room for. Returns when to come back
    /// unless something else happens first; `None` when no timer runs.
    pub fn step<M: Phy>(&mut self, now: Instant, air: &mut M) -> Option<Instant> {
        let calm = self
            .calm
            .filter(|calm| calm.until.is_none_or(|until| now < until));
        let timer = match calm {
            Some(calm) => calm.until,
            None => self.watch(now),
        };
        let rest = self.rest(now, air);
        let wait = match calm {
            Some(_) => None,
            None => self.follow_schedule(now, timer, air),
        };
        self.feed(now, air);
        Instant::earlier(wait, Instant::earlier(timer, rest))
    }

    /// Runs the schedule. It, and the timers, look at every vMAC: where all are at one home and nobody scans or
    /// sleeps, that is not done again before a timer is due or something [stirs](Self::stir).
    fn follow_schedule<M: Phy>(
        &mut self,
        now: Instant,
        timer: Option<Instant>,
        air: &mut M,
    ) -> Option<Instant> {
        self.calm = None;
        let mut moved = false;
        for _ in 0..TURNS {
            let (wishes, recheck) = self.wishes(now);
            match self.schedule.step(now, &wishes, self.flights.len()) {
                Step::Do(act) => {
                    self.perform(now, act, air);
                    moved = true;
                }
                Step::Wait(until) => {
                    let wait = Instant::earlier(until, recheck);
                    // A timer that was read before a move says nothing about the time after it.
                    if wait.is_none() && !moved && self.is_calm(&wishes) {
                        self.calm = Some(Calm { until: timer });
                    }
                    return wait;
                }
            }
        }
        Some(now)
    }

    /// True when neither time nor data frames give the schedule anything to do.
    fn is_calm(&self, wishes: &Wishes) -> bool {
        let [home] = &wishes.homes[..] else {
            return false;
        };
        // What has no BSS has a home while it sends.
        let mut homeless = self.active().filter(|(_, vmac)| vmac.bssid().is_none());
        self.schedule.is_settled()
            && self.schedule.here() == Some(home.channel)
            && self.sweep.stop().is_none()
            && !self.saves_power()
            && homeless.all(|(_, vmac)| !vmac.needs_channel())
    }

    /// Something has happened that the schedule looks at.
    pub(crate) fn stir(&mut self) {
        self.calm = None;
    }

    /// The next event for a VM.
    pub fn next_event(&mut self) -> Option<(VmId, Event)> {
        self.events.pop_front()
    }

    /// Every vMAC there is.
    pub fn vmacs(&self) -> impl Iterator<Item = VmacView> {
        self.active().map(|(vm, vmac)| VmacView {
            vm,
            address: vmac.address().unwrap_or_default(),
            bssid: vmac.bssid().unwrap_or_default(),
            channel: vmac.channel(),
            associated: vmac.associated(),
            weight: self.weight(vm),
            beacons: vmac.beacons.counts(),
            longest_silence: vmac.beacons.longest_silence(),
            counters: self.vm_counters(vm),
        })
    }

    /// The channel schedule: every channel that has been a home.
    pub fn homes(&self, now: Instant) -> impl Iterator<Item = HomeView> {
        let homes = self.home_wishes(now);
        let accounts = self.schedule.accounts();
        accounts.iter().map(move |account| {
            let home = find(&homes, Some(account.channel));
            let (heard, missed) = self.beacons_on(account.channel);
            HomeView {
                channel: account.channel,
                share: home.map_or(0, |home| accounts.share(now, &homes, home)),
                time: account.time,
                visits: account.visits,
                beacons_heard: heard,
                beacons_missed: missed,
            }
        })
    }

    fn beacons_on(&self, channel: Channel) -> (u64, u64) {
        let there = self
            .active()
            .filter(|(_, vmac)| same(vmac.channel(), channel));
        let counts = there.map(|(_, vmac)| vmac.beacons.counts());
        counts.fold((0, 0), |(heard, missed), counts| {
            (
                heard + u64::from(counts.received),
                missed + u64::from(counts.total),
            )
        })
    }

    /// Counters of the card.
    pub fn counters(&self) -> Counters {
        Counters {
            pool_misses: self.tx_pool.misses() + self.rx_pool.misses(),
            ..self.counters
        }
    }

    /// Counters of one VM, also when it has no vMAC any more.
    pub fn vm_counters(&self, vm: VmId) -> VmCounters {
        let counters = self.vm_counters.get(vm.index());
        counters.copied().unwrap_or_default()
    }

    /// The channel that the radio is tuned to.
    pub fn channel(&self) -> Option<Channel> {
        self.schedule.here()
    }

    /// The sleep schedule that the radio was last told.
    pub fn power_save(&self) -> PowerSave {
        self.power
    }

    /// Gives a VM an address that is nobody else's from now on, whether the VM is up or not. Without one, a VM may
    /// bear what nobody else has.
    pub fn assign(&mut self, vm: VmId, address: MacAddr, policy: AddressPolicy) {
        self.assignments.assign(vm, address, policy);
    }

    /// Sets a VM's share of the airtime, on its channel and among channels, relative to the others'; 1 is the
    /// usual, [`MAX_WEIGHT`] the most.
    pub fn set_weight(&mut self, vm: VmId, weight: u16) {
        self.stir();
        let weight = weight.clamp(1, MAX_WEIGHT);
        if let Some(slot) = self.weights.get_mut(vm.index()) {
            *slot = weight;
        }
        for dwrr in &mut self.dwrr {
            dwrr.set_weight(vm, weight);
        }
    }

    pub(crate) fn weight(&self, vm: VmId) -> u16 {
        self.weights.get(vm.index()).copied().unwrap_or(1)
    }

    pub(crate) fn active(&self) -> impl Iterator<Item = (VmId, &Vmac)> {
        VmId::all().filter_map(|vm| Some((vm, self.vmac(vm)?)))
    }

    pub(crate) fn vmac(&self, vm: VmId) -> Option<&Vmac> {
        self.vmacs.get(vm.index())?.as_deref()
    }

    pub(crate) fn vmac_mut(&mut self, vm: VmId) -> Option<&mut Vmac> {
        self.vmacs.get_mut(vm.index())?.as_deref_mut()
    }

    pub(crate) fn dwrr_mut(&mut self, category: AccessCategory) -> Option<&mut Dwrr> {
        self.dwrr.get_mut(category as usize)
    }

    pub(crate) fn emit(&mut self, vm: VmId, event: Event) {
        self.events.push_back((vm, event));
    }

    pub(crate) fn count(&mut self, vm: VmId, change: impl FnOnce(&mut VmCounters)) {
        if let Some(counters) = self.vm_counters.get_mut(vm.index()) {
            change(counters);
        }
    }

    /// Numbers for frames, tokens and sweeps; none is used twice.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Takes all that this VM has, and its frames out of the air.
    pub(crate) fn tear_down<M: Phy>(&mut self, now: Instant, vm: VmId, air: &mut M) {
        let vmac = self.vmacs.get_mut(vm.index()).and_then(Option::take);
        for entry in vmac.iter().flat_map(|vmac| &vmac.outstanding) {
            if let Stage::InAir(_, prepared) = &entry.stage {
                self.release(prepared);
            }
        }
        self.keys.forget(vm);
        let _ = self.leave_visit(vm);
        for dwrr in &mut self.dwrr {
            dwrr.forget(vm);
        }
        let orphans = self.flights.forget(vm);
        air.cancel(now, self.radio, &|token| orphans.contains(&token));
        self.count(vm, |counters| {
            for _ in 0..std::mem::take(&mut counters.queued) {
                counters.drop_frame(DropReason::Reset);
            }
        });
        if self.active().next().is_none() {
            self.rise(now, air);
            self.doze.turn(now, false);
        }
        self.refresh_filter(air);
    }

    /// Tells the radio whose frames to receive.
    pub(crate) fn refresh_filter<M: Phy>(&mut self, air: &mut M) {
        let of = |(vm, vmac): (VmId, &Vmac)| Some((vmac.address()?, vm));
        self.addresses = self.active().filter_map(of).collect();
        self.promiscuous = self
            .active()
            .filter(|(_, vmac)| vmac.listens_to_all())
            .count();
        let addresses: Vec<MacAddr> = self.addresses.keys().copied().collect();
        air.set_addresses(self.radio, &addresses);
        air.set_promiscuous(self.radio, self.promiscuous > 0);
    }
}
