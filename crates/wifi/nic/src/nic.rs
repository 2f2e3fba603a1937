//! The NIC: commands in, events out. It owns the parts, lends them to each other one at a time, and applies the actions
//! that they return.

use airlane_air::{Aggregation, AirEvent, Ended, Heard, Outcome, RadioId};
use airlane_dot11::frame::{Header, set_sequence_number};
use airlane_dot11::{AccessCategory, MacAddr};
use airlane_lane::Instant;
use airlane_waist::stamp::{Point, Stamps};
use airlane_waist::{NicEvent, VmId};

use crate::card::{Card, NicConfig, Phy, Radio};
use crate::channel::context::Contexts;
use crate::channel::demand;
use crate::channel::scheduler::{Action, ChannelScheduler, Demand, Dwell, Step};
use crate::counters::VmCounters;
use crate::identity::AddressPolicy;
use crate::power_save::{self, Place, PowerSaver};
use crate::rx::filter::Receiver;
use crate::scan::Scan;
use crate::tx::frame::Kind;
use crate::tx::transmitter::Transmitter;
use crate::vmac::Vmac;

/// Actions of one step of the channel scheduler: far more than any state needs, so that a defect stalls nobody.
const ACTIONS: usize = 64;
/// Probe requests that may wait for the air: a scan must not fill it.
const MAX_PROBES_WAITING: usize = 32;

/// Until when the channel scheduler has nothing to do whatever data frames do; `None`: until something else happens.
#[derive(Clone, Copy)]
struct Idle {
    until: Option<Instant>,
}

/// The augmented NIC: one radio, up to [`airlane_waist::MAX_VMS`] vMACs.
///
/// Time is an argument, and so is what it sends into, a [`Phy`]: the NIC itself never waits.
///
/// ```
/// use airlane_air::{Air, AirConfig, Position, RadioConfig};
/// use airlane_dot11::Dbm;
/// use airlane_lane::Instant;
/// use airlane_nic::Nic;
/// use airlane_waist::{Event, NicEvent, NicRequest, Reply, Tag, VifCommand, VmId};
///
/// let mut air = Air::new(AirConfig::default());
/// let radio = air.add_radio(RadioConfig {
///     name: "card".to_owned(),
///     position: Position::default(),
///     tx_power: Dbm(20.0),
/// });
/// let mut nic = Nic::new(radio);
/// let (now, vm) = (Instant(0), VmId::new(3)?);
/// let request = NicRequest::Vif(vm, Tag(1), VifCommand::Initialize);
/// nic.request(now, request, &mut air);
/// assert_eq!(nic.step(now, &mut air), None, "no timer runs yet");
/// let answer = nic.next_event().expect("each request of a VM is answered");
/// assert!(matches!(answer, NicEvent::Vif(_, Event::Done(Tag(1), Reply::Ok))));
/// # Ok::<(), airlane_waist::VmIdError>(())
/// ```
pub struct Nic {
    pub(crate) radio: RadioId,
    pub(crate) card: Card,
    pub(crate) tx: Transmitter,
    pub(crate) rx: Receiver,
    pub(crate) scheduler: ChannelScheduler,
    pub(crate) power: PowerSaver,
    pub(crate) scan: Scan,
    idle: Option<Idle>,
}

impl Nic {
    /// A card on this radio, of the usual size, without vMACs.
    pub fn new(radio: RadioId) -> Self {
        Self::with_config(radio, NicConfig::default())
    }

    /// A card on this radio with these sizes, without vMACs.
    pub fn with_config(radio: RadioId, config: NicConfig) -> Self {
        Self {
            radio,
            card: Card::default(),
            tx: Transmitter::new(config),
            rx: Receiver::new(config.rx_buffers),
            scheduler: ChannelScheduler::default(),
            power: PowerSaver::default(),
            scan: Scan::default(),
            idle: None,
        }
    }

    /// The stamps of the thread that runs this card: to be put in, and for that thread's own moments.
    pub fn stamps(&mut self) -> &mut Stamps {
        &mut self.card.stamps
    }

    /// Gives a VM an address that is nobody else's from now on, whether the VM is up or not. Without one, a VM may
    /// bear what nobody else has.
    pub fn assign(&mut self, vm: VmId, address: MacAddr, policy: AddressPolicy) {
        self.card.vmacs.assign(vm, address, policy);
    }

    /// Keeps an address for the VM to which it is, or will be, assigned.
    pub fn reserve(&mut self, address: MacAddr) {
        self.card.vmacs.reserve(address);
    }

    /// Whether one of its vMACs has this address now.
    pub fn bears(&self, address: MacAddr) -> bool {
        self.card.vmacs.owner(address).is_some()
    }

    /// The VM-ID is to be given to another VM, which has no assignment, the usual weight and counters of its own. The VM
    /// must have been reset. Gives what was counted of it.
    pub fn release(&mut self, vm: VmId) -> VmCounters {
        if self.card.vmacs.get(vm).is_some() {
            self.card
                .out
                .broken("a VM-ID is free once its vMAC has gone");
        }
        self.card.vmacs.release(vm);
        self.set_weight(vm, 1);
        std::mem::take(&mut self.card.out.vms[vm])
    }

    /// Sets a VM's share of the airtime, on its channel and among channels, relative to the others'; 1 is the
    /// usual, [`crate::MAX_WEIGHT`] the most.
    pub fn set_weight(&mut self, vm: VmId, weight: u16) {
        self.invalidate();
        self.tx.airtime.set_weight(vm, weight);
    }

    /// How frames with this header may share A-MPDUs by the agreement that their receiver's driver
    /// has made; `None`: there is no such agreement, or no such vMAC.
    pub fn receive_agreement(&self, header: &Header) -> Option<Aggregation> {
        self.card.vmacs.receive_agreement(header)
    }

    /// Takes the oldest event out.
    pub fn next_event(&mut self) -> Option<NicEvent> {
        self.card.out.next()
    }

    /// Takes an event of this card's own radio. Call [`Nic::step`] after a batch of them.
    pub fn air_event(&mut self, now: Instant, event: &AirEvent) {
        match event {
            AirEvent::Received(heard) => {
                self.card.stamps.mark(Point::Heard);
                self.heard(heard);
            }
            AirEvent::Aggregated { frames, at, .. } => {
                let counters = &mut self.card.out.counters;
                counters.aggregates += 1;
                counters.aggregated_frames += u64::from(*frames);
                self.tx.aggregated(*at, *frames);
            }
            AirEvent::Sent(ended) => self.sent(now, ended),
        }
    }

    pub(crate) fn heard(&mut self, heard: &Heard) {
        let Self {
            card,
            rx,
            scan,
            scheduler,
            ..
        } = self;
        let scans = |vm, channel| scan.listens(vm, channel, scheduler.scanning());
        if rx.heard(card, heard, scans) {
            self.invalidate();
        }
    }

    fn sent(&mut self, now: Instant, ended: &Ended) {
        match self.tx.complete(ended.token) {
            Some(Kind::Frame { vm, serial }) => self.tx.ended(&mut self.card, vm, serial, ended),
            Some(Kind::Announcement { vm, sleeps }) => {
                self.invalidate();
                self.announced(now, vm, sleeps, ended.outcome);
            }
            Some(Kind::Probe { .. }) => {}
            None => self.card.out.counters.orphans += 1,
        }
    }

    fn announced(&mut self, now: Instant, vm: VmId, sleeps: bool, outcome: Outcome) {
        let Card { vmacs, out, .. } = &mut self.card;
        out.counters.unheard_announcements += u64::from(outcome != Outcome::Acknowledged);
        match vmacs.get_mut(vm) {
            Some(vmac) if sleeps => {
                let open = self.scheduler.is_open();
                self.power.announced(now, vmac, open, outcome);
            }
            Some(_) => {}
            None => out.broken("a vMAC in whose name a frame is in flight exists"),
        }
    }

    /// Lets due things happen and gives the air what it has room for. Returns when to come back
    /// unless something else happens first; `None` when no timer runs.
    pub fn step<P: Phy>(&mut self, now: Instant, phy: &mut P) -> Option<Instant> {
        let radio = &mut Radio::new(self.radio, phy);
        let idle = self
            .idle
            .filter(|idle| idle.until.is_none_or(|until| now < until));
        let timer = match idle {
            Some(idle) => idle.until,
            None => self.run_timers(now),
        };
        let sleep = self.save_power(now, radio);
        let wait = match idle {
            Some(_) => None,
            None => self.follow_scheduler(now, timer, radio),
        };
        if self.scheduler.is_open() {
            let here = self.scheduler.here();
            self.tx.feed(now, here, &mut self.card, radio);
        }
        Instant::earlier(wait, Instant::earlier(timer, sleep))
    }

    fn run_timers(&mut self, now: Instant) -> Option<Instant> {
        let Self {
            card,
            scheduler,
            power,
            ..
        } = self;
        card.run_timers(now, |channel| {
            power.present_since(scheduler.present_since(channel))
        })
    }

    /// Runs the scheduler. It, and the timers, look at every vMAC: where all are in one context and nobody scans or
    /// sleeps, that is not done again before a timer is due or something [invalidates](Self::invalidate) it.
    fn follow_scheduler<P: Phy>(
        &mut self,
        now: Instant,
        timer: Option<Instant>,
        radio: &mut Radio<'_, P>,
    ) -> Option<Instant> {
        self.invalidate();
        let mut moved = false;
        for _ in 0..ACTIONS {
            let (demand, recheck) = self.demand(now);
            match self.scheduler.step(now, &demand, self.tx.in_flight()) {
                Step::Apply(action) => {
                    self.apply(now, action, radio);
                    moved = true;
                }
                Step::IdleUntil(until) => {
                    let wait = Instant::earlier(until, recheck);
                    // A timer that was read before a move says nothing about the time after it.
                    if wait.is_none() && !moved && self.is_idle(&demand) {
                        self.idle = Some(Idle { until: timer });
                    }
                    return wait;
                }
            }
        }
        self.card.out.broken("the scheduler comes to rest");
        Some(now)
    }

    /// Notes that something has happened which the channel scheduler looks at.
    pub(crate) fn invalidate(&mut self) {
        self.idle = None;
    }

    /// True when neither time nor data frames give the scheduler anything to do.
    fn is_idle(&self, demand: &Demand) -> bool {
        let [context] = demand.contexts.as_slice() else {
            return false;
        };
        // What has no BSS has a context while it sends.
        let elsewhere = |vmac: &Vmac| vmac.bssid().is_none() && vmac.needs_channel();
        self.scheduler.is_settled()
            && self.scheduler.here() == Some(context.channel)
            && self.scan.dwell().is_none()
            && !self.power.is_active()
            && !self.card.vmacs.iter().any(|(_, vmac)| elsewhere(vmac))
    }

    /// Where the radio ought to be, and when to ask again.
    fn demand(&mut self, now: Instant) -> (Demand, Option<Instant>) {
        let vmacs = &self.card.vmacs;
        let mut demand = Demand {
            contexts: self.channel_contexts(now),
            idle: vmacs.iter().find_map(|(_, vmac)| vmac.channel()),
            scan: None,
        };
        let Some(dwell) = self.scan.dwell() else {
            return (demand, None);
        };
        let joining = vmacs.iter().filter_map(|(_, v)| v.joining_until(now)).min();
        // A dwell that has begun is finished; only the next one waits.
        if self.scan.waits(now, joining) && self.scheduler.scanning() != Some(dwell) {
            let recheck = Instant::earlier(joining, self.scan.patience_until());
            return (demand, recheck);
        }
        demand.scan = Some(dwell);
        let mut contexts = demand.contexts.iter_mut();
        if let Some(own) = contexts.find(|own| own.channel.shares_primary(dwell.channel)) {
            own.pending = true;
        }
        (demand, None)
    }

    pub(crate) fn channel_contexts(&self, now: Instant) -> Contexts {
        let weight = |vm| self.tx.airtime.weight(vm);
        demand::contexts(now, &self.card.vmacs, &self.scheduler, weight)
    }

    fn apply<P: Phy>(&mut self, now: Instant, action: Action, radio: &mut Radio<'_, P>) {
        match action {
            Action::Recall => radio.cancel(now, &|_| true),
            Action::AnnounceAbsence => self.announce(now, true, radio),
            Action::Tune(channel) => {
                self.wake(now, radio);
                radio.cancel(now, &|_| true);
                self.card.out.counters.tunes += 1;
                // A frame in the middle of its exchange is given back by the air once that has failed.
                radio.tune(now, Some(channel));
                self.announce(now, false, radio);
            }
            Action::BeginDwell(dwell) => self.begin_dwell(now, dwell, radio),
            Action::EndDwell(dwell) => self.scan.end_dwell(&mut self.card, dwell),
        }
    }

    /// Tells the access points on the present channel that their stations sleep, or are awake.
    fn announce<P: Phy>(&mut self, now: Instant, sleeps: bool, radio: &mut Radio<'_, P>) {
        let here = self.scheduler.here();
        let Card { vmacs, out, .. } = &mut self.card;
        for (vm, vmac) in vmacs.iter_mut() {
            if let Some(frame) = vmac.announce(vm, here, sleeps) {
                out.counters.announcements += 1;
                self.tx.send_own(now, frame, radio);
            }
        }
    }

    fn begin_dwell<P: Phy>(&mut self, now: Instant, dwell: Dwell, radio: &mut Radio<'_, P>) {
        let channel = self.scheduler.here().unwrap_or(dwell.channel);
        for mut probe in self.scan.begin_dwell(&mut self.card, dwell, channel) {
            let Card { vmacs, out, .. } = &mut self.card;
            if radio.queued(AccessCategory::Voice) >= MAX_PROBES_WAITING {
                out.counters.probes_skipped += 1;
                continue;
            }
            let Some(vmac) = vmacs.get_mut(probe.kind.vm()) else {
                out.broken("a vMAC that takes part in a scan exists");
                continue;
            };
            set_sequence_number(probe.frame.bytes_mut(), vmac.next_sequence());
            out.counters.probes += 1;
            self.tx.send_own(now, probe, radio);
        }
    }

    /// Turns the radio on, if it sleeps.
    pub(crate) fn wake<P: Phy>(&mut self, now: Instant, radio: &mut Radio<'_, P>) {
        if self.power.wake(now) {
            radio.tune(now, self.scheduler.here());
        }
    }

    /// Lets the radio and the stations sleep or wake; says when to look again.
    fn save_power<P: Phy>(&mut self, now: Instant, radio: &mut Radio<'_, P>) -> Option<Instant> {
        // Without power save nothing is looked at for each frame.
        if !self.power.is_active() || !self.scheduler.is_open() {
            return None;
        }
        let here = self.scheduler.here();
        let place = Place {
            here,
            tuned_at: here.and_then(|here| self.scheduler.present_since(here)),
            scans: self.scheduler.scanning().is_some() || self.scan.dwell().is_some(),
            in_flight: self.tx.in_flight(),
        };
        let (actions, next) = self.power.step(now, &mut self.card.vmacs, place);
        for action in actions {
            match action {
                power_save::Action::Wake => radio.tune(now, here),
                power_save::Action::Sleep => radio.tune(now, None),
                power_save::Action::Announce(frame) => {
                    self.card.out.counters.announcements += 1;
                    self.tx.send_own(now, frame, radio);
                }
            }
        }
        next
    }
}
